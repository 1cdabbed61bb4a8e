package main

import (
	"log/slog"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/mark"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/page/audit"
	"dedup-dashboard/internal/server/page/chart"
	"dedup-dashboard/internal/server/page/effects"
	"dedup-dashboard/internal/server/page/guide"
	"dedup-dashboard/internal/server/page/marker"
	"dedup-dashboard/internal/server/page/measurement"
	"dedup-dashboard/internal/server/web"
)

// pagesOf are the pages that register with the server.
func pagesOf(observer *collector.Collector, history *series.DB, single marker.Service, trail *admin.Trail, measured measurement.Measurements, alerting alert.Deps, marks *mark.Marks, log *slog.Logger) []web.Pages {
	return []web.Pages{
		api.New(api.Deps{Snapshots: observer, Marks: marks}),
		alert.New(alerting),
		marker.New(marker.Deps{Snapshots: observer, Markers: single, Judge: dedup.Judge, Log: log}),
		chart.New(chart.Deps{Snapshots: observer, History: history}),
		effects.New(observer),
		measured.Pages,
		audit.New(audit.Deps{Snapshots: observer, Trail: trail}),
		guide.New(),
	}
}
