package deadletter

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

func TestTheOldestDeadLetterIsAsOldAsItIsKnownToBe(t *testing.T) {
	at := func(minute int) time.Time { return now.Add(time.Duration(minute) * time.Minute) }
	type look struct {
		minute  int
		depth   int64
		settled float64
	}
	tests := map[string]struct {
		looks []look
		since time.Time
	}{
		"an empty queue has none":                   {[]look{{0, 0, 0}, {1, 0, 0}}, time.Time{}},
		"since it was first seen":                   {[]look{{0, 0, 0}, {1, 2, 0}, {9, 5, 0}}, at(1)},
		"anew once it was empty":                    {[]look{{0, 3, 0}, {1, 0, 0}, {2, 1, 0}, {3, 1, 0}}, at(2)},
		"anew when something left":                  {[]look{{0, 3, 0}, {1, 2, 0}, {2, 2, 0}}, at(1)},
		"anew when as many came as were settled":    {[]look{{0, 3, 0}, {1, 3, 1}, {2, 3, 1}}, at(1)},
		"anew after the clock was set back":         {[]look{{5, 3, 0}, {1, 3, 0}}, at(1)},
		"arrivals behind it do not make it younger": {[]look{{0, 1, 0}, {60, 100, 0}}, at(0)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var h head
			for _, l := range tt.looks {
				h.observe(l.depth, l.settled, at(l.minute))
			}
			if !h.since.Equal(tt.since) {
				t.Errorf("since %v, want %v", h.since, tt.since)
			}
		})
	}
}

func TestTheAgeOfDeadLettersHeedsBelievableTimestampsAlone(t *testing.T) {
	tests := map[string]struct {
		stamp *time.Time
		depth int64
		known bool
		age   time.Duration
	}{
		"two days":          {stamp(-48 * time.Hour), 1, true, 48 * time.Hour},
		"in the future":     {stamp(time.Hour), 1, false, 0},
		"milliseconds":      {stamp(-50 * 365 * 24 * time.Hour), 1, false, 0},
		"none":              {nil, 1, false, 0},
		"of an empty queue": {stamp(-48 * time.Hour), 0, false, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: "a.dead"}, HeadTimestamp: tt.stamp, Messages: &tt.depth}
			w := Watch{Targets: []topology.Target{{QueueRef: q.QueueRef}}}
			if got := w.Oldest(Broker{Queues: map[dedup.QueueRef]*dedup.Queue{q.QueueRef: &q}}, now); got.Known != tt.known || got.Age != tt.age {
				t.Errorf("got %+v, want %v %s", got, tt.known, tt.age)
			}
		})
	}
}

// now is the time of the tests.
var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func stamp(d time.Duration) *time.Time {
	at := now.Add(d)
	return &at
}
