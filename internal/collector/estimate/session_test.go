package estimate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

func textScheme() dedup.Scheme {
	return dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "delete", OnFailed: "nack", AcksEach: true,
		States: []dedup.State{dedup.Processing, dedup.Done}}
}

func flagScheme() dedup.Scheme {
	return dedup.Scheme{Kind: "redis-string", Mark: "after", OnFail: "delete", AcksEach: true, States: []dedup.State{dedup.Done}}
}

func codeScheme() dedup.Scheme {
	return dedup.Scheme{Kind: "sql-table", Mark: "before", OnInFlight: "ack", OnFail: "delete", OnFailed: "ack", AcksEach: true,
		States: []dedup.State{dedup.Processing, dedup.Done, dedup.Failed}}
}

func uniqueScheme() dedup.Scheme {
	return dedup.Scheme{Kind: "sql-table", Mark: "after", OnFail: "delete", Transactional: true, AcksEach: true, States: []dedup.State{dedup.Done}}
}

// usual is the traffic of the trials: 3 % sent again, 1 % lost acks, 2 % failures.
func usual(s dedup.Scheme) sessionTraffic {
	return sessionTraffic{scheme: s, perSecond: 70, consumers: 4, prefetch: 10, work: 15 * time.Millisecond,
		againSoon: 0.004, againLater: 0.026, fails: 0.02, lostAcks: 0.01, seconds: 30}
}

// TestASessionCountsDuplicatesToATenthOfAPoint holds sessions to what became of each message, over schemes and faults: the error is at most
// a tenth of a point or two messages, and the band holds it, in 19 of 20.
func TestASessionCountsDuplicatesToATenthOfAPoint(t *testing.T) {
	few := func(c sessionTraffic, change func(*sessionTraffic)) sessionTraffic { change(&c); return c }
	for name, traffic := range map[string]sessionTraffic{
		"text":                usual(textScheme()),
		"text without events": few(usual(textScheme()), func(c *sessionTraffic) { c.readsOnly = true }),
		"text with crashes":   few(usual(textScheme()), func(c *sessionTraffic) { c.crashes, c.readsOnly = 0.003, true }),
		"text, prefetch 1":    few(usual(textScheme()), func(c *sessionTraffic) { c.prefetch, c.readsOnly = 1, true }),
		"text, late traces":   few(usual(textScheme()), func(c *sessionTraffic) { c.busy, c.readsOnly = 50*time.Millisecond, true }),
		"flag":                usual(flagScheme()),
		"row":                 few(usual(codeScheme()), func(c *sessionTraffic) { c.readsOnly = true }),
		"row, prefetch 50":    few(usual(codeScheme()), func(c *sessionTraffic) { c.readsOnly, c.prefetch, c.againSoon = true, 50, 0.01 }),
		"row without times of completion": few(usual(codeScheme()), func(c *sessionTraffic) {
			c.readsOnly, c.prefetch, c.claimTimes = true, 2, true
		}),
		"unique row":              few(usual(uniqueScheme()), func(c *sessionTraffic) { c.readsOnly = true }),
		"unique row with crashes": few(usual(uniqueScheme()), func(c *sessionTraffic) { c.crashes, c.readsOnly = 0.003, true }),
		"unique row, whole seconds": few(usual(uniqueScheme()), func(c *sessionTraffic) {
			c.coarse, c.readsOnly, c.lostAcks, c.againSoon = true, true, 0.002, 0
		}),
		"unique row, whole seconds, lost acks": few(usual(uniqueScheme()), func(c *sessionTraffic) { c.coarse, c.readsOnly = true, true }),
		"nothing sent again":                   few(usual(textScheme()), func(c *sessionTraffic) { c.againSoon, c.againLater, c.lostAcks = 0, 0, 0 }),
		"half sent again":                      few(usual(textScheme()), func(c *sessionTraffic) { c.againLater, c.readsOnly = 0.5, true }),
		"few messages":                         few(usual(textScheme()), func(c *sessionTraffic) { c.perSecond, c.readsOnly = 3, true }),
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 20
			near, held := 0, 0
			for seed := range runs {
				s, truth := traffic.simulate(rand.New(rand.NewPCG(uint64(seed), 7)))
				got := SessionOf(s)
				_, rate, _ := got.Rate()
				off := math.Abs(rate - float64(truth.duplicates)/float64(truth.messages))
				if off <= max(0.001, 2/float64(truth.messages)) {
					near++
				}
				if math.Abs(float64(got.Duplicates-truth.duplicates)) <= got.Band {
					held++
				}
				if seed < 1 {
					t.Logf("run %d: %d of %d ± %.1f, truth %d of %d; in flight %d, truth %d; failures %d, truth %d", seed,
						got.Duplicates, got.Messages, got.Band, truth.duplicates, truth.messages, got.InFlight, truth.inFlight, got.Failures, truth.failures)
				}
			}
			if near < 19 && traffic.busy == 0 || held < 18 { // of late traces the band says that they are worth less
				t.Errorf("%d of %d runs were within a tenth of a point, the band held %d", near, runs, held)
			}
		})
	}
}

// one is a session of one message: deliveries by second, consumer and flag, and its marker.
func one(s dedup.Scheme, m SessionMarker, listened bool, deliveries ...dedup.TracedDelivery) *dedup.SessionResult {
	others := []dedup.TracedDelivery{}
	for c := range 4 { // every consumer goes on until the end, but for those that are named dead
		for k := range 60 {
			others = append(others, dedup.TracedDelivery{At: at(float64(k)), ID: fmt.Sprintf("other-%d-%d", c, k), Consumer: fmt.Sprintf("c%d", c)})
		}
	}
	all := append(others, deliveries...)
	slices.SortStableFunc(all, func(a, b dedup.TracedDelivery) int { return a.At.Compare(b.At) })
	trace := dedup.Trace{Began: at(0), Ended: at(60), Deliveries: all, Traced: float64(len(all)), Counted: float64(len(all))}
	return SessionOf(Session{Scheme: s, Trace: &trace, Markers: map[string]SessionMarker{"a": m}, Listened: listened, Resolution: time.Millisecond})
}

func at(seconds float64) time.Time {
	return simStart.Add(time.Duration(seconds * float64(time.Second)))
}

func toConsumer(c string, seconds float64) dedup.TracedDelivery {
	return dedup.TracedDelivery{At: at(seconds), ID: "a", Consumer: c, Exchange: "shop", RoutingKey: "orders"}
}

func again(c string, seconds float64) dedup.TracedDelivery {
	d := toConsumer(c, seconds)
	d.Redelivered = true
	return d
}

// rejected was rejected n times before, and a retry queue brought it back.
func rejected(c string, seconds float64, n int64) dedup.TracedDelivery {
	d := toConsumer(c, seconds)
	d.Rejections = n
	return d
}

func TestWhatBecameOfTheDeliveriesOfOneMessage(t *testing.T) {
	done := func(seconds ...float64) SessionMarker {
		m := SessionMarker{State: dedup.Done}
		for _, s := range seconds {
			m.Set = append(m.Set, at(s))
		}
		return m
	}
	type counts struct{ messages, duplicates, redelivered, inFlight, swallowed, failures, doubled int64 }
	failedAcked := codeScheme()
	failedAcked.OnFail = "ack"
	presence := dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "ack", OnFail: "keep", States: []dedup.State{dedup.Present}}
	for name, c := range map[string]struct {
		scheme     dedup.Scheme
		marker     SessionMarker
		listened   bool
		deliveries []dedup.TracedDelivery
		want       counts
	}{
		"one delivery whose work is done is no duplicate": {textScheme(), done(10.02), false, []dedup.TracedDelivery{toConsumer("c0", 10)}, counts{messages: 1}},
		"a failure that a retry queue brings back is no duplicate": {textScheme(), done(14.02), false,
			[]dedup.TracedDelivery{toConsumer("c0", 10), rejected("c1", 14, 1)}, counts{messages: 1, failures: 1}},
		"a failure that comes back twice is one message": {textScheme(), done(18.02), false,
			[]dedup.TracedDelivery{toConsumer("c0", 10), rejected("c1", 14, 1), rejected("c1", 18, 2)}, counts{messages: 1, failures: 2}},
		"a copy that is done while the first waits in a retry queue makes that a duplicate": {textScheme(), done(12.02), false,
			[]dedup.TracedDelivery{toConsumer("c0", 10), toConsumer("c2", 12), rejected("c1", 14, 1)}, counts{messages: 2, duplicates: 1, failures: 1}},
		"a message that was rejected before the session and is sent again after its work is a duplicate": {textScheme(), done(10.02), false,
			[]dedup.TracedDelivery{rejected("c0", 10, 1), toConsumer("c1", 12)}, counts{messages: 2, duplicates: 1}},
		"a trace that came after the completion is no duplicate either": {textScheme(), done(9.95), false,
			[]dedup.TracedDelivery{toConsumer("c0", 10)}, counts{messages: 1}},
		"a copy after the work is one": {textScheme(), done(10.02), false,
			[]dedup.TracedDelivery{toConsumer("c0", 10), toConsumer("c1", 20)}, counts{messages: 2, duplicates: 1}},
		"work of before the session makes each copy one": {textScheme(), done(-100), false,
			[]dedup.TracedDelivery{toConsumer("c0", 10), toConsumer("c1", 20)}, counts{messages: 2, duplicates: 2}},
		"work that failed and was done when it came again is none": {textScheme(), done(10.05), false,
			[]dedup.TracedDelivery{toConsumer("c0", 10), again("c1", 10.01)}, counts{messages: 1, failures: 1}},
		"what comes again after its ack was lost with its channel is one": {textScheme(), done(10.02), false,
			[]dedup.TracedDelivery{toConsumer("dead", 10), again("c1", 10.023)}, counts{messages: 1, duplicates: 1, redelivered: 1}},
		"what comes again from a consumer that died in the work is none": {uniqueScheme(), done(10.05), false,
			[]dedup.TracedDelivery{toConsumer("dead", 10), again("c1", 10.02)}, counts{messages: 1}},
		"a copy that is returned until the work is done is one": {textScheme(), done(10.5), false,
			[]dedup.TracedDelivery{toConsumer("c0", 10), toConsumer("c1", 10.1), again("c1", 10.2), again("c2", 10.6)}, counts{messages: 2, duplicates: 1}},
		"a copy that is acked while the work is under way is none": {codeScheme(), done(10.5), false,
			[]dedup.TracedDelivery{toConsumer("c0", 10), toConsumer("c1", 10.1)}, counts{messages: 2, inFlight: 1}},
		"copies of work that failed and was acked are swallowed": {failedAcked, SessionMarker{State: dedup.Failed, Set: []time.Time{at(10.1)}}, false,
			[]dedup.TracedDelivery{toConsumer("c0", 10), toConsumer("c1", 20)}, counts{messages: 2, swallowed: 1, failures: 1}},
		"copies that meet the claim of a dead consumer are swallowed": {codeScheme(), SessionMarker{State: dedup.Processing}, false,
			[]dedup.TracedDelivery{toConsumer("dead", 10), again("c1", 10.1)}, counts{messages: 1, swallowed: 1}},
		"work that was done twice is none, where events tell": {flagScheme(), SessionMarker{State: dedup.Done, Set: []time.Time{at(10.03)},
			Completed: []time.Time{at(10.02), at(10.03)}}, true,
			[]dedup.TracedDelivery{toConsumer("c0", 10), toConsumer("c1", 10.01)}, counts{messages: 2, doubled: 1}},
		"a marker whose completion no event told of was done before": {textScheme(), done(), true,
			[]dedup.TracedDelivery{toConsumer("c0", 10)}, counts{messages: 1, duplicates: 1}},
		"a message without a marker has no outcome": {textScheme(), SessionMarker{}, false, []dedup.TracedDelivery{toConsumer("c0", 10)}, counts{}},
		"a claim that was there before makes a copy a hit": {presence, SessionMarker{State: dedup.Present, Set: []time.Time{at(-5)}}, false,
			[]dedup.TracedDelivery{toConsumer("c0", 10)}, counts{messages: 1, duplicates: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := one(c.scheme, c.marker, c.listened, c.deliveries...)
			got := counts{r.Messages, r.Duplicates, r.Redelivered, r.InFlight, r.Swallowed, r.Failures, r.Doubled}
			if got != c.want {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestSchemesThatCannotTellLostFromDoneGiveAnUpperBound(t *testing.T) {
	presence := dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "ack", OnFail: "keep", States: []dedup.State{dedup.Present}}
	r := one(presence, SessionMarker{State: dedup.Present, Set: []time.Time{at(-5)}}, false, toConsumer("c0", 10))
	low, _, high := r.Rate()
	if !r.AtMost || low != 0 || high != 1 || r.LatencyWhy == "" {
		t.Errorf("at most %v, rate from %v to %v, latency %q", r.AtMost, low, high, r.LatencyWhy)
	}
}

func TestARepeatedIDTellsWhereItsCopiesCameFrom(t *testing.T) {
	sent := toConsumer("c1", 20)
	sent.AppID, sent.Headers = "cron", map[string]any{"attempt": int32(2), "table": map[string]any{"no": "place"}, "text": strings.Repeat("é", 200)}
	r := one(textScheme(), SessionMarker{State: dedup.Done, Set: []time.Time{at(10.02)}}, false, toConsumer("c0", 10), sent)
	if len(r.Repeated) != 1 || r.RepeatedIDs != 1 {
		t.Fatalf("%d repeated ids, want 1", len(r.Repeated))
	}
	p := r.Repeated[0]
	if p.ID != "a" || p.Gap != 10*time.Second || p.Done != 9980*time.Millisecond || p.Deliveries != 2 || p.Duplicates != 1 || p.Before {
		t.Errorf("got %+v", p)
	}
	if len(p.Origins) != 2 || p.Origins[0].AppID != "cron" || p.Origins[0].Duplicates != 1 || p.Origins[0].Headers["attempt"] != "2" || p.Origins[0].Headers["table"] != "" {
		t.Errorf("origins %+v", p.Origins)
	}
	if text := p.Origins[0].Headers["text"]; !utf8.ValidString(text) || len(text) > longestHeader+len("…") {
		t.Errorf("a long header became %q", text)
	}
}

func TestLatenciesRunFromTheDeliveryToTheFirstCompletion(t *testing.T) {
	s, _ := usual(textScheme()).simulate(rand.New(rand.NewPCG(3, 3)))
	r := SessionOf(s)
	if r.Latency.N < 1500 || math.Abs(r.Latency.P50-0.0155) > 0.003 || r.Latency.P95 < r.Latency.P50 || r.Latency.P99 < r.Latency.P95 {
		t.Errorf("latency %+v", r.Latency)
	}
	sum := int64(0)
	for _, n := range r.Latency.Counts {
		sum += n
	}
	if sum != r.Latency.N || len(r.Latency.Counts) != len(r.Latency.Bounds)+1 {
		t.Errorf("%d in %d bars, want %d", sum, len(r.Latency.Counts), r.Latency.N)
	}
}

func TestLatencyIsTakenFromTimesThatWereCut(t *testing.T) {
	for name, c := range map[string]struct {
		cut    time.Duration
		events bool
	}{
		"whole times":                                       {},
		"milliseconds, as Redis keeps them":                 {cut: time.Millisecond},
		"milliseconds, and events":                          {cut: time.Millisecond, events: true},
		"whole seconds, where events tell when it was done": {cut: time.Second, events: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := Session{Scheme: textScheme(), Trace: &dedup.Trace{Began: at(0), Ended: at(60)}, Markers: map[string]SessionMarker{}, Listened: c.events, Resolution: c.cut}
			for k := range 500 {
				d := dedup.TracedDelivery{At: at(0.1101 * float64(k)), ID: fmt.Sprint(k), Consumer: "c"}
				done := d.At.Add(20 * time.Millisecond)
				m := SessionMarker{State: dedup.Done, Set: []time.Time{done.Truncate(max(1, c.cut))}}
				if c.events {
					m.Completed = []time.Time{done.Add(300 * time.Microsecond)}
				}
				s.Trace.Deliveries, s.Markers[d.ID] = append(s.Trace.Deliveries, d), m
			}
			if l := SessionOf(s).Latency; l.N < 480 || math.Abs(l.Mean-0.02) > 0.0004 || math.Abs(l.P95-0.02) > 0.001 {
				t.Errorf("%d with a mean of %.2f ms, p95 %.2f ms, want 20", l.N, 1000*l.Mean, 1000*l.P95)
			}
		})
	}
}

func TestMarkersWhoseLivesAreOthersThanConfiguredAreKnown(t *testing.T) {
	markers := map[string]SessionMarker{}
	for k := range 20 { // seen absent at 10 s, and then done since an hour before
		markers[fmt.Sprint(k)] = SessionMarker{State: dedup.Done, Open: at(10), Set: []time.Time{at(-3590)}}
	}
	if !SessionTimesOff(Session{Markers: markers}) {
		t.Error("times that cannot be are believed")
	}
	for id := range markers {
		markers[id] = SessionMarker{State: dedup.Done, Open: at(10), Set: []time.Time{at(9.9)}}
	}
	if SessionTimesOff(Session{Markers: markers}) {
		t.Error("times that are a little early are not believed")
	}
}

// TestCountsOfAnySessionAddUp joins deliveries and markers by chance: nothing panics, and no part is larger than its whole.
func TestCountsOfAnySessionAddUp(t *testing.T) {
	schemes := []dedup.Scheme{textScheme(), flagScheme(), codeScheme(), uniqueScheme(), {}, {Mark: "before", OnFail: "ack", GiveUp: 3, OnFailed: "ack"}}
	states := append(dedup.States(), "")
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		moments := func() []time.Time {
			var list []time.Time
			for range r.IntN(4) {
				list = append(list, at(80*r.Float64()-10))
			}
			slices.SortFunc(list, time.Time.Compare)
			return list
		}
		s := Session{Scheme: schemes[r.IntN(len(schemes))], Markers: map[string]SessionMarker{}, Listened: r.IntN(2) == 0, Trace: &dedup.Trace{Began: at(0), Ended: at(60)}}
		s.Scheme.DatesClaim = r.IntN(3) == 0
		for range r.IntN(40) {
			d := dedup.TracedDelivery{At: at(60 * r.Float64()), ID: fmt.Sprint(r.IntN(6)), Consumer: fmt.Sprint(r.IntN(4)), Redelivered: r.IntN(3) == 0}
			if r.IntN(9) == 0 {
				d.ID = ""
			}
			s.Trace.Deliveries = append(s.Trace.Deliveries, d)
			s.Markers[d.ID] = SessionMarker{State: states[r.IntN(len(states))], Set: moments(), Completed: moments(), Claimed: moments(), Failed: int64(r.IntN(3)), Unread: r.IntN(3) == 0}
		}
		s.Trace.Traced = float64(len(s.Trace.Deliveries))
		got := SessionOf(s)
		low, rate, high := got.Rate()
		switch {
		case got.Duplicates < 0 || got.Duplicates+got.InFlight+got.Swallowed > got.Messages || got.Messages+got.Unsettled+got.NoID > int64(got.Traced):
			t.Fatalf("seed %d: %+v", seed, got)
		case got.Sent+got.Redelivered != got.Duplicates || got.Redelivered < 0 || got.Sent < 0 || got.Failures < 0 || got.Doubled < 0:
			t.Fatalf("seed %d: the parts are %d and %d of %d", seed, got.Sent, got.Redelivered, got.Duplicates)
		case !(low >= 0 && low <= high && high <= 1) || !got.AtMost && (rate < low || rate > high):
			t.Fatalf("seed %d: rate %v from %v to %v", seed, rate, low, high)
		}
	}
}
