package queue

import (
	"testing"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestWhatQueuesTookInIsCountedWhereAllTell(t *testing.T) {
	type reading [2]*int64
	at := func(a, b int64) reading { return reading{&a, &b} }
	five := int64(5)
	tests := map[string]struct {
		readings       []reading
		entered, gaps  float64
		known, untaken bool
	}{
		"the first reading is the baseline":              {[]reading{at(7, 3)}, 0, 0, true, false},
		"both go on":                                     {[]reading{at(7, 3), at(9, 3), at(9, 8)}, 7, 0, true, false},
		"both are empty":                                 {[]reading{at(0, 0), at(0, 0)}, 0, 0, true, true},
		"young queues do not tell yet":                   {[]reading{{}, {}}, 0, 0, false, true},
		"young queues begin to tell":                     {[]reading{{}, at(4, 5)}, 9, 0, true, false},
		"one never tells, as a quorum queue":             {[]reading{{&five}, {&five}}, 0, 0, false, false},
		"a queue that was started again counts anew":     {[]reading{at(7, 3), at(2, 3), at(2, 4)}, 1, 2, true, false},
		"what a queue took in while it did not tell":     {[]reading{at(5, 3), {nil, &five}, at(8, 5)}, 2, 2, true, false},
		"what the other took in meanwhile is not forgot": {[]reading{at(5, 3), {&five}}, 0, 1, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			refs := []dedup.QueueRef{{Vhost: "/", Name: "a"}, {Vhost: "/", Name: "b"}}
			c := Counts{raw: map[dedup.QueueRef]*counters{refs[0]: {}, refs[1]: {}}}
			var f sample.Frame
			for _, r := range tt.readings {
				f = sample.Frame{EnteredKnown: true, Unentered: true}
				for i, ref := range refs {
					c.takeEntered(&f, ref, Reading{Queues: map[dedup.QueueRef]*dedup.Queue{ref: {QueueRef: ref, Entered: r[i]}}})
				}
			}
			if c.entered != tt.entered || c.enteredGaps != tt.gaps || f.EnteredKnown != tt.known || f.Unentered != tt.untaken {
				t.Errorf("took in %v with %v gaps, known %v, none %v; want %v, %v, %v, %v",
					c.entered, c.enteredGaps, f.EnteredKnown, f.Unentered, tt.entered, tt.gaps, tt.known, tt.untaken)
			}
		})
	}
}

// TestAnIdleQueueThatIsDeclaredAgainSpoilsNoOtherCount: it has no counters of events, and took in nothing.
func TestAnIdleQueueThatIsDeclaredAgainSpoilsNoOtherCount(t *testing.T) {
	q := dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: "idle"}, Node: "n1", Entered: new(int64)}
	elsewhere := q
	elsewhere.Node = "n2"
	var c enteredCounter
	gaps := 0
	counts := NewCounts("idle", []dedup.QueueRef{q.QueueRef}, counter.NewBook())
	for _, listed := range []*dedup.Queue{&q, &q, nil, &q, &elsewhere} {
		queues := make(map[dedup.QueueRef]*dedup.Queue)
		if listed != nil {
			queues[q.QueueRef] = listed
		}
		if counts.count(q.QueueRef, Reading{Queues: queues, Complete: true, Counting: true}) {
			t.Errorf("the broker's counters were reset by %+v", listed)
		}
		if st, _ := c.take(listed, true); st.Dropped {
			gaps++
		}
	}
	if gaps != 3 {
		t.Errorf("%d gaps, want 3: it went, came and moved", gaps)
	}
}
