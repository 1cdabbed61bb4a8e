package server

import (
	"time"

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
