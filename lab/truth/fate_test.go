package truth

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestTheKnobsSetWhatHappens(t *testing.T) {
	const n = 20_000
	c := Case{Name: "all", Scheme: R3, Knobs: Knobs{Resend: 0.03, LostAck: 0.005, Fail: 0.02, FailTimes: 2, AlwaysFail: 0.01, Crash: 0.003, Endless: 3}}
	got := Expect(c, 7, n)
	if got != Expect(c, 7, n) {
		t.Fatal("the same seed gives other counts")
	}
	if got == Expect(c, 8, n) {
		t.Error("another seed gives the same counts")
	}
	// Each share is hit within four standard deviations, which a right draw misses once in 16,000 times.
	for _, k := range []struct {
		name        string
		count       int64
		share, each float64
	}{
		{"copies", got.Published - n, c.Knobs.Resend, 1},
		{"crashes", got.Crashes - 3, c.Knobs.Crash, 1},
		{"lost acks", got.LostAcks, c.Knobs.LostAck * (1 - c.Knobs.AlwaysFail), 1},
		{"given up", got.GaveUp, c.Knobs.AlwaysFail * (1 + c.Knobs.Resend), 1},
	} {
		mean := n * k.share * k.each
		if math.Abs(float64(k.count)-mean) > 4*math.Sqrt(mean) {
			t.Errorf("%s: %d, want about %.0f", k.name, k.count, mean)
		}
	}
	if got.Completions >= n || got.Completions < n*98/100 || got.Swallowed != 0 {
		t.Errorf("%+v", got)
	}
}

func TestWhatATroubleComesToDependsOnTheScheme(t *testing.T) {
	one := func(s Scheme, k Knobs) Expected { return Expect(Case{Name: "one", Scheme: s, Knobs: k}, 1, 1) }
	for _, c := range []struct {
		name  string
		s     Scheme
		knobs Knobs
		want  Expected
	}{
		{"a copy is a duplicate", R3, Knobs{Resend: 1}, Expected{Published: 2, Completions: 1, Duplicates: 1}},
		{"a lost ack is a duplicate", D1MariaDB, Knobs{LostAck: 1}, Expected{Published: 1, Completions: 1, Duplicates: 1, LostAcks: 1}},
		{"R3 gives up at five, and at each further failure", R3, Knobs{Resend: 1, AlwaysFail: 1}, Expected{Published: 2, Failures: 6, GaveUp: 2}},
		{"R1 tries again", R1, Knobs{Fail: 1, FailTimes: 2}, Expected{Published: 1, Completions: 1, Failures: 2}},
		{"D1 fails once and swallows the copy", D1MariaDB, Knobs{Resend: 1, Fail: 1, FailTimes: 2}, Expected{Published: 2, Failures: 1, Swallowed: 1}},
		{"D3 that deletes tries again", D3Deletes, Knobs{Fail: 1, FailTimes: 2}, Expected{Published: 1, Completions: 1, Failures: 2}},
		{"R6 swallows what crashed", R6, Knobs{Resend: 1, Crash: 1}, Expected{Published: 2, Crashes: 1, Swallowed: 2}},
		{"R1 works once the claim has expired", R1, Knobs{Crash: 1}, Expected{Published: 1, Completions: 1, Crashes: 1}},
		{"D2 rolls back", D2MariaDB, Knobs{Crash: 1}, Expected{Published: 1, Completions: 1, Crashes: 1}},
	} {
		if got := one(c.s, c.knobs); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestWorkTimesHaveTheirShape(t *testing.T) {
	for _, c := range []struct {
		shape    Shape
		mean, in float64
	}{
		{Constant, 0.010, 1e-9},
		{LogNormal, 0.010 * math.Exp(spread*spread/2), 0.0004},
		{Bimodal, 0.010*(1-slowShare) + slowWork.Seconds()*slowShare, 0.006},
	} {
		f := fate{1, Case{Name: "work", Knobs: Knobs{Work: c.shape, Median: 10 * time.Millisecond}}}
		sum := 0.0
		for n := range 10_000 {
			sum += f.work(f.id(n)).Seconds()
		}
		if mean := sum / 10_000; math.Abs(mean-c.mean) > c.in {
			t.Errorf("%s: mean %v, want %v", c.shape, mean, c.mean)
		}
	}
}

func TestCasesAreComplete(t *testing.T) {
	names, counted := map[string]bool{}, 0
	for _, c := range Cases() {
		if names[c.Name] || presets[c.Scheme] == "" || c.Knobs.Channels == 0 || c.Knobs.Prefetch == 0 || c.Knobs.Median == 0 || c.Knobs.Work == "" {
			t.Errorf("case %+v", c)
		}
		names[c.Name] = true
		if !c.Companion() {
			counted++
		} else if !names[c.StoreOf] {
			t.Errorf("%s disturbs no case", c.Name)
		}
	}
	if counted < 12 {
		t.Errorf("%d cases, want 12 or more", counted)
	}
	if _, err := Select([]string{"r3-loop", "nobody"}); err == nil {
		t.Error("a case that does not exist was selected")
	}
	if got, err := Select([]string{"r3-pair"}); err != nil || len(got) != 2 {
		t.Errorf("a case comes with its companion: %v, %v", got, err)
	}
}

func TestEveryTwoPropertiesOfTheGridMeetInEveryWay(t *testing.T) {
	met := map[string]bool{}
	for _, c := range grid() {
		properties := []string{"scheme " + string(c.Scheme), fmt.Sprint("shared ", c.SharesServer), fmt.Sprint("dying ", c.Knobs.LostAck > 0),
			fmt.Sprint("prefetch ", c.Knobs.Prefetch), fmt.Sprint("bursts ", c.Knobs.Bursts)}
		for i, a := range properties {
			for _, b := range properties[i+1:] {
				met[a+", "+b] = true
			}
		}
	}
	if want := 8*2*4 + 4*6; len(met) != want {
		t.Errorf("%d pairs meet, want %d", len(met), want)
	}
}

func TestBurstsPublishNoLessAndNoLater(t *testing.T) {
	p := producer{messages: 1000, over: time.Minute, fate: fate{c: Case{Knobs: Knobs{Bursts: true}}}}
	for n := range p.messages {
		even, at := p.over*time.Duration(n)/time.Duration(p.messages), p.due(n)
		if at > even || even-at > burstEvery || at%burstEvery > time.Duration(burstShare*float64(burstEvery)) {
			t.Fatalf("message %d is due at %s, evenly at %s", n, at, even)
		}
	}
}
