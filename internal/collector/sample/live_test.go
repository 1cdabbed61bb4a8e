package sample

import (
	"testing"
	"time"
)

func TestLiveCountsTellOfTheirOwnTimeAlone(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	second := func(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
	var frames Frames
	for i := range 21 {
		frames = append(frames, Frame{Began: second(15 * i)})
	}
	readings := func(from, to, anew int) Live {
		var t Live
		for i := from; i <= to; i++ {
			r := LiveReading{At: second(i), Since: began}
			if i >= anew {
				r.Since = second(anew)
			}
			t.Readings = append(t.Readings, r)
		}
		return t
	}
	for name, c := range map[string]struct {
		all  Live
		want int
	}{
		"all the way":               {readings(0, 300, 999), 21},
		"from shortly after on":     {readings(3, 300, 999), 20},
		"the second half":           {readings(150, 300, 999), 0},
		"up to just before the end": {readings(0, 298, 999), 21},
		"they ended":                {readings(0, 240, 999), 0},
		"counted anew at once":      {readings(0, 300, 20), 19},
		"counted anew half way":     {readings(0, 300, 150), 0},
		"none":                      {Live{}, 0},
		"one":                       {readings(300, 300, 999), 0},
	} {
		if got := c.all.Within(frames, second(0)); len(got) != c.want {
			t.Errorf("%s: %d frames, want %d", name, len(got), c.want)
		} else if c.want > 0 {
			held := LiveFrames{got, &c.all}
			held.Moment(0)
			held.Moment(len(got) - 1)
		}
	}
}

// TestAMomentBetweenTwoCountsMayLieBeforeOrAfterWhatTheyCounted: a burst in that second was all before it, or all after it.
func TestAMomentBetweenTwoCountsMayLieBeforeOrAfterWhatTheyCounted(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	var all Live
	for i, n := range []float64{100, 140, 140} {
		all.Readings = append(all.Readings, LiveReading{At: began.Add(time.Duration(i) * time.Second), Acked: LiveSum{Count: n}, Delivered: LiveSum{Count: n}})
	}
	for after, want := range map[time.Duration][3]float64{0: {100, 0, 40}, 250 * time.Millisecond: {110, 10, 30}, 1500 * time.Millisecond: {140, 0, 0}, 2 * time.Second: {140, 0, 0}} {
		_, acked, less, more := all.counted(began.Add(after))
		if got := [3]float64{acked.Count, less, more}; got != want {
			t.Errorf("after %s: %v, want %v", after, got, want)
		}
	}
}

func TestLiveCountsBoundWhatTheBrokerDidBetweenTwoTimes(t *testing.T) {
	var all Live
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	for s := range 10 {
		n := float64(100 * s)
		all.Readings = append(all.Readings, LiveReading{At: at(s), Acked: LiveSum{Count: n}, Delivered: LiveSum{Count: n + 10}, Redelivered: float64(s)})
	}
	g, ok := all.Between(at(2).Add(time.Millisecond), at(7).Add(time.Millisecond))
	if !ok || !g.Live || g.Acked != [2]float64{458, 542} || g.Delivered != [2]float64{458, 542} || g.Redelivered != 6 {
		t.Errorf("%v, %+v", ok, g)
	}
	if _, ok := all.Between(at(2), at(11)); ok {
		t.Error("a time that nobody has read after is bounded")
	}
	all.Readings[5].Since = at(5)
	all.Readings[9].Since = at(5)
	if _, ok := all.Between(at(2), at(8).Add(time.Millisecond)); ok {
		t.Error("counts that began anew are compared")
	}
}

// TestTrafficThatBeginsBetweenTwoReadingsIsBounded: the pace of a second says nothing of its halves where it is another than that of its neighbours.
func TestTrafficThatBeginsBetweenTwoReadingsIsBounded(t *testing.T) {
	for _, begun := range []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond, 900 * time.Millisecond} {
		var all Live
		start := time.Unix(1010, 0).Add(begun)
		count := func(at time.Time) float64 { return 400 * max(0, at.Sub(start).Seconds()) }
		for s := range 30 {
			at := time.Unix(1000+int64(s), 0)
			all.Readings = append(all.Readings, LiveReading{At: at, Acked: LiveSum{Count: count(at)}, Delivered: LiveSum{Count: count(at)}})
		}
		for from := time.Unix(1009, 0); from.Before(time.Unix(1012, 0)); from = from.Add(170 * time.Millisecond) {
			to := time.Unix(1025, 3e8)
			g, ok := all.Between(from, to)
			if truth := count(to) - count(from); !ok || g.Delivered[0] > truth+1e-6 || g.Delivered[1] < truth-1e-6 || g.Acked[0] > truth+1e-6 || g.Acked[1] < truth-1e-6 {
				t.Errorf("begun after %s, from %s: %+v does not hold %v", begun, from.Format("05.000"), g, truth)
			}
		}
	}
}

func TestASecondBeforeABurstIsNotTakenForCalm(t *testing.T) {
	var all Live
	for s, n := range []float64{0, 0, 0, 400, 400, 400} {
		sum := LiveSum{Count: n}
		all.Readings = append(all.Readings, LiveReading{At: time.Unix(1000+int64(s), 0), Acked: sum, Delivered: sum})
	}
	if got := all.Uneven(time.Unix(1001, 5e8)); got < 400 {
		t.Errorf("counts may be off by %v, and 400 came in the next second", got)
	}
	if got := all.Piled(time.Unix(1003, 0), 15*time.Second); got != 0 {
		t.Errorf("%v piled up, and all were acked", got)
	}
	all.Readings[3].Acked.Count = 350
	if got := all.Piled(time.Unix(1002, 9e8), 15*time.Second); got != 50 {
		t.Errorf("%v piled up, and 50 were delivered and not acked", got)
	}
}
