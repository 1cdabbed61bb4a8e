package shop

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/servers"
)

// A remnant is the state of a dead letter's marker.
type remnant string

const (
	noMarker remnant = ""
	// working expires some minutes after the shop opened, stuck never.
	working remnant = "processing"
	stuck   remnant = "processing without expiry"
	// finished is done, and so was the work; begun is a marker that cannot say that the work was not done.
	finished remnant = "done"
	begun    remnant = "begun"
	// once failed one time, givenUp as often as its scheme allows.
	once    remnant = "failed once"
	givenUp remnant = "failed to the limit"
)

// An heirloom is a dead letter of an earlier day.
type heirloom struct {
	reason string        // of its death
	age    time.Duration // since then
	marker remnant
	// framework gives it the headers of the consumer that failed, change what is odd about it.
	framework func(failure, string) amqp.Table
	change    func(m *amqp.Publishing, publisher string)
}

// heirlooms are the dead letters that a pipeline inherits.
func heirlooms(pipeline string) []heirloom {
	plain := func(headers func(failure) amqp.Table) func(failure, string) amqp.Table {
		return func(f failure, _ string) amqp.Table { return headers(f) }
	}
	switch pipeline {
	case "inventory":
		dotnet := plain(nserviceBusHeaders)
		return []heirloom{
			{message.DeathRejected, 26 * time.Hour, noMarker, dotnet, nil},
			{message.DeathRejected, 25 * time.Hour, noMarker, dotnet, nil},
			{message.DeathRejected, 7 * time.Hour, finished, dotnet, nil},
		}
	case "refunds":
		fault := plain(massTransitHeaders)
		return []heirloom{
			{message.DeathDeliveryLimit, 9 * time.Hour, noMarker, fault, nil},
			{message.DeathDeliveryLimit, 9 * time.Hour, noMarker, fault, nil},
			{message.DeathDeliveryLimit, 8 * time.Hour, working, fault, nil},
			{message.DeathDeliveryLimit, 8 * time.Hour, finished, fault, nil},
			{message.DeathDeliveryLimit, 7 * time.Hour, noMarker, fault, withoutID},
			{message.DeathRejected, 6 * time.Hour, noMarker, nil, signed},
		}
	case "notifications":
		return []heirloom{
			{message.DeathExpired, 12 * time.Hour, noMarker, celeryHeaders, nil},
			{message.DeathExpired, 12 * time.Hour, begun, celeryHeaders, nil},
			{message.DeathMaxLength, 11 * time.Hour, finished, celeryHeaders, nil},
			{message.DeathExpired, 11 * time.Hour, noMarker, nil, copied},
			{message.DeathRejected, 10 * time.Hour, noMarker, nil, malformed},
		}
	case "invoices":
		spring := plain(springHeaders)
		return []heirloom{
			{message.DeathRejected, 30 * time.Hour, givenUp, spring, nil},
			{message.DeathRejected, 6 * time.Hour, once, spring, nil},
			{message.DeathRejected, 6 * time.Hour, working, spring, nil},
			{message.DeathRejected, 5 * time.Hour, stuck, spring, nil},
			{message.DeathRejected, 5 * time.Hour, finished, spring, nil},
			{message.DeathRejected, 4 * time.Hour, noMarker, spring, large},
			{message.DeathExpired, 3 * time.Hour, noMarker, nil, urgent},
			{message.DeathRejected, 3 * time.Hour, noMarker, spring, withoutID},
		}
	}
	return nil
}

func withoutID(m *amqp.Publishing, _ string) { m.MessageId = "" }

// signed names the user who published it; whoever sends it again under another name is refused.
func signed(m *amqp.Publishing, publisher string) { m.UserId = publisher }

// copied asks for a second route: whoever sends it again as it is makes a copy there.
func copied(m *amqp.Publishing, _ string) { m.Headers["CC"] = []any{"notifications.copy"} }

// malformed carries a death history that no broker wrote. RabbitMQ 3.10 crashes a queue that has to dead-letter such a
// message, so it must only ever lie in a queue that dead-letters nothing.
func malformed(m *amqp.Publishing, _ string) { m.Headers["x-death"] = []any{int32(1), "a"} }

func urgent(m *amqp.Publishing, _ string) {
	m.Priority, m.Expiration = 5, strconv.FormatInt((7*24*time.Hour).Milliseconds(), 10)
}

// large has about 200 kB.
func large(m *amqp.Publishing, _ string) {
	note := strings.Repeat("Lieferung bitte beim Nachbarn abgeben, Klingel defekt. ", 3_600)
	m.Body = append(m.Body[:len(m.Body)-1], fmt.Sprintf(`,"note":%q}`, note)...)
}

// firstHeirloom numbers the messages of earlier days apart from those of the day.
const firstHeirloom = 9_000_001

// bequeath puts the dead letters of earlier days into the dead-letter queues, and their markers into the store.
func bequeath(ctx context.Context, config Config, broker *servers.RabbitMQ, stores stores, ledger *Ledger) error {
	publisher, password := broker.Admin()
	connection := link{url: broker.AMQPURL(publisher, password)}
	defer connection.close()
	channel, err := connection.channel()
	if err != nil {
		return fmt.Errorf("lay out old dead letters: %w", err)
	}
	if err := channel.Confirm(false); err != nil {
		return fmt.Errorf("lay out old dead letters: ask for confirms: %w", err)
	}
	for _, pipeline := range config.Pipelines {
		if !pipeline.Inherited {
			continue
		}
		client := newClient(stores.of(pipeline.Name).Addr(), pipeline.DB)
		estate := estate{fate: fate{config.Seed, pipeline}, publisher: publisher, channel: channel, redis: client, entry: ledger.entries[pipeline.Name]}
		err := estate.layOut(ctx)
		if closeErr := client.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return fmt.Errorf("lay out old dead letters of %s: %w", pipeline.Name, err)
		}
	}
	return nil
}

// An estate is what one pipeline inherits.
type estate struct {
	fate      fate
	publisher string
	channel   *amqp.Channel
	redis     *redis.Client
	entry     *entry
}

func (e estate) layOut(ctx context.Context) error {
	for n, h := range heirlooms(e.fate.config.Name) {
		publishing := e.letter(messageID(e.fate.config.Name, e.fate.seed, firstHeirloom+n), h)
		id := idOf(publishing.MessageId, publishing.Body)
		if err := e.mark(ctx, id, h); err != nil {
			return err
		}
		confirmation, err := e.channel.PublishWithDeferredConfirmWithContext(ctx, "", e.fate.config.DeadLetterQueue(), true, false, publishing)
		if err != nil {
			return fmt.Errorf("publish %s: %w", id, err)
		}
		if acked, err := confirmation.WaitContext(ctx); err != nil || !acked {
			return fmt.Errorf("publish %s: the broker did not take it: %w", id, err)
		}
		e.entry.inherited(id, h.marker)
	}
	return nil
}

// letter is the message with the headers of its death, as the broker and its consumer's framework would have written them.
func (e estate) letter(id string, h heirloom) amqp.Publishing {
	source, died := e.fate.config.Name, time.Now().Add(-h.age).Truncate(time.Second)
	publishing := amqp.Publishing{
		Headers: amqp.Table{
			copyHeader: int32(inheritedCopy),
			"x-death": []any{amqp.Table{"count": int64(1), "reason": h.reason, "queue": source, "time": died,
				"exchange": "", "routing-keys": []any{source}}},
			"x-first-death-reason": h.reason, "x-first-death-queue": source, "x-first-death-exchange": "",
		},
		MessageId: id, ContentType: "application/json", DeliveryMode: amqp.Persistent, Timestamp: died.Add(-time.Minute),
		Type: eventOf(source), AppId: "sample-shop", Body: e.fate.body(id),
	}
	if h.framework != nil {
		maps.Copy(publishing.Headers, h.framework(e.fate.failure(id, died), id))
	}
	if h.change != nil {
		h.change(&publishing, e.publisher)
	}
	return publishing
}

// mark writes the marker and the retry counter that belong to a dead letter, as old as its death.
func (e estate) mark(ctx context.Context, id string, h heirloom) error {
	died := time.Now().Add(-h.age)
	key, value, life := "", "", doneTTL-h.age
	switch scheme := e.fate.config.Scheme; h.marker {
	case noMarker:
		return nil
	case once, givenUp:
		key, value, life = "retry:"+id, strconv.Itoa(maxRetries), max(time.Hour, life)
		if h.marker == once {
			value = "1"
		}
	case working:
		key, value, life = markerKey(scheme, id), "processing", processingTTL
	case stuck:
		key, value, life = markerKey(scheme, id), "processing", 0
	case finished, begun:
		key, value = markerKey(scheme, id), map[SchemeName]string{
			TextStatus: "done", JSONStatus: jsonStatusValue(id, died), Timestamp: strconv.FormatInt(died.UnixMilli(), 10),
		}[scheme]
	}
	if err := e.redis.Set(ctx, key, value, life).Err(); err != nil {
		return fmt.Errorf("mark %s: %w", key, err)
	}
	return nil
}

// markerKey is the key of a message's marker.
func markerKey(scheme SchemeName, id string) string {
	switch scheme {
	case JSONStatus:
		return "msg:dedup:" + id
	case Timestamp:
		return "dedup:" + id
	}
	return "msg:" + id
}
