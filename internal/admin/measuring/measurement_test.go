package measuring

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// A bench is a measurer and a journal of measurements in memory. A measurement takes its length of time.
type bench struct {
	mu    sync.Mutex
	kept  map[string]dedup.Measurement
	token map[string]string
	// notKept fails every write, ready and never are why nothing is measured, fails is what a measurement fails with.
	notKept, fails error
	ready          dedup.TraceReadiness
	never          string
	// asked, where it is not nil, holds who asks whether it is ready until it can be read from.
	asked  chan struct{}
	result *dedup.SessionResult
}

func newBench() *bench {
	return &bench{kept: map[string]dedup.Measurement{}, token: map[string]string{}, ready: dedup.TraceReadiness{Switch: dedup.TraceByUs}, result: &dedup.SessionResult{Messages: 100, Duplicates: 3}}
}

func (b *bench) SaveMeasurement(_ context.Context, m dedup.Measurement, token string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notKept == nil {
		b.kept[m.ID] = m
		if token != "" {
			b.token[m.By+" "+token] = m.ID
		}
	}
	return b.notKept
}

func (b *bench) Measurement(_ context.Context, id string) (dedup.Measurement, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok := b.kept[id]
	return m, ok, nil
}

func (b *bench) Measurements(_ context.Context, pipeline string, _ int) (all []dedup.Measurement, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.kept {
		if m.Pipeline == pipeline {
			all = append(all, m)
		}
	}
	return all, nil
}

func (b *bench) MeasurementByToken(_ context.Context, by, token string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.token[by+" "+token], nil
}

func (b *bench) InterruptMeasurements(context.Context, time.Time) error { return nil }

func (b *bench) WhyNot(dedup.Pipeline) string { return b.never }

func (b *bench) Ready(ctx context.Context, _ dedup.Pipeline) dedup.TraceReadiness {
	if b.asked != nil {
		select {
		case <-b.asked:
		case <-ctx.Done():
			return dedup.TraceReadiness{Problems: []dedup.TraceProblem{{Reason: dedup.TraceUnreachable, Text: ctx.Err().Error()}}}
		}
	}
	return b.ready
}

func (b *bench) Measure(ctx context.Context, _ dedup.Pipeline, m *dedup.Measurement, progress func(time.Time, int64)) error {
	if b.fails != nil {
		return b.fails
	}
	began := time.Now()
	for n := int64(0); time.Since(began) < m.Length; n++ {
		progress(began, 10*n)
		select {
		case <-ctx.Done():
			m.Result = b.result
			return nil
		case <-time.After(time.Second):
		}
	}
	m.Result = b.result
	return nil
}

func (b *bench) service(t *testing.T, audit *admintest.Recorder, change func(*Deps)) *Measurements {
	deps := Deps{Gate: audit.Gate(), Journal: b, Measurer: b, Log: admintest.Quiet(), Pipelines: []dedup.Pipeline{
		{Name: "orders", Broker: "main", Vhost: "/", Queues: []string{"orders"}}, {Name: "mail", Broker: "main", Vhost: "/", Queues: []string{"mail"}},
		{Name: "far", Broker: "other", Vhost: "/", Queues: []string{"far"}}}}
	if change != nil {
		change(&deps)
	}
	s := New(deps)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, s.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return s
}

func minute(pipeline string) Request {
	return Request{Pipeline: pipeline, Length: time.Minute}
}

func TestAMeasurementRunsOnTheServerAndIsAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, audit := newBench(), &admintest.Recorder{}
		b.result.Origins = []dedup.Origin{{AppID: "shop", Headers: map[string]string{"authorization": "Bearer abc", "attempt": "2"}}}
		s := b.service(t, audit, nil)
		m, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), minute("orders"))
		if err != nil || m.State != dedup.MeasurementRunning {
			t.Fatalf("got %+v, %v", m, err)
		}
		time.Sleep(30*time.Second + time.Millisecond)
		if now, err := s.One(t.Context(), m.ID); err != nil || now.Seen != 300 || now.Began.IsZero() || now.State.Final() {
			t.Errorf("under way: %+v, %v", now, err)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		done, err := s.One(t.Context(), m.ID)
		if err != nil || done.State != dedup.MeasurementDone || done.Result.Duplicates != 3 || done.Ended.Sub(done.Started) < time.Minute {
			t.Fatalf("at its end: %+v, %v", done, err)
		}
		if h := done.Result.Origins[0].Headers; h["authorization"] == "Bearer abc" || h["attempt"] != "2" {
			t.Errorf("a secret header is kept: %v", h)
		}
		phases := audit.Phases()
		if !slices.Equal(phases, []string{"intent", "succeeded"}) {
			t.Errorf("audit %q", phases)
		}
	})
}

func TestABrokerBearsOneMeasurementAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		s := b.service(t, &admintest.Recorder{}, nil)
		if _, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), minute("orders")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), minute("mail")); dedup.KindOf(err) != dedup.Conflict || !strings.Contains(err.Error(), "orders") {
			t.Errorf("another one of the broker: %v", err)
		}
		if _, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), minute("far")); err != nil {
			t.Errorf("one of another broker: %v", err)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if _, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), minute("mail")); err != nil {
			t.Errorf("after its end: %v", err)
		}
	})
}

func TestARepeatedRequestMeasuresOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, audit := newBench(), &admintest.Recorder{}
		s := b.service(t, audit, nil)
		req := minute("orders")
		req.Token = "one"
		first, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), req)
		again, err2 := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), req)
		if err != nil || err2 != nil || first.ID != again.ID {
			t.Errorf("%s and %s, %v, %v", first.ID, again.ID, err, err2)
		}
		req.Pipeline = "far"
		if _, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), req); dedup.KindOf(err) != dedup.Conflict {
			t.Errorf("the token of another one: %v", err)
		}
	})
}

func TestARequestThatIsRepeatedWhileTheFirstIsAskedForGetsItsAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		// gone is when the first caller goes, answers when the broker says that it is ready.
		gone, answers time.Duration
		fails         bool // the repeated request
	}{
		"the broker is ready after a while":                    {gone: time.Hour, answers: 10 * time.Second},
		"the first caller has gone, and nothing was begun yet": {gone: time.Second, answers: 10 * time.Second},
		"the broker does not answer either":                    {gone: time.Hour, answers: time.Hour, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench()
				b.asked = make(chan struct{})
				s := b.service(t, &admintest.Recorder{}, nil)
				req := minute("orders")
				req.Token = "one"
				ctx, cancel := context.WithTimeout(t.Context(), c.gone)
				defer cancel()
				first := make(chan dedup.Measurement, 1)
				go func() {
					m, _ := s.Start(ctx, admintest.Caller("eve", auth.Operator), req)
					first <- m
				}()
				synctest.Wait()
				ready := time.AfterFunc(c.answers, func() { close(b.asked) })
				defer ready.Stop()
				began := time.Now()
				m, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), req)
				if (err != nil) != c.fails || len(b.kept) == 1 == c.fails || time.Since(began) > startTimeout {
					t.Fatalf("got %v after %s, and %d were begun", err, time.Since(began), len(b.kept))
				}
				if one := <-first; c.gone > c.answers && one.ID != m.ID {
					t.Errorf("the first got %q, the second %q", one.ID, m.ID)
				}
			})
		})
	}
}

func TestARepeatedRequestWaitsForTheFirstNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBench().service(t, &admintest.Recorder{}, nil)
		leave, err := s.turn(t.Context(), startToken{"eve", "one"})
		if err != nil {
			t.Fatal(err)
		}
		req := minute("orders")
		req.Token = "one"
		began := time.Now()
		if _, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), req); dedup.KindOf(err) != dedup.Unavailable || time.Since(began) != startTimeout {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if other, err := s.turn(t.Context(), startToken{"ann", "one"}); err != nil {
			t.Errorf("the token of another person: %v", err)
		} else {
			other()
		}
		if leave(); len(s.starting) != 0 {
			t.Error("a token is kept")
		}
	})
}

func TestAMeasurementThatIsStoppedKeepsWhatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, audit := newBench(), &admintest.Recorder{}
		s := b.service(t, audit, nil)
		m, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), minute("orders"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if err := s.Stop(t.Context(), admin.Caller{Principal: auth.Principal{Name: "vic", Role: auth.Viewer}}, m.ID); dedup.KindOf(err) != dedup.Forbidden {
			t.Errorf("a viewer stops it: %v", err)
		}
		if err := s.Stop(t.Context(), admintest.Caller("ann", auth.Operator), m.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got, _ := s.One(t.Context(), m.ID)
		if got.State != dedup.MeasurementDone || got.Why != "stopped by ann" || got.Result == nil {
			t.Errorf("got %+v", got)
		}
		if err := s.Stop(t.Context(), admintest.Caller("ann", auth.Operator), m.ID); dedup.KindOf(err) != dedup.Conflict {
			t.Errorf("stopped twice: %v", err)
		}
		if err := s.Stop(t.Context(), admintest.Caller("ann", auth.Operator), "none"); dedup.KindOf(err) != dedup.NotFound {
			t.Errorf("none: %v", err)
		}
	})
}

func TestWhyAMeasurementDoesNotBegin(t *testing.T) {
	tooFast := dedup.TraceReadiness{Problems: []dedup.TraceProblem{{Reason: dedup.TraceTooFast, Text: "3,100 messages a second", Remedy: "wait for a calm hour"}}}
	for name, c := range map[string]struct {
		change func(*bench, *Deps, *Request)
		who    auth.Role
		kind   dedup.Kind
		says   string
	}{
		"a viewer asks":                 {func(*bench, *Deps, *Request) {}, auth.Viewer, dedup.Forbidden, "role operator"},
		"the dashboard is read-only":    {func(_ *bench, d *Deps, _ *Request) { d.ReadOnly = true }, auth.Operator, dedup.Forbidden, "read-only"},
		"measurements are off":          {func(b *bench, _ *Deps, _ *Request) { b.never = "measurements: off" }, auth.Operator, dedup.Forbidden, "measurements: off"},
		"there is no such pipeline":     {func(_ *bench, _ *Deps, r *Request) { r.Pipeline = "\x1b<script>" }, auth.Operator, dedup.NotFound, "no pipeline"},
		"it is too short":               {func(_ *bench, _ *Deps, r *Request) { r.Length = time.Second }, auth.Operator, dedup.Invalid, "60 to 120"},
		"it is too long":                {func(_ *bench, _ *Deps, r *Request) { r.Length = time.Hour }, auth.Operator, dedup.Invalid, "60 to 120"},
		"its token is too long":         {func(_ *bench, _ *Deps, r *Request) { r.Token = strings.Repeat("t", 500) }, auth.Operator, dedup.Invalid, "token"},
		"the broker has too much to do": {func(b *bench, _ *Deps, _ *Request) { b.ready = tooFast }, auth.Operator, dedup.Conflict, "3,100 messages a second: wait"},
		"the journal takes nothing":     {func(b *bench, _ *Deps, _ *Request) { b.notKept = errors.New("disk full") }, auth.Operator, dedup.Unavailable, "journal"},
		"the audit takes nothing": {func(_ *bench, d *Deps, _ *Request) {
			d.Gate = (&admintest.Recorder{FailAt: 1}).Gate()
		}, auth.Operator, dedup.Unavailable, "audit"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, req := newBench(), minute("orders")
				s := b.service(t, &admintest.Recorder{}, func(d *Deps) { c.change(b, d, &req) })
				who := admin.Caller{Principal: auth.Principal{Name: "eve", Role: c.who}}
				_, err := s.Start(t.Context(), who, req)
				if dedup.KindOf(err) != c.kind || !strings.Contains(dedup.PublicText(err), c.says) {
					t.Errorf("%s: %v", dedup.KindOf(err), err)
				}
				if len(s.busy) != 0 || len(s.live.IDs()) != 0 {
					t.Error("the broker stays taken")
				}
			})
		})
	}
}

func TestTheLinesForAnOperatorAreToldWhileTracingIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.ready = dedup.TraceReadiness{Switch: dedup.TraceByOperator, On: []string{"rabbitmqctl trace_on -p /"}, Off: []string{"rabbitmqctl trace_off -p /"}}
		s := b.service(t, &admintest.Recorder{}, nil)
		m, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), minute("orders"))
		if err != nil || !slices.Equal(m.Commands, []string{"rabbitmqctl trace_on -p /", "sleep 60", "rabbitmqctl trace_off -p /"}) {
			t.Errorf("commands %q, %v", m.Commands, err)
		}
	})
}

func TestAMeasurementThatFailsSaysWhyAndFreesTheBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, audit := newBench(), &admintest.Recorder{}
		b.fails = &dedup.Error{Kind: dedup.Conflict, Public: "a node is in alarm"}
		s := b.service(t, audit, nil)
		m, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), minute("orders"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got, _ := s.One(t.Context(), m.ID)
		if got.State != dedup.MeasurementFailed || got.Why != "a node is in alarm" {
			t.Errorf("got %+v", got)
		}
		if phases := audit.Phases(); len(phases) != 2 || phases[1] != "failed" {
			t.Errorf("audit %q", phases)
		}
		b.fails = nil
		if _, err := s.Start(t.Context(), admintest.Caller("eve", auth.Operator), minute("orders")); err != nil {
			t.Errorf("the broker stays taken: %v", err)
		}
	})
}
