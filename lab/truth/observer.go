package truth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/live"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/series"
)

// Snapshots is what is held against the truth: the dashboard's observing half.
type Snapshots interface{ Snapshot() *dedup.Snapshot }

// An observer is the observing half of the dashboard, wired as the program wires it.
type observer struct {
	*collector.Collector
	running sync.WaitGroup
	stop    context.CancelFunc
	closing []func() error
}

// observe starts watching the pipelines of a seed. Nothing of an earlier seed is known to it.
func (s *site) observe(ctx context.Context, name string, interval time.Duration, log *slog.Logger, lanes []*lane) (_ *observer, err error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	o := &observer{stop: stop}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("observe: %w", err), o.close())
		}
	}()
	history, err := series.Open(series.Config{Dir: filepath.Join(s.dir, "series-"+name), Retention: 24 * time.Hour, MaxBytes: 1 << 28, Interval: interval}, log)
	if err != nil {
		return nil, err
	}
	o.closing = append(o.closing, history.Close)
	user, password := s.rabbit.Admin()
	config := broker.Config{Name: "main", ManagementURL: s.rabbit.ManagementURL(), Username: user, Password: secret.New(password),
		PrometheusURLs: []string{s.rabbit.PrometheusURL()}}
	client, err := broker.New(config)
	if err != nil {
		return nil, err
	}
	reader, err := live.NewReader(config)
	if err != nil {
		return nil, err
	}
	o.closing = append(o.closing, func() error { client.Close(); return nil })
	deps := collector.Deps{Brokers: []source.Broker{client}, Live: map[string]source.LiveReader{"main": reader}, Series: history, Log: log}
	for _, l := range lanes {
		deps.Pipelines = append(deps.Pipelines, l.pipeline())
		if l.c.Companion() {
			continue
		}
		store, err := kinds.Open(l.bed.config, log)
		if err != nil {
			return nil, err
		}
		o.closing = append(o.closing, store.Close)
		o.running.Go(func() { store.Run(running) })
		deps.Stores, deps.Reporters = append(deps.Stores, store), append(deps.Reporters, store)
	}
	if o.Collector, err = collector.New(collector.Config{Interval: interval, Windows: windows()}, deps); err != nil {
		return nil, err
	}
	o.running.Go(func() { _ = o.Run(running) })
	return o, nil
}

// close ends watching.
func (o *observer) close() error {
	o.stop()
	o.running.Wait()
	var errs []error
	for i := len(o.closing) - 1; i >= 0; i-- {
		errs = append(errs, o.closing[i]())
	}
	return errors.Join(errs...)
}
