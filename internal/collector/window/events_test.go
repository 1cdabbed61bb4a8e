package window

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestEachRefusalOfStoreEventsIsShown provokes the refusals that come before any arithmetic and reads them off the snapshot.
func TestEachRefusalOfStoreEventsIsShown(t *testing.T) {
	tests := map[string]struct {
		events *dedup.StoreEvents
		kind   string
		why    string
	}{
		"events are off":          {nil, "redis-string", "store events are off"},
		"events that do not come": {&dedup.StoreEvents{Why: "no event came although SETNX was called"}, "redis-string", "store events do not come; no event came although SETNX was called"},
		"a table":                 {nil, "sql-table", "only Redis strings give store events"},
		"events that just began":  {&dedup.StoreEvents{Listening: true, At: time.Now(), Epoch: 1, Command: "SETNX"}, "redis-string", "read only once"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Pipeline{Store: &Store{}, Interval: 15 * time.Second, Traffic: Traffic{Loss: &sample.LossMeter{}}}
			asked := int64(5)
			if tt.events != nil {
				tt.events.Asked = &asked
				p.Store.Events.Add(tt.events)
			}
			p.Traffic.Frames = []sample.Frame{{}, {}}
			v := View{CountsAcks: true, Now: time.Now(), Scheme: dedup.Scheme{Kind: tt.kind, Mark: "before", OnInFlight: "nack", OnFail: "delete"}, Stats: dedup.StoreStats{Events: tt.events}}
			p.Partner = ""
			c := counts{p, v, &Gains{Window: 15 * time.Minute}}
			r := c.events()
			if r.Rate.Known() || !strings.Contains(r.Rate.Why, tt.why) {
				t.Errorf("got %+v, want %q", r.Rate, tt.why)
			}
			p.Partner = "emails"
			if shared := c.events(); tt.kind == "redis-string" && tt.events != nil && tt.events.Listening && !strings.Contains(shared.Rate.Why, "the store is shared with pipeline emails") {
				t.Errorf("of a shared store: %+v", shared.Rate)
			}
		})
	}
}
