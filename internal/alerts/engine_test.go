package alerts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

const tickEvery = 15 * time.Second

// stageJournal keeps ticks in memory, and fails or hangs when told to.
type stageJournal struct {
	mu     sync.Mutex
	alerts map[Key]Alert
	ticks  []Tick
	edges  []Transition
	due    []Notification
	fail   error
	hang   chan struct{} // closed to let a commit go on
	loads  error
}

func newStageJournal() *stageJournal { return &stageJournal{alerts: make(map[Key]Alert)} }

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
}

func (p *stagePlanner) Plan(at time.Time, alerts []Alert, edges []Transition, _ []Silence) []Notification {
	p.seen, p.known = append(p.seen, edges), append(p.known, alerts)
	var out []Notification
	for _, e := range edges {
		out = append(out, Notification{ID: e.Judgement.Key.String() + e.At.String(), At: at, Kind: NotifyEdges})
	}
	return out
}
func (p *stagePlanner) Sent() []Sent { return nil }
func (p *stagePlanner) Undo()        { p.undos++ }

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

// scriptedRules judge by a function of the time.
type scriptedRules func(ctx context.Context, at time.Time) ([]Judgement, error)

func (s scriptedRules) Judge(ctx context.Context, _ *dedup.Snapshot, at time.Time) ([]Judgement, error) {
	return s(ctx, at)
}

// scripted is a rule that a script judges: it fires at once unless timing says otherwise.
func scripted(timing Timing) Rule {
	return Rule{Name: "scripted", Title: "scripted", Kind: OfPipeline, Unit: dedup.Count, Timing: timing, Limits: RuleLimits{Warning: Limit(1)}}
}

func tierOf(subject string, t dedup.Tier) Judgement {
	j := Judgement{Key: Key{Rule: "scripted", Kind: OfPipeline, Subject: subject}, Enters: t, Holds: t, Value: float64(t), Why: "it is " + t.String()}
	if t == dedup.TierUnknown {
		j.Health, j.Why = HealthError, "it cannot be read"
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

func newStage(t interface{ Fatal(...any) }, now time.Time, journal *stageJournal, rules []Rule, change ...func(*EngineDeps)) *stage {
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
func (s *stage) script(js ...Judgement) {
	s.overSnapshot = scriptedRules(func(context.Context, time.Time) ([]Judgement, error) { return js, nil })
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
	a, ok := s.View().Alert(Key{Rule: "scripted", Kind: OfPipeline, Subject: subject})
	if !ok {
		t.Fatalf("there is no alert of %s", subject)
	}
	return a
}

// soon fires and resolves without waiting.
func soon() []Rule { return []Rule{scripted(Timing{})} }

func TestAnEdgeCarriesTheJudgementThatMadeItAndTheLikelyCause(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), []Rule{{Name: "duplicate_rate", Title: "duplicate rate", Kind: OfPipeline, Measure: "duplicate_rate"}})
	p := causeCase{rate: 0.05, roseAt: 20, again: [2]float64{0.9, 1}, watched: true}.pipeline()
	p.Pipeline.Broker = "main"
	s.snapshots.snap.Pipelines[0] = *p
	s.overSnapshot = scriptedRules(func(_ context.Context, at time.Time) ([]Judgement, error) {
		return []Judgement{{Key: Key{Rule: "duplicate_rate", Kind: OfPipeline, Subject: "orders"}, Enters: dedup.Severe, Holds: dedup.Severe,
			Value: 0.05, Limit: 0.03, N: 10_000, Why: "duplicate rate 5.00 %, at or above the severe limit of 3.00 %"}}, nil
	})
	s.tick(t.Context())
	if len(s.journal.edges) != 1 {
		t.Fatalf("edges %v, want one", s.journal.told())
	}
	want, ok := LikelyCause(p, nil)
	if !ok {
		t.Fatal("the pipeline of the test has no likely cause")
	}
	e := s.journal.edges[0]
	if e.Cause != want.Sentence(time.UTC) || e.Judgement.Value != 0.05 || e.Judgement.N != 10_000 || !e.Judgement.At.Equal(s.now) || e.Judgement.Labels["broker"] != "main" {
		t.Errorf("edge %+v, want the judgement with its labels and the cause %q", e, want.Sentence(time.UTC))
	}
	if a, _ := s.View().Alert(e.Judgement.Key); a.Cause != e.Cause {
		t.Errorf("the page shows the cause %q, the edge %q", a.Cause, e.Cause)
	}
}

func TestTheCauseOfDuplicatesIsNotSaidOfAnotherAlert(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	p := causeCase{rate: 0.05, roseAt: 20, again: [2]float64{0.9, 1}, watched: true}.pipeline()
	s.snapshots.snap.Pipelines[0] = *p
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	if e := s.journal.edges; len(e) != 1 || e[0].Cause != "" {
		t.Errorf("got %+v, want one edge without a cause", e)
	}
}

func TestEdgesOfACommitThatFailedComeAgainAsTheyWere(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	s.script(tierOf("orders", dedup.Normal))
	s.tick(t.Context())
	s.journal.fail = errors.New("database is locked")
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	fired := s.now
	if v := s.View(); v.Worst != dedup.Normal || v.FailedCommits != 1 || len(v.Errors) != 1 || !strings.Contains(v.Errors[0], "cannot be kept") {
		t.Errorf("after a failed commit: worst %v, %d failed, errors %v; want what was kept before, and why", v.Worst, v.FailedCommits, v.Errors)
	}
	if strings.Contains(s.View().Errors[0], "locked") {
		t.Errorf("the page tells an inner error: %q", s.View().Errors[0])
	}
	s.script(tierOf("orders", dedup.Normal)) // it is over before the journal comes back
	s.tick(t.Context())
	s.tick(t.Context())
	s.journal.set(func(j *stageJournal) { j.fail = nil })
	s.tick(t.Context())
	if got := s.journal.told(); len(got) != 2 || got[0] != "orders fired normal to severe" || got[1] != "orders resolved severe to normal" {
		t.Fatalf("kept %v, want that it fired and that it resolved", got)
	}
	if e := s.journal.edges[0]; !e.At.Equal(fired) || !e.Judgement.At.Equal(fired) || e.Judgement.Why != "it is severe" {
		t.Errorf("the edge came again as %+v, want it as of %s", e, fired)
	}
	if s.planner.undos != 3 {
		t.Errorf("%d plans were taken back, want the 3 that were not kept", s.planner.undos)
	}
	if last := s.planner.seen[len(s.planner.seen)-1]; len(last) != 2 || len(s.journal.due) != 2 {
		t.Errorf("the plan that was kept saw %d edges and made %d notifications, want 2 and 2", len(last), len(s.journal.due))
	}
	s.tick(t.Context())
	if got := s.journal.told(); len(got) != 2 {
		t.Errorf("edges came again after they were kept: %v", got)
	}
	if v := s.View(); len(v.Errors) != 0 || v.FailedCommits != 3 {
		t.Errorf("errors %v, %d failed commits", v.Errors, v.FailedCommits)
	}
}

func TestAHungSourceOfSnapshotsMakesAlertsStaleAndResolvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := append(soon(), Rule{Name: "watchdog", Title: "watchdog", Kind: OfDashboard, Measure: "watchdog"})
		s := newStage(t, time.Now(), newStageJournal(), rules)
		watchdog := Judgement{Key: Key{Rule: "watchdog", Kind: OfDashboard}, Enters: dedup.Warning, Holds: dedup.Warning}
		s.script(tierOf("orders", dedup.Severe), watchdog)
		s.tick(t.Context())
		hang := make(chan struct{})
		s.snapshots.hang = hang
		for i := range 6 {
			time.Sleep(tickEvery)
			if i == 3 { // by figures that are too old it is over
				s.script(tierOf("orders", dedup.Normal), watchdog)
			}
			began := time.Now()
			s.Evaluate(t.Context(), began)
			if took := time.Since(began); took > tickEvery {
				t.Fatalf("an evaluation waited %s for a source that hangs", took)
			}
		}
		a := s.alert(t, "orders")
		if !fires(a.State) || a.State.Tier != dedup.Severe || a.Last.Health != HealthError || !a.Stale() || !strings.Contains(a.Last.Why, "old") {
			t.Errorf("alert %+v, judged %v %q; want it firing at severe, and stale", a.State, a.Last.Health, a.Last.Why)
		}
		if v := s.View(); len(v.Errors) == 0 || v.Worst != dedup.Severe {
			t.Errorf("errors %v, worst %v", v.Errors, v.Worst)
		}
		if a, ok := s.View().Alert(watchdog.Key); !ok || !fires(a.State) || a.Last.Health != HealthOK {
			t.Errorf("the watchdog does not fire: %+v", a)
		}
		close(hang)
		if got := s.journal.told(); len(got) != 2 {
			t.Errorf("edges %v, want that both fired and no more", got)
		}
	})
}

func TestRulesThatHangLeaveTheOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		history := scripted(Timing{})
		history.Name, history.Expr = "from_history", "x"
		s := newStage(t, time.Now(), newStageJournal(), append(soon(), history))
		s.script(tierOf("orders", dedup.Warning))
		firing := Judgement{Key: Key{Rule: "from_history", Kind: OfPipeline, Subject: "orders"}, Enters: dedup.Severe, Holds: dedup.Severe}
		s.overHistory = scriptedRules(func(context.Context, time.Time) ([]Judgement, error) { return []Judgement{firing}, nil })
		s.tick(t.Context())
		hang := make(chan struct{})
		s.overHistory = scriptedRules(func(context.Context, time.Time) ([]Judgement, error) { <-hang; return nil, nil })
		s.script(tierOf("orders", dedup.Emergency))
		s.tick(t.Context())
		s.tick(t.Context())
		if a := s.alert(t, "orders"); a.State.Tier != dedup.Emergency || a.Last.Health != HealthOK {
			t.Errorf("the other rule is held up: %+v", a.State)
		}
		a, _ := s.View().Alert(firing.Key)
		if !fires(a.State) || a.Last.Health != HealthError || !strings.Contains(a.Last.Why, "has not come back") {
			t.Errorf("what hangs: %+v, %q; want it firing and stale", a.State, a.Last.Why)
		}
		close(hang)
		synctest.Wait()
		s.overHistory = scriptedRules(func(context.Context, time.Time) ([]Judgement, error) { return []Judgement{firing}, nil })
		s.tick(t.Context())
		if a, _ := s.View().Alert(firing.Key); a.Last.Health != HealthOK {
			t.Errorf("it is not evaluated again: %q", a.Last.Why)
		}
	})
}

func TestAHungJournalHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, time.Now(), newStageJournal(), soon())
		hang := make(chan struct{})
		s.journal.hang = hang
		s.script(tierOf("orders", dedup.Severe))
		for range 3 {
			began := time.Now()
			s.tick(t.Context())
			if took := time.Since(began); took > tickEvery {
				t.Fatalf("an evaluation waited %s for the journal", took)
			}
		}
		s.journal.set(func(j *stageJournal) { j.hang = nil })
		close(hang)
		synctest.Wait()
		s.tick(t.Context())
		var first time.Time
		for _, e := range s.journal.edges { // the one that hung was kept after all: the same edge may come twice, and is the same
			if first.IsZero() {
				first = e.At
			}
			if e.Kind != EdgeFired || !e.At.Equal(first) {
				t.Errorf("edge %+v, want that it fired at %s", e.Edge, first)
			}
		}
		if first.IsZero() || s.View().Worst != dedup.Severe {
			t.Errorf("nothing was kept: %v, worst %v", s.journal.told(), s.View().Worst)
		}
	})
}

func TestNothingIsEvaluatedBeforeTheAlertsOfBeforeAreRead(t *testing.T) {
	journal := newStageJournal()
	key := Key{Rule: "scripted", Kind: OfPipeline, Subject: "orders"}
	journal.alerts[key] = Alert{Key: key, State: State{Phase: PhaseFiring, Tier: dedup.Severe, Since: evaluatedAt, FiredAt: evaluatedAt, Seen: evaluatedAt}}
	journal.loads = errors.New("disk I/O error")
	s := newStage(t, evaluatedAt, journal, soon())
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	if v := s.View(); !v.At.IsZero() || len(v.Errors) != 1 || len(journal.ticks) != 0 || v.Worst != dedup.TierUnknown {
		t.Errorf("view %+v, want none, and why", v)
	}
	journal.loads = nil
	s.tick(t.Context())
	if got := journal.told(); len(got) != 0 || s.View().Worst != dedup.Severe {
		t.Errorf("edges %v, worst %v; want none, and that it still fires", got, s.View().Worst)
	}
}

func TestBeforeTheFirstRoundNothingHasLeftTheConfiguration(t *testing.T) {
	journal := newStageJournal()
	key := Key{Rule: "scripted", Kind: OfPipeline, Subject: "orders"}
	journal.alerts[key] = Alert{Key: key, State: State{Phase: PhaseFiring, Tier: dedup.Severe, Since: evaluatedAt, FiredAt: evaluatedAt, Seen: evaluatedAt}}
	s := newStage(t, evaluatedAt, journal, soon())
	s.snapshots.snap = &dedup.Snapshot{Interval: tickEvery}
	for range 6 {
		s.now = s.now.Add(tickEvery)
		s.Evaluate(t.Context(), s.now)
	}
	if got := journal.told(); len(got) != 0 || s.View().Worst != dedup.Severe {
		t.Errorf("edges %v, worst %v; want none, and that it still fires", got, s.View().Worst)
	}
	if v := s.View(); len(v.Errors) != 1 || !strings.Contains(v.Errors[0], "no round of the collector has ended") {
		t.Errorf("errors %v, want that no round ends", v.Errors)
	}
}

func TestTheAlertOfASubjectThatLeftTheConfigurationResolvesWithANote(t *testing.T) {
	for _, tt := range []struct {
		name  string
		leave func(*stage)
		why   string
	}{
		{"the pipeline is gone", func(s *stage) { s.snapshots.snap = watching("emails") }, "the pipeline left the configuration"},
		{"the rule is gone", func(s *stage) { s.book = newRuleBook(nil) }, "the rule left the configuration"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, evaluatedAt, newStageJournal(), soon())
			s.script(tierOf("orders", dedup.Severe))
			s.tick(t.Context())
			tt.leave(s)
			s.script()
			s.tick(t.Context())
			if got := s.journal.told(); len(got) != 2 || got[1] != "orders resolved severe to normal" || !strings.Contains(s.journal.edges[1].Judgement.Why, tt.why) {
				t.Fatalf("edges %v, want that it resolved with a note", got)
			}
			s.tick(t.Context())
			if v := s.View(); len(v.Alerts) != 0 || len(s.journal.told()) != 2 {
				t.Errorf("%d alerts, edges %v; want that it is forgotten", len(v.Alerts), s.journal.told())
			}
			if a := s.journal.alerts[Key{Rule: "scripted", Kind: OfPipeline, Subject: "orders"}]; a.State.Phase != PhaseNormal {
				t.Errorf("the journal has it %v", a.State.Phase)
			}
		})
	}
}

func TestAnAlertThatNoRuleSaysAnythingOfStaysAsItIs(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	s.script()
	for range 40 {
		s.tick(t.Context())
	}
	if a := s.alert(t, "orders"); !fires(a.State) || a.Last.Health != HealthError || len(s.journal.edges) != 1 {
		t.Errorf("alert %+v, %v; edges %v", a.State, a.Last, s.journal.told())
	}
}

func TestACalmAlertIsNotWrittenAgainAndAgain(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	s.script(tierOf("orders", dedup.Normal), tierOf("emails", dedup.TierUnknown))
	for range 5 {
		s.tick(t.Context())
	}
	if len(s.journal.ticks) != 0 {
		t.Errorf("%d ticks were written, want none", len(s.journal.ticks))
	}
	if v := s.View(); len(v.Alerts) != 2 || v.Alerts[0].Key.Subject != "emails" || len(v.Alerts[0].History) != 5 {
		t.Errorf("view %+v, want both alerts with their history, the unknown one first", v.Alerts)
	}
}

func TestTheLastTwentyEvaluationsAnswerWhyAndAreNeverWrittenToAgain(t *testing.T) {
	s := newStage(t, evaluatedAt, newStageJournal(), soon())
	var views []*View
	var copies [][]Evaluated
	for i := range 100 {
		j := tierOf("orders", dedup.Normal)
		j.Value = float64(i)
		s.script(j)
		s.tick(t.Context())
		views = append(views, s.View())
		copies = append(copies, slices.Clone(s.View().Alerts[0].History))
	}
	for i, v := range views {
		h := v.Alerts[0].History
		if len(h) != min(i+1, 20) || h[len(h)-1].Value != float64(i) || !slices.Equal(h, copies[i]) {
			t.Fatalf("view %d has %d evaluations that end at %v", i, len(h), h[len(h)-1].Value)
		}
	}
}

func TestOnlyASilenceAndAnAcknowledgementChangeWhatIsAttendedNeverTheEdges(t *testing.T) {
	quiet := nightly()
	quiet.Ends = evaluatedAt.Add(24 * time.Hour)
	run := func(silences ...Silence) (*stage, []string) {
		s := newStage(t, evaluatedAt, newStageJournal(), soon(), func(d *EngineDeps) { d.Silences = fixedSilences(silences) })
		for _, tier := range []dedup.Tier{dedup.Normal, dedup.Warning, dedup.Severe, dedup.Normal, dedup.Emergency} {
			s.script(tierOf("orders", tier), tierOf("emails", tier))
			s.tick(t.Context())
		}
		return s, s.journal.told()
	}
	_, loud := run()
	s, silenced := run(quiet)
	if !slices.Equal(loud, silenced) || len(loud) == 0 {
		t.Errorf("with a silence the edges are %v, without %v", silenced, loud)
	}
	a, b := s.alert(t, "orders"), s.alert(t, "emails")
	if !slices.Equal(a.Silences, []string{"s1"}) || len(b.Silences) != 0 || !a.Attended() || b.Attended() {
		t.Errorf("orders is covered by %v, emails by %v", a.Silences, b.Silences)
	}
	if v := s.View(); v.Alerts[0].Key.Subject != "emails" || v.Worst != dedup.Emergency || v.Unattended != dedup.Emergency {
		t.Errorf("worst %v, unattended %v, first %s; want the unattended one first", v.Worst, v.Unattended, v.Alerts[0].Key)
	}
}

type fixedSilences []Silence

func (f fixedSilences) Silences(context.Context) ([]Silence, error) { return f, nil }

type brokenSilences struct{ err error }

func (b *brokenSilences) Silences(context.Context) ([]Silence, error) {
	return []Silence{func() Silence { s := nightly(); s.Ends = evaluatedAt.Add(24 * time.Hour); return s }()}, b.err
}

func TestSilencesThatCannotBeReadStillHold(t *testing.T) {
	source := &brokenSilences{}
	s := newStage(t, evaluatedAt, newStageJournal(), soon(), func(d *EngineDeps) { d.Silences = source })
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	source.err = errors.New("disk I/O error")
	s.tick(t.Context())
	if a := s.alert(t, "orders"); len(a.Silences) != 1 {
		t.Errorf("the silence is forgotten: %v", a.Silences)
	}
	if v := s.View(); len(v.Errors) != 1 || !strings.Contains(v.Errors[0], "still hold") {
		t.Errorf("errors %v", v.Errors)
	}
}

func TestAnAcknowledgementIsKeptAtOnceAndEndsWhenTheTierWorsens(t *testing.T) {
	now := time.Now()
	s := newStage(t, now, newStageJournal(), soon())
	key := Key{Rule: "scripted", Kind: OfPipeline, Subject: "orders"}
	if err := s.Acknowledge(t.Context(), key, "ada", "", now.Add(time.Hour)); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("an alert that there is not: %v", err)
	}
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	s.journal.fail = errors.New("disk I/O error")
	if err := s.Acknowledge(t.Context(), key, "ada", "on it", now.Add(time.Hour)); err == nil || s.alert(t, "orders").Ack != nil {
		t.Errorf("an acknowledgement that was not kept holds: %v, %+v", err, s.alert(t, "orders").Ack)
	}
	s.journal.fail = nil
	if err := s.Acknowledge(t.Context(), key, "ada", "on it", now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if a := s.alert(t, "orders"); a.Ack == nil || a.Ack.By != "ada" || a.Ack.Tier != dedup.Severe || s.journal.alerts[key].Ack == nil || s.View().Unattended != dedup.Normal {
		t.Fatalf("acknowledged: %+v, kept: %+v, unattended %v", a.Ack, s.journal.alerts[key].Ack, s.View().Unattended)
	}
	s.script(tierOf("orders", dedup.Emergency))
	s.tick(t.Context())
	if a := s.alert(t, "orders"); a.Ack != nil || s.journal.alerts[key].Ack != nil || s.View().Unattended != dedup.Emergency {
		t.Errorf("it still holds at a worse tier: %+v", a.Ack)
	}
	if known := s.planner.known[len(s.planner.known)-1]; len(known) != 1 || known[0].Ack != nil {
		t.Errorf("the plan of the edge saw %+v, want it without the acknowledgement", known)
	}
}

func TestAnAcknowledgementCanBeTakenBack(t *testing.T) {
	now := time.Now()
	s := newStage(t, now, newStageJournal(), soon())
	key := Key{Rule: "scripted", Kind: OfPipeline, Subject: "orders"}
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	if err := s.Acknowledge(t.Context(), key, "ada", "on it", now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Unacknowledge(t.Context(), key); err != nil || s.alert(t, "orders").Ack != nil || s.journal.alerts[key].Ack != nil {
		t.Errorf("it still holds: %v", err)
	}
}

func TestASilenceThatWasJustMadeIsShownAtOnce(t *testing.T) {
	silences := &changingSilences{}
	s := newStage(t, time.Now(), newStageJournal(), soon(), func(d *EngineDeps) { d.Silences = silences })
	s.script(tierOf("orders", dedup.Severe))
	s.tick(t.Context())
	fresh := nightly()
	fresh.Starts, fresh.Ends = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	silences.now = []Silence{fresh}
	if err := s.ReloadSilences(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := s.View(); len(v.Silences) != 1 || len(s.alert(t, "orders").Silences) != 1 || v.Unattended != dedup.Normal {
		t.Errorf("silences %v, of the alert %v, unattended %v", v.Silences, s.alert(t, "orders").Silences, v.Unattended)
	}
}

type changingSilences struct{ now []Silence }

func (c *changingSilences) Silences(context.Context) ([]Silence, error) { return c.now, nil }

func TestOnePipelineWithoutDataLeavesTheOthersAlone(t *testing.T) {
	rule := plainRule()
	rule.NoData = NoDataKeep
	history := &cannedHistory{values: map[string][]series.Value{"ready": {valueFor("orders", 500), valueFor("emails", 500)}}}
	s := newStage(t, evaluatedAt, newStageJournal(), []Rule{rule}, func(d *EngineDeps) { d.History = history })
	s.tick(t.Context())
	history.values["ready"] = []series.Value{valueFor("emails", 5000)}
	for range 30 {
		s.tick(t.Context())
	}
	orders, _ := s.View().Alert(Key{Rule: "backlog", Kind: OfPipeline, Subject: "orders"})
	emails, _ := s.View().Alert(Key{Rule: "backlog", Kind: OfPipeline, Subject: "emails"})
	if orders.State.Tier != dedup.Warning || !fires(orders.State) || orders.State.Health != HealthNoData {
		t.Errorf("orders: %+v, want that it still fires, without data", orders.State)
	}
	if emails.State.Tier != dedup.Severe || emails.State.Health != HealthOK {
		t.Errorf("emails: %+v, want severe", emails.State)
	}
}

func TestTheEngineRunsOnItsOwnTickerAndTellsOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		topics := map[string]int{}
		dues := 0
		s := newStage(t, time.Now(), newStageJournal(), soon(), func(d *EngineDeps) {
			d.Changed = func(topic string) { mu.Lock(); topics[topic]++; mu.Unlock() }
			d.Due = func() { mu.Lock(); dues++; mu.Unlock() }
		})
		var tier dedup.Tier = dedup.Normal
		s.overSnapshot = scriptedRules(func(_ context.Context, at time.Time) ([]Judgement, error) {
			mu.Lock()
			defer mu.Unlock()
			return []Judgement{tierOf("orders", tier)}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(2*tickEvery + time.Second)
		synctest.Wait()
		mu.Lock()
		if got := s.View().Evaluations; got != 3 || topics["alerts"] != 1 || dues != 0 {
			t.Errorf("%d evaluations, %v topics, %d times due; want 3, one of them news, nothing due", got, topics, dues)
		}
		tier = dedup.Severe
		mu.Unlock()
		time.Sleep(tickEvery)
		synctest.Wait()
		mu.Lock()
		if topics["alerts"] != 2 || dues != 1 || s.View().Worst != dedup.Severe {
			t.Errorf("%v topics, %d times due, worst %v", topics, dues, s.View().Worst)
		}
		mu.Unlock()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
}

// TestARestartAtAnyTickYieldsTheSameEdges runs one timeline twice: once with the engine made anew from the journal at random ticks.
func TestARestartAtAnyTickYieldsTheSameEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(t, "ticks")
		timing := Timing{
			Warning: time.Duration(rapid.IntRange(0, 6).Draw(t, "for warning")) * 20 * time.Second,
			Severe:  time.Duration(rapid.IntRange(0, 6).Draw(t, "for severe")) * 20 * time.Second, Emergency: 20 * time.Second,
			KeepFiring: time.Duration(rapid.IntRange(0, 6).Draw(t, "keep firing")) * 20 * time.Second,
		}
		// Levels last for several evaluations, so that something fires.
		levels := make([]dedup.Tier, 0, n)
		for len(levels) < n {
			tier := dedup.Tier(rapid.IntRange(0, 4).Draw(t, "tier"))
			for range rapid.IntRange(1, 12).Draw(t, "for") {
				levels = append(levels, tier)
			}
		}
		restarts := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "restarts")
		fails := rapid.SliceOfN(rapid.IntRange(0, 5), n, n).Draw(t, "fails")
		play := func(broken bool) []Transition {
			journal := newStageJournal()
			s := newStage(t, evaluatedAt, journal, []Rule{scripted(timing)})
			for i := range n {
				if broken && restarts[i] {
					s = newStage(t, s.now, journal, []Rule{scripted(timing)})
				}
				journal.fail = nil
				if broken && fails[i] == 0 && (i+1 >= n || !restarts[i+1]) { // and comes back before the next restart
					journal.fail = errors.New("database is locked")
				}
				s.script(tierOf("orders", levels[i]))
				s.tick(context.Background())
			}
			journal.fail = nil
			s.script(tierOf("orders", dedup.TierUnknown))
			s.tick(context.Background())
			return journal.edges
		}
		whole, broken := play(false), play(true)
		if len(whole) != len(broken) {
			t.Fatalf("%d edges without a restart, %d with: %v %v", len(whole), len(broken), whole, broken)
		}
		for i := range whole {
			a, b := whole[i].Edge, broken[i].Edge
			if a.Kind != b.Kind || a.From != b.From || a.To != b.To || b.At.Sub(a.At).Abs() > tickEvery {
				t.Errorf("edge %d: %+v without a restart, %+v with", i, a, b)
			}
		}
	})
}
