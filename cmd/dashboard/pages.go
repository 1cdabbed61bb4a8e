package main

import (
	"log/slog"

	"dedup-dashboard/internal/admin"

	"dedup-dashboard/internal/admin/baseline"
	"dedup-dashboard/internal/admin/mark"
	"dedup-dashboard/internal/admin/marker"

	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/page/account"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/page/audit"
	"dedup-dashboard/internal/server/page/chart"
	"dedup-dashboard/internal/server/page/deadletter"
	"dedup-dashboard/internal/server/page/effects"
	"dedup-dashboard/internal/server/page/guide"
	"dedup-dashboard/internal/server/page/job"
	markerpage "dedup-dashboard/internal/server/page/marker"
	"dedup-dashboard/internal/server/page/measurement"
	"dedup-dashboard/internal/server/page/message"
	"dedup-dashboard/internal/server/page/move"
	"dedup-dashboard/internal/server/page/overview"
	"dedup-dashboard/internal/server/page/pipeline"
	"dedup-dashboard/internal/server/web"
)

// services are what stands behind the pages that register with the server.
type services struct {
	observer  *collector.Collector
	history   *series.DB
	accounts  account.Deps
	markers   *marker.Markers
	trail     *admin.Trail
	letters   deadLetterPages
	marks     *mark.Marks
	alerting  alert.Deps
	baselines deadletter.Baselines
	jobs      job.Jobs
	measured  measurement.Measurements
	log       *slog.Logger
}

// openServer opens the web server with the pages of what stands behind them.
func (a *App) openServer(cfg *config.Config, db *journal.DB, behind services) (err error) {
	who, known := behind.accounts, behind.observer
	behind.marks = mark.New(mark.Deps{Gate: who.Gate, Journal: db.Marks(), Snapshots: known, Refresh: known.Refresh, ReadOnly: cfg.Server.ReadOnly})
	behind.baselines = deadletter.NewBaselines(baseline.New(baseline.Deps{Gate: who.Gate, Journal: db.Baselines(), Snapshots: known, Refresh: known.Refresh, ReadOnly: cfg.Server.ReadOnly}))
	behind.jobs = job.New(job.Deps{Letters: behind.letters, Log: a.log})
	a.server, err = server.New(cfg.Server, server.Deps{
		Snapshots: known, History: behind.history, Auth: who.Auth, FirstAdmin: who.FirstAdmin, Gate: who.Gate, Sessions: who.Sessions, Pages: behind.pages(),
		Alerts: behind.alerting, Log: a.log, Version: version(), HashKey: db.Installation().Key("hash of a value"),
	})
	if err != nil {
		return unusable("%w", err)
	}
	return nil
}

// pages are the pages that register with the server.
func (s services) pages() []web.Pages {
	charts := chart.New(chart.Deps{Snapshots: s.observer, History: s.history})
	messages := message.New(message.Deps{Snapshots: s.observer, Letters: s.letters})
	return []web.Pages{
		overview.New(overview.Deps{Snapshots: s.observer, Alerts: s.alerting.View, Measured: s.measured}),
		pipeline.New(pipeline.Deps{
			Snapshots: s.observer, Jobs: s.jobs, Charts: charts, Effects: effects.Section, Alerts: s.alerting, Baselines: s.baselines, Measured: s.measured,
		}),
		api.New(api.Deps{Snapshots: s.observer, Marks: s.marks, Jobs: s.jobs}),
		account.New(s.accounts),
		alert.New(s.alerting),
		deadletter.New(deadletter.Deps{Snapshots: s.observer, Letters: s.letters, Log: s.log}),
		s.baselines.Pages,
		messages.Pages,
		move.New(s.letters),
		s.jobs.Pages,
		markerpage.New(markerpage.Deps{Snapshots: s.observer, Markers: s.markers, Judge: dedup.Judge, Stories: messages, Log: s.log}),
		charts.Pages,
		effects.New(s.observer),
		s.measured.Pages,
		audit.New(audit.Deps{Snapshots: s.observer, Trail: s.trail}),
		guide.New(),
	}
}
