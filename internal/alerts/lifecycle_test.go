package alerts

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// lifeStart is when the timelines begin.
var lifeStart = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

// run judges a timeline and returns the state and the edge after each evaluation; an edge without a kind is none.
func run(timeline []Evaluation, t Timing) (states []State, edges []Edge) {
	var s State
	for _, e := range timeline {
		next, edge, _ := s.Next(e, t)
		s = next
		states, edges = append(states, s), append(edges, edge)
	}
	return states, edges
}

// told writes the edges of a timeline as kind to tier at seconds since its start.
func told(edges []Edge) string {
	var out []string
	for _, e := range edges {
		if e.Kind != "" {
			out = append(out, fmt.Sprintf("%s %s %d", e.Kind, e.To, int(e.At.Sub(lifeStart)/time.Second)))
		}
	}
	return strings.Join(out, ", ")
}

// parse reads a timeline of evaluations that are 15 s apart. A word is one of them, by the tier that it enters, or by that and the
// one that it holds, as in n/w: n is normal, w, s and m the tiers up to emergency, ? unknown; - is no data, and ! an error. After a
// word, x10 makes it ten in all; +90 lets 90 s more pass, and +-60 sets the clock back.
func parse(t *testing.T, text string) []Evaluation {
	t.Helper()
	tiers := map[string]dedup.Tier{"n": dedup.Normal, "w": dedup.Warning, "s": dedup.Severe, "m": dedup.Emergency}
	var out []Evaluation
	at := lifeStart
	add := func(e Evaluation) {
		e.At = at
		out, at = append(out, e), at.Add(15*time.Second)
	}
	for _, word := range strings.Fields(text) {
		var n int
		switch {
		case word == "-":
			add(Evaluation{Health: HealthNoData})
		case word == "!":
			add(Evaluation{Health: HealthError})
		case strings.HasPrefix(word, "x"):
			if _, err := fmt.Sscanf(word, "x%d", &n); err != nil {
				t.Fatal(err)
			}
			for range n - 1 {
				add(out[len(out)-1])
			}
		case strings.HasPrefix(word, "+"):
			if _, err := fmt.Sscanf(word, "+%d", &n); err != nil {
				t.Fatal(err)
			}
			at = at.Add(time.Duration(n) * time.Second)
		default:
			enters, holds, apart := strings.Cut(word, "/")
			if !apart {
				holds = enters
			}
			add(Evaluation{Enters: tiers[enters], Holds: tiers[holds]})
		}
	}
	return out
}

func TestNamedTimelines(t *testing.T) {
	usual := DefaultTiming()
	for _, tt := range []struct {
		name     string
		timing   Timing
		timeline string
		edges    string
		phase    Phase
	}{
		{"what is normal stays normal", usual, "n x40", "", PhaseNormal},
		{"a warning fires after its two minutes and not before", usual, "w x8", "", PhasePending},
		{"a warning fires after its two minutes", usual, "w x9", "fired warning 120", PhaseFiring},
		{"a break begins the two minutes anew", usual, "w x8 n w x8", "", PhasePending},
		{"an emergency fires after one minute", usual, "m x5", "fired emergency 60", PhaseFiring},
		{"an emergency of half a minute among warnings is a warning", usual, "w x3 m x2 w x4", "fired warning 120", PhaseFiring},
		{"a warning becomes severe", usual, "w x9 s x9", "fired warning 120, escalated severe 255", PhaseFiring},
		{"a higher tier is pending beside the one that fires", usual, "w x9 s x8", "fired warning 120", PhaseFiring},
		{"a warning whose value is held by the leave limit stays", usual, "w x9 n/w x60", "fired warning 120", PhaseFiring},
		{"it recovers before it resolves", usual, "w x9 n x20", "fired warning 120", PhaseRecovering},
		{"it resolves after five minutes below", usual, "w x9 n x21", "fired warning 120, resolved normal 435", PhaseNormal},
		{"a value that comes back in between begins the five minutes anew", usual, "w x9 n x20 n/w n x20", "fired warning 120", PhaseRecovering},
		{"severe falls to the warning that the value still holds", usual, "s x9 n/w x21", "fired severe 120, deescalated warning 435", PhaseFiring},
		{"and from there to normal", usual, "s x9 w x21 n x21", "fired severe 120, deescalated warning 435, resolved normal 750", PhaseNormal},
		{"emergency falls to normal at once where nothing is held", usual, "m x9 n x21", "fired emergency 60, resolved normal 435", PhaseNormal},
		{"an error never resolves", usual, "w x9 ! x400", "fired warning 120", PhaseFiring},
		{"no data never resolves", usual, "w x9 - x400", "fired warning 120", PhaseFiring},
		{"an error never fires", usual, "w x8 ! x40", "", PhasePending},
		{"after an error one more evaluation must confirm what was pending", usual, "w ! x20 w", "", PhasePending},
		{"after an error a second evaluation fires", usual, "w ! x20 w w", "fired warning 330", PhaseFiring},
		{"an error in every second evaluation does not keep it from firing", usual, "w ! w ! w ! w ! w", "fired warning 120", PhaseFiring},
		{"an error of more than an hour begins pending anew", usual, "w ! x250 w x8", "", PhasePending},
		{"an error in recovery does not resolve", usual, "w x9 n ! x40", "fired warning 120", PhaseRecovering},
		{"after an error in recovery a second evaluation resolves", usual, "w x9 n ! x40 n n", "fired warning 120, resolved normal 765", PhaseNormal},
		{"after a pause of less than an hour one more evaluation must confirm", usual, "w +1800 w", "", PhasePending},
		{"and then it fires by the time since it was reached", usual, "w +1800 w w", "fired warning 1830", PhaseFiring},
		{"an evaluation sooner than ten seconds does not confirm", usual, "w +1800 w +-10 w", "", PhasePending},
		{"a pause of an hour still counts", usual, "w +3585 w w", "fired warning 3615", PhaseFiring},
		{"a pause of more than an hour begins pending anew", usual, "w +3586 w x8", "", PhasePending},
		{"and then it fires after its two minutes", usual, "w +3586 w x9", "fired warning 3721", PhaseFiring},
		{"what fires stays firing over a pause of a day", usual, "w x9 +86400 w x9", "fired warning 120", PhaseFiring},
		{"recovery begins anew after a pause of more than an hour", usual, "w x9 n +4000 n x20", "fired warning 120", PhaseRecovering},
		{"a clock that is set back an hour does not fire", usual, "w x4 +-3600 w x4", "", PhasePending},
		{"nor does it begin pending anew", usual, "w x4 +-3600 w x6", "fired warning -3465", PhaseFiring},
		{"nor does it resolve", usual, "w x9 n x5 +-3600 n x10", "fired warning 120", PhaseRecovering},
		{"findings fire at once", immediate(), "n s", "fired severe 15", PhaseFiring},
		{"also right after a pause", immediate(), "n +1800 s", "fired severe 1815", PhaseFiring},
		{"a rule that keeps nothing firing resolves at once", Timing{}, "s w n", "fired severe 0, deescalated warning 15, resolved normal 30", PhaseNormal},
		{"tiers of one time fire as the highest of them", Timing{Warning: time.Minute, Severe: time.Minute, Emergency: time.Minute}, "m x5", "fired emergency 60", PhaseFiring},
		{"a slow tier escalates after a quick one", Timing{Severe: time.Minute, KeepFiring: time.Minute}, "s x5", "fired warning 0, escalated severe 60", PhaseFiring},
		{"evaluations that are minutes apart fire all the same", usual, "w +285 w +285 w", "fired warning 600", PhaseFiring},
		{"an evaluation that claims to be OK without a tier is none", Timing{}, "s ? ?", "fired severe 0", PhaseFiring},
	} {
		t.Run(tt.name, func(t *testing.T) {
			states, edges := run(parse(t, tt.timeline), tt.timing)
			if got := told(edges); got != tt.edges {
				t.Errorf("edges are %q, want %q", got, tt.edges)
			}
			if got := states[len(states)-1].Phase; got != tt.phase {
				t.Errorf("the phase is %s, want %s", got, tt.phase)
			}
		})
	}
}

func TestHealthAndTimesAreKept(t *testing.T) {
	states, _ := run(parse(t, "w x9 ! ! - w n n"), DefaultTiming())
	at := func(i int) time.Time { return lifeStart.Add(time.Duration(15*i) * time.Second) }
	for _, tt := range []struct {
		name  string
		after int
		is    func(State) (time.Time, time.Time)
	}{
		{"pending began with the first evaluation", 7, func(s State) (time.Time, time.Time) { return s.Since, at(0) }},
		{"firing began when it fired", 8, func(s State) (time.Time, time.Time) { return s.FiredAt, at(8) }},
		{"a health begins when it changes", 10, func(s State) (time.Time, time.Time) { return s.HealthSince, at(9) }},
		{"another one begins anew", 11, func(s State) (time.Time, time.Time) { return s.HealthSince, at(11) }},
		{"and so does a good one", 12, func(s State) (time.Time, time.Time) { return s.HealthSince, at(12) }},
		{"calm began with the first evaluation below", 14, func(s State) (time.Time, time.Time) { return s.Calm, at(13) }},
		{"the newest evaluation is seen", 14, func(s State) (time.Time, time.Time) { return s.Seen, at(14) }},
	} {
		if got, want := tt.is(states[tt.after]); !got.Equal(want) {
			t.Errorf("%s: got %s, want %s", tt.name, got.Format("15:04:05"), want.Format("15:04:05"))
		}
	}
}

// A life is a random timeline, and the timing of its rule.
type life struct {
	timing   Timing
	timeline []Evaluation
}

// steps are the times between two evaluations: the usual ones, pauses, and clocks that are set.
var steps = []int{15, 15, 15, 15, 15, 15, 0, 1, 5, 10, 14, 16, 30, 60, 61, 120, 300, 900, 3600, 3601, 7200, -1, -15, -600, -3600}

// even are the steps of a clock that nothing disturbs.
var even = []int{15, 15, 5, 10, 30, 60}

func drawLife(t *rapid.T, steps []int, mayFail bool) life {
	span := func(name string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 15, 30, 60, 120, 300}).Draw(t, name)) * time.Second
	}
	l := life{timing: Timing{Warning: span("warning"), Severe: span("severe"), Emergency: span("emergency"), KeepFiring: span("keep")}}
	at, enters, holds := lifeStart, dedup.Normal, dedup.Normal
	for i := range rapid.IntRange(1, 80).Draw(t, "evaluations") {
		if i > 0 {
			at = at.Add(time.Duration(rapid.SampledFrom(steps).Draw(t, "step")) * time.Second)
		}
		if rapid.IntRange(0, 4).Draw(t, "change") == 0 {
			enters = dedup.Tier(rapid.IntRange(int(dedup.Normal), int(dedup.Emergency)).Draw(t, "enters"))
			holds = dedup.Tier(rapid.IntRange(int(enters), int(dedup.Emergency)).Draw(t, "holds"))
		}
		e := Evaluation{At: at, Enters: enters, Holds: holds}
		if mayFail && rapid.IntRange(0, 7).Draw(t, "fails") == 0 {
			e = Evaluation{At: at, Health: rapid.SampledFrom([]Health{HealthNoData, HealthError}).Draw(t, "health")}
		}
		l.timeline = append(l.timeline, e)
	}
	return l
}

// lasting returns for how long, by a clock that is never set back, the evaluations up to the last one met a condition without a
// break: from the first that was OK. A pause of more than an hour is a break.
func lasting(timeline []Evaluation, met func(Evaluation) bool) time.Duration {
	total, atFirst := time.Duration(0), time.Duration(0)
	for i := len(timeline) - 1; i >= 0; i-- {
		e := timeline[i]
		if e.Health == HealthOK {
			if !met(e) {
				break
			}
			atFirst = total
		}
		if i == 0 {
			break
		}
		step := e.At.Sub(timeline[i-1].At)
		if step > time.Hour {
			break
		}
		total += max(0, step)
	}
	return atFirst
}

func TestATierNeverFiresBeforeItsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, steps, true)
		_, edges := run(l.timeline, l.timing)
		for i, edge := range edges {
			if edge.Kind != EdgeFired && edge.Kind != EdgeEscalated {
				continue
			}
			if got := lasting(l.timeline[:i+1], func(e Evaluation) bool { return e.Enters >= edge.To }); got < l.timing.of(edge.To) {
				t.Fatalf("evaluation %d: %s to %s after %s, its time is %s", i, edge.Kind, edge.To, got, l.timing.of(edge.To))
			}
		}
	})
}

func TestATierFallsOnlyAfterItWasNotHeldForLongEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, steps, true)
		_, edges := run(l.timeline, l.timing)
		for i, edge := range edges {
			if edge.Kind != EdgeDeescalated && edge.Kind != EdgeResolved {
				continue
			}
			if got := lasting(l.timeline[:i+1], func(e Evaluation) bool { return e.Holds < edge.From }); got < l.timing.KeepFiring {
				t.Fatalf("evaluation %d: %s from %s after %s below, it keeps firing for %s", i, edge.Kind, edge.From, got, l.timing.KeepFiring)
			}
			if held := l.timeline[i].Holds; held != edge.To {
				t.Fatalf("evaluation %d: it fell to %s while %s is held", i, edge.To, held)
			}
		}
	})
}

func TestAnEvaluationThatIsNotOKChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, steps, true)
		states, edges := run(l.timeline, l.timing)
		before := State{Tier: dedup.Normal}
		for i, e := range l.timeline {
			if e.Health != HealthOK && (states[i].Phase != before.Phase || states[i].Tier != before.Tier || edges[i].Kind != "") {
				t.Fatalf("evaluation %d, %s: %s %s became %s %s, with edge %q", i, e.Health, before.Phase, before.Tier, states[i].Phase, states[i].Tier, edges[i].Kind)
			}
			before = states[i]
		}
	})
}

func TestEdgesAlternateAndChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, steps, true)
		states, edges := run(l.timeline, l.timing)
		tier := dedup.Normal
		for i, e := range edges {
			s := states[i]
			right := map[EdgeKind]bool{
				"":              s.Tier == tier,
				EdgeFired:       tier == dedup.Normal && e.To > dedup.Normal,
				EdgeEscalated:   tier > dedup.Normal && e.To > tier,
				EdgeDeescalated: e.To > dedup.Normal && e.To < tier,
				EdgeResolved:    tier > dedup.Normal && e.To == dedup.Normal,
			}[e.Kind]
			if !right || e.Kind != "" && (e.From != tier || e.To != s.Tier || !e.At.Equal(l.timeline[i].At)) {
				t.Fatalf("evaluation %d: edge %+v from tier %s, and the state is at %s", i, e, tier, s.Tier)
			}
			if fires := s.Tier > dedup.Normal; fires != (s.Phase >= PhaseFiring) || fires == s.FiredAt.IsZero() || s.Calm.IsZero() != (s.Phase != PhaseRecovering) && s.Health == HealthOK {
				t.Fatalf("evaluation %d: phase %s with tier %s, fired %v, calm %v", i, s.Phase, s.Tier, s.FiredAt, s.Calm)
			}
			tier = s.Tier
		}
	})
}

func TestARestartAtAnyEvaluationYieldsTheSameEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, steps, true)
		states, edges := run(l.timeline, l.timing)
		restarts := rapid.SliceOfN(rapid.Bool(), len(l.timeline), len(l.timeline)).Draw(t, "restarts")
		var s State
		for i, e := range l.timeline {
			if restarts[i] {
				kept, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				s = State{}
				if err := json.Unmarshal(kept, &s); err != nil {
					t.Fatal(err)
				}
			}
			next, edge, _ := s.Next(e, l.timing)
			if s = next; edge != edges[i] || s != states[i] {
				t.Fatalf("evaluation %d: edge %+v and state %+v, want %+v and %+v", i, edge, s, edges[i], states[i])
			}
		}
	})
}

func TestAClockThatIsSetBackStandsStill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, steps, true)
		k := rapid.IntRange(0, len(l.timeline)-1).Draw(t, "where")
		back := time.Duration(rapid.IntRange(1, 3600).Draw(t, "back")) * time.Second
		l.timeline = append(l.timeline[:k:k], append([]Evaluation{l.timeline[k]}, l.timeline[k:]...)...)
		_, want := run(l.timeline, l.timing)
		if want[k+1].Kind != "" {
			t.Fatalf("the same evaluation twice: the second one makes the edge %+v", want[k+1])
		}
		for i := k + 1; i < len(l.timeline); i++ {
			l.timeline[i].At = l.timeline[i].At.Add(-back)
		}
		_, got := run(l.timeline, l.timing)
		for i := range got {
			if i > k && want[i].Kind != "" {
				want[i].At = want[i].At.Add(-back)
			}
			if got[i] != want[i] {
				t.Fatalf("evaluation %d, set back by %s at %d: %+v, want %+v", i, back, k+1, got[i], want[i])
			}
		}
	})
}

func TestAPauseOfMoreThanAnHourBeginsPendingAnewAndKeepsWhatFires(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, steps, true)
		states, _ := run(l.timeline, l.timing)
		last, end := states[len(states)-1], l.timeline[len(l.timeline)-1]
		pause := time.Duration(rapid.IntRange(3601, 100_000).Draw(t, "pause")) * time.Second
		e := Evaluation{At: end.At.Add(pause), Enters: dedup.Emergency, Holds: dedup.Emergency}
		l.timing.Warning, l.timing.Severe, l.timing.Emergency = time.Minute, time.Minute, time.Minute
		s, edge, happened := last.Next(e, l.timing)
		if happened || s.Tier != last.Tier {
			t.Fatalf("after %s: %+v", pause, edge)
		}
		for i, at := range s.Reached {
			if !at.Equal(e.At) {
				t.Fatalf("tier %d is reached since %s, want since the pause ended at %s", i, at, e.At)
			}
		}
	})
}

// Where nothing disturbs the clock the lifecycle is simple enough to be said in another way.
func TestOnAnEvenTimelineATierFiresAndFallsAsSoonAsItMay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, even, false)
		states, _ := run(l.timeline, l.timing)
		tier := dedup.Normal
		for i := range l.timeline {
			past := l.timeline[:i+1]
			due := dedup.Normal
			for want := dedup.Warning; want <= dedup.Emergency; want++ {
				if past[i].Enters >= want && lasting(past, func(e Evaluation) bool { return e.Enters >= want }) >= l.timing.of(want) {
					due = want
				}
			}
			switch from := tier; {
			case due > tier:
				tier = due
			case tier > dedup.Normal && past[i].Holds < tier && lasting(past, func(e Evaluation) bool { return e.Holds < from }) >= l.timing.KeepFiring:
				tier = past[i].Holds
			}
			if states[i].Tier != tier {
				t.Fatalf("evaluation %d: the tier is %s, want %s", i, states[i].Tier, tier)
			}
		}
	})
}
