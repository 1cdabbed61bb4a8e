// Package chart draws the charts of a pipeline from the history: for its page, and each as a table.
package chart

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// History answers range queries over the history.
type History interface {
	QueryRange(ctx context.Context, promql string, from, to time.Time, step time.Duration) ([]series.Line, error)
}

// Data is what the charts of one pipeline are drawn from.
type Data struct {
	history  History
	pipeline *dedup.PipelineStatus
	query    web.Range
	from     time.Time
	to       time.Time
	step     time.Duration
	// coarse says that a point stands for several readings, of which it is the highest.
	coarse bool
	zone   *time.Location
	// fresh is the oldest time of a value that may be called the one of now; zero when none may.
	fresh time.Time
}

// NewData is what the charts of a pipeline are drawn from, in the range of a query and the zone of now.
func NewData(h History, p *dedup.PipelineStatus, q web.Range, interval time.Duration, now time.Time) Data {
	d := Data{history: h, pipeline: p, query: q, zone: now.Location()}
	d.from, d.to, d.step = q.Window(interval)
	d.from, d.to = d.from.In(d.zone), d.to.In(d.zone)
	d.coarse = d.step > interval
	// A point of a coarse chart is the highest of several readings, which need not be the last of them.
	if fresh := now.Add(-2 * interval); !d.coarse && !d.to.Before(fresh) {
		d.fresh = fresh
	}
	return d
}

// IDs names the charts in the order of the page.
func IDs() []string {
	return []string{"duplicates", "latency", "dead-letters", "backlog", "markers"}
}

// csvAddress is where one chart of the pipeline whose page is at path is a table.
func (d Data) csvAddress(path, id string) string {
	q := d.query.Values()
	q.Set("chart", id)
	return path + "/chart.csv?" + q.Encode()
}

// Chart reads and builds one chart. The error is of the history; a history without values gives an empty chart.
func (d Data) Chart(ctx context.Context, id string) (templates.Chart, error) {
	c := templates.Chart{ID: id, From: d.from, To: d.to, Step: d.step}
	var err error
	switch id {
	case "duplicates":
		err = d.duplicates(ctx, &c)
	case "latency":
		err = d.latency(ctx, &c)
	case "dead-letters":
		err = d.deadLetters(ctx, &c)
	case "backlog":
		err = d.backlog(ctx, &c)
	case "markers":
		err = d.markers(ctx, &c)
	default:
		return c, web.Invalid("The parameter chart must be one of " + strings.Join(IDs(), ", ") + ".")
	}
	if err != nil {
		return c, fmt.Errorf("chart %s: %w", id, err)
	}
	empty := !slices.ContainsFunc(c.Lines, func(l templates.Line) bool { return len(l.Points) > 0 })
	if empty {
		c.Missing = "No values in this range."
	}
	fresh := d.fresh
	if !d.knownNow(id) {
		fresh = time.Time{}
	}
	c.Sentence = sentence(c, fresh)
	c.Table = tableOf(c, tableRows)
	if d.coarse {
		c.Table.Note = strings.TrimSpace(c.Table.Note + " Each point is the highest reading within " + templates.Span(d.step) + ".")
	}
	return c, nil
}

// knownNow reports whether the figure that a chart draws is known at present.
func (d Data) knownNow(id string) bool {
	w := show.Figures(d.pipeline, d.pipeline.Pipeline.Limits.Window)
	switch id {
	case "duplicates":
		return w.DuplicateRate.Known()
	case "latency":
		return w.AckMean.Known() || w.AckP95.Known()
	case "dead-letters":
		return d.pipeline.DeadLetters.Known()
	case "backlog":
		return d.pipeline.Gauges[dedup.Ready].Known()
	default:
		for _, f := range d.pipeline.Markers {
			if f.Known() {
				return true
			}
		}
		return false
	}
}

// missingText says why there is no history, in words for people.
func missingText(err error) string {
	if errors.Is(err, series.ErrStarting) {
		return "History unknown: it is still being opened after a start. The figures above do not need it."
	}
	return "History unknown: " + dedup.PublicText(err) + ". The figures above do not need it."
}

func (d Data) duplicates(ctx context.Context, c *templates.Chart) error {
	c.Title, c.Unit, c.Bands, c.Limits = "Duplicate rate", templates.UnitRatio, true, rateLimits(d.pipeline.Pipeline.Limits)
	low, err := d.single(ctx, series.DuplicateRate, "")
	if err != nil {
		return err
	}
	high, err := d.single(ctx, series.DuplicateRateHigh, "")
	if err != nil {
		return err
	}
	line := templates.Line{Name: "duplicate rate", Class: "l1", Points: low}
	if wider(low, high) {
		line.Name, line.High = "low end", high
	}
	c.Lines = []templates.Line{line}
	return nil
}

// wider reports whether the high end ever differs from the low end.
func wider(low, high []templates.Point) bool {
	at := make(map[int64]float64, len(low))
	for _, p := range low {
		at[p.At.Unix()] = p.Value
	}
	return slices.ContainsFunc(high, func(p templates.Point) bool {
		v, ok := at[p.At.Unix()]
		return ok && p.Value > v
	})
}

func rateLimits(l dedup.Limits) []templates.Limit {
	return []templates.Limit{
		{Value: l.DuplicateWarning, Label: "warning " + templates.Percent(l.DuplicateWarning), Tier: "warning"},
		{Value: l.DuplicateSevere, Label: "severe " + templates.Percent(l.DuplicateSevere), Tier: "severe"},
		{Value: l.DuplicateEmergency, Label: "emergency " + templates.Percent(l.DuplicateEmergency), Tier: "emergency"},
	}
}

func (d Data) latency(ctx context.Context, c *templates.Chart) error {
	l := d.pipeline.Pipeline.Limits
	c.Title, c.Unit, c.Log = "Ack latency", templates.UnitSeconds, !d.query.Linear
	c.Limits = []templates.Limit{
		{Value: l.LatencyWarning, Label: "warning " + templates.Latency(l.LatencyWarning), Tier: "warning"},
		{Value: l.LatencySevere, Label: "severe " + templates.Latency(l.LatencySevere), Tier: "severe"},
	}
	lines, err := d.read(ctx, series.AckLatency, "")
	if err != nil {
		return err
	}
	for _, want := range [][3]string{{"mean", "mean", "lm"}, {"0.5", "p50", "p50"}, {"0.95", "p95", "p95"}, {"0.99", "p99", "p99"}} {
		for _, line := range lines {
			if line.Labels["quantile"] == want[0] {
				c.Lines = append(c.Lines, templates.Line{Name: want[1], Class: want[2], Points: show.Points(line.Points, d.zone)})
			}
		}
	}
	if len(c.Lines) > 1 { // reported: the mean is exact
		return nil
	}
	most, err := d.single(ctx, series.AckLatencyHigh, "")
	if err == nil && len(most) > 0 {
		if len(c.Lines) == 0 {
			c.Title = "Mean ack latency, at most"
		}
		c.Lines = append(c.Lines, templates.Line{Name: "mean, at most", Class: "p95", Points: most})
	}
	return err
}

func (d Data) deadLetters(ctx context.Context, c *templates.Chart) error {
	c.Title, c.Unit = "Dead letters", templates.UnitCount
	depth, err := d.summed(ctx, series.DeadLetters)
	if err != nil {
		return err
	}
	c.Lines = []templates.Line{{Name: "in the queues", Class: "l1", Points: depth, Stepped: true, Filled: true}}
	if shared, err := d.sharedDeadLetters(ctx); err != nil {
		return err
	} else if len(shared) > 0 {
		c.Lines[0].Name = "in queues of its own"
		c.Lines = append(c.Lines, templates.Line{Name: "in shared queues", Class: "l2", Points: shared, Stepped: true})
	}
	arrived := fmt.Sprintf("%s{pipeline=%q}", series.DeadLettersArrived, d.pipeline.Pipeline.Name)
	span := promDuration(d.step)
	lines, err := d.history.QueryRange(ctx, arrived+" - "+arrived+" offset "+span, d.from, d.to, d.step)
	if err != nil {
		return err
	}
	for _, l := range lines {
		c.Bars = show.Points(l.Points, d.zone)
	}
	c.BarsLabel = "arrivals per " + templates.Span(d.step)
	return nil
}

// sharedDeadLetters is the depth over the shared dead-letter queues of the pipeline; none where it shares none.
func (d Data) sharedDeadLetters(ctx context.Context) ([]templates.Point, error) {
	var selectors []string
	for _, q := range d.pipeline.DeadLetterQueues {
		if q.Shared.Any() {
			selectors = append(selectors, fmt.Sprintf("%s{broker=%s,vhost=%s,queue=%s}", series.SharedDeadLetters,
				series.Quote(d.pipeline.Pipeline.Broker), series.Quote(q.Vhost), series.Quote(q.Name)))
		}
	}
	if len(selectors) == 0 {
		return nil, nil
	}
	lines, err := d.history.QueryRange(ctx, "sum("+strings.Join(selectors, " or ")+")", d.from, d.to, d.step)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	return show.Points(lines[0].Points, d.zone), nil
}

func (d Data) backlog(ctx context.Context, c *templates.Chart) error {
	c.Title, c.Unit = "Backlog", templates.UnitCount
	ready, err := d.single(ctx, dedup.Ready.Metric(), "")
	if err != nil {
		return err
	}
	unacked, err := d.single(ctx, dedup.Unacked.Metric(), "")
	if err != nil {
		return err
	}
	c.Lines = []templates.Line{
		{Name: "ready", Class: "l1", Points: ready, Filled: true},
		{Name: "unacked", Class: "l2", Points: unacked},
	}
	return nil
}

func (d Data) markers(ctx context.Context, c *templates.Chart) error {
	c.Title, c.Unit = "Markers by state", templates.UnitCount
	lines, err := d.read(ctx, series.Markers, "")
	if err != nil {
		return err
	}
	highest := 0.0
	for _, state := range dedup.States() {
		for _, l := range lines {
			if l.Labels["state"] != string(state) {
				continue
			}
			line := templates.Line{Name: string(state), Class: "s-" + string(state), Points: show.Points(l.Points, d.zone), Stepped: true}
			for _, p := range line.Points {
				highest = math.Max(highest, p.Value)
			}
			c.Lines = append(c.Lines, line)
		}
	}
	c.Log = highest >= 1000 // a handful of stuck markers must show beside a million done ones
	return nil
}

// read asks for every series of a metric of this pipeline, on long ranges for the highest reading of each step.
func (d Data) read(ctx context.Context, metric, extra string) ([]series.Line, error) {
	return d.history.QueryRange(ctx, d.selector(metric, extra), d.from, d.to, d.step)
}

func (d Data) selector(metric, extra string) string {
	s := fmt.Sprintf("%s{pipeline=%q%s}", metric, d.pipeline.Pipeline.Name, extra)
	if d.coarse {
		return "max_over_time(" + s + "[" + promDuration(d.step) + "])"
	}
	return s
}

// single is the first series of a metric, empty if there is none.
func (d Data) single(ctx context.Context, metric, extra string) ([]templates.Point, error) {
	lines, err := d.read(ctx, metric, extra)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	return show.Points(lines[0].Points, d.zone), nil
}

// summed adds up the series of a metric.
func (d Data) summed(ctx context.Context, metric string) ([]templates.Point, error) {
	lines, err := d.history.QueryRange(ctx, "sum("+d.selector(metric, "")+")", d.from, d.to, d.step)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	return show.Points(lines[0].Points, d.zone), nil
}

func promDuration(d time.Duration) string { return fmt.Sprintf("%ds", int64(d/time.Second)) }
