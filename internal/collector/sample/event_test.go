package sample

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestAStoreTapeKeepsADayInBoundedMemory(t *testing.T) {
	var all Events
	start := time.Unix(1_800_000_000, 0)
	most := 0
	var work dedup.Sketch
	for i := range 26 * 3600 {
		if i%3 == 0 {
			work.Add(time.Duration(i%200) * time.Millisecond)
		}
		all.Add(&dedup.StoreEvents{At: start.Add(time.Duration(i) * time.Second), Listening: true, Epoch: 1, Since: start, Claims: int64(i), Work: work})
		most = max(most, len(all.Readings))
	}
	first, last := all.Readings[0], all.Readings[len(all.Readings)-1]
	if most > eventsMost || last.At.Sub(first.At) < 24*time.Hour {
		t.Errorf("%d readings over %s, want at most %d over a day", most, last.At.Sub(first.At), eventsMost)
	}
	for i := range all.Readings[1:] {
		if step := all.Readings[i+1].At.Sub(all.Readings[i].At); step > 2*OldStep {
			t.Fatalf("nothing is kept for %s before %s", step, all.Readings[i+1].At)
		}
	}
}

func TestAStoreTapeTakesWhatASubscriptionThatStandsTells(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	at := func(seconds int, epoch int64, listening bool) *dedup.StoreEvents {
		return &dedup.StoreEvents{At: start.Add(time.Duration(seconds) * time.Second), Epoch: epoch, Since: start.Add(time.Duration(seconds) * time.Second),
			Listening: listening, Failures: 7, Cleared: 2}
	}
	tests := map[string]struct {
		events []*dedup.StoreEvents
		kept   int
		broke  int // seconds; negative: never
	}{
		"two readings":                       {[]*dedup.StoreEvents{at(0, 1, true), at(5, 1, true)}, 2, -1},
		"the same reading again":             {[]*dedup.StoreEvents{at(0, 1, true), at(0, 1, true)}, 1, -1},
		"events that are off":                {[]*dedup.StoreEvents{nil, nil}, 0, -1},
		"a subscription that does not stand": {[]*dedup.StoreEvents{at(0, 1, true), at(5, 1, false)}, 1, -1},
		"a new epoch":                        {[]*dedup.StoreEvents{at(0, 1, true), at(5, 2, true), at(10, 2, true)}, 2, 5},
		"a clock that was set back":          {[]*dedup.StoreEvents{at(50, 1, true), at(5, 1, true)}, 1, -1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var all Events
			for _, e := range tt.events {
				all.Add(e)
			}
			broke := -1
			if !all.Broke.IsZero() {
				broke = int(all.Broke.Sub(start).Seconds())
			}
			if got := all.Epoch(); len(got) != tt.kept || broke != tt.broke {
				t.Errorf("%d readings, broken at %d; want %d and %d", len(got), broke, tt.kept, tt.broke)
			}
			for _, r := range all.Epoch() {
				if r.Failures != 5 {
					t.Errorf("%v failures, want the 7 without our 2 clears", r.Failures)
				}
			}
		})
	}
}

func TestWorkDoneAgainIsThatOfTheLastDay(t *testing.T) {
	for name, tt := range map[string]struct {
		anew []float64 // a reading each 6 h
		want float64
	}{
		"of the last day":  {[]float64{0, 0, 377}, 377},
		"none":             {[]float64{0, 0, 0}, 0},
		"older than a day": {[]float64{0, 5, 5, 5, 5, 5, 5}, 0},
		"no events came":   {nil, 0},
	} {
		var all Events
		for i, n := range tt.anew {
			all.Readings = append(all.Readings, EventReading{At: time.Unix(0, 0).Add(time.Duration(i) * 6 * time.Hour), Epoch: 1, Anew: n})
		}
		if got := all.Anew(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
