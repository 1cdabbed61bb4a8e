package server

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// measurementsShown is how many measurements the page of a pipeline shows.
const measurementsShown = 3

// measured is what the pages of pipelines say of exact measurements; measurement.Measurements is one.
type measured interface {
	// Section is what the page of a pipeline says of its newest measurements.
	Section(r *web.Request, base, pipeline string, most int, now time.Time) (templates.MeasureSection, error)
	// Measurable tells which pipelines who asks can measure.
	Measurable(r *web.Request) func(pipeline string) bool
}

// measurable tells which pipelines who asks can measure.
func (s *Server) measurable(r *web.Request) func(pipeline string) bool {
	if s.measured == nil {
		return func(string) bool { return false }
	}
	return s.measured.Measurable(r)
}

// jobs tells what jobs did; job.Jobs is one.
type jobs interface {
	// WithEvents returns a snapshot with what jobs of ours did as events of their pipelines, for those who may see jobs.
	WithEvents(r *web.Request, snap *dedup.Snapshot) *dedup.Snapshot
}

// withJobs returns the snapshot with what jobs of ours did as events of their pipelines.
func (s *Server) withJobs(r *web.Request) *dedup.Snapshot {
	if s.jobs == nil {
		return s.snapshots.Snapshot()
	}
	return s.jobs.WithEvents(r, s.snapshots.Snapshot())
}

// baselines is what the pages of pipelines say of acknowledged dead letters; deadletter.Baselines is one.
type baselines interface {
	// View shows what of a pipeline's dead letters is acknowledged, and the forms that change it; path is the page of the pipeline.
	View(r *web.Request, p *dedup.PipelineStatus, path string, now time.Time) templates.BaselineView
}
