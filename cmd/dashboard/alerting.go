package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"dedup-dashboard/cmd/dashboard/check"
	"dedup-dashboard/docs"
	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/alerting"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/dispatch"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server/page/alert"
)

// openAlerting wires what judges and tells: the rules over what the observer reads, the journal that alerts and notifications
// survive in, and the channels.
func (a *App) openAlerting(ctx context.Context, cfg *config.Config, db *journal.DB, history *series.DB, observer *collector.Collector, gate *admin.Gate) (alert.Deps, error) {
	for _, note := range check.Notes(cfg) {
		a.log.Warn("alerts: " + note)
	}
	records := db.Alerts()
	receivers, dispatcher, err := a.openDelivery(ctx, cfg, records)
	if err != nil {
		return alert.Deps{}, err
	}
	watch := a.newWatch(cfg, receivers, gate)
	engine, err := alerts.NewEngine(alerts.EngineDeps{
		Interval: cfg.Collector.Interval, Rules: cfg.Alerts.Rules, Snapshots: &withOwnJobs{observed: observer, journal: db.Jobs(), log: a.log}, History: history,
		Journal: records, Silences: records, Planner: dispatcher, Watch: watch, Log: a.log,
		Changed: a.changed, Due: receivers.outbox.Wake,
	})
	if err != nil {
		return alert.Deps{}, err
	}
	a.start("notifications", receivers.outbox.Run)
	a.background("watch over the dashboard", watch.Run)
	a.background("alert rules", engine.Run)
	attention := records.Attention(engine, a.log)
	return alert.Deps{
		View: engine, Records: attention, Channels: receivers, Snapshots: observer, Log: a.log,
		Attend: alerting.New(alerting.Deps{Gate: gate, Acks: attention, Silences: attention, Channels: receivers, ReadOnly: cfg.Server.ReadOnly}),
	}, nil
}

// openDelivery opens the channels, and settles what a stop left of their messages before it reads what they were told.
func (a *App) openDelivery(ctx context.Context, cfg *config.Config, records *journal.Alerts) (*receivers, *dispatch.Dispatcher, error) {
	all, err := openReceivers(cfg.Alerts)
	if err != nil {
		return nil, nil, err
	}
	routing := cfg.Alerts.Dispatch
	routing.ExternalURL = cfg.Server.URL(a.listener.Addr(), "")
	routing.RunbookLink = runbookLinks(routing.ExternalURL)
	all.home, all.records = routing.ExternalURL, records
	var dispatcher *dispatch.Dispatcher // which is there before the outbox runs
	all.outbox = outbox.New(outbox.Config{
		Store: records, Reader: records, Senders: all.senders(), Log: a.log,
		Failed: func(n alerts.Notification, _ string) { dispatcher.GaveUp(n) },
	})
	if err := all.outbox.Recover(ctx); err != nil {
		return nil, nil, dataDirError(err)
	}
	if err := all.resume(ctx); err != nil {
		return nil, nil, dataDirError(err)
	}
	dispatcher, err = restored(ctx, routing, records)
	if err != nil {
		return nil, nil, dataDirError(err)
	}
	return all, dispatcher, nil
}

// runbookLinks makes links of the runbooks that are pages of our documentation: those who are told are not on our pages.
func runbookLinks(home string) func(string) string {
	return func(runbook string) string {
		if page := docs.Path(runbook); page != "" {
			return home + page
		}
		return runbook
	}
}

// restored returns a dispatcher that knows what channels were told before a restart.
func restored(ctx context.Context, cfg dispatch.Config, records *journal.Alerts) (*dispatch.Dispatcher, error) {
	told, err := records.SentLog(ctx)
	if err != nil {
		return nil, err
	}
	edges, err := records.EdgesSince(ctx, time.Now().Add(-cfg.Recalls()))
	if err != nil {
		return nil, err
	}
	dispatcher := dispatch.New(cfg)
	dispatcher.Restore(told)
	dispatcher.Recall(edges)
	return dispatcher, nil
}

// newWatch returns what keeps an eye on the dashboard itself, and beats to whoever watches for its absence.
func (a *App) newWatch(cfg *config.Config, channels *receivers, gate *admin.Gate) *alerts.Watch {
	deps := alerts.WatchDeps{
		Interval: cfg.Collector.Interval, Backlog: channels.backlog, AuditRefused: gate.Refused, ReceiverFaults: channels.faults, Log: a.log,
		FreeDisk: func() (float64, error) { return freeShare(cfg.DataDir) },
	}
	if channels.heart == nil {
		return alerts.NewWatch(deps)
	}
	deps.Heart = channels.heart
	watch := alerts.NewWatch(deps)
	channels.pulse = watch.Pulse
	return watch
}

// freeShare returns which share of the disk of a directory is free for us, 0 to 1.
func freeShare(dir string) (float64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, fmt.Errorf("read how full the disk of %s is: %w", dir, err)
	}
	// What is reserved for the system counts as used: it is of no use to us.
	if disk.Blocks == 0 {
		return 0, fmt.Errorf("read how full the disk of %s is: it does not say", dir)
	}
	return float64(disk.Bavail) / float64(disk.Blocks), nil
}
