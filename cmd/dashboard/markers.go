package main

import (
	"context"
	"log/slog"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/markers/redis"
)

// markerStore opens the acting side of a store, with credentials of its own. Without them its markers are shown and never
// changed.
func (a *App) markerStore(cfg markers.Config, store markers.Store, log *slog.Logger) (marker.Store, error) {
	single := marker.Store{Name: store.Name(), Scheme: store.Scheme(), Reader: store}
	actor, err := kinds.OpenActor(cfg, log)
	if err != nil {
		return marker.Store{}, unusable("%w", err)
	}
	if actor != nil {
		a.teardown.closing("acting on "+cfg.Name, actor.Close)
		redis.Acquaint(store, actor)
		single.Actor = actor
	}
	return single, nil
}

// singleMarkers returns what reads and changes single markers. It ends before the stores and the journal that it uses.
func (a *App) singleMarkers(cfg *config.Config, gate *admin.Gate, db *journal.DB, snapshots interface{ Snapshot() *dedup.Snapshot }, stores []marker.Store) *marker.Markers {
	single := marker.New(marker.Deps{
		Gate: gate, Trail: db.Audit(), Journal: db.Operations(), Snapshots: snapshots, Stores: stores,
		Judge: dedup.Judge, ReadOnly: cfg.Server.ReadOnly, Log: a.log,
		Changed: a.changed,
	})
	a.teardown.add("changes of markers", single.Close)
	a.background("journal of operations", single.Run)
	return single
}

// rememberExpiries tells the stores which expiries were given to their markers from here before the program was started: those do not
// tell when a marker was set. Without the journal the ages of these markers are too short, and nothing else is wrong.
func (a *App) rememberExpiries(ctx context.Context, single *marker.Markers, stores []markers.Store) {
	given, err := single.Given(ctx)
	if err != nil {
		a.log.Warn("the expiries that were given to markers cannot be read: their ages count from then", "err", err)
	}
	for _, g := range given {
		for _, store := range stores {
			if store.Name() == g.Store {
				redis.Remember(store, g.Seen, g.Outcome.Outcome.Now.ExpiresMillis, g.Outcome.At)
			}
		}
	}
}
