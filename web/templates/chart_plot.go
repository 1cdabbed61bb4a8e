package templates

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// plotHeight is the height of a plot in CSS pixels. Widths are in thousandths of whatever the screen gives.
	plotHeight = 168.0
	plotWidth  = 1000.0
	barsHeight = 28.0
	// labelGap is the least distance between two labels at the right edge, in pixels.
	labelGap = 13.0
)

// A plot is a chart laid out: every shape with its place.
type plot struct {
	xticks []Tick
	yticks []Tick
	bands  []band
	limits []label
	lines  []shape
	ends   []label
	bars   []bar
	barMax string
}

type band struct {
	tier   string
	y      string
	height string
}

type label struct {
	text  string
	class string
	y     string // where the boundary or the last value is
	texty string // where its text is, moved apart from its neighbours
}

type shape struct {
	class string
	line  string
	area  string
	dot   bool
	dotX  string
	dotY  string
}

type bar struct{ x, y, width, height string }

// axis maps values to pixels.
type axis struct {
	low, high float64
	log       bool
}

func (a axis) y(v float64) float64 {
	var share float64
	switch {
	case a.log && a.low == 0: // log(1 + v), so that 0 has a place
		share = math.Log1p(v) / math.Log1p(a.high)
	case a.log:
		share = math.Log(math.Max(v, a.low)/a.low) / math.Log(a.high/a.low)
	default:
		share = (v - a.low) / (a.high - a.low)
	}
	return plotHeight * (1 - math.Min(math.Max(share, 0), 1))
}

// layout computes the plot of a chart. It never fails: a chart without points has axes only.
func (c Chart) layout() plot {
	a := c.valueAxis()
	p := plot{xticks: TimeTicks(c.From, c.To), yticks: a.ticks(c.Unit)}
	if c.Bands {
		p.bands = c.tierBands(a)
	}
	for _, l := range c.Limits {
		if l.Value > a.high || l.Value < a.low {
			continue
		}
		y := px(a.y(l.Value))
		p.limits = append(p.limits, label{text: l.Label, class: "limit t-" + l.Tier, y: y, texty: y})
	}
	for _, l := range c.Lines {
		s, end, ok := c.shape(l, a)
		p.lines = append(p.lines, s)
		if ok && len(c.Lines) > 1 {
			p.ends = append(p.ends, end)
		}
	}
	spread(p.ends)
	spreadLimits(p.limits)
	p.bars, p.barMax = c.barShapes()
	return p
}

// valueAxis spans from 0 to a little above the data and the next limit above it; a logarithmic one spans whole decades.
func (c Chart) valueAxis() axis {
	low, high := math.Inf(1), 0.0
	for _, l := range c.Lines {
		for _, points := range [][]Point{l.Points, l.High} {
			for _, p := range points {
				high = math.Max(high, p.Value)
				if p.Value > 0 {
					low = math.Min(low, p.Value)
				}
			}
		}
	}
	top := high * 1.1
	for _, l := range c.Limits { // rising: the first one above the data is worth seeing
		if l.Value >= high {
			top = math.Max(top, l.Value*1.2)
			break
		}
	}
	if c.Log && c.Unit == UnitCount {
		return axis{high: math.Pow(10, math.Ceil(math.Log10(math.Max(top, 10)))), log: true}
	}
	if c.Log {
		if math.IsInf(low, 1) {
			low, top = 0.001, 1
		}
		high := math.Pow(10, math.Ceil(math.Log10(top)))
		bottom := math.Pow(10, math.Floor(math.Log10(low)))
		return axis{low: math.Max(math.Min(bottom, high/10), high/1e6), high: high, log: true} // six decades are enough to see
	}
	if top <= 0 {
		top = 1
	}
	return axis{high: niceCeil(top, c.Unit)}
}

// niceCeil rounds a linear axis up so that its ticks are round numbers.
func niceCeil(top float64, u Unit) float64 {
	step := tickStep(top, u)
	return math.Max(1, math.Ceil(top/step-1e-9)) * step
}

// tickStep is 1, 2 or 5 times a power of ten, for three to five ticks; counts have no fractions.
func tickStep(top float64, u Unit) float64 {
	raw := top / 4
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw {
			step = m * power
			break
		}
	}
	if u == UnitCount {
		step = math.Max(1, step)
	}
	return step
}

func (a axis) ticks(u Unit) []Tick {
	var ticks []Tick
	if a.log && a.low == 0 {
		ticks = append(ticks, Tick{Y: px(a.y(0)), Label: "0"})
		for v := 10.0; v <= a.high*1.001; v *= 10 {
			ticks = append(ticks, Tick{Y: px(a.y(v)), Label: axisLabel(v, u)})
		}
		return ticks
	}
	if a.log {
		for v := a.low; v <= a.high*1.001; v *= 10 {
			ticks = append(ticks, Tick{Y: px(a.y(v)), Label: axisLabel(v, u)})
		}
		return ticks
	}
	step := tickStep(a.high, u)
	for i := 0; float64(i)*step <= a.high*1.001; i++ {
		v := float64(i) * step
		ticks = append(ticks, Tick{Y: px(a.y(v)), Label: axisLabel(v, u)})
	}
	return ticks
}

// axisLabel is shorter than a value: 2 % and not 2.00 %.
func axisLabel(v float64, u Unit) string {
	switch u {
	case UnitRatio:
		return strconv.FormatFloat(v*100, 'f', -1, 32) + " %"
	case UnitSeconds:
		if v >= 1 {
			return strconv.FormatFloat(v, 'f', -1, 32) + " s"
		}
		return strconv.FormatFloat(v*1000, 'f', -1, 32) + " ms"
	default:
		return shortNumber(v)
	}
}

// shortNumber writes round numbers so that they fit beside an axis: 20k, 1.5M.
func shortNumber(v float64) string {
	switch {
	case v >= 1e9:
		return strconv.FormatFloat(v/1e9, 'f', -1, 32) + "G"
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', -1, 32) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'f', -1, 32) + "k"
	default:
		return Number(v)
	}
}

func (c Chart) tierBands(a axis) []band {
	bounds := []Limit{{Value: a.low, Tier: "normal"}}
	for _, l := range c.Limits {
		if l.Value < a.high {
			bounds = append(bounds, l)
		}
	}
	var bands []band
	for i, b := range bounds {
		upper := a.high
		if i+1 < len(bounds) {
			upper = bounds[i+1].Value
		}
		bands = append(bands, band{tier: b.Tier, y: px(a.y(upper)), height: px(a.y(b.Value) - a.y(upper))})
	}
	return bands
}

// shape draws one line. A step without a value interrupts it; a value between two gaps is a dot.
func (c Chart) shape(l Line, a axis) (shape, label, bool) {
	s := shape{class: l.Class}
	var line, area strings.Builder
	for _, run := range runs(l.Points, c.Step) {
		c.trace(&line, run, a, l.Stepped)
		if l.Filled {
			c.trace(&area, run, a, l.Stepped)
			area.WriteString("V" + px(plotHeight) + "H" + px(c.x(run[0].At)) + "Z")
		}
	}
	if len(l.High) > 0 {
		c.traceBand(&area, l, a)
	}
	s.line, s.area = line.String(), area.String()
	if len(l.Points) == 0 {
		return s, label{}, false
	}
	last := l.Points[len(l.Points)-1]
	y := px(a.y(last.Value))
	s.dot, s.dotX, s.dotY = true, percentOf(c.x(last.At)), y
	return s, label{text: l.Name, class: l.Class, y: y, texty: y}, true
}

func (c Chart) trace(b *strings.Builder, run []Point, a axis, stepped bool) {
	for i, p := range run {
		x, y := px(c.x(p.At)), px(a.y(p.Value))
		switch {
		case i == 0:
			b.WriteString("M" + x + " " + y)
		case stepped:
			b.WriteString("H" + x + "V" + y)
		default:
			b.WriteString("L" + x + " " + y)
		}
	}
	if len(run) == 1 {
		b.WriteString("h1")
	}
}

// traceBand fills the space between the low and the high end of an interval.
func (c Chart) traceBand(b *strings.Builder, l Line, a axis) {
	high := make(map[int64]float64, len(l.High))
	for _, p := range l.High {
		high[p.At.Unix()] = p.Value
	}
	for _, run := range runs(l.Points, c.Step) {
		c.trace(b, run, a, false)
		for i := len(run) - 1; i >= 0; i-- {
			v, ok := high[run[i].At.Unix()]
			if !ok {
				v = run[i].Value
			}
			b.WriteString("L" + px(c.x(run[i].At)) + " " + px(a.y(v)))
		}
		b.WriteString("Z")
	}
}

func (c Chart) barShapes() ([]bar, string) {
	top := 0.0
	for _, p := range c.Bars {
		top = math.Max(top, p.Value)
	}
	if top == 0 {
		return nil, "0"
	}
	width := math.Max(plotWidth*float64(c.Step)/float64(c.To.Sub(c.From))*0.8, 1)
	var bars []bar
	for _, p := range c.Bars {
		if p.Value <= 0 {
			continue
		}
		h := math.Max(p.Value/top*barsHeight, 1)
		bars = append(bars, bar{x: px(c.x(p.At) - width), y: px(barsHeight - h), width: px(width), height: px(h)})
	}
	return bars, Rate(top)
}

func (c Chart) x(at time.Time) float64 {
	return plotWidth * float64(at.Sub(c.From)) / float64(c.To.Sub(c.From))
}

// runs splits points where more than one and a half steps are missing.
func runs(points []Point, step time.Duration) [][]Point {
	var out [][]Point
	start := 0
	for i := 1; i <= len(points); i++ {
		if i == len(points) || points[i].At.Sub(points[i-1].At) > step*3/2 {
			if i > start {
				out = append(out, points[start:i])
			}
			start = i
		}
	}
	return out
}

// px writes a coordinate with at most one decimal.
func px(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// percentOf writes a place on the x axis, given in thousandths, as a percentage.
func percentOf(x float64) string {
	return strconv.FormatFloat(math.Round(x*10)/100, 'f', -1, 64) + "%"
}
