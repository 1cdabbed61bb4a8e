// Package measuring lets operators measure a pipeline exactly, one of each broker at a time.
package measuring

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/operation"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/mask"
)

const (
	// Listed is how many measurements of a pipeline are kept and listed: the newest.
	Listed = 50
	// readyTimeout bounds the question whether a trace can begin.
	readyTimeout = 15 * time.Second
	// startTimeout bounds the start in all, of which a repeated request may wait for the first: the server answers within 30 s.
	startTimeout = 25 * time.Second
)

// measurementJournal keeps measurements. Writes are on disk when they return; it is safe for concurrent use.
type measurementJournal interface {
	// SaveMeasurement keeps a measurement, or replaces it, and the newest Listed of its pipeline. The token is kept with the first.
	SaveMeasurement(ctx context.Context, m dedup.Measurement, token string) error
	Measurement(ctx context.Context, id string) (dedup.Measurement, bool, error)
	// Measurements returns the newest of a pipeline, newest first, without lists of ids.
	Measurements(ctx context.Context, pipeline string, limit int) ([]dedup.Measurement, error)
	// MeasurementByToken returns the measurement that this person started with the token, or "".
	MeasurementByToken(ctx context.Context, by, token string) (string, error)
	// InterruptMeasurements ends those that run: an earlier process did not end them.
	InterruptMeasurements(ctx context.Context, at time.Time) error
}

// Off is why nothing is measured where the configuration says so.
const Off = "measurements are off (measurements: off)"

// A Measurer measures pipelines. Its errors are *dedup.Error.
type Measurer interface {
	// WhyNot says in few words why a pipeline can never be measured as it is configured; empty where it can.
	WhyNot(p dedup.Pipeline) string
	// Ready says whether it can be measured now.
	Ready(ctx context.Context, p dedup.Pipeline) dedup.TraceReadiness
	// Measure fills in what came of m: state, why, result and calibration. It ends when ctx does, with what was seen by then. Progress is
	// told when tracing began, and each second how many deliveries were seen; it must not wait.
	Measure(ctx context.Context, p dedup.Pipeline, m *dedup.Measurement, progress func(began time.Time, seen int64)) error
}

// Deps are what Measurements needs. Changed, which may be nil, is told that "measurement:ID" or "pipeline:NAME" changed.
type Deps struct {
	Gate     *admin.Gate
	Journal  measurementJournal
	Measurer Measurer
	// Pipelines are those of the configuration.
	Pipelines []dedup.Pipeline
	// Mask hides in copies what is hidden in dead letters; nil hides by the words that hide unless others are configured.
	Mask     *mask.Masker
	ReadOnly bool
	Changed  func(topic string)
	Log      *slog.Logger
	Now      func() time.Time
}

// Measurements lets operators measure a pipeline exactly, one of each broker at a time. It is safe for concurrent use; its errors are
// *dedup.Error.
type Measurements struct {
	deps Deps
	// ctx ends when Run does.
	ctx  context.Context
	stop context.CancelFunc

	live *operation.Set[liveMeasurement]

	mu sync.Mutex
	// busy are the ids of those that run, by broker.
	busy map[string]string
	// starting are the tokens whose requests are being answered; each is closed when that was done.
	starting map[startToken]chan struct{}
}

// New returns the service.
func New(deps Deps) *Measurements {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Changed == nil {
		deps.Changed = func(string) {}
	}
	if deps.Mask == nil {
		deps.Mask = mask.New(mask.Words())
	}
	m := &Measurements{deps: deps, live: operation.NewSet[liveMeasurement]("measurement"), busy: map[string]string{},
		starting: map[startToken]chan struct{}{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// Recover notes the measurements that an earlier process did not end. It is called before the first one is started.
func (s *Measurements) Recover(ctx context.Context) {
	if err := s.deps.Journal.InterruptMeasurements(ctx, s.deps.Now()); err != nil {
		s.deps.Log.Error("measurements that were interrupted could not be noted", "err", err)
	}
}

// Run ends what runs when ctx ends; Close waits for it.
func (s *Measurements) Run(ctx context.Context) error {
	<-ctx.Done()
	s.end()
	return nil
}

// end lets nothing begin any more, and ends what runs.
func (s *Measurements) end() {
	s.live.Close()
	s.stop()
}

// Close ends what runs, and waits until what was seen is kept, or ctx ends.
func (s *Measurements) Close(ctx context.Context) error {
	s.end()
	if err := s.live.Wait(ctx); err != nil {
		return fmt.Errorf("a measurement did not end: %w", err)
	}
	return nil
}

// WhyNot says in few words why a pipeline cannot be measured at all, empty where it can.
func (s *Measurements) WhyNot(pipeline string) string {
	p, ok := s.pipeline(pipeline)
	switch {
	case s.deps.ReadOnly:
		return admin.ReadOnly
	case !ok:
		return "there is no such pipeline"
	}
	return s.deps.Measurer.WhyNot(p)
}

func (s *Measurements) pipeline(name string) (dedup.Pipeline, bool) {
	for _, p := range s.deps.Pipelines {
		if p.Name == name {
			return p, true
		}
	}
	return dedup.Pipeline{}, false
}

// A Request asks to measure a pipeline. A second one of the same person with the same token starts nothing.
type Request struct {
	Pipeline string
	Length   time.Duration
	Token    string
}

// Start begins to measure, and returns the measurement at once; it goes on when the caller has gone. Operators may.
func (s *Measurements) Start(ctx context.Context, who admin.Caller, req Request) (dedup.Measurement, error) {
	act := admin.Action{Name: admin.ActMeasure, Target: admin.Printable(req.Pipeline, admin.MaxTarget), Needs: auth.Operator}
	if err := s.deps.Gate.Allow(ctx, who, act); err != nil {
		return dedup.Measurement{}, err
	}
	p, err := s.check(req)
	if err != nil {
		return dedup.Measurement{}, s.deps.Gate.Refuse(ctx, who, act, err)
	}
	within, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if req.Token != "" {
		leave, err := s.turn(within, startToken{who.Name, req.Token})
		if err != nil {
			return dedup.Measurement{}, s.deps.Gate.Refuse(ctx, who, act, err)
		}
		defer leave()
		if m, some, err := s.startedBy(ctx, who, act, req); some || err != nil {
			return m, err
		}
	}
	l := &liveMeasurement{m: dedup.Measurement{ID: rand.Text(), Pipeline: p.Name, Broker: p.Broker, By: who.Name,
		Started: s.deps.Now().UTC().Truncate(time.Millisecond), Length: req.Length, State: dedup.MeasurementRunning}}
	for _, q := range p.Queues {
		l.m.Queues = append(l.m.Queues, dedup.QueueRef{Vhost: p.Vhost, Name: q})
	}
	if err := s.claim(l); err != nil {
		return dedup.Measurement{}, s.deps.Gate.Refuse(ctx, who, act, err)
	}
	m, err := s.begin(within, who, act, p, l, req.Token)
	if err != nil {
		s.release(l)
		return dedup.Measurement{}, s.deps.Gate.Refuse(ctx, who, act, err)
	}
	return m, nil
}

// A startToken is what a person sends with a request to know it again.
type startToken struct{ by, token string }

// turn lets requests with the same token go one after the other, so that a repeated one finds what the first has started, though that was still
// being asked for when the second came.
func (s *Measurements) turn(ctx context.Context, t startToken) (leave func(), err error) {
	for {
		s.mu.Lock()
		first, taken := s.starting[t]
		if !taken {
			ended := make(chan struct{})
			s.starting[t] = ended
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				delete(s.starting, t)
				s.mu.Unlock()
				close(ended)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-first:
		case <-ctx.Done():
			return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "The first request with this idempotency token is not answered yet; repeat it later", Err: ctx.Err()}
		}
	}
}

// startedBy returns the measurement that an earlier request with the token has started; false where none has.
func (s *Measurements) startedBy(ctx context.Context, who admin.Caller, act admin.Action, req Request) (dedup.Measurement, bool, error) {
	id, err := s.deps.Journal.MeasurementByToken(ctx, who.Name, req.Token)
	if err != nil {
		return dedup.Measurement{}, false, admin.JournalError("Nothing was measured, because the journal cannot be read", err)
	}
	if id == "" {
		return dedup.Measurement{}, false, nil
	}
	m, err := s.One(ctx, id)
	if err == nil && m.Pipeline != req.Pipeline {
		err = s.deps.Gate.Refuse(ctx, who, act, admin.Conflict("This idempotency token has started another measurement"))
	}
	return m, true, err
}

// check says what is wrong with a request.
func (s *Measurements) check(req Request) (dedup.Pipeline, error) {
	p, ok := s.pipeline(req.Pipeline)
	if !ok {
		return p, admin.NotFound("There is no pipeline " + admin.Printable(req.Pipeline, 80))
	}
	if why := s.WhyNot(p.Name); why != "" {
		return p, admin.Forbidden("This pipeline cannot be measured: " + why)
	}
	switch {
	case req.Length < dedup.MinTrace || req.Length > dedup.MaxTrace:
		return p, admin.Invalid(fmt.Sprintf("A measurement takes %.0f to %.0f seconds", dedup.MinTrace.Seconds(), dedup.MaxTrace.Seconds()))
	case len(req.Token) > admin.MaxToken:
		return p, admin.Invalid(fmt.Sprintf("An idempotency token has at most %d bytes", admin.MaxToken))
	}
	return p, nil
}

// claim takes the broker for a measurement.
func (s *Measurements) claim(l *liveMeasurement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.live.Live(s.busy[l.m.Broker]); other != nil {
		return admin.Conflict("Pipeline %s is being measured, and a broker bears one measurement at a time; wait until %s",
			admin.Printable(other.m.Pipeline, 80), admin.Stamp(other.m.Started.Add(other.m.Length)))
	}
	if !s.live.Enlist(l.m.ID, l) {
		return admin.Unavailable("Nothing is measured: the dashboard is ending")
	}
	s.busy[l.m.Broker] = l.m.ID
	return nil
}

func (s *Measurements) release(l *liveMeasurement) {
	s.mu.Lock()
	delete(s.busy, l.m.Broker)
	s.mu.Unlock()
	s.live.LetGo(l.m.ID)
}

// Stop ends a measurement before its time; what was seen by then is told. Operators may.
func (s *Measurements) Stop(ctx context.Context, who admin.Caller, id string) error {
	act := admin.Action{Name: admin.ActStopMeasuring, Target: admin.Printable(id, admin.MaxTarget), Needs: auth.Operator}
	if err := s.deps.Gate.Allow(ctx, who, act); err != nil {
		return err
	}
	m, err := s.One(ctx, id)
	if err != nil {
		return err
	}
	act.Target = admin.Printable(m.Pipeline, admin.MaxTarget)
	if m.State.Final() {
		return s.deps.Gate.Refuse(ctx, who, act, admin.Conflict("This measurement has ended"))
	}
	act.Run = func(context.Context) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		l := s.live.Live(id)
		if l == nil || l.stop == nil {
			return "", admin.Conflict("This measurement has ended")
		}
		l.stopped = who.Name
		l.stop()
		return "measurement " + id, nil
	}
	return s.deps.Gate.Do(ctx, who, act)
}

func (s *Measurements) changed(id string) { s.deps.Changed("measurement:" + id) }

// One returns a measurement, while it runs with what was seen so far. Everybody who may see figures may see it.
func (s *Measurements) One(ctx context.Context, id string) (dedup.Measurement, error) {
	s.mu.Lock()
	l := s.live.Live(id)
	if l != nil && l.stop != nil {
		defer s.mu.Unlock()
		return l.m, nil
	}
	s.mu.Unlock()
	m, ok, err := s.deps.Journal.Measurement(ctx, id)
	switch {
	case err != nil:
		return m, admin.JournalError("The measurement cannot be read", err)
	case !ok:
		return m, admin.NotFound("There is no such measurement; the newest of each pipeline are kept")
	}
	return m, nil
}

// List returns the newest measurements of a pipeline, newest first, without lists of ids.
func (s *Measurements) List(ctx context.Context, pipeline string) ([]dedup.Measurement, error) {
	if _, ok := s.pipeline(pipeline); !ok {
		return nil, admin.NotFound("There is no pipeline " + admin.Printable(pipeline, 80))
	}
	all, err := s.deps.Journal.Measurements(ctx, pipeline, Listed)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, admin.JournalError("The measurements cannot be read", err)
	}
	return all, err
}
