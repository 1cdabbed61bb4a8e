package dispatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

const tickEvery = 15 * time.Second

// stageJournal keeps ticks in memory, and fails or hangs when told to.
type stageJournal struct {
	mu     sync.Mutex
	alerts map[rule.Key]alerts.Alert
	ticks  []alerts.Tick
	edges  []alerts.Transition
	due    []alerts.Notification
	fail   error
	hang   chan struct{} // closed to let a commit go on
}

func newStageJournal() *stageJournal {
	return &stageJournal{alerts: make(map[rule.Key]alerts.Alert)}
}

func (s *stageJournal) LoadAlerts(context.Context) ([]alerts.Alert, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.alerts)), nil
}

func (s *stageJournal) CommitTick(_ context.Context, t alerts.Tick) error {
	s.mu.Lock()
	hang := s.hang
	s.mu.Unlock()
	if hang != nil {
		<-hang
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	for _, a := range t.Alerts {
		s.alerts[a.Key] = a
	}
	s.ticks = append(s.ticks, t)
	s.edges = append(s.edges, t.Edges...)
	s.due = append(s.due, t.Due...)
	return nil
}

func (s *stageJournal) set(change func(*stageJournal)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// told are the edges that were kept, each as subject and tiers.
func (s *stageJournal) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, e := range s.edges {
		out = append(out, fmt.Sprintf("%s %s %s to %s", e.Judgement.Key.Subject, e.Kind, e.From, e.To))
	}
	return out
}

// dueText are the alerts of the messages in the outbox, each as subject and edge.
func (s *stageJournal) dueText() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, n := range s.due {
		for _, a := range n.Alerts {
			out = append(out, fmt.Sprintf("%s %s", a.Key.Subject, a.Edge))
		}
	}
	return out
}

// A stage is an engine whose planner is a dispatcher, over fakes. It is the source of its snapshots, the history and the silences.
type stage struct {
	*alerts.Engine
	journal  *stageJournal
	snap     *dedup.Snapshot
	values   []series.Value
	silences []alerts.Silence
	// deaf is how many readings of the silences fail.
	deaf int
	now  time.Time
}

// scripted fires and resolves without waiting, at the tier that the script gives.
func scripted() rule.Rule {
	return rule.Rule{Name: "scripted", Title: "scripted", Kind: rule.OfPipeline, Unit: dedup.Count, Expr: "scripted",
		Limits: rule.Limits{Warning: rule.Limit(float64(dedup.Warning)), Severe: rule.Limit(float64(dedup.Severe)), Emergency: rule.Limit(float64(dedup.Emergency)), Leave: 1}}
}

func keyOf(pipeline string) rule.Key {
	return rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: pipeline}
}

func newStage(t *testing.T, now time.Time, journal *stageJournal, planner *Dispatcher, change ...func(*alerts.EngineDeps)) *stage {
	s := &stage{journal: journal, now: now}
	s.watch("orders", "emails")
	deps := alerts.EngineDeps{Interval: tickEvery, Rules: []rule.Rule{scripted()}, Snapshots: s, History: s, Journal: journal, Planner: planner, Silences: s}
	for _, c := range change {
		c(&deps)
	}
	e, err := alerts.NewEngine(deps)
	if err != nil {
		t.Fatal(err)
	}
	s.Engine = e
	return s
}

func (s *stage) Snapshot() *dedup.Snapshot { return s.snap }

func (s *stage) At(time.Time) series.Ask {
	return func(context.Context, string) ([]series.Value, error) { return s.values, nil }
}

func (s *stage) Silences(context.Context) ([]alerts.Silence, error) {
	if s.deaf--; s.deaf >= 0 {
		return nil, fmt.Errorf("database is locked")
	}
	return s.silences, nil
}

// watch sets which pipelines there are.
func (s *stage) watch(names ...string) {
	s.snap = &dedup.Snapshot{Round: 1, At: s.now, Interval: tickEvery, Brokers: []dedup.BrokerStatus{{Name: "main", Health: dedup.SourceHealth{Tried: true, OK: true}}}}
	for _, n := range names {
		s.snap.Pipelines = append(s.snap.Pipelines, dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: n, Broker: "main", Limits: dedup.DefaultLimits()}})
	}
}

// tierOf is what a script says of one pipeline.
func tierOf(pipeline string, t dedup.Tier) series.Value {
	return series.Value{Labels: map[string]string{"pipeline": pipeline}, Value: float64(t)}
}

// script sets what the scripted rule says from now on.
func (s *stage) script(values ...series.Value) { s.values = values }

// tick evaluates once, an interval later, on a fresh round of the collector.
func (s *stage) tick(ctx context.Context) {
	s.now = s.now.Add(tickEvery)
	fresh := *s.snap
	fresh.At = s.now
	s.snap = &fresh
	s.Evaluate(ctx, s.now)
}

func TestAMessageHasTheWordsOfTheVariantThatJudged(t *testing.T) {
	rules, err := rule.Resolve([]rule.Rule{scripted()}, []rule.Rule{
		{Name: "scripted", Match: map[string]string{"team": "shop"}, Step: "call the shop", Runbook: "https://wiki.example/shop"},
		{Name: "scripted", Match: map[string]string{"team": "bank"}, Title: "Of the bank", Step: "call the bank", Runbook: "docs/bank.md"},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Default()
	cfg.Channels, cfg.GroupWait, cfg.GroupInterval = []string{"ops"}, 0, 0
	cfg.RunbookLink = func(runbook string) string { return "see " + runbook }
	planner, journal := New(cfg), newStageJournal()
	begin := func(now time.Time, rules []rule.Rule) *stage {
		s := newStage(t, now, journal, planner, func(d *alerts.EngineDeps) { d.Rules = rules })
		s.watch("orders", "emails", "transfers")
		for i, team := range []string{"shop", "post", "bank"} {
			s.snap.Pipelines[i].Pipeline.Labels = map[string]string{"team": team}
		}
		s.script(tierOf("orders", dedup.Severe), tierOf("emails", dedup.Severe), tierOf("transfers", dedup.Severe))
		return s
	}
	want := map[string]rule.Words{
		"orders":    {Title: "scripted", Step: "call the shop", Runbook: "see https://wiki.example/shop"},
		"emails":    {Title: "scripted", Runbook: "see "},
		"transfers": {Title: "Of the bank", Step: "call the bank", Runbook: "see docs/bank.md"},
	}
	told := func(edge alerts.EdgeKind) {
		t.Helper()
		heard := 0
		for _, n := range journal.due {
			for _, a := range n.Alerts {
				heard++
				if got := (rule.Words{Title: a.Title, Step: a.Step, Runbook: a.Runbook}); a.Edge != edge || got != want[a.Key.Subject] {
					t.Errorf("of %s that %s is told %+v, want %+v", a.Key.Subject, a.Edge, got, want[a.Key.Subject])
				}
			}
		}
		if heard != len(want) {
			t.Errorf("%d alerts that %s were told, want %d", heard, edge, len(want))
		}
		journal.due = nil
	}
	s := begin(deskOpens, rules)
	s.tick(t.Context())
	told(alerts.EdgeFired)
	s = begin(s.now, nil) // a rule that is gone has had its words all the same
	s.tick(t.Context())
	told(alerts.EdgeResolved)
}

func TestAnAlertThatFlapsAndLeftTheConfigurationIsKnownUntilTheJournalHasThatItIsCalm(t *testing.T) {
	cfg := Default()
	cfg.Channels = []string{"ops"}
	s := newStage(t, deskOpens, newStageJournal(), New(cfg))
	for i := range 6 {
		s.script(tierOf("orders", dedup.Normal+dedup.Tier(i%2)))
		s.tick(t.Context())
	}
	key := keyOf("orders")
	if s.journal.alerts[key].Flapping.IsZero() {
		t.Fatal("it does not flap")
	}
	s.watch("emails")
	s.script()
	for range int(FlapWindow/tickEvery) + 3 {
		s.tick(t.Context())
	}
	_, known := s.View().Alert(key)
	if a := s.journal.alerts[key]; a.State.Phase != alerts.PhaseNormal || !a.Flapping.IsZero() || known {
		t.Errorf("the journal has %+v, flapping since %s; it is still known: %v", a.State, a.Flapping, known)
	}
}
