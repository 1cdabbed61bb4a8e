package collector

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestLittlesLaw(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	last := frame{Began: start.Add(5 * time.Minute), Ended: start.Add(5 * time.Minute), Deliveries: 3000, Acks: 3000, UnackedSum: 600, UnackedCount: 300, UnackedArea: 600, UnackedSpan: 300}
	tests := map[string]struct {
		change func(*frame)
		value  float64
		why    string
	}{
		"2 in flight at 10 a second wait 200 ms": {func(*frame) {}, 0.2, "includes prefetch wait"},
		"too few in flight":                      {func(f *frame) { f.UnackedSum, f.UnackedArea = 90, 90 }, 0, "too few in flight"},
		"no deliveries":                          {func(f *frame) { f.Deliveries = 0 }, 0, "no deliveries"},
		"automatic acks":                         {func(f *frame) { f.AutoAcks = 5 }, 0, "automatic acks"},
		"reset counters":                         {func(f *frame) { f.Gaps = 1 }, 0, "were reset in the window (until about 08:10 UTC)"},
		"sampled every five seconds":             {func(f *frame) { f.UnackedCount, f.UnackedSum = 60, 200 }, 0, "cannot be sampled each second"},
		"a loop":                                 {func(f *frame) { f.Acks, f.Redeliveries = 10, 2900 }, 0, "97 % of deliveries were redelivered, whose waiting would be counted in"},
		"one in twenty is returned":              {func(f *frame) { f.Redeliveries = 150 }, 0, "5 % of deliveries were redelivered"},
		"samples that vary as chance has it":     {func(f *frame) { f.UnackedNoise = 300 * 2 }, 0.2, "includes prefetch wait"},
		"samples that jump":                      {func(f *frame) { f.UnackedNoise = 2100 }, 0, "changed too fast for their samples, or the broker was too slow to tell them: the mean is only known within 15 %"},
		"a quarter of what a sample takes":       {func(f *frame) { f.UnackedTook = 300 * 0.02 }, 0.195, "includes prefetch wait"},
		"samples that take half of the wait":     {func(f *frame) { f.UnackedTook = 300 * 0.1 }, 0, "the mean is only known within 20 %"},
		"samples that take longer than the wait": {func(f *frame) { f.UnackedTook = 300 }, 0, "the mean is only known within 106 %"},
		"a stray redelivery is borne":            {func(f *frame) { f.Redeliveries = 149 }, 0.2, "includes prefetch wait"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			end := last
			tt.change(&end)
			f := little(littleSample{Window: 5 * time.Minute, Frames: reel{{Began: start, Ended: start}, end}})
			if f.Known() != (tt.value > 0) || math.Abs(f.Value-tt.value) > 1e-9 || !strings.Contains(f.Why, tt.why) {
				t.Errorf("got %+v, want %v because %q", f, tt.value, tt.why)
			}
			if f.Known() && (f.Quality != dedup.Estimated || f.Error <= 0) {
				t.Errorf("an estimate without a band: %+v", f)
			}
		})
	}
}

func TestLittlesLawNeedsASteadySystem(t *testing.T) {
	tests := map[string]struct {
		unacked [3]float64 // in each third of the window
		known   bool
	}{
		"steady":                            {[3]float64{4, 4, 4}, true},
		"a hump in the middle drains again": {[3]float64{4, 40, 4}, true},
		"twice as much is borne":            {[3]float64{4, 6, 8}, true},
		"a pile that an outage left":        {[3]float64{40, 20, 4}, false},
		"a pile that grows":                 {[3]float64{4, 20, 40}, false},
		"work that began late":              {[3]float64{0, 0, 40}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			at := time.Unix(1_800_000_000, 0)
			frames := reel{{Began: at, Ended: at}}
			for i := range 60 {
				next := frames[i]
				next.Began, next.Ended = at.Add(time.Duration(i+1)*15*time.Second), at.Add(time.Duration(i+1)*15*time.Second)
				next.Deliveries += 150
				next.Acks += 150
				next.UnackedSum += 15 * tt.unacked[i/20]
				next.UnackedCount += 15
				next.UnackedArea += 15 * tt.unacked[i/20]
				next.UnackedSpan += 15
				frames = append(frames, next)
			}
			f := little(littleSample{Window: 15 * time.Minute, Frames: frames})
			if f.Known() != tt.known || (!tt.known && !strings.Contains(f.Why, "not steady")) {
				t.Errorf("got %+v, want known %v", f, tt.known)
			}
		})
	}
}

// busyReel is a tape of 15 minutes, read every 15 s and sampled each second, with 150 deliveries and 4 messages held while frames
// [from, to) are taken, and nothing before and after.
func busyReel(from, to int) reel {
	at := time.Unix(1_800_000_000, 0)
	frames := reel{{Began: at, Ended: at}}
	for i := range 60 {
		next := frames[i]
		next.Began, next.Ended = at.Add(time.Duration(i+1)*15*time.Second), at.Add(time.Duration(i+1)*15*time.Second)
		next.UnackedCount += 15
		next.UnackedSpan += 15
		if i >= from && i < to {
			next.Deliveries += 150
			next.UnackedSum += 15 * 4
			next.UnackedArea += 15 * 4
		}
		frames = append(frames, next)
	}
	return frames
}

func TestLittlesLawHoldsForAStretchBetweenTwoRests(t *testing.T) {
	tests := map[string]struct {
		from, to int
		change   func(reel)
		known    bool
	}{
		"late in the window":              {45, 58, nil, true},
		"early in the window":             {2, 15, nil, true},
		"up to the last reading":          {45, 60, nil, false},
		"from the first reading on":       {0, 15, nil, false},
		"a delivery is counted late":      {45, 59, func(r reel) { r[60].Deliveries++ }, false},
		"a message is still held":         {45, 59, func(r reel) { r[60].UnackedSum++ }, false},
		"nobody looked after the traffic": {45, 59, func(r reel) { r[60].UnackedCount = r[59].UnackedCount }, false},
		"nobody looked often enough":      {45, 59, func(r reel) { r[60].UnackedCount = r[59].UnackedCount + 1 }, false},
		"the rest is as short as counters are late": {45, 59, func(r reel) {
			r[59].Began = r[60].Began.Add(-8 * time.Second)
			r[59].Ended = r[59].Began
		}, false},
		"deliveries of before were counted late":   {45, 58, func(r reel) { r[0].Deliveries -= 5 }, false},
		"something was held when the window began": {45, 58, func(r reel) { r[0].UnackedSum -= 3 }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			frames := busyReel(tt.from, tt.to)
			if tt.change != nil {
				tt.change(frames)
			}
			f := little(littleSample{Window: 15 * time.Minute, Frames: frames})
			if f.Known() != tt.known || (!tt.known && !strings.Contains(f.Why, "not steady")) {
				t.Fatalf("got %+v, want known %v", f, tt.known)
			}
			if want := 4.0 / 10; tt.known && math.Abs(f.Value-want) > 1e-9 {
				t.Errorf("4 held at 10 a second wait %v s, got %+v", want, f)
			}
		})
	}
}

// The end of a window that began at rest lacks the deliveries that the broker has not counted yet.
func TestLittlesLawWaitsUntilLateCountersWeighLittle(t *testing.T) {
	for _, tt := range []struct {
		seconds int // of traffic before the end of the window
		known   bool
	}{{45, false}, {600, true}} {
		frames := busyReel(60-tt.seconds/15, 60)[60-tt.seconds/15-1:]
		f := little(littleSample{Window: 15 * time.Minute, Frames: frames})
		if f.Known() != tt.known || !tt.known && !strings.Contains(f.Why, "only known within") {
			t.Errorf("%d s of traffic: got %+v, want known %v", tt.seconds, f, tt.known)
		}
	}
}

func TestUnackedMessagesCountAsLongAsTheyWereHeld(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	var o occupied
	for _, s := range []struct{ second, unacked float64 }{{0, 2}, {1, 2}, {2, 2}, {6, 102}, {7, 2}} { // the broker did not answer for 4 s
		o = o.take(s.unacked, at.Add(time.Duration(s.second)*time.Second), 20*time.Millisecond)
	}
	if o.count != 5 || o.sum != 110 || o.span != 7 || o.area != 2+2+4*52+52 || o.noise != 16*10_000/2+10_000/2 || math.Abs(o.took-0.1) > 1e-9 {
		t.Errorf("got %+v", o)
	}
}

// TestLittlesLawDrawsNoLineOverAnOutage: 200 messages are held for 2 s each before the totals cannot be read for five minutes, in
// which the broker counts 1,000 deliveries more. A line from one empty sample to the next would call that 0.33 s.
func TestLittlesLawDrawsNoLineOverAnOutage(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	for name, tt := range map[string]struct {
		unheard [2]int // seconds within which nobody samples
		known   bool
	}{
		"each second is sampled":             {[2]int{}, true},
		"a sample or two are missed":         {[2]int{400, 405}, true},
		"five minutes are missed":            {[2]int{400, 700}, false},
		"as much as the gap that is refused": {[2]int{400, 412}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var o occupied
			var f frame
			var frames reel
			for second := range 901 {
				at := start.Add(time.Duration(second) * time.Second)
				held := 0.0
				if second >= 100 && second < 200 || second >= 450 && second < 650 {
					held = 4
					f.Deliveries += 2
				}
				if second <= tt.unheard[0] || second >= tt.unheard[1] {
					o = o.take(held, at, 0)
				}
				if second%15 == 0 {
					f.Began, f.Ended = at, at
					f.UnackedSum, f.UnackedCount = o.sum, o.count
					f.UnackedArea, f.UnackedSpan, f.UnackedNoise = o.area, o.span, o.noise
					frames = append(frames, f)
				}
			}
			got := little(littleSample{Window: 15 * time.Minute, Frames: frames})
			if got.Known() != tt.known || tt.known && math.Abs(got.Value-2) > got.Error || !tt.known && !strings.Contains(got.Why, "could not be sampled for ") {
				t.Errorf("got %+v, want known %v", got, tt.known)
			}
		})
	}
}

// TestAHumpThatWasTakenBackIsNoLatency: in one part of the window much was held, as while a store was down, and came back.
func TestAHumpThatWasTakenBackIsNoLatency(t *testing.T) {
	for name, tt := range map[string]struct {
		hump, again float64
		known       bool
	}{
		"nothing stood out":                      {4, 5, true},
		"all of it was acked in the end":         {60, 0, true},
		"some of it was redelivered":             {60, 5, false},
		"a small one cannot change the mean far": {12, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			at := time.Unix(1_800_000_000, 0)
			frames := reel{{Began: at, Ended: at}}
			for i := range 60 {
				next := frames[i]
				next.Began, next.Ended = at.Add(time.Duration(i+1)*15*time.Second), at.Add(time.Duration(i+1)*15*time.Second)
				held := 4.0
				if i >= 28 && i < 33 {
					held = tt.hump
				}
				if i == 32 {
					next.Redeliveries += tt.again
				}
				next.Deliveries += 150
				next.Acks += 150
				next.UnackedSum += 15 * held
				next.UnackedCount += 15
				next.UnackedArea += 15 * held
				next.UnackedSpan += 15
				frames = append(frames, next)
			}
			f := little(littleSample{Window: 15 * time.Minute, Frames: frames})
			if f.Known() != tt.known || (!tt.known && !strings.Contains(f.Why, "redelivered instead of acked")) {
				t.Errorf("got %+v, want known %v", f, tt.known)
			}
		})
	}
}
