package requeue_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/message"
)

// The laws that broken engines break.
const (
	lawLost           = "no message is lost"
	lawSideCopies     = "no header makes copies elsewhere"
	lawConfirmedStays = "what was confirmed has left its queue unless a connection was cut"
)

// laws are what must hold of every ending, each with its name. A law returns what is wrong, empty when nothing is.
var laws = []struct {
	name  string
	check func(ending) string
}{
	{"nothing ends a connection and nothing is acked that is not held", func(e ending) string { return strings.Join(e.m.violations, "; ") }},
	{lawLost, lostMessages},
	{"a fault makes a window of copies at most", extraCopies},
	{"nothing but a fault makes copies", copiesWithoutFault},
	{lawConfirmedStays, confirmedAndHere},
	{"no connection is lost unless one was cut", lostConnections},
	{"what is not to be sent is not sent", sentAgainstOrder},
	{"what arrives later stays", lateArrivals},
	{lawSideCopies, func(e ending) string { return unless(e.m.sideCopies == 0, "%d copies in other queues", e.m.sideCopies) }},
	{"never more than a window is without an answer", func(e ending) string {
		return unless(e.m.mostFlying <= e.Window, "%d of %d", e.m.mostFlying, e.Window)
	}},
	{"everything that was held is back", heldAtEnd},
	{"no message is destroyed by returns", func(e ending) string {
		gone := e.m.queues["dead"].destroyed
		return unless(len(gone) == 0, "%v", gone)
	}},
	{"a run that ends well has moved all that it could", leftBehind},
	{"order is kept", orderKept},
	{"the figures agree with the broker", wrongFigures},
	{"what arrives is what was sent", changedMessages},
}

func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// violated returns every law that does not hold, by its name, with what is wrong.
func (e ending) violated() map[string]string {
	wrong := map[string]string{}
	for _, law := range laws {
		if what := law.check(e); what != "" {
			wrong[law.name] = what
		}
	}
	return wrong
}

// copies counts, by id, where messages are: in queues, or acked by consumers.
func (e ending) copies() map[string]int {
	n := map[string]int{}
	for name, q := range e.m.queues {
		if name == "side" {
			continue
		}
		for _, id := range append(q.ids(), q.consumed...) {
			n[id]++
		}
	}
	for _, id := range e.m.stolen {
		n[id]++
	}
	return n
}

func (e ending) seeds() []string {
	var ids []string
	for i := range e.Letters {
		ids = append(ids, fmt.Sprintf("m%d", i))
	}
	return ids
}

func lostMessages(e ending) string {
	if e.has("delete") { // what was in a queue that was deleted is gone, and not by us
		return ""
	}
	var lost []string
	copies := e.copies()
	for _, id := range e.seeds() {
		if copies[id] == 0 {
			lost = append(lost, id)
		}
	}
	return unless(len(lost) == 0, "%v", lost)
}

func extraCopies(e ending) string {
	extra := 0
	for _, n := range e.copies() {
		extra += n - 1
	}
	faults := e.cuts() + e.blockedStops()
	return unless(extra <= faults*e.Window, "%d copies by %d faults with a window of %d", extra, faults, e.Window)
}

// blockedStops is 1 when the run gave up on a broker in alarm: what it had published then may be read later.
func (e ending) blockedStops() int {
	if e.has("alarm") {
		return e.count(func(f fault) bool { return f.kind == "alarm" })
	}
	return 0
}

func copiesWithoutFault(e ending) string {
	if e.cuts() > 0 || e.has("alarm") {
		return ""
	}
	for id, n := range e.m.published {
		if n > e.runs {
			return fmt.Sprintf("%s was published %d times in %d runs", id, n, e.runs)
		}
	}
	return ""
}

func confirmedAndHere(e ending) string {
	if e.cuts() > 0 || e.hasTarget("bounces") {
		return ""
	}
	for _, id := range e.m.queues["dead"].ids() {
		if e.m.confirmed[id] {
			return id + " was confirmed at its target and is still in its queue"
		}
	}
	return ""
}

func lostConnections(e ending) string {
	return unless(e.cuts() > 0 || e.result.Reconnects == 0, "%d reconnects", e.result.Reconnects)
}

func sentAgainstOrder(e ending) string {
	for i, l := range e.Letters {
		if id := e.seeds()[i]; (l.Leave || l.Times >= 3) && e.m.published[id] > 0 {
			return id + " was published"
		}
	}
	return ""
}

func lateArrivals(e ending) string {
	// After a kill the next run counts anew; and the limit is a number: it has room for what comes while others hold what was there.
	if e.has("kill") || e.has("steal") || e.has("half open") {
		return ""
	}
	for id := range e.m.published {
		if strings.HasPrefix(id, "late") {
			return id + " was moved"
		}
	}
	return ""
}

func heldAtEnd(e ending) string {
	for _, c := range e.m.conns {
		switch {
		case !c.dead:
			return "a connection is still open"
		case c.source != nil && len(c.source.held)+len(c.source.ahead) > 0:
			return fmt.Sprintf("%d messages are still held", len(c.source.held)+len(c.source.ahead))
		}
	}
	return ""
}

func leftBehind(e ending) string {
	well := e.result.Stop == requeue.StopLimit || e.result.Stop == requeue.StopEmpty
	if !well || e.hasTarget("bounces") || e.has("delete") || e.has("kill") || e.has("half open") && e.has("grow") {
		return ""
	}
	here := e.m.queues["dead"].ids()
	for i, l := range e.Letters {
		id, kind := e.seeds()[i], e.Targets[l.Target]
		if !l.Leave && l.Times < 3 && (kind == "open" || kind == "consumed") && e.m.published[id] == 0 && slices.Contains(here, id) {
			return fmt.Sprintf("%s is still there, and the run ended with %q: %+v", id, e.result.Stop, e.result)
		}
	}
	return ""
}

func orderKept(e ending) string {
	if e.cuts() > 0 || e.has("alarm") {
		return ""
	}
	for name, q := range e.m.queues {
		if name == "side" || name == "dead" && e.hasTarget("bounces") {
			continue
		}
		ids := q.arrived
		if name == "dead" {
			ids = q.ids()
		}
		if !slices.IsSortedFunc(ids, func(a, b string) int {
			return slices.Index(e.m.queues["dead"].arrived, a) - slices.Index(e.m.queues["dead"].arrived, b)
		}) {
			return fmt.Sprintf("queue %s has %v", name, ids)
		}
	}
	return ""
}

func wrongFigures(e ending) string {
	c := e.result.Counts
	var moved int64
	seen := map[int64]bool{}
	for _, s := range e.settled {
		if seen[s.Seq] {
			return fmt.Sprintf("number %d was settled twice", s.Seq)
		}
		seen[s.Seq] = true
		if s.Outcome == requeue.Moved {
			moved++
		}
	}
	switch {
	case moved != c.Moved+c.Repeated:
		return fmt.Sprintf("%d moved and %d again, %d reported", c.Moved, c.Repeated, moved)
	case len(e.settled) > 0 && e.settled[len(e.settled)-1].Counts.Moved != c.Moved:
		return "the last report has other counts than the result"
	case e.result.Stop == "" || e.result.Text == "":
		return fmt.Sprintf("no reason was given: %+v", e.result)
	case e.runs == 1 && c.Moved+c.Left+c.Bounced+c.Guarded+c.Returned+c.Rejected+c.Unknown > int64(len(e.Letters)+e.result.Reconnects*e.Window):
		return fmt.Sprintf("more messages than there are: %+v", c)
	}
	if e.cuts() == 0 && !e.has("alarm") {
		total := 0
		for _, n := range e.m.published {
			total += n
		}
		return unless(int64(total) == c.Moved, "%d were published and %d moved", total, c.Moved)
	}
	return ""
}

func changedMessages(e ending) string {
	for name, q := range e.m.queues {
		if name == "dead" || name == "side" {
			continue
		}
		for _, got := range q.ready {
			if what := changed(got); what != "" {
				return got.id + ": " + what
			}
		}
	}
	return ""
}

func changed(got *modelMessage) string {
	want := seedMessage(got.id, "")
	p := got.message.Properties
	switch {
	case string(got.message.Body) != string(want.Body) || p.MessageID != want.MessageID || p.CorrelationID != want.CorrelationID || p.Priority != want.Priority:
		return fmt.Sprintf("it was changed: %+v", p)
	case p.DeliveryMode != 2 || p.UserID != "" || p.Headers[message.HeaderOriginalUserID] != "shop":
		return fmt.Sprintf("mode %d, user %q", p.DeliveryMode, p.UserID)
	case p.Headers["kept"] != int64(7) || p.Headers[message.HeaderRequeueID] == nil || p.Headers["x-death"] != nil:
		return fmt.Sprintf("headers %v", slices.Sorted(maps.Keys(p.Headers)))
	}
	return ""
}

func TestEveryLawHoldsWhateverGoesWrong(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := scenarios().Draw(rt, "scenario")
		if wrong := s.play(t, nil).violated(); len(wrong) > 0 {
			rt.Fatalf("%q", wrong)
		}
	})
}

func TestEveryLawHoldsWhenNothingGoesWrong(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := scenarios().Draw(rt, "scenario").calm()
		if wrong := s.play(t, nil).violated(); len(wrong) > 0 {
			rt.Fatalf("%q", wrong)
		}
	})
}

// TestTheScenariosReachEveryEnding keeps the laws from holding because nothing happens.
func TestTheScenariosReachEveryEnding(t *testing.T) {
	stops, outcomes, reconnects, repeated := map[requeue.Stop]int{}, map[requeue.Outcome]int{}, 0, int64(0)
	for seed := range 2000 {
		e := scenarios().Example(seed).play(t, nil)
		stops[e.result.Stop]++
		for _, s := range e.settled {
			outcomes[s.Outcome]++
		}
		reconnects += e.result.Reconnects
		repeated += e.result.Repeated
	}
	for _, stop := range []requeue.Stop{requeue.StopLimit, requeue.StopEmpty, requeue.StopBounced, requeue.StopHeld, requeue.StopTarget, requeue.StopBlocked} {
		if stops[stop] == 0 {
			t.Errorf("no scenario ended with %q", stop)
		}
	}
	for _, o := range []requeue.Outcome{requeue.Moved, requeue.Left, requeue.Bounced, requeue.Guarded, requeue.Returned, requeue.Rejected, requeue.Unknown} {
		if outcomes[o] == 0 {
			t.Errorf("no message ended as %q", o)
		}
	}
	if reconnects == 0 || repeated == 0 {
		t.Errorf("%d reconnects, %d messages moved again", reconnects, repeated)
	}
	t.Logf("%v %v, %d reconnects, %d moved again", stops, outcomes, reconnects, repeated)
}
