package chart

import (
	"context"
	"math"
	"strconv"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// Deps are what charts are drawn from.
type Deps struct {
	Snapshots snapshots
	History   History
}

// Charts are the charts of pipelines. They are safe for concurrent use.
type Charts struct{ deps Deps }

// New returns what draws charts.
func New(deps Deps) Charts { return Charts{deps} }

// Pages returns the route of charts as tables.
func (s Charts) Pages(web.Site) []web.Route {
	return []web.Route{web.Get("/pipelines/{name}/chart.csv", auth.Viewer, s.csv)}
}

// Draw draws the charts of the pipeline whose page is at path, all of them or none: missing says why.
func (s Charts) Draw(ctx context.Context, p *dedup.PipelineStatus, q web.Range, path string, interval time.Duration, now time.Time) (drawn []templates.Chart, missing string) {
	d := NewData(s.deps.History, p, q, interval, now)
	for _, id := range IDs() {
		c, err := d.Chart(ctx, id)
		if err != nil {
			return nil, missingText(err)
		}
		c.CSV = d.csvAddress(path, id)
		drawn = append(drawn, c)
	}
	return drawn, ""
}

// csv answers one chart as a table: UTC times, ratios 0 to 1, seconds, and empty cells where nothing is known.
func (s Charts) csv(r *web.Request) (web.Response, error) {
	snap := s.deps.Snapshots.Snapshot()
	p, ok := snap.Pipeline(r.PathValue("name"))
	if !ok {
		return nil, web.MissingPipeline(snap, r.PathValue("name"))
	}
	now := time.Now().UTC()
	q, err := web.ParseRange(r.URL.Query(), now)
	if err != nil {
		return nil, err
	}
	c, err := NewData(s.deps.History, p, q, snap.Interval, now).Chart(r.Context(), r.URL.Query().Get("chart"))
	if dedup.KindOf(err) == dedup.Invalid {
		return nil, err
	}
	if err != nil {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: missingText(err), Err: err}
	}
	rows := csvRows(c)
	return web.CSV{Table: list.Table{Filename: p.Pipeline.Name + "-" + c.ID + ".csv", Heads: rows[0], Rows: rows[1:]}}, nil
}

func csvRows(c templates.Chart) [][]string {
	names, series := columnsOf(c)
	rows := [][]string{{"time"}}
	for _, n := range names {
		rows[0] = append(rows[0], n+csvUnit(c.Unit))
	}
	times, values := grid(series)
	for i, at := range times {
		row := []string{at.UTC().Format(time.RFC3339)}
		for _, v := range values[i] {
			cell := ""
			if !math.IsNaN(v) {
				cell = strconv.FormatFloat(v, 'g', -1, 64)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

func csvUnit(u templates.Unit) string {
	switch u {
	case templates.UnitRatio:
		return " (ratio)"
	case templates.UnitSeconds:
		return " (seconds)"
	default:
		return ""
	}
}
