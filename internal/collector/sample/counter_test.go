package sample

import (
	"testing"

	"pgregory.net/rapid"
)

func count(n int64) *int64 { return &n }

func TestCounter(t *testing.T) {
	const absent = -1
	tests := map[string]struct {
		readings []int64
		want     []int64
		dropped  []bool
	}{
		"the first value is only a baseline":                   {[]int64{100, 103}, []int64{0, 3}, []bool{false, false}},
		"a counter that was seen absent is born at zero":       {[]int64{absent, 150}, []int64{0, 150}, []bool{false, false}},
		"a decrease drops its interval and the next":           {[]int64{10, 4, 900, 905}, []int64{0, 0, 0, 5}, []bool{false, true, true, false}},
		"a jump right after a reset is the old total returned": {[]int64{10, 0, 10, 12}, []int64{0, 0, 0, 2}, []bool{false, true, true, false}},
		"a counter that vanished returns as a baseline":        {[]int64{10, absent, 7, 9}, []int64{0, 0, 0, 2}, []bool{false, true, true, false}},
		"a negative value is not believed":                     {[]int64{10, -5, 12, 13}, []int64{0, 0, 0, 1}, []bool{false, true, true, false}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var c Counter
			for i, v := range tt.readings {
				raw := count(v)
				if v == absent {
					raw = nil
				}
				if got := c.Observe(raw); got.Delta != tt.want[i] || got.Dropped != tt.dropped[i] {
					t.Errorf("reading %d (%d): got %+v, want delta %d, dropped %v", i, v, got, tt.want[i], tt.dropped[i])
				}
			}
		})
	}
}

func TestAnotherNodesOlderCacheIsNoReset(t *testing.T) {
	var c Counter
	c.Observe(count(10))
	if got := c.ObserveFrom(count(8), AnotherNode); got != (Step{}) {
		t.Errorf("a step back on another node: got %+v, want nothing", got)
	}
	if got := c.Observe(count(12)); got.Delta != 2 || got.Dropped {
		t.Errorf("after it: got %+v, want 2", got)
	}
}

func TestACounterIsANewBaselineWhereANodeCameBack(t *testing.T) {
	never := Counter{}
	never.Observe(nil)
	if got := never.ObserveFrom(nil, Rejoined); got != (Step{}) || never.State != Absent {
		t.Errorf("a counter that no node has: %+v, %v", got, never.State)
	}
	if got := never.ObserveFrom(count(7), Rejoined); got != (Step{Dropped: true}) {
		t.Errorf("one that came with the node is not born: %+v", got)
	}
	if got := never.ObserveFrom(count(9), SameNodes); got != (Step{Delta: 2}) {
		t.Errorf("after it: %+v", got)
	}
}

// The counter of a cluster is simulated: its nodes go, and come back with what they counted or restarted, which the list of nodes tells for some
// readings; and one of them may be missing from a single reading at any time. Whatever happens, the increments never exceed what truly happened.
func TestNodesThatComeBackInventNoEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Counter
		var truth, counted int64
		counts, away, joining, missing := [3]int64{}, [3]bool{}, 0, -1
		for i := range counts {
			counts[i] = rapid.Int64Range(0, 1000).Draw(t, "counted before")
		}
		read := func(by Witness) {
			var sum int64
			for i := range counts {
				if !away[i] {
					sum += counts[i]
				}
			}
			reading := &sum
			if sum == 0 {
				reading = nil
			}
			counted += c.ObserveFrom(reading, by).Delta
		}
		read(SameNodes)
		for range rapid.IntRange(1, 40).Draw(t, "readings") {
			i := rapid.IntRange(0, 2).Draw(t, "node")
			n := rapid.Int64Range(0, 50).Draw(t, "events")
			counts[i], truth = counts[i]+n, truth+n // also at a node that is cut off
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				away[i] = true
			case 1:
				if away[i] {
					away[i], joining = false, rapid.IntRange(2, 3).Draw(t, "readings that are told of it")
				}
			case 2:
				if away[i] {
					away[i], counts[i], joining = false, 0, 3
				}
			}
			before := missing
			if missing = rapid.IntRange(0, 5).Draw(t, "missing from this reading alone"); missing > 2 || away[missing] || before >= 0 {
				missing = -1
			} else {
				away[missing] = true
			}
			by := SameNodes
			if joining--; joining >= 0 {
				by = Rejoined
			}
			read(by)
			if missing >= 0 {
				away[missing] = false
			}
		}
		if counted > truth {
			t.Errorf("%d events happened, %d were counted", truth, counted)
		}
	})
}

// A source's counter is simulated with restarts, absences and old totals that come back in one step. Whatever happens,
// the increments never exceed what truly happened, and where nothing was dropped they are exactly that.
func TestCounterNeverInventsEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Counter
		var truth, counted, raw, old int64
		exists, dropped := rapid.Bool().Draw(t, "exists"), false
		if exists {
			raw = rapid.Int64Range(0, 1000).Draw(t, "value before")
		}
		read := func() {
			var reading *int64
			if exists {
				reading = &raw
			}
			st := c.Observe(reading)
			counted += st.Delta
			dropped = dropped || st.Dropped
		}
		happen := func() {
			if n := rapid.Int64Range(0, 50).Draw(t, "events"); n > 0 {
				exists = true
				raw += n
				truth += n
			}
		}
		read()
		for range rapid.IntRange(1, 40).Draw(t, "readings") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0: // a restart that the next reading sees, after which the old total may come back at once
				if raw > 0 {
					old, raw = raw, 0
					read()
					if rapid.Bool().Draw(t, "comes back") {
						raw += old
					}
				}
			case 1:
				exists, raw = false, 0
			default:
				happen()
			}
			read()
		}
		if counted > truth {
			t.Fatalf("counted %d, but only %d events happened", counted, truth)
		}
		if !dropped && counted != truth {
			t.Fatalf("counted %d of %d events though nothing was dropped", counted, truth)
		}
	})
}

func FuzzCounter(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0, 255, 7})
	f.Fuzz(func(t *testing.T, readings []byte) {
		var c Counter
		var sum, rises, last int64
		for i, b := range readings {
			var raw *int64
			if b != 255 {
				raw = count(int64(b))
			}
			st := c.Observe(raw)
			if st.Delta < 0 {
				t.Fatalf("reading %d: negative increment %d", i, st.Delta)
			}
			sum += st.Delta
			if b == 255 {
				last = 0
			} else {
				rises += max(0, int64(b)-last)
				last = int64(b)
			}
		}
		if sum > rises {
			t.Fatalf("counted %d, but the readings rose by %d only", sum, rises)
		}
	})
}
