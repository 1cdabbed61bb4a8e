package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A reel is a tape for tests.
type reel []Moment

func (r reel) Len() int            { return len(r) }
func (r reel) Moment(i int) Moment { return r[i] }

var noon = time.Unix(1_800_000_000, 0)

// held keeps so many messages unacked for the next 15 s, sampled each second, and ends with a moment.
func (r reel) held(unacked, deliveries float64) reel {
	m := Moment{At: noon}
	if len(r) == 0 {
		m.Held = m.Held.Take(unacked, noon, 0)
		r = append(r, m)
	}
	m = r[len(r)-1]
	for range 15 {
		m.At = m.At.Add(time.Second)
		m.Held = m.Held.Take(unacked, m.At, 0)
	}
	m.Deliveries += deliveries
	m.Acks += deliveries
	return append(r, m)
}

// numberOf is the mean of a window where it is a number: a bound alone is none. Consumers are full at all times, and each acks one after the other.
func numberOf(r reel, window time.Duration) dedup.Figure {
	f, _ := meanAnd95(Latency{Window: window, Tape: r, Capacity: 0.1, AllAck: true, Single: true})
	if f.AtMost() {
		f.Quality = dedup.QualityUnknown
	}
	return f
}

// steady is a tape of five minutes with so many messages held at all times, at 10 deliveries each second.
func steady(unacked float64) reel {
	var r reel
	for range 20 {
		r = r.held(unacked, 150)
	}
	return r
}

func TestLittlesLaw(t *testing.T) {
	tests := map[string]struct {
		unacked float64
		change  func(*Moment)
		value   float64
		why     string
	}{
		"2 in flight at 10 a second wait 200 ms": {2, func(*Moment) {}, 0.2, "includes prefetch wait"},
		"a band as wide as is shown":             {0.5, func(*Moment) {}, 0.05, "includes prefetch wait"},
		"too few in flight":                      {0.4, func(*Moment) {}, 0, "at most: too few in flight"},
		"no deliveries":                          {0, func(m *Moment) { m.Deliveries, m.Acks = 0, 0 }, 0, "no delivery for 5 m"},
		"a message that nobody acks":             {1, func(m *Moment) { m.Deliveries, m.Acks = 0, 0 }, 0, "held for 5 m"},
		"automatic acks alone":                   {0, func(m *Moment) { m.Deliveries, m.Acks, m.AutoAcks = 0, 0, 5 }, 0, "automatic acks"},
		"some automatic acks beside":             {2, func(m *Moment) { m.AutoAcks = 5 }, 0.2, "includes prefetch wait"},
		"a loop":                                 {2, func(m *Moment) { m.Acks, m.Redeliveries = 10, 2900 }, 0, "97 % of deliveries were redelivered, whose waiting would be counted in"},
		"one in twenty is returned":              {2, func(m *Moment) { m.Redeliveries = 150 }, 0, "5 % of deliveries were redelivered"},
		"a stray redelivery is borne":            {2, func(m *Moment) { m.Redeliveries = 149 }, 0.2, "includes prefetch wait"},
		"samples that vary as chance has it":     {2, func(m *Moment) { m.Held.Noise = 300 * 2 }, 0.2, "includes prefetch wait"},
		"samples that jump":                      {2, func(m *Moment) { m.Held.Noise = 4500 }, 0, "it is only known within 3"},
		"a quarter of what a sample takes":       {2, func(m *Moment) { m.Held.Took = 301 * 0.02 }, 0.195, "includes prefetch wait"},
		"samples that take longer than the wait": {2, func(m *Moment) { m.Held.Took = 300 }, 0, "held too unevenly"},
		"nobody samples":                         {2, func(m *Moment) { m.Held = Held{} }, 0, "samples of the unacked messages are missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := steady(tt.unacked)
			last := r[len(r)-1]
			tt.change(&last)
			if last.Deliveries == 0 || last.Held.At.IsZero() { // all the way, not at the end alone
				for i := range r {
					if last.Held.At.IsZero() {
						r[i].Held = Held{}
					} else {
						r[i].Deliveries, r[i].Acks = 0, 0
					}
				}
			}
			r[len(r)-1] = last
			f := numberOf(r, 5*time.Minute)
			if f.Known() != (tt.value > 0) || math.Abs(f.Value-tt.value) > 1e-4 || !strings.Contains(f.Why, tt.why) {
				t.Errorf("got %+v, want %v because %q", f, tt.value, tt.why)
			}
			if f.Known() && (f.Quality != dedup.Estimated || f.Low >= f.Value || f.High <= f.Value || math.Abs(f.Error-(f.High-f.Low)/2) > 1e-9 || f.Value-f.Low <= f.High-f.Value) {
				t.Errorf("an estimate without a band, or with one that reaches no lower than high: %+v", f)
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
			var r reel
			for i := range 60 {
				r = r.held(tt.unacked[i/20], 150)
			}
			f := numberOf(r, 15*time.Minute)
			if f.Known() != tt.known || (!tt.known && !strings.Contains(f.Why, "not steady")) {
				t.Errorf("got %+v, want known %v", f, tt.known)
			}
		})
	}
}

// busy is a tape of 15 minutes, read every 15 s, with 150 deliveries and 4 messages held while steps [from, to) are taken, and nothing
// before and after.
func busy(from, to int) reel {
	var r reel
	for i := range 60 {
		if i >= from && i < to {
			r = r.held(4, 150)
		} else {
			r = r.held(0, 0)
		}
	}
	return r
}

func TestLittlesLawHoldsForAStretchBetweenTwoRests(t *testing.T) {
	tests := map[string]struct {
		from, to int
		change   func(reel)
		known    bool
	}{
		"late in the window":                       {45, 58, nil, true},
		"early in the window":                      {2, 15, nil, true},
		"up to the last reading":                   {45, 60, nil, false},
		"from the first reading on":                {0, 15, nil, false},
		"a delivery is counted late":               {45, 59, func(r reel) { r[60].Deliveries++ }, false},
		"a message is still held":                  {45, 59, func(r reel) { r[60].Held.Sum++ }, false},
		"nobody looked after the traffic":          {45, 59, func(r reel) { r[60].Held.Count = r[59].Held.Count }, false},
		"nobody looked often enough":               {45, 59, func(r reel) { r[60].Held.Count = r[59].Held.Count + 1 }, false},
		"deliveries of before were counted late":   {45, 58, func(r reel) { r[0].Deliveries -= 5 }, false},
		"something was held when the window began": {45, 58, func(r reel) { r[0].Held.Sum -= 3 }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := busy(tt.from, tt.to)
			if tt.change != nil {
				tt.change(r)
			}
			f := numberOf(r, 15*time.Minute)
			if f.Known() != tt.known || (!tt.known && !strings.Contains(f.Why, "not steady")) {
				t.Fatalf("got %+v, want known %v", f, tt.known)
			}
			if want := 4.0 / 10; tt.known && math.Abs(f.Value-want) > 0.01*want {
				t.Errorf("4 held at 10 a second wait %v s, got %+v", want, f)
			}
		})
	}
}

// The end of a window that began at rest lacks the deliveries that the broker has not counted yet.
func TestLittlesLawWaitsUntilLateCountersWeighLittle(t *testing.T) {
	for _, tt := range []struct {
		seconds int // of traffic before the end of the window
		half    float64
	}{{45, 0.12}, {600, 0}} {
		r := busy(60-tt.seconds/15, 60)[60-tt.seconds/15-1:]
		s, _ := stretchOf(r, 15*time.Minute, 0)
		if got := s.counting(); got < tt.half*0.9 || got > tt.half+0.01 {
			t.Errorf("%d s of traffic: late counters weigh %v, want %v", tt.seconds, got, tt.half)
		}
	}
}

func TestUnackedMessagesCountAsLongAsTheyWereHeld(t *testing.T) {
	var h Held
	for _, s := range []struct{ second, unacked float64 }{{0, 2}, {1, 2}, {2, 2}, {6, 102}, {7, 2}} { // the broker did not answer for 4 s
		h = h.Take(s.unacked, noon.Add(time.Duration(s.second)*time.Second), 20*time.Millisecond)
	}
	if h.Count != 5 || h.Sum != 110 || h.Span != 7 || h.Area != 2+2+4*52+52 || h.Noise != 16*10_000/2+10_000/2 || math.Abs(h.Took-0.1) > 1e-9 {
		t.Errorf("got %+v", h)
	}
	if want := []Stair{{noon, 2}}; !slices.Equal(h.Stairs, want) {
		t.Errorf("the stairs are %v, want %v: something is held since the first sample", h.Stairs, want)
	}
	if h = h.Take(0, h.At.Add(time.Second), 0); len(h.Stairs) != 0 {
		t.Errorf("nothing is held, and yet %v", h.Stairs)
	}
}

func TestAMessageCanHideBetweenTwoSamplesOnly(t *testing.T) {
	at, h := noon, Held{}
	for _, gap := range []float64{1.1, 0.9, 1.19, 1.0} {
		at = at.Add(time.Duration(gap * float64(time.Second)))
		h = h.Take(0, at, 40*time.Millisecond)
	}
	r := reel{{At: noon, Held: Held{}.Take(0, noon, 0)}, {At: at, Held: h}}
	s, _ := stretchOf(r, time.Minute, 0)
	if s.unseen != 1.25 {
		t.Errorf("gaps of up to 1.19 s and 40 ms of asking hide a message for %v s, want 1.25", s.unseen)
	}
	r[1].Held = h.Miss().Take(0, at.Add(time.Second), 0)
	if s, _ = stretchOf(r, time.Minute, 0); !math.IsInf(s.unseen, 1) {
		t.Errorf("a sample that told nothing hides a message for ever, got %v s", s.unseen)
	}
}

// TestLittlesLawDrawsNoLineOverAnOutage: 2 messages each second are held for 2 s each, in two stretches, and nobody samples for five
// minutes in which the broker counts 500 deliveries more. A line from one empty sample to the next would call that less.
func TestLittlesLawDrawsNoLineOverAnOutage(t *testing.T) {
	for name, unheard := range map[string][2]int{ // seconds within which nobody samples
		"each second is sampled":           {},
		"a sample or two are missed":       {400, 405},
		"five minutes are missed":          {400, 700},
		"as much as no line is drawn over": {400, 412},
		"nobody has sampled for a minute":  {840, 901},
	} {
		t.Run(name, func(t *testing.T) {
			var m Moment
			var r reel
			for second := range 901 {
				at := noon.Add(time.Duration(second) * time.Second)
				busy := 0.0
				if second >= 100 && second < 350 || second >= 450 && second < 650 || second >= 850 && second < 895 {
					busy = 1
					m.Deliveries += 2
					m.Acks += 2
				}
				if second <= unheard[0] || second >= unheard[1] {
					m.Held = m.Held.Take(4*busy, at, 0)
				}
				if second%15 == 0 {
					m.At = at
					r = append(r, m)
				}
			}
			f := numberOf(r, 15*time.Minute)
			if f.Known() && (f.High < 2 || f.Low > 2) {
				t.Errorf("got %v (%v to %v), and each was held for 2 s", f.Value, f.Low, f.High)
			}
			// What nobody sampled is no part of the figure: a step of 15 s at either end may go with it.
			missed := time.Duration(max(0, unheard[1]-unheard[0]-int(longestLine.Seconds()))) * time.Second
			if least := 15*time.Minute - missed - 45*time.Second; missed > 0 && (f.Covered < least || f.Covered > 15*time.Minute-missed) || missed == 0 && f.Covered != 15*time.Minute {
				t.Errorf("covered %v, and %v are missing", f.Covered, missed)
			}
			if !f.Known() && !strings.Contains(f.Why, "not steady") {
				t.Errorf("refused: %s", f.Why)
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
			var r reel
			for i := range 60 {
				held := 4.0
				if i >= 28 && i < 33 {
					held = tt.hump
				}
				r = r.held(held, 150)
				if i >= 32 {
					r[len(r)-1].Redeliveries = tt.again
				}
			}
			f := numberOf(r, 15*time.Minute)
			if f.Known() != tt.known || (!tt.known && !strings.Contains(f.Why, "redelivered instead of acked")) {
				t.Errorf("got %+v, want known %v", f, tt.known)
			}
		})
	}
}

func TestAnUpperBoundIsKnownWhereNoNumberIs(t *testing.T) {
	for name, tt := range map[string]struct {
		steps      int
		unacked    float64 // in one step of ten
		deliveries float64 // in each step
		change     func(*Moment)
		capacity   float64
		high, p95  float64
		why        string
	}{
		"60 messages, none of them ever seen": {60, 0, 1, nil, 0, 0.05, 1, "too few in flight"},
		"bursts of any size, none ever seen":  {60, 0, 50, nil, 0, 0.05, 1, "too few in flight"},
		"consumers that can take two":         {60, 0, 50, nil, 2, 0.002, 0.04, "too few in flight"},
		"one of them seen for a while":        {60, 1, 1, nil, 1, 2.4, 0, "too few in flight"},
		"messages that go round":              {60, 1, 50, func(m *Moment) { m.Redeliveries, m.Acks = 2900, 100 }, 1, 1.4, 0, "97 % of deliveries were redelivered"},
		"more than there is time for":         {60, 0, 50, func(m *Moment) { m.Acks = 1 }, 0, 1, 1, "too few in flight"},
	} {
		t.Run(name, func(t *testing.T) {
			var r reel
			for i := range tt.steps {
				held := 0.0
				if i%10 == 5 {
					held = tt.unacked
				}
				r = r.held(held, tt.deliveries)
			}
			if tt.change != nil {
				tt.change(&r[len(r)-1])
			}
			f, p95 := meanAnd95(Latency{Window: 15 * time.Minute, Tape: r, Capacity: tt.capacity})
			if !f.AtMost() || f.Quality != dedup.Derived || math.Abs(f.High-tt.high) > 1e-9 || !strings.HasPrefix(f.Why, "at most: ") || !strings.Contains(f.Why, tt.why) {
				t.Errorf("the mean is %v to %v (%s): %s; want at most %v because %q", f.Low, f.High, f.Quality, f.Why, tt.high, tt.why)
			}
			if p95.High != tt.p95 || p95.Known() != (tt.p95 > 0) {
				t.Errorf("95 of 100 took at most %+v, want %v", p95, tt.p95)
			}
		})
	}
}

// TestAPileFromBeforeTheWindowIsNotForgotten: messages are held for hours, as while a store is down, beside others that are acked, and acked when a
// window of five minutes has begun.
func TestAPileFromBeforeTheWindowIsNotForgotten(t *testing.T) {
	for _, pile := range []int{1, 5, 40} {
		for _, hours := range []float64{0.2, 1, 3} {
			for _, begun := range []float64{1, 100} { // seconds after the first sample; or long before it, as far as anybody knows
				release := hours*3600 + 130
				all := []delivery{}
				for range pile {
					all = append(all, delivery{begun, release})
				}
				for x := 1.0; x < release+180; x += 2 {
					all = append(all, delivery{x, x + 0.02})
				}
				sort.Slice(all, func(i, j int) bool { return all[i].from < all[j].from })
				r := simulate(rand.New(rand.NewPCG(1, 2)), all, release+180)
				f, p95 := meanAnd95(Latency{Window: 5 * time.Minute, Tape: r.tape})
				truth, longer := r.truth(f.At.Add(-f.Covered), f.At, p95.High)
				if !f.AtMost() || truth > f.High || p95.Known() && longer > 0.05 {
					t.Errorf("%d held for %v h from second %v: %v to %v, p95 %v, and the truth is %v: %s", pile, hours, begun, f.Low, f.High, p95.High, truth, f.Why)
				}
			}
		}
	}
}

// TestStairsAreTheLeastOfAllSamplesSinceATime compares them with the samples themselves.
func TestStairsAreTheLeastOfAllSamplesSinceATime(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var h Held
		var samples []float64
		most := 1 + r.IntN(2*mostStairs)
		for i := range 1 + r.IntN(200) {
			samples = append(samples, float64(r.IntN(most)))
			if r.IntN(2) == 0 && i > 0 {
				samples[i] = samples[i-1] + 1
			}
			h = h.Take(samples[i], noon.Add(time.Duration(i)*time.Second), 0)
			if len(h.Stairs) > mostStairs {
				t.Fatalf("%d stairs", len(h.Stairs))
			}
		}
		least, under := math.Inf(1), 0.0
		for i := len(samples) - 1; i >= 0; i-- {
			at := noon.Add(time.Duration(i) * time.Second)
			if least = min(least, samples[i]); i < len(samples)-1 {
				under += max(0, least-1)
			}
			if got := h.stood(at); got < least || most <= mostStairs/2 && got != least {
				t.Fatalf("%v: since second %d there were %v at least, got %v", samples, i, least, got)
			}
			if got := h.under(at, h.At, 1); got < under-1e-9 || most <= mostStairs/2 && math.Abs(got-under) > 1e-9 {
				t.Fatalf("%v: since second %d %v are under the stairs, got %v", samples, i, under, got)
			}
		}
	}
}

func TestUnknownReasonsAreShort(t *testing.T) {
	for _, r := range []reel{nil, {{At: noon}}, steady(0)[:1], {{At: noon}, {At: noon.Add(time.Minute)}}, reel(nil).held(0, 0).held(0, 0), reel(nil).held(3, 0).held(3, 0)} {
		f, p95 := meanAnd95(Latency{Window: 5 * time.Minute, Tape: r})
		if f.Known() || p95.Known() || f.Why == "" || len(strings.Fields(f.Why)) > 8 {
			t.Errorf("got %+v, want a reason of at most eight words", f)
		}
	}
}

func TestLimitsOfCounts(t *testing.T) {
	for n, want := range map[float64]float64{0: 2.996, 1: 4.744, 5: 10.513, 50: 63.29, 1000: 1053.6} { // tables of χ²
		if got := limit95(n); got < want || got > 1.02*want {
			t.Errorf("after %v the highest mean is %v, want %v and at most 2 %% more", n, got, want)
		}
	}
	for v, want := range map[float64]float64{0.0501: 0.051, 0.05: 0.05, 1.2: 1.2, 123: 130, 0: 0} {
		if got := roundUp(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is rounded up to %v, want %v", v, got, want)
		}
	}
}
