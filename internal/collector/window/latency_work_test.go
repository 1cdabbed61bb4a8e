package window

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/dedup"
)

func TestProcessingTimesInASharedStoreAreNobodysAlone(t *testing.T) {
	events := func(second int, work time.Duration) *dedup.StoreEvents {
		e := &dedup.StoreEvents{At: time.Unix(1_800_000_000+int64(second), 0), Listening: true, Epoch: 1, Since: time.Unix(1_800_000_000, 0)}
		e.Work.Add(20 * time.Millisecond)
		if work > 0 {
			e.Work.Add(work)
		}
		return e
	}
	p := &Pipeline{Store: &Store{}}
	p.Store.Events.Add(events(0, 0))
	p.Store.Events.Add(events(60, 30*time.Millisecond))
	v := View{Stats: dedup.StoreStats{Events: events(60, 30*time.Millisecond)}, Scheme: dedup.Scheme{Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete"}}
	without := figure.UnknownLatency(time.Hour, "consumers report no latencies")
	if got := p.latency(v).work(time.Hour, without); !got.Mean.Known() {
		t.Fatalf("a store of its own: %+v", got.Mean)
	}
	p.Partner = "invoices"
	if got := p.latency(v).work(time.Hour, without); got.Mean.Known() || got.P95.Known() || !strings.Contains(got.Mean.Why, "shared with pipeline invoices") {
		t.Errorf("a shared store: %+v", got.Mean)
	}
}
