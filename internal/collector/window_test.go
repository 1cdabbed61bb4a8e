package collector

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/effect"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// An eventStore tells what its events came to.
type eventStore struct{ namedStore }

func (eventStore) EventsAt(time.Time) (dedup.EventCounts, bool) { return dedup.EventCounts{}, false }

// A silentReader is a broker whose live counts cannot be read.
type silentReader struct{}

func (silentReader) Watch(...dedup.QueueRef) {}
func (silentReader) Live(context.Context) (dedup.LiveCounts, error) {
	return dedup.LiveCounts{}, errors.New("it answers 404")
}

// A doubleCheck is an effect check that is never run.
type doubleCheck struct{ effect.Checker }

func (doubleCheck) Pipeline() string { return "orders" }
func (doubleCheck) Query() string    { return "q" }

// TestFiguresAreMadeOfWhatThePipelineIsTiedTo: its store with all that keep their markers there, live counts and the effect check.
func TestFiguresAreMadeOfWhatThePipelineIsTiedTo(t *testing.T) {
	fake := &fakeSource{scheme: nackScheme}
	pipeline := func(name, store string) dedup.Pipeline {
		return dedup.Pipeline{Name: name, Broker: "main", Vhost: "/", Queues: []string{name, name + ".late"}, Store: store}
	}
	c, err := newCollector(Config{Interval: testInterval}, Deps{
		Brokers: []source.Broker{fake}, Stores: []Store{eventStore{namedStore{fake, "events"}}, namedStore{fake, "rows"}},
		Pipelines: []dedup.Pipeline{pipeline("orders", "events"), pipeline("emails", "rows"), pipeline("returns", "events"), pipeline("bare", "")},
		Live:      map[string]source.LiveReader{"main": silentReader{}}, Effects: []effect.Checker{doubleCheck{}},
	}, newFakeHistory())
	if err != nil {
		t.Fatal(err)
	}
	orders, emails, returns, bare := &c.pipelines[0].counted, &c.pipelines[1].counted, &c.pipelines[2].counted, &c.pipelines[3].counted
	if users := orders.Store.Users; orders.Store != returns.Store || len(users) != 2 || users[0] != orders || users[1] != returns || orders.Partner != "returns" || returns.Partner != "orders" {
		t.Errorf("orders and returns share a store: %v, partners %q and %q", users, orders.Partner, returns.Partner)
	}
	if orders.Store.Source == nil || emails.Store.Source != nil || !orders.Joined || emails.Joined || bare.Store != nil || bare.Joined {
		t.Errorf("who tells of events: %+v", []any{orders.Store.Source, emails.Store.Source, orders.Joined, emails.Joined, bare.Store, bare.Joined})
	}
	if orders.Doubled == nil || returns.Doubled != nil || orders.Interval != testInterval || orders.Traffic.Own == emails.Traffic.Own || orders.Traffic.Loss == nil {
		t.Errorf("orders is followed by %+v", orders)
	}
}

// TestAWindowIsSeenByWhatTheSourcesShow: what the broker lists of its queues, in their order, and what it counts.
func TestAWindowIsSeenByWhatTheSourcesShow(t *testing.T) {
	b := newBench(t, testInterval)
	p := b.pipelines[0]
	expiring := newQueue("orders", func(q *dedup.Queue) { q.Arguments = map[string]any{"x-message-ttl": 5000} })
	p.refs = append(p.refs, ref("gone"))
	p.broker.queues = map[dedup.QueueRef]*dedup.Queue{ref("orders"): &expiring}
	p.counts.Acks.Open, p.reported.present, p.dead.Found.Complete = true, true, true
	now := time.Now()
	seen := b.maker().see(p, view{now: now, brokerDown: "down", scheme: nackScheme})
	if len(seen.Queues) != 2 || seen.Queues[0] != &expiring || seen.Queues[1] != nil || !seen.Vanishing || !seen.CountsAcks || seen.CountsDeliveries || !seen.DeadKnown {
		t.Errorf("of the queues: %+v", seen)
	}
	if seen.Now != now || seen.BrokerDown != "down" || seen.Scheme.Preset != nackScheme.Preset || !seen.Reports.Known || !seen.Reports.Present || seen.Live.Down != "" {
		t.Errorf("of the sources: %+v", seen)
	}
	p.counted.Joined, p.live = true, source.NewLiveSource("main", silentReader{}, testInterval, testInterval/2, func() {})
	if seen := b.maker().see(p, view{now: now}); !strings.Contains(seen.Live.Down, "not been read") || seen.Live.Better == "" {
		t.Errorf("of live counts: %+v", seen.Live)
	}
}
