package alerts

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A life is a random timeline, and the timing of its rule.
type life struct {
	timing   rule.Timing
	timeline []rule.Evaluation
}

// steps are the times between two evaluations: the usual ones, pauses, and clocks that are set.
var steps = []int{15, 15, 15, 15, 15, 15, 0, 1, 5, 10, 14, 16, 30, 60, 61, 120, 300, 900, 3600, 3601, 7200, -1, -15, -600, -3600}

// even are the steps of a clock that nothing disturbs, and slow those of evaluations that are to be 5 minutes apart.
var (
	even = []int{15, 15, 5, 10, 30, 60}
	slow = []int{300, 300, 300, 15, 600, 900}
)

// every makes evaluations of those that are to be so far apart.
func (l life) every(interval time.Duration) life {
	for i := range l.timeline {
		l.timeline[i].Interval = interval
	}
	return l
}

func drawLife(t *rapid.T, steps []int, mayFail bool) life {
	span := func(name string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 15, 30, 60, 120, 300}).Draw(t, name)) * time.Second
	}
	l := life{timing: rule.Timing{Warning: span("warning"), Severe: span("severe"), Emergency: span("emergency"), KeepFiring: span("keep")}}
	at, enters, holds := lifeStart, dedup.Normal, dedup.Normal
	for i := range rapid.IntRange(1, 80).Draw(t, "evaluations") {
		if i > 0 {
			at = at.Add(time.Duration(rapid.SampledFrom(steps).Draw(t, "step")) * time.Second)
		}
		if rapid.IntRange(0, 4).Draw(t, "change") == 0 {
			enters = dedup.Tier(rapid.IntRange(int(dedup.Normal), int(dedup.Emergency)).Draw(t, "enters"))
			holds = dedup.Tier(rapid.IntRange(int(enters), int(dedup.Emergency)).Draw(t, "holds"))
		}
		e := rule.Evaluation{At: at, Enters: enters, Holds: holds}
		if mayFail && rapid.IntRange(0, 7).Draw(t, "fails") == 0 {
			e = rule.Evaluation{At: at, Health: rapid.SampledFrom([]rule.Health{rule.HealthNoData, rule.HealthError}).Draw(t, "health")}
		}
		l.timeline = append(l.timeline, e)
	}
	return l
}

// lasting returns for how long, by a clock that is never set back, the evaluations up to the last one met a condition without a
// break: from the first that was OK. A pause of more than an hour is a break.
func lasting(timeline []rule.Evaluation, met func(rule.Evaluation) bool) time.Duration {
	total, atFirst := time.Duration(0), time.Duration(0)
	for i := len(timeline) - 1; i >= 0; i-- {
		e := timeline[i]
		if e.Health == rule.HealthOK {
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
			if got := lasting(l.timeline[:i+1], func(e rule.Evaluation) bool { return e.Enters >= edge.To }); got < l.timing.For(edge.To) {
				t.Fatalf("evaluation %d: %s to %s after %s, its time is %s", i, edge.Kind, edge.To, got, l.timing.For(edge.To))
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
			for left := edge.To + 1; left <= edge.From; left++ {
				if got := lasting(l.timeline[:i+1], func(e rule.Evaluation) bool { return e.Holds < left }); got < l.timing.KeepFiring {
					t.Fatalf("evaluation %d: %s to %s, %s was not held for %s, it keeps firing for %s", i, edge.Kind, edge.To, left, got, l.timing.KeepFiring)
				}
			}
			if held := l.timeline[i].Holds; held > edge.To {
				t.Fatalf("evaluation %d: it fell to %s while %s is held", i, edge.To, held)
			}
		}
	})
}

func TestNothingChangesOnTheWordOfOneEvaluationBetweenTwoFailuresAndOneAfter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, steps, true)
		_, edges := run(l.timeline, l.timing)
		for i, edge := range edges {
			if edge.Kind == "" || i == 0 || l.timeline[i-1].Health == rule.HealthOK {
				continue
			}
			least, met := l.timing.For(edge.To), func(e rule.Evaluation) bool { return e.Enters >= edge.To }
			if edge.Kind == EdgeDeescalated || edge.Kind == EdgeResolved {
				least, met = l.timing.KeepFiring, func(e rule.Evaluation) bool { return e.Holds <= edge.To } // the lowest tier that was left
			}
			seen := 0
			for j := i; j >= 0 && (l.timeline[j].Health != rule.HealthOK || met(l.timeline[j])); j-- {
				if l.timeline[j].Health == rule.HealthOK {
					seen++
				}
			}
			if least > 0 && seen < 3 {
				t.Fatalf("evaluation %d, right after a failure: %s after %d evaluations", i, edge.Kind, seen)
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
			if e.Health != rule.HealthOK && (states[i].Phase != before.Phase || states[i].Tier != before.Tier || edges[i].Kind != "") {
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
			if fires := s.Tier > dedup.Normal; fires != (s.Phase >= PhaseFiring) || fires == s.FiredAt.IsZero() || fires == s.TierSince.IsZero() ||
				s.Calm().IsZero() != (s.Phase != PhaseRecovering) && s.Health == rule.HealthOK {
				t.Fatalf("evaluation %d: phase %s with tier %s, fired %v, calm %v", i, s.Phase, s.Tier, s.FiredAt, s.Below)
			}
			tier = s.Tier
		}
	})
}

// What an alert left, or rose past, is forgotten: the journal would keep one that is normal, and a page name a tier that it does not fall to.
func TestATierIsBelowOnlyWhereItFiresAndIsNotHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, steps, true)
		states, _ := run(l.timeline, l.timing)
		for i, e := range l.timeline {
			for at, below := range states[i].Below {
				tier := dedup.Warning + dedup.Tier(at)
				if want := tier <= states[i].Tier && e.Holds < tier; e.Health == rule.HealthOK && below.IsZero() == want {
					t.Fatalf("evaluation %d, at %s while %s is held: %s is below since %v", i, states[i].Tier, e.Holds, tier, below)
				}
			}
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
		l.timeline = append(l.timeline[:k:k], append([]rule.Evaluation{l.timeline[k]}, l.timeline[k:]...)...)
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
		e := rule.Evaluation{At: end.At.Add(pause), Enters: dedup.Emergency, Holds: dedup.Emergency}
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
		l := drawLife(t, even, false).every(15 * time.Second)
		if rapid.Bool().Draw(t, "slow") {
			l = drawLife(t, slow, false).every(5 * time.Minute)
		}
		states, _ := run(l.timeline, l.timing)
		tier := dedup.Normal
		for i := range l.timeline {
			past := l.timeline[:i+1]
			due := dedup.Normal
			for want := dedup.Warning; want <= dedup.Emergency; want++ {
				if past[i].Enters >= want && lasting(past, func(e rule.Evaluation) bool { return e.Enters >= want }) >= l.timing.For(want) {
					due = want
				}
			}
			gone := func(tier dedup.Tier) bool {
				return past[i].Holds < tier && lasting(past, func(e rule.Evaluation) bool { return e.Holds < tier }) >= l.timing.KeepFiring
			}
			for tier > dedup.Normal && gone(tier) {
				tier--
			}
			tier = max(tier, due)
			if states[i].Tier != tier {
				t.Fatalf("evaluation %d: the tier is %s, want %s", i, states[i].Tier, tier)
			}
		}
	})
}
