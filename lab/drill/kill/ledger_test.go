package kill

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/message"
)

// A ledger compares the messages of a lot with what is found in the queues after a scenario.
type ledger struct {
	lot  lot
	dead string
	// places are the queues in which each message was found, by its number; ids the requeue ids of its copies outside the dead-letter queue.
	places [][]string
	ids    []map[string]bool
	// strange are messages that are none of the lot.
	strange  []string
	wrong    []string
	altered  []string
	received int
}

func newLedger(l lot, dead string) *ledger {
	return &ledger{lot: l, dead: dead, places: make([][]string, l.size), ids: make([]map[string]bool, l.size)}
}

// find enters a message that was found in a queue.
func (g *ledger) find(queue string, d *amqp.Delivery) {
	g.received++
	i, ok := g.lot.index(d.MessageId)
	if !ok {
		g.strange = append(g.strange, fmt.Sprintf("%q in %s", d.MessageId, queue))
		return
	}
	g.places[i] = append(g.places[i], queue)
	want := g.lot.message(i)
	if queue == g.dead {
		g.enter(&g.altered, i, unlike(want, d, stampedByBroker))
		return
	}
	if queue != g.lot.source(i) {
		g.wrong = append(g.wrong, fmt.Sprintf("%s died in %s and is in %s", d.MessageId, g.lot.source(i), queue))
	}
	if g.ids[i] == nil {
		g.ids[i] = map[string]bool{}
	}
	g.ids[i][message.RequeueID(d.Headers)] = true
	g.enter(&g.altered, i, unlike(want, d, stampedByUs))
	g.enter(&g.altered, i, g.badStamp(i, d))
}

func (g *ledger) enter(list *[]string, i int, fault string) {
	if fault != "" {
		*list = append(*list, g.lot.id(i)+": "+fault)
	}
}

// stampedByBroker and stampedByUs are the headers that are added on the way.
func stampedByBroker(header string) bool {
	return header == "x-death" || strings.HasPrefix(header, "x-first-death-") || strings.HasPrefix(header, "x-last-death-")
}

func stampedByUs(header string) bool {
	switch header {
	case message.HeaderRequeueID, message.HeaderRequeueRun, message.HeaderRequeuedAt, message.HeaderRequeueCount,
		message.HeaderOriginalQueue, message.HeaderOriginalUserID, message.HeaderOriginalDeath:
		return true
	}
	return false
}

// unlike says in what a message differs from what was sent, but for added headers; empty when in nothing.
func unlike(want amqp.Publishing, d *amqp.Delivery, added func(string) bool) string {
	headers := maps.Clone(d.Headers)
	maps.DeleteFunc(headers, func(name string, _ any) bool { return added(name) })
	got := amqp.Publishing{
		MessageId: d.MessageId, CorrelationId: d.CorrelationId, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding,
		DeliveryMode: d.DeliveryMode, Priority: d.Priority, ReplyTo: d.ReplyTo, Expiration: d.Expiration, Type: d.Type, AppId: d.AppId,
		UserId: d.UserId, Timestamp: d.Timestamp,
	}
	if d.UserId == "" { // the broker takes a user_id from its user alone, so that it is kept in a header
		got.UserId, _ = d.Headers[message.HeaderOriginalUserID].(string)
	}
	switch body := want.Body; {
	case !bytes.Equal(body, d.Body):
		return "another body"
	case !reflect.DeepEqual(map[string]any(want.Headers), map[string]any(headers)):
		return fmt.Sprintf("headers %v, want %v", headers, want.Headers)
	}
	want.Body, want.Headers = nil, nil
	if !got.Timestamp.Equal(want.Timestamp) {
		return fmt.Sprintf("timestamp %v, want %v", got.Timestamp, want.Timestamp)
	}
	got.Timestamp, want.Timestamp = time.Time{}, time.Time{}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("properties %+v, want %+v", got, want)
	}
	return ""
}

// badStamp says what is wrong with the headers that a requeue adds; empty when nothing is.
func (g *ledger) badStamp(i int, d *amqp.Delivery) string {
	text, _ := d.Headers[message.HeaderOriginalDeath].(string)
	deaths := message.DecodeDeaths(text)
	_, timed := d.Headers[message.HeaderRequeuedAt].(time.Time)
	switch {
	case message.RequeueID(d.Headers) == "":
		return "no requeue id"
	case message.RequeueRun(d.Headers) == "":
		return "no run"
	case message.Requeues(d.Headers) != 1:
		return fmt.Sprintf("requeued %v times, want 1", d.Headers[message.HeaderRequeueCount])
	case d.Headers[message.HeaderOriginalQueue] != g.dead:
		return fmt.Sprintf("taken from %v, want %s", d.Headers[message.HeaderOriginalQueue], g.dead)
	case len(deaths) != 1 || deaths[0].Queue != g.lot.source(i) || deaths[0].Reason != message.DeathRejected:
		return fmt.Sprintf("death history %+v, want one rejection in %s", deaths, g.lot.source(i))
	case !timed:
		return "no time of the requeue"
	}
	return ""
}

// write writes a line for each message: where it died, where it was found, and by which requeue ids.
func (g *ledger) write(folder string) error {
	var text bytes.Buffer
	text.WriteString("message_id,died_in,found_in,requeue_ids\n")
	for i, places := range g.places {
		fmt.Fprintf(&text, "%s,%s,%s,%s\n", g.lot.id(i), g.lot.source(i), strings.Join(places, " "), strings.Join(slices.Sorted(maps.Keys(g.ids[i])), " "))
	}
	return os.WriteFile(filepath.Join(folder, g.lot.name+".csv"), text.Bytes(), 0o600)
}

// A balance is what a ledger comes to.
type balance struct {
	seeded, moved, left int
	// lost are the ids that are nowhere, extra the copies beyond one of each, untwinned the ids whose copies have different requeue ids.
	lost      []string
	extra     int
	untwinned []string
	strange   []string
	wrong     []string
	altered   []string
}

func (g *ledger) close() balance {
	b := balance{seeded: g.lot.size, strange: g.strange, wrong: g.wrong, altered: g.altered}
	for i, places := range g.places {
		switch {
		case len(places) == 0:
			b.lost = append(b.lost, g.lot.id(i))
			continue
		case slices.ContainsFunc(places, func(queue string) bool { return queue != g.dead }):
			b.moved++
		default:
			b.left++
		}
		b.extra += len(places) - 1
		if len(g.ids[i]) > 1 {
			b.untwinned = append(b.untwinned, g.lot.id(i))
		}
	}
	return b
}

// faults says what is wrong whatever was killed; empty when nothing is.
func (b balance) faults() string {
	var said []string
	for _, f := range []struct {
		what string
		list []string
	}{
		{"lost", b.lost}, {"copies with different requeue ids", b.untwinned}, {"none of the lot", b.strange},
		{"in the wrong queue", b.wrong}, {"altered", b.altered},
	} {
		if len(f.list) > 0 {
			said = append(said, fmt.Sprintf("%d %s, as %s", len(f.list), f.what, strings.Join(f.list[:min(3, len(f.list))], "; ")))
		}
	}
	return strings.Join(said, "\n")
}

func (b balance) String() string {
	return fmt.Sprintf("seeded %d = moved %d + left %d + lost %d; extra copies %d, without their twin's id %d; wrong target %d, altered %d, strange %d",
		b.seeded, b.moved, b.left, len(b.lost), b.extra, len(b.untwinned), len(b.wrong), len(b.altered), len(b.strange))
}
