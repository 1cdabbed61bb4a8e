package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"sync"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/live"
	"dedup-dashboard/internal/broker/log"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/exports"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/markers/sql/effect"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server"
	"dedup-dashboard/internal/server/page/account"
	"dedup-dashboard/internal/server/page/measurement"
	"dedup-dashboard/internal/server/session"
)

// An App is the whole dashboard, wired. It is the only place that knows every package.
type App struct {
	log      *slog.Logger
	listener net.Listener
	server   *server.Server
	tasks    []task
	teardown teardown
}

// A task runs in the background until its context ends.
type task struct {
	name string
	run  func(context.Context) error
}

// New wires the dashboard and binds its address, in dependency order, with each teardown registered right after its constructor. The
// one-time link for the first admin is written to out. On an error everything that was opened is closed again.
func New(ctx context.Context, cfg *config.Config, log *slog.Logger, out io.Writer) (_ *App, err error) {
	a := &App{log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.teardown.run(log))
		}
	}()

	// The address comes first: a port in use or a second instance is told before any file is touched.
	if err := a.listen(cfg); err != nil {
		return nil, err
	}
	db, history, err := a.openData(ctx, cfg)
	if err != nil {
		return nil, err
	}
	accounts, first, err := a.openAccounts(ctx, cfg, db, out)
	if err != nil {
		return nil, err
	}
	watched, acting, observer, err := a.openObserver(cfg, db, history)
	if err != nil {
		return nil, err
	}
	gate := admin.NewGate(db.Audit(), db, log)
	a.start("sums of the audit", gate.Run)
	single := a.singleMarkers(cfg, gate, db, observer, acting)
	a.rememberExpiries(ctx, single, watched)
	letters, err := a.deadLetters(cfg, gate, db, observer, watched, single)
	if err != nil {
		return nil, err
	}
	exact, err := a.measurements(ctx, cfg, gate, db, observer, watched)
	if err != nil {
		return nil, err
	}
	alerting, err := a.openAlerting(ctx, cfg, db, history, observer, gate)
	if err != nil {
		return nil, err
	}
	behind := services{
		accounts: account.Deps{Auth: accounts, FirstAdmin: first, Gate: gate, Sessions: session.New(cfg.Server.Sessions(), db.Sessions()), Log: log},
		observer: observer, history: history, markers: single, trail: admin.NewTrail(gate, db.Audit(), observer), letters: letters, alerting: alerting, measured: measurement.New(exact), log: log,
	}
	if err := a.openServer(cfg, db, behind); err != nil {
		return nil, err
	}
	return a, nil
}

// listen binds the address.
func (a *App) listen(cfg *config.Config) (err error) {
	a.listener, err = net.Listen("tcp", cfg.Server.Listen)
	if err != nil {
		return unusable("server.listen: %w; stop what uses the address or choose another one", err)
	}
	a.teardown.add("listener", func(context.Context) error { return ignoreClosed(a.listener.Close()) })
	return nil
}

// openData opens what is kept in the data directory: the journal and the history.
func (a *App) openData(ctx context.Context, cfg *config.Config) (*journal.DB, *series.DB, error) {
	db, err := journal.Open(ctx, cfg.DataDir, a.log)
	if err != nil {
		return nil, nil, dataDirError(err)
	}
	a.teardown.closing("journal", db.Close)
	history, err := series.Open(cfg.History, a.log)
	if err != nil {
		return nil, nil, dataDirError(err)
	}
	a.teardown.closing("history", history.Close)
	return db, history, nil
}

// openAccounts opens the accounts, and offers the one-time link while there is no admin.
func (a *App) openAccounts(ctx context.Context, cfg *config.Config, db *journal.DB, out io.Writer) (*auth.Service, *auth.FirstAdmin, error) {
	accounts, err := auth.New(cfg.Auth, db)
	if err != nil {
		return nil, nil, unusable("%w", err)
	}
	accounts.RememberDevices(db.Installation().Key("mark of a browser"))
	if err := accounts.CheckConflicts(ctx); err != nil {
		return nil, nil, unusable("auth.users: %w", err)
	}
	first, err := a.firstAdmin(ctx, cfg, accounts, out)
	return accounts, first, err
}

// openObserver opens every source, and the collector that observes them; it returns the stores to read and those to act on beside it.
func (a *App) openObserver(cfg *config.Config, db *journal.DB, history *series.DB) ([]markers.Store, []marker.Store, *collector.Collector, error) {
	brokers, lives, err := a.openBrokers(cfg.Brokers)
	if err != nil {
		return nil, nil, nil, err
	}
	watched, acting, err := a.openStores(cfg.Stores)
	if err != nil {
		return nil, nil, nil, err
	}
	deps := collector.Deps{Brokers: brokers, Live: lives, Pipelines: cfg.Pipelines, Records: db.Effects(), Series: history, Baselines: db.Baselines(), Marks: db.Marks(), Memory: db.Sources(), Log: a.log, Changed: a.changed}
	if err := a.openEffectChecks(&deps, cfg.Effects); err != nil {
		return nil, nil, nil, err
	}
	for _, store := range watched {
		deps.Stores, deps.Reporters = append(deps.Stores, store), append(deps.Reporters, store)
	}
	for name, scrape := range cfg.Scrapes {
		reporter, err := exports.Open(name, scrape)
		if err != nil {
			return nil, nil, nil, unusable("%w", err)
		}
		a.teardown.closing(name, reporter.Close)
		deps.Reporters = append(deps.Reporters, reporter)
	}
	observer, err := collector.New(cfg.Collector, deps)
	if err != nil {
		return nil, nil, nil, unusable("collector: %w", err)
	}
	a.background("collector", observer.Run)
	return watched, acting, observer, nil
}

// firstAdmin offers the one-time link while there is no admin.
func (a *App) firstAdmin(ctx context.Context, cfg *config.Config, accounts *auth.Service, out io.Writer) (*auth.FirstAdmin, error) {
	first := auth.NewFirstAdmin(accounts, filepath.Join(cfg.DataDir, "first-admin-link"),
		func(token string) string {
			return cfg.Server.URL(a.listener.Addr(), "/setup?"+url.Values{"token": {token}}.Encode())
		},
		func(link string) {
			fmt.Fprintf(out, "Make the first admin within %s: %s\n", auth.FirstAdminLife, link)
		})
	if err := first.Start(ctx); err != nil {
		return nil, fmt.Errorf("one-time link: %w", err)
	}
	a.background("one-time link", func(ctx context.Context) error { first.Run(ctx, a.log); return nil })
	return first, nil
}

// openBrokers opens the watching side of every broker. Those with an account for the log listen to it in the background.
func (a *App) openBrokers(configured []broker.Config) ([]source.Broker, map[string]source.LiveReader, error) {
	var brokers []source.Broker
	lives := make(map[string]source.LiveReader)
	for _, b := range configured {
		client, err := broker.New(b)
		if err != nil {
			return nil, nil, unusable("broker %s: %w", b.Name, err)
		}
		brokers = append(brokers, client)
		reader, err := live.NewReader(b)
		if err != nil {
			return nil, nil, unusable("broker %s: %w", b.Name, err)
		}
		if reader != nil {
			lives[b.Name] = reader
		}
		listener, err := log.NewListener(b, a.log)
		if err != nil {
			return nil, nil, unusable("broker %s: %w", b.Name, err)
		}
		if listener != nil {
			client.ReadLog(listener)
			a.background("log of "+b.Name, listener.Run)
		}
	}
	return brokers, lives, nil
}

// openStores opens every store twice: to watch it, and to act on its markers with credentials of their own.
func (a *App) openStores(configured []markers.Config) (watched []markers.Store, acting []marker.Store, err error) {
	for _, cfg := range configured {
		store, err := kinds.Open(cfg, a.log)
		if err != nil {
			return nil, nil, unusable("%w", err)
		}
		a.teardown.closing("store "+cfg.Name, store.Close)
		a.start("sweep of "+cfg.Name, store.Run)
		single, err := a.markerStore(cfg, store, a.log)
		if err != nil {
			return nil, nil, err
		}
		watched, acting = append(watched, store), append(acting, single)
	}
	return watched, acting, nil
}

// openEffectChecks opens the checks for double effects, which the collector then runs.
func (a *App) openEffectChecks(deps *collector.Deps, configured []effect.Config) error {
	for _, cfg := range configured {
		check, err := effect.Open(cfg)
		if err != nil {
			return unusable("%w", err)
		}
		a.teardown.closing("effect check of "+cfg.Pipeline, check.Close)
		deps.Effects = append(deps.Effects, check)
	}
	return nil
}

// Addr returns the bound address.
func (a *App) Addr() net.Addr { return a.listener.Addr() }

// Run serves until ctx ends or the web server fails, and then stops everything, last started first, within bounds.
func (a *App) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var running sync.WaitGroup
	a.teardown.add("background tasks", func(bound context.Context) error {
		cancel(nil)
		return waitFor(bound, &running)
	})
	for _, t := range a.tasks {
		running.Go(func() {
			if err := t.run(ctx); err != nil && ctx.Err() == nil {
				a.log.Error("a background task ended", "task", t.name, "err", err)
			}
		})
	}
	a.teardown.add("web server", a.server.Shutdown)
	running.Go(func() { cancel(a.server.Serve(a.listener)) })
	a.log.Info("serving", "address", a.listener.Addr().String())

	<-ctx.Done()
	failure := context.Cause(ctx)
	if errors.Is(failure, context.Canceled) {
		failure = nil
	}
	return errors.Join(failure, a.teardown.run(a.log))
}

func (a *App) background(name string, run func(context.Context) error) {
	a.tasks = append(a.tasks, task{name, run})
}

// start is background for what ends with its context alone.
func (a *App) start(name string, run func(context.Context)) {
	a.background(name, func(ctx context.Context) error { run(ctx); return nil })
}

// changed tells the pages of a change; the server is there before anything runs.
func (a *App) changed(topic string) { a.server.Changed(topic) }
