// Package pipeline serves the page of one pipeline: its figures in every window, its charts, what is wrong and where that comes from.
package pipeline

import (
	"context"
	"net/url"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

const (
	// effectsShown is how many business keys the page of a pipeline lists; the list of its own has all of them.
	effectsShown = 50
	// measurementsShown is how many measurements it shows.
	measurementsShown = 3
)

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// jobs tells what jobs did; job.Jobs is one.
type jobs interface {
	// WithEvents returns a snapshot with what jobs of ours did as events of their pipelines, for those who may see jobs.
	WithEvents(r *web.Request, snap *dedup.Snapshot) *dedup.Snapshot
}

// charts draws the charts of a pipeline; chart.Charts is one.
type charts interface {
	// Draw draws the charts of the pipeline whose page is at path, all of them or none: missing says why.
	Draw(ctx context.Context, p *dedup.PipelineStatus, q web.Range, path string, interval time.Duration, now time.Time) (drawn []templates.Chart, missing string)
}

// firing says what fires of a pipeline; alert.Deps does.
type firing interface {
	Line(base, pipeline string, now time.Time) templates.AlertLine
}

// baselines is what the page says of acknowledged dead letters; deadletter.Baselines is one.
type baselines interface {
	// View shows what of a pipeline's dead letters is acknowledged, and the forms that change it; path is the page of the pipeline.
	View(r *web.Request, p *dedup.PipelineStatus, path string, now time.Time) templates.BaselineView
}

// measured is what the page says of exact measurements; measurement.Measurements is one.
type measured interface {
	// Section is what the page of a pipeline says of its newest measurements.
	Section(r *web.Request, base, pipeline string, most int, now time.Time) (templates.MeasureSection, error)
	// Measurable tells which pipelines who asks can measure.
	Measurable(r *web.Request) func(pipeline string) bool
}

// Deps are what the page of a pipeline is made from; all are required.
type Deps struct {
	Snapshots snapshots
	Jobs      jobs
	Charts    charts
	// Effects shows double effects, effects.Section.
	Effects   func(p *dedup.PipelineStatus, path string, number, most int, now time.Time) templates.EffectsView
	Alerts    firing
	Baselines baselines
	Measured  measured
}

// pages answer with a pipeline. They are safe for concurrent use.
type pages struct {
	deps Deps
	site web.Site
}

// New returns the route of the page of a pipeline.
func New(deps Deps) web.Pages {
	return func(site web.Site) []web.Route {
		s := pages{deps, site}
		return []web.Route{web.Get("/pipelines/{name}", auth.Viewer, s.pipeline)}
	}
}

// pipeline answers the page of one pipeline. Live regions other than the charts do not ask the history.
func (s pages) pipeline(r *web.Request) (web.Response, error) {
	snap := s.deps.Jobs.WithEvents(r, s.deps.Snapshots.Snapshot())
	p, ok := snap.Pipeline(r.PathValue("name"))
	if !ok {
		return nil, web.MissingPipeline(snap, r.PathValue("name"))
	}
	now := r.Now()
	q, err := web.ParseRange(r.URL.Query(), now)
	if err != nil {
		return nil, err
	}
	name := p.Pipeline.Name
	frame := s.site.Frame(r, show.ShortName(name))
	frame.Live = web.Live("pipeline:" + name)
	path := frame.Base + "/pipelines/" + url.PathEscape(name)
	view := View(snap, p, s.site.Judge(now), q, now, frame, web.Reader{Masker: s.site.Masker, Who: r.Who})
	view.Effects, view.Alerts = s.deps.Effects(p, path, 1, effectsShown, now), s.deps.Alerts.Line(frame.Base, name, now)
	view.Baseline = s.deps.Baselines.View(r, p, path, now)
	s.measure(r, &view, name, now)
	if r.Fragment == "" || r.Fragment == "charts" {
		view.Charts, view.ChartsMissing = s.deps.Charts.Draw(r.Context(), p, q, path, snap.Interval, now)
		for i := range view.Charts {
			view.Charts[i].Events = view.Track.Events
		}
	}
	return web.Page{Component: templates.Pipeline(view)}, nil
}

// measure says what was measured exactly, and offers to measure where that can be done.
func (s pages) measure(r *web.Request, view *templates.PipelineView, name string, now time.Time) {
	if s.deps.Measured.Measurable(r)(name) {
		for i := range view.Parts {
			show.OfferMeasure("", &view.Parts[i].Figure)
		}
	}
	if r.Fragment != "" && r.Fragment != "status" {
		return
	}
	var err error
	if view.Measure, err = s.deps.Measured.Section(r, view.Frame.Base, name, measurementsShown, now); err != nil {
		view.Measure = templates.MeasureSection{Shown: true, WhyNot: show.ErrorText(err)}
	}
	view.How.Measured = view.Measure.Last
}
