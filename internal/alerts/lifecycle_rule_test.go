package alerts

import (
	"fmt"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// builtIn is the built-in rule of a name.
func builtIn(t *testing.T, name string, kind rule.SubjectKind) *rule.Rule {
	t.Helper()
	rules, err := rule.Resolve(rule.Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	found, ok := rule.NewBook(rules).Find(name, kind, nil)
	if !ok {
		t.Fatalf("there is no rule %s", name)
	}
	return found
}

// judgedAt is what a rule says of the only subject of a snapshot that was read just now.
func judgedAt(t *testing.T, r *rule.Rule, at time.Time, snap dedup.Snapshot) rule.Judgement {
	t.Helper()
	snap.At, snap.Interval = at, 15*time.Second
	said, ok := r.Judge(rule.NewRound(at, &snap, rule.Self{}))
	if !ok || len(said) != 1 {
		t.Fatalf("rule %s made %d judgements", r.Name, len(said))
	}
	return said[0]
}

func TestHysteresisHoldsSevereUntilBelowTheLeaveLimit(t *testing.T) {
	var timeline []rule.Evaluation
	r := builtIn(t, "duplicate_rate", rule.OfPipeline)
	hold := func(rate float64, evaluations int) {
		p := dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Limits: dedup.DefaultLimits()}}
		for _, w := range dedup.Windows() {
			f := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Ratio, Value: rate, Low: rate, High: rate, N: 10_000, Window: w, Covered: w}
			p.Windows = append(p.Windows, dedup.WindowFigures{Window: w, DuplicateRate: f})
		}
		for range evaluations {
			at := lifeStart.Add(time.Duration(len(timeline)) * 15 * time.Second)
			timeline = append(timeline, r.Evaluation(judgedAt(t, r, at, dedup.Snapshot{Pipelines: []dedup.PipelineStatus{p}})))
		}
	}
	hold(0.03, 9)
	hold(0.029, 100)
	hold(0.0239, 21)
	_, edges := run(timeline, r.Timing)
	if got, want := told(edges), fmt.Sprintf("fired severe 120, deescalated warning %d", (9+100)*15+300); got != want {
		t.Errorf("edges are %q, want %q", got, want)
	}
}

func TestASourceThatHasNotAnsweredSinceTheStartNeverRecovers(t *testing.T) {
	r := builtIn(t, "source_unreachable", rule.OfBroker)
	start := lifeStart.Add(-time.Hour)
	state := State{Phase: PhaseFiring, Tier: dedup.Severe, Since: start, FiredAt: start, Seen: lifeStart, Reached: [3]time.Time{start, start}}
	// Nothing is known of before: the server has a new address, or the journal is new.
	h := dedup.SourceHealth{Name: "broker main", Kind: "broker", Tried: true, Since: lifeStart, Err: "refused"}
	for at := lifeStart; at.Before(lifeStart.Add(10 * time.Minute)); at = at.Add(15 * time.Second) {
		j := judgedAt(t, r, at, dedup.Snapshot{Brokers: []dedup.BrokerStatus{{Name: "main", Health: h}}})
		var edge Edge
		var changed bool
		if state, edge, changed = state.Next(r.Evaluation(j), r.Timing); changed || state.Phase != PhaseFiring {
			t.Fatalf("%s after the start it is %s, with the edge %+v: %s", at.Sub(lifeStart), state.Phase, edge, j.Why)
		}
	}
}
