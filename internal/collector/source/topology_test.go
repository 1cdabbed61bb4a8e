package source

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestATopologyThatCannotBeReadIsNotAskedForAtEachReading(t *testing.T) {
	for err, want := range map[string]int{"": 1, "no answer within 10s": 0} {
		b := &BrokerReader{wanted: make(chan struct{}, 1), Samples: &Source{Interval: 15 * time.Second}}
		b.Topology.Set(TopologyReading{Topology: dedup.Topology{At: morning}, Err: err})
		if b.WantNews(morning.Add(100 * time.Second)); len(b.wanted) != want {
			t.Errorf("after %q it was asked for %d times, want %d", err, len(b.wanted), want)
		}
	}
}
