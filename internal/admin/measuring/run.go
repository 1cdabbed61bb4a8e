package measuring

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// A liveMeasurement is one that is asked for or runs.
type liveMeasurement struct {
	m dedup.Measurement
	// stop ends the trace; stopped is who asked for it.
	stop    context.CancelFunc
	stopped string
}

// begin asks whether it can be done now, records the intent, and lets it run. It returns the measurement as it began: from claim on others
// may read l.
func (s *Measurements) begin(ctx context.Context, who admin.Caller, act admin.Action, p dedup.Pipeline, l *liveMeasurement, token string) (dedup.Measurement, error) {
	m := l.m
	asking, cancel := context.WithTimeout(ctx, readyTimeout)
	ready := s.deps.Measurer.Ready(asking, p)
	cancel()
	if !ready.OK() {
		return m, admin.Conflict("%s", unready(ready))
	}
	if ready.Switch == dedup.TraceByOperator {
		m.Commands = append(append(m.Commands, ready.On...), fmt.Sprintf("sleep %.0f", m.Length.Seconds()))
		m.Commands = append(m.Commands, ready.Off...)
	}
	saving, done := admin.Writing(ctx)
	defer done()
	if err := s.deps.Journal.SaveMeasurement(saving, m, token); err != nil {
		return m, admin.JournalError("Nothing was measured, because the journal cannot be written", err)
	}
	e := admin.NewEntry(who, act)
	e.Operation = m.ID
	if err := s.deps.Gate.Intend(ctx, e); err != nil {
		m.State, m.Why, m.Ended = dedup.MeasurementFailed, "the audit cannot be written", s.deps.Now()
		_ = s.deps.Journal.SaveMeasurement(saving, m, token)
		return m, err
	}
	running, stop := context.WithCancel(s.ctx)
	s.mu.Lock()
	l.m, l.stop = m, stop
	s.mu.Unlock()
	go s.run(running, p, l, e)
	s.changed(m.ID)
	return m, nil
}

// unready says why a pipeline cannot be measured now, and what helps.
func unready(r dedup.TraceReadiness) string {
	texts := make([]string, len(r.Problems))
	for i, p := range r.Problems {
		texts[i] = strings.TrimSuffix(p.Text+": "+p.Remedy, ": ")
	}
	return strings.Join(texts, ". ")
}

// run measures, keeps what came of it, and records the outcome.
func (s *Measurements) run(ctx context.Context, p dedup.Pipeline, l *liveMeasurement, e admin.Entry) {
	defer s.release(l)
	defer l.stop()
	s.mu.Lock()
	m := l.m
	s.mu.Unlock()
	err := s.deps.Measurer.Measure(ctx, p, &m, func(began time.Time, seen int64) {
		s.mu.Lock()
		l.m.Began, l.m.Seen = began, seen
		s.mu.Unlock()
		s.changed(m.ID)
	})
	s.mu.Lock()
	m.Began, m.Seen = l.m.Began, max(l.m.Seen, m.Seen)
	stopped := l.stopped
	s.mu.Unlock()
	s.complete(&m, stopped, err)
	saving, cancel := admin.Writing(context.Background())
	defer cancel()
	if err := s.deps.Journal.SaveMeasurement(saving, m, ""); err != nil {
		s.deps.Log.Error("a measurement could not be kept", "measurement", m.ID, "err", err)
		// Without the result, which may be what is too large: else it would seem to run for ever.
		m.State, m.Why, m.Result = dedup.MeasurementFailed, "the result could not be kept: the journal cannot be written", nil
		if err := s.deps.Journal.SaveMeasurement(saving, m, ""); err != nil {
			s.deps.Log.Error("a measurement without its result could not be kept", "measurement", m.ID, "err", err)
		}
	}
	var failure error
	if m.State != dedup.MeasurementDone {
		failure = admin.Conflict("%s: %s", m.State, m.Why)
	}
	s.deps.Gate.Finish(saving, e, measured(m), failure)
	s.mu.Lock()
	l.m = m
	s.mu.Unlock()
	s.changed(m.ID)
}

// complete gives a measurement its end.
func (s *Measurements) complete(m *dedup.Measurement, stopped string, err error) {
	m.Ended = s.deps.Now().UTC().Truncate(time.Millisecond)
	switch {
	case err != nil && stopped != "":
		m.State, m.Why = dedup.MeasurementIncomplete, "stopped by "+admin.Printable(stopped, 80)+" before anything was traced"
	case err != nil:
		m.State, m.Why = dedup.MeasurementFailed, dedup.PublicText(err)
		if dedup.KindOf(err) == dedup.Internal {
			s.deps.Log.Error("a measurement failed", "measurement", m.ID, "pipeline", m.Pipeline, "err", err)
		}
	case m.Result == nil:
		m.State = dedup.MeasurementIncomplete
	default:
		m.State = dedup.MeasurementDone
		s.hide(m.Result)
	}
	if stopped != "" && err == nil {
		m.Why = strings.TrimSuffix("stopped by "+admin.Printable(stopped, 80)+"; "+m.Why, "; ")
	}
}

// hide masks what copies carried, for everybody: it is kept as it is shown.
func (s *Measurements) hide(r *dedup.SessionResult) {
	w := s.deps.Mask.Begin()
	each := func(origins []dedup.Origin) {
		for i := range origins {
			o := &origins[i]
			o.AppID, o.UserID = w.Text(o.AppID), w.Text(o.UserID)
			headers := map[string]any{}
			for name, v := range o.Headers {
				headers[name] = v
			}
			for name, v := range w.Headers(headers) {
				o.Headers[name] = fmt.Sprint(v)
			}
		}
	}
	each(r.Origins)
	for i := range r.Repeated {
		each(r.Repeated[i].Origins)
	}
}

// measured is what the audit says of a measurement that was done.
func measured(m dedup.Measurement) string {
	if m.Result == nil {
		return m.Why
	}
	return fmt.Sprintf("%d of %d messages were duplicates", m.Result.Duplicates, m.Result.Messages)
}
