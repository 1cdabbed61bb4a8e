package alerts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// lifeStart is when the timelines begin.
var lifeStart = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

// run judges a timeline and returns the state and the edge after each evaluation; an edge without a kind is none.
func run(timeline []rule.Evaluation, t rule.Timing) (states []State, edges []Edge) {
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
// word, x10 makes it ten in all; +90 lets 90 s more pass, and +-60 sets the clock back. @300 says that from there on they are to be 300 s
// apart.
func parse(t *testing.T, text string) []rule.Evaluation {
	t.Helper()
	tiers := map[string]dedup.Tier{"n": dedup.Normal, "w": dedup.Warning, "s": dedup.Severe, "m": dedup.Emergency}
	var out []rule.Evaluation
	at, interval := lifeStart, 15*time.Second
	add := func(e rule.Evaluation) {
		e.At, e.Interval = at, interval
		out, at = append(out, e), at.Add(interval)
	}
	for _, word := range strings.Fields(text) {
		var n int
		switch {
		case word == "-":
			add(rule.Evaluation{Health: rule.HealthNoData})
		case word == "!":
			add(rule.Evaluation{Health: rule.HealthError})
		case strings.HasPrefix(word, "x"):
			if _, err := fmt.Sscanf(word, "x%d", &n); err != nil {
				t.Fatal(err)
			}
			for range n - 1 {
				add(out[len(out)-1])
			}
		case strings.HasPrefix(word, "@"):
			if _, err := fmt.Sscanf(word, "@%d", &n); err != nil {
				t.Fatal(err)
			}
			interval = time.Duration(n) * time.Second
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
			add(rule.Evaluation{Enters: tiers[enters], Holds: tiers[holds]})
		}
	}
	return out
}

func TestNamedTimelines(t *testing.T) {
	usual := rule.DefaultTiming()
	for _, tt := range []struct {
		name     string
		timing   rule.Timing
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
		{"a warning that was held until just now outlives the severe one", usual, "s x9 w x20 n", "fired severe 120, deescalated warning 435", PhaseRecovering},
		{"and has five minutes of its own", usual, "s x9 w x20 n x20", "fired severe 120, deescalated warning 435", PhaseRecovering},
		{"and resolves then", usual, "s x9 w x20 n x21", "fired severe 120, deescalated warning 435, resolved normal 735", PhaseNormal},
		{"a warning that comes back in between has them anew", usual, "s x9 w x10 n x5 w n x20", "fired severe 120, deescalated warning 435", PhaseRecovering},
		{"a value that comes and goes around the warning limit does not resolve and fire again", usual,
			"s x9 w x20 n w x20 n w x20 n w x20", "fired severe 120, deescalated warning 435", PhaseFiring},
		{"emergency falls by each tier that was held of late", usual, "m x9 s x20 w x10 n x21",
			"fired emergency 60, deescalated severe 435, deescalated warning 735, resolved normal 885", PhaseNormal},
		{"emergency falls past a tier that was not held of late", usual, "m x9 w x20 n x21", "fired emergency 60, deescalated warning 435, resolved normal 735", PhaseNormal},
		{"a severe one that rises while it recovers has all its time anew", usual, "s x9 n x15 m x5 n x20", "fired severe 120, escalated emergency 420", PhaseRecovering},
		{"emergency falls to normal at once where nothing is held", usual, "m x9 n x21", "fired emergency 60, resolved normal 435", PhaseNormal},
		{"an error never resolves", usual, "w x9 ! x400", "fired warning 120", PhaseFiring},
		{"no data never resolves", usual, "w x9 - x400", "fired warning 120", PhaseFiring},
		{"an error never fires", usual, "w x8 ! x40", "", PhasePending},
		{"after an error one more evaluation must confirm what was pending", usual, "w ! x20 w", "", PhasePending},
		{"after an error a second evaluation fires", usual, "w ! x20 w w", "fired warning 330", PhaseFiring},
		{"an error in every second evaluation does not keep it from firing", usual, "w ! w ! w ! w ! w", "fired warning 120", PhaseFiring},
		{"an error of more than an hour begins pending anew", usual, "w ! x250 w x8", "", PhasePending},
		{"an error that becomes no data is as long as both", usual, "w ! x125 - x125 w x8", "", PhasePending},
		{"also where they take turns", usual, "w ! x50 - x50 ! x50 - x50 ! x50 w x8", "", PhasePending},
		{"what is reached between two errors is confirmed after the second one", usual, "! w ! x20 w", "", PhasePending},
		{"and fires then", usual, "! w ! x20 w w", "fired warning 345", PhaseFiring},
		{"also when a third one follows at once", usual, "! w ! x20 w ! x20 w", "fired warning 645", PhaseFiring},
		{"an error in every second evaluation from the first on does not either", usual, "! w ! w ! w ! w ! w ! w", "fired warning 135", PhaseFiring},
		{"what is calm between two errors is confirmed after the second one", usual, "w x9 ! n ! x40 n", "fired warning 120", PhaseRecovering},
		{"also where that is so of a lower tier than the one that fires", usual, "s x9 w ! n ! x40 n", "fired severe 120", PhaseRecovering},
		{"and then both are left", usual, "s x9 w ! n ! x40 n n", "fired severe 120, resolved normal 795", PhaseNormal},
		{"errors between a warning that comes and goes do not hold the severe one", usual,
			"s x9 w ! n ! w ! n ! w ! n ! w ! n ! w ! n ! w ! n ! w ! n ! w", "fired severe 120, deescalated warning 465", PhaseFiring},
		{"an error in recovery does not resolve", usual, "w x9 n ! x40", "fired warning 120", PhaseRecovering},
		{"after an error in recovery a second evaluation resolves", usual, "w x9 n ! x40 n n", "fired warning 120, resolved normal 765", PhaseNormal},
		{"after a pause of less than an hour one more evaluation must confirm", usual, "w +1800 w", "", PhasePending},
		{"and then it fires by the time since it was reached", usual, "w +1800 w w", "fired warning 1830", PhaseFiring},
		{"an evaluation sooner than ten seconds does not confirm", usual, "w +1800 w +-10 w", "", PhasePending},
		{"a pause of an hour still counts", usual, "w +3585 w w", "fired warning 3615", PhaseFiring},
		{"a pause of more than an hour begins pending anew", usual, "w +3586 w x8", "", PhasePending},
		{"and then it fires after its two minutes", usual, "w +3586 w x9", "fired warning 3721", PhaseFiring},
		{"a second pause must be confirmed as the first one", usual, "w +1800 w w n x21 w +1800 w", "fired warning 1830, resolved normal 2145", PhasePending},
		{"what fires stays firing over a pause of a day", usual, "w x9 +86400 w x9", "fired warning 120", PhaseFiring},
		{"recovery begins anew after a pause of more than an hour", usual, "w x9 n +4000 n x20", "fired warning 120", PhaseRecovering},
		{"a clock that is set back an hour does not fire", usual, "w x4 +-3600 w x4", "", PhasePending},
		{"nor does it begin pending anew", usual, "w x4 +-3600 w x6", "fired warning -3465", PhaseFiring},
		{"nor does it resolve", usual, "w x9 n x5 +-3600 n x10", "fired warning 120", PhaseRecovering},
		{"findings fire at once", rule.Timing{KeepFiring: 5 * time.Minute}, "n s", "fired severe 15", PhaseFiring},
		{"also right after a pause", rule.Timing{KeepFiring: 5 * time.Minute}, "n +1800 s", "fired severe 1815", PhaseFiring},
		{"a rule that keeps nothing firing resolves at once", rule.Timing{}, "s w n", "fired severe 0, deescalated warning 15, resolved normal 30", PhaseNormal},
		{"tiers of one time fire as the highest of them", rule.Timing{Warning: time.Minute, Severe: time.Minute, Emergency: time.Minute}, "m x5", "fired emergency 60", PhaseFiring},
		{"a slow tier escalates after a quick one", rule.Timing{Severe: time.Minute, KeepFiring: time.Minute}, "s x5", "fired warning 0, escalated severe 60", PhaseFiring},
		{"evaluations that come minutes apart and should not fire all the same", usual, "w +285 w +285 w", "fired warning 600", PhaseFiring},
		{"those that are to be minutes apart have not paused", usual, "@300 w w", "fired warning 300", PhaseFiring},
		{"and resolve as soon as they may", usual, "@300 w w n n", "fired warning 300, resolved normal 900", PhaseNormal},
		{"nor where two in a row are missing", usual, "@300 w +600 w", "fired warning 900", PhaseFiring},
		{"with more of them missing they have", usual, "@300 w +601 w", "", PhasePending},
		{"those that are to be seconds apart may miss a minute", rule.Timing{Warning: time.Minute}, "@5 w +55 w", "fired warning 60", PhaseFiring},
		{"an evaluation that claims to be OK without a tier is none", rule.Timing{}, "s ? ?", "fired severe 0", PhaseFiring},
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
	states, _ := run(parse(t, "w x9 ! ! - w n n"), rule.DefaultTiming())
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
		{"calm began with the first evaluation below", 14, func(s State) (time.Time, time.Time) { return s.Calm(), at(13) }},
		{"the newest evaluation is seen", 14, func(s State) (time.Time, time.Time) { return s.Seen, at(14) }},
	} {
		if got, want := tt.is(states[tt.after]); !got.Equal(want) {
			t.Errorf("%s: got %s, want %s", tt.name, got.Format("15:04:05"), want.Format("15:04:05"))
		}
	}
}

func TestAnAlertFiresSinceItBegan(t *testing.T) {
	states, _ := run(parse(t, "w x9 s x9 w x21"), rule.DefaultTiming())
	for i, s := range states {
		if want := lifeStart.Add(2 * time.Minute); i >= 8 && !s.FiredAt.Equal(want) {
			t.Fatalf("evaluation %d, %s: it fired at %s, want %s", i, s.Tier, s.FiredAt, want)
		}
	}
}

func TestAStateSaysSinceWhenItFiresAtItsTier(t *testing.T) {
	// It fires as a warning after 2 m, escalates 2 m after severe is reached, recovers and fires again at the same tier, falls, and ends.
	states, edges := run(parse(t, "w x9 s x9 w x2 s x1 w x21 n x40"), rule.DefaultTiming())
	var since time.Time
	tiers := 0
	for i, s := range states {
		if e := edges[i]; e.Kind == EdgeResolved {
			since = time.Time{}
		} else if e.Kind != "" {
			since, tiers = e.At, tiers+1
		}
		if !s.TierSince.Equal(since) || s.Changed() != (since.After(s.FiredAt) && s.Tier > dedup.Normal) {
			t.Fatalf("evaluation %d: %s since %s, want %s; changed: %t", i, s.Tier, s.TierSince, since, s.Changed())
		}
	}
	if tiers != 3 || !since.IsZero() {
		t.Errorf("%d tiers: %s", tiers, told(edges))
	}
	if set, _, _ := states[18].Next(rule.Evaluation{At: states[18].Seen.Add(-time.Hour), Enters: dedup.Severe, Holds: dedup.Severe}, rule.DefaultTiming()); !set.TierSince.Equal(states[18].TierSince.Add(-time.Hour)) {
		t.Errorf("after the clock was set back an hour it is at its tier since %s instead of %s", set.TierSince, states[18].TierSince)
	}
}

func TestAStateHoldsNoTimeThatARestartWouldChange(t *testing.T) {
	now := time.Now() // with a monotonic reading
	s, edge, _ := State{}.Next(rule.Evaluation{At: now, Enters: dedup.Severe, Holds: dedup.Severe}, rule.Timing{KeepFiring: 5 * time.Minute})
	for _, at := range []time.Time{s.Since, s.FiredAt, s.TierSince, s.Reached[0], s.HealthSince, s.Seen, edge.At} {
		if at != at.Round(0) || !at.Equal(now) {
			t.Errorf("%s is not %s, or has a monotonic reading", at, now)
		}
	}
}

func TestPhasesAndHealthsHaveWords(t *testing.T) {
	for word, got := range map[string]fmt.Stringer{
		"normal": PhaseNormal, "pending": PhasePending, "firing": PhaseFiring, "recovering": PhaseRecovering,
		"ok": rule.HealthOK, "no data": rule.HealthNoData, "error": rule.HealthError,
	} {
		if got.String() != word {
			t.Errorf("%q is written %q", word, got)
		}
	}
}
