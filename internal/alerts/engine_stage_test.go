package alerts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

const tickEvery = 15 * time.Second

// stageJournal keeps ticks in memory, and fails or hangs when told to.
type stageJournal struct {
	mu     sync.Mutex
	alerts map[rule.Key]Alert
	ticks  []Tick
	edges  []Transition
	due    []Notification
	fail   error
	hang   chan struct{} // closed to let a commit go on
	loads  error
}

func newStageJournal() *stageJournal { return &stageJournal{alerts: make(map[rule.Key]Alert)} }

func (s *stageJournal) LoadAlerts(context.Context) ([]Alert, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.alerts)), s.loads
}

func (s *stageJournal) CommitTick(_ context.Context, t Tick) error {
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

// told are the edges that were kept, each as kind and subject.
func (s *stageJournal) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, e := range s.edges {
		out = append(out, fmt.Sprintf("%s %s %s to %s", e.Judgement.Key.Subject, e.Kind, e.From, e.To))
	}
	return out
}

// stagePlanner plans one notification for each edge.
type stagePlanner struct {
	seen  [][]Transition
	known [][]Alert
	undos int
	// silences are those of the newest plan.
	silences []Silence
}

func (p *stagePlanner) Plan(at time.Time, alerts []Alert, edges []Transition, silences []Silence) []Notification {
	p.silences = silences
	p.seen, p.known = append(p.seen, edges), append(p.known, alerts)
	var out []Notification
	for _, e := range edges {
		out = append(out, Notification{ID: e.Judgement.Key.String() + e.At.String(), At: at, Kind: NotifyEdges})
	}
	return out
}

func (p *stagePlanner) Sent() []Sent { return nil }

func (p *stagePlanner) Undo() { p.undos++ }

// stageSnapshots hands out a snapshot, and hangs when told to.
type stageSnapshots struct {
	snap *dedup.Snapshot
	hang chan struct{}
}

func (s *stageSnapshots) Snapshot() *dedup.Snapshot {
	if s.hang != nil {
		<-s.hang
	}
	return s.snap
}

// judgeBy lets a function of the time judge in the place of the rules of a kind.
func (s *stage) judgeBy(kind int, judge func(ctx context.Context, at time.Time) ([]rule.Judgement, error)) {
	s.rules[kind].judge = func(ctx context.Context, _ *dedup.Snapshot, at time.Time) ([]rule.Judgement, error) {
		return judge(ctx, at)
	}
}

// scripted is a rule that a script judges: it fires at once unless timing says otherwise.
func scripted(timing rule.Timing) rule.Rule {
	return rule.Rule{Name: "scripted", Title: "scripted", Kind: rule.OfPipeline, Unit: dedup.Count, Timing: timing, Limits: rule.Limits{Warning: rule.Limit(1)}}
}

func tierOf(subject string, t dedup.Tier) rule.Judgement {
	j := rule.Judgement{Key: rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: subject}, Enters: t, Holds: t, Value: float64(t), Why: "it is " + t.String()}
	if t == dedup.TierUnknown {
		j.Health, j.Why = rule.HealthError, "it cannot be read"
	}
	return j
}

// A stage is an engine over fakes.
type stage struct {
	*Engine
	journal   *stageJournal
	planner   *stagePlanner
	snapshots *stageSnapshots
	now       time.Time
}

func newStage(t interface{ Fatal(...any) }, now time.Time, journal *stageJournal, rules []rule.Rule, change ...func(*EngineDeps)) *stage {
	s := &stage{journal: journal, planner: &stagePlanner{}, snapshots: &stageSnapshots{snap: watching("orders", "emails")}, now: now}
	s.snapshots.snap.At = now
	deps := EngineDeps{Interval: tickEvery, Rules: rules, Snapshots: s.snapshots, History: &cannedHistory{}, Journal: journal, Planner: s.planner}
	for _, c := range change {
		c(&deps)
	}
	e, err := NewEngine(deps)
	if err != nil {
		t.Fatal(err)
	}
	e.started = now
	s.Engine = e
	return s
}

// script sets what the scripted rule says from now on.
func (s *stage) script(js ...rule.Judgement) {
	s.judgeBy(overSnapshot, func(context.Context, time.Time) ([]rule.Judgement, error) { return js, nil })
}

// tick evaluates once, an interval later, on a fresh round of the collector.
func (s *stage) tick(ctx context.Context) {
	s.now = s.now.Add(tickEvery)
	fresh := *s.snapshots.snap
	fresh.At = s.now
	s.snapshots.snap = &fresh
	s.Evaluate(ctx, s.now)
}

func (s *stage) alert(t *testing.T, subject string) *AlertView {
	t.Helper()
	a, ok := s.View().Alert(rule.Key{Rule: "scripted", Kind: rule.OfPipeline, Subject: subject})
	if !ok {
		t.Fatalf("there is no alert of %s", subject)
	}
	return a
}

// soon fires and resolves without waiting.
func soon() []rule.Rule { return []rule.Rule{scripted(rule.Timing{})} }

// evaluatedAt is when the scenes of the engine begin.
var evaluatedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// cannedHistory answers each query with the same values.
type cannedHistory struct{ values map[string][]series.Value }

func (c *cannedHistory) At(time.Time) series.Ask {
	return func(_ context.Context, promql string) ([]series.Value, error) { return c.values[promql], nil }
}

// valueFor is a value of one pipeline.
func valueFor(pipeline string, v float64) series.Value {
	return series.Value{Labels: map[string]string{"pipeline": pipeline}, At: evaluatedAt, Value: v}
}

// watching is a snapshot of pipelines of these names.
func watching(names ...string) *dedup.Snapshot {
	s := &dedup.Snapshot{Round: 1, At: evaluatedAt, Interval: tickEvery, Brokers: []dedup.BrokerStatus{{Name: "main", Health: dedup.SourceHealth{Tried: true, OK: true}}}}
	for _, n := range names {
		s.Pipelines = append(s.Pipelines, dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: n, Broker: "main", Limits: dedup.DefaultLimits()}})
	}
	return s
}

// backlog is a rule that the history judges.
func backlog() rule.Rule {
	return rule.Rule{Name: "backlog", Title: "backlog", Kind: rule.OfPipeline, Unit: dedup.Count, Expr: "ready", Limits: rule.Limits{Warning: rule.Limit(100), Severe: rule.Limit(1000)}}
}
