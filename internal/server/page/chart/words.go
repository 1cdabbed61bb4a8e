package chart

import (
	"math"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/web/templates"
)

// tableRows is how many rows a chart's data table has at most; the CSV has them all.
const tableRows = 60

// sentence says a chart in words: now or last, lowest, highest, and the limits in sight. A value is the one of now if
// it is not older than fresh; a zero fresh says that none is.
func sentence(c templates.Chart, fresh time.Time) string {
	if c.Missing != "" {
		return c.Missing
	}
	var parts []string
	for _, l := range c.Lines {
		if len(l.Points) > 0 {
			parts = append(parts, lineSentence(c, l, fresh))
		}
	}
	text := strings.Join(parts, "; ")
	var limits []string
	for _, l := range c.Limits {
		limits = append(limits, l.Label)
	}
	if len(limits) > 0 {
		text += ". Limits: " + strings.Join(limits, ", ")
	}
	return text + "."
}

func lineSentence(c templates.Chart, l templates.Line, fresh time.Time) string {
	last := l.Points[len(l.Points)-1]
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range l.Points {
		low, high = math.Min(low, p.Value), math.Max(high, p.Value)
	}
	name := ""
	if len(c.Lines) > 1 {
		name = l.Name + " "
	}
	value := c.Unit.Format(last.Value)
	if len(l.High) > 0 {
		top := l.High[len(l.High)-1].Value
		value = "between " + c.Unit.Format(last.Value) + " and " + c.Unit.Format(top)
		for _, p := range l.High {
			high = math.Max(high, p.Value)
		}
	}
	when := "now " + value
	if fresh.IsZero() || last.At.Before(fresh) {
		when = "last " + value + " at " + last.At.Format(timeFormat(c))
	}
	return name + when + ", lowest " + c.Unit.Format(low) + ", highest " + c.Unit.Format(high)
}

// columnsOf are the named series of a chart, with both ends of an interval and the bars.
func columnsOf(c templates.Chart) (names []string, series [][]templates.Point) {
	for _, l := range c.Lines {
		names, series = append(names, l.Name), append(series, l.Points)
		if len(l.High) > 0 {
			names, series = append(names, "high end"), append(series, l.High)
		}
	}
	if c.BarsLabel != "" {
		names, series = append(names, c.BarsLabel), append(series, c.Bars)
	}
	return names, series
}

// grid puts series beside each other by time. A value that is missing is a NaN.
func grid(series [][]templates.Point) (times []time.Time, values [][]float64) {
	index := map[int64]time.Time{}
	for _, s := range series {
		for _, p := range s {
			index[p.At.Unix()] = p.At
		}
	}
	for _, at := range index {
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	row := make(map[int64]int, len(times))
	values = make([][]float64, len(times))
	for i, at := range times {
		row[at.Unix()] = i
		values[i] = slices.Repeat([]float64{math.NaN()}, len(series))
	}
	for j, s := range series {
		for _, p := range s {
			values[row[p.At.Unix()]][j] = p.Value
		}
	}
	return times, values
}

// tableOf is the data table of a chart, newest first. More rows than the limit are put together: the highest values count.
func tableOf(c templates.Chart, limit int) templates.Table {
	names, series := columnsOf(c)
	times, values := grid(series)
	bundle := max(1, (len(times)+limit-1)/limit)
	t := templates.Table{Head: append([]string{"Time"}, names...)}
	if bundle > 1 {
		t.Note = "Highest value of each " + templates.Span(time.Duration(bundle)*c.Step) + "; the CSV has every point."
	}
	format := timeFormat(c)
	for end := len(times); end > 0; end -= bundle {
		start := max(0, end-bundle)
		row := []string{times[end-1].Format(format)}
		for j := range names {
			row = append(row, cellText(c.Unit, highest(values[start:end], j)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// timeFormat has the date where the time alone could be of another day.
func timeFormat(c templates.Chart) string {
	if c.To.Sub(c.From) > 20*time.Hour {
		return "2 Jan 15:04"
	}
	return "15:04:05"
}

func highest(rows [][]float64, column int) float64 {
	top := math.NaN()
	for _, r := range rows {
		if v := r[column]; !math.IsNaN(v) && (math.IsNaN(top) || v > top) {
			top = v
		}
	}
	return top
}

func cellText(u templates.Unit, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return u.Format(v)
}
