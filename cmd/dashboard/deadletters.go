package main

import (
	"context"
	"fmt"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/amqp"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/markers"
)

// deadLetterPages is what the pages of dead letters ask: looking, planning and moving are services of their own.
type deadLetterPages struct {
	*deadletter.Scans
	*move.Planner
	*jobs.Moves
}

// deadLetters returns what looks at dead letters and moves them. It ends before the brokers, stores, markers and the journal that
// it uses.
func (a *App) deadLetters(
	cfg *config.Config, gate *admin.Gate, db *journal.DB, snapshots interface{ Snapshot() *dedup.Snapshot }, stores []markers.Store, single *marker.Markers,
) (deadLetterPages, error) {
	brokers, err := a.movingBrokers(cfg.Brokers)
	if err != nil {
		return deadLetterPages{}, err
	}
	asked := make([]preflight.Store, 0, len(stores))
	for _, s := range stores {
		asked = append(asked, preflight.Store{Name: s.Name(), Scheme: s.Scheme(), Finder: s})
	}
	preflight, err := preflight.New(cfg.Pipelines, asked)
	if err != nil {
		return deadLetterPages{}, unusable("%w", err)
	}
	letters := jobs.NewDeadLetters(jobs.DeadLettersDeps{
		Gate: gate, Journal: db.Jobs(), Snapshots: snapshots, Pipelines: cfg.Pipelines, Brokers: brokers, Stores: asked,
		Preflight: preflight, Clear: single, Config: cfg.Admin, RefKey: db.Installation().Key("reference of a message"), ReadOnly: cfg.Server.ReadOnly, Log: a.log,
		Changed: a.changed,
	})
	a.teardown.addLonger("moves of dead letters", jobs.CloseWithin, letters.Close)
	a.background("jobs", letters.Run)
	return deadLetterPages{letters.Scans, letters.Planner, letters.Moves}, nil
}

// movingBrokers opens the acting side of every broker, with credentials of its own. It also reads single queues for pages and jobs, by
// a client that the collector does not have: the readings of one client take turns, and nobody who looks at a queue is to wait until
// every queue of a large broker has been listed.
func (a *App) movingBrokers(configured []broker.Config) ([]deadletter.Broker, error) {
	var brokers []deadletter.Broker
	for _, c := range configured {
		watch, err := broker.New(c)
		if err != nil {
			return nil, unusable("broker %s: %w", c.Name, err)
		}
		a.teardown.add("reading queues of "+c.Name, func(context.Context) error { watch.Close(); return nil })
		moving := deadletter.Broker{Name: c.Name, Watch: watch}
		mover, err := amqp.OpenMover(c, a.log)
		if err != nil {
			return nil, unusable("broker %s: %w", c.Name, err)
		}
		if mover != nil {
			a.teardown.closing("acting on "+c.Name, mover.Close)
			moving.Mover = movingEnds{mover}
		}
		brokers = append(brokers, moving)
	}
	return brokers, nil
}

// movingEnds gives the two ends of a requeue the types that the engine asks for.
type movingEnds struct{ *amqp.Mover }

// Source opens a queue to take messages from.
func (m movingEnds) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	s, err := m.Mover.Source(ctx, queue, take.Held, take.Single)
	if err != nil {
		return nil, fmt.Errorf("open the source: %w", err)
	}
	return s, nil
}

// Sink opens a way to queues of a vhost.
func (m movingEnds) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	s, err := m.Mover.Sink(ctx, vhost, window)
	if err != nil {
		return nil, fmt.Errorf("open the sink: %w", err)
	}
	return s, nil
}
