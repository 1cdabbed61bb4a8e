package main

import (
	"context"
	"log/slog"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/trace"
	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/session"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/mask"
)

// measureWithin is how long the end of measurements may take: tracing is switched off, and the last markers are read.
const measureWithin = 45 * time.Second

// liveRates tell what live figures say, for comparing; *collector.Collector is one.
type liveRates interface {
	Snapshot() *dedup.Snapshot
	LiveRate(pipeline string, from, to time.Time) (dedup.Calibration, bool)
}

// A measurer measures pipelines by tracers and the watching side of stores.
type measurer struct {
	brokers map[string]broker.Config
	tracers map[string]*trace.Tracer
	stores  map[string]markers.Store
	live    liveRates
	log     *slog.Logger
}

// measurements returns what measures pipelines. It ends before the tracers, the stores and the journal that it uses.
func (a *App) measurements(ctx context.Context, cfg *config.Config, gate *admin.Gate, db *journal.DB, live liveRates, stores []markers.Store) (*measuring.Measurements, error) {
	tracers, err := a.openTracers(cfg)
	if err != nil {
		return nil, err
	}
	m := &measurer{brokers: map[string]broker.Config{}, tracers: tracers, stores: map[string]markers.Store{}, live: live, log: a.log}
	for _, b := range cfg.Brokers {
		m.brokers[b.Name] = b
	}
	for _, s := range stores {
		m.stores[s.Name()] = s
	}
	service := measuring.New(measuring.Deps{Gate: gate, Journal: db.Measurements(), Measurer: m, Pipelines: cfg.Pipelines,
		Mask: mask.New(cfg.Admin.MaskWords()), ReadOnly: cfg.Server.ReadOnly, Log: a.log, Changed: a.changed})
	service.Recover(ctx)
	a.teardown.addLonger("measurements", measureWithin, service.Close)
	a.background("measurements", service.Run)
	return service, nil
}

// WhyNot says in few words why a pipeline can never be measured as it is configured.
func (m *measurer) WhyNot(p dedup.Pipeline) string {
	b, store := m.brokers[p.Broker], m.stores[p.Store]
	_, traces := b.Tracing()
	switch {
	case b.Measurements == "off":
		return measuring.Off
	case store == nil:
		return "the pipeline has no store"
	case estimate.SessionRefusal(store.Scheme()) != "":
		return estimate.SessionRefusal(store.Scheme())
	case !traces:
		return "the broker has no account to trace with (docs/measure.md)"
	}
	return ""
}

// Ready says whether a pipeline can be measured now.
func (m *measurer) Ready(ctx context.Context, p dedup.Pipeline) dedup.TraceReadiness {
	return m.tracers[p.Broker].Ready(ctx, p.Vhost, p.Queues)
}

// Measure traces a pipeline, joins the trace with its markers, and compares the result with what live counts said.
func (m *measurer) Measure(ctx context.Context, p dedup.Pipeline, into *dedup.Measurement, progress func(time.Time, int64)) error {
	store := m.stores[p.Store]
	got, err := session.Run(ctx, session.Request{Pipeline: p, Scheme: store.Scheme(), Tracer: m.tracers[p.Broker], Store: store, Length: into.Length,
		Work: m.work(p.Name), Progress: progress, Log: m.log})
	if err != nil {
		return err
	}
	into.Result, into.Why = got.Result, got.Why
	if r := got.Result; r != nil {
		into.Began, into.Seen = r.Began, int64(r.Traced)
		into.Live = m.calibrate(p.Name, r)
	}
	return nil
}

// work is about how long work takes by the shortest window that says so.
func (m *measurer) work(pipeline string) time.Duration {
	p, ok := m.live.Snapshot().Pipeline(pipeline)
	if !ok {
		return 0
	}
	for _, w := range p.Windows {
		for _, f := range []dedup.Figure{w.WorkMean, w.AckMean} {
			if f.Known() && f.Value > 0 {
				return time.Duration(f.Value * float64(time.Second))
			}
		}
	}
	return 0
}

// calibrate says how far live counts were off in the time of a session.
func (m *measurer) calibrate(pipeline string, r *dedup.SessionResult) *dedup.Calibration {
	live, ok := m.live.LiveRate(pipeline, r.Began, r.Ended)
	if !ok || r.AtMost {
		return nil
	}
	low, value, high := r.Rate()
	live.Off, live.Held = live.Value-value, live.Low <= high && low <= live.High
	return &live
}
