package metrics

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// emitter sends one value of one metric.
type emitter func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string)

// emitterTo returns what sends to a scrape.
func emitterTo(out chan<- prometheus.Metric) emitter {
	return func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
		m, err := prometheus.NewConstMetric(d, t, v, valid(labels)...)
		if err != nil {
			m = prometheus.NewInvalidMetric(d, err)
		}
		out <- m
	}
}

func (c *snapshotCollector) source(h dedup.SourceHealth, emit emitter) {
	if !h.Tried {
		return
	}
	emit(c.up, prometheus.GaugeValue, truth(h.OK), h.Name)
	emit(c.took, prometheus.GaugeValue, h.Took.Seconds(), h.Name)
	emit(c.miss, prometheus.CounterValue, float64(h.Missed), h.Name)
}

func (c *snapshotCollector) pipeline(p *dedup.PipelineStatus, v alerts.Verdict, emit emitter) {
	name := p.Pipeline.Name
	for t := dedup.TierUnknown; t <= dedup.Emergency; t++ {
		emit(c.tier, prometheus.GaugeValue, truth(v.Tier == t), name, t.String())
	}
	for r := dedup.RiskUnknown; r <= dedup.RiskHigh; r++ {
		emit(c.risk, prometheus.GaugeValue, truth(v.Risk == r), name, r.String())
	}
	for i := range p.Windows {
		c.window(name, &p.Windows[i], emit)
	}
	for _, m := range c.instants {
		gauge(emit, m.desc, m.pick(p), name)
	}
	for state, f := range p.Markers {
		gauge(emit, c.markers, f, name, string(state))
	}
	for verdict, f := range p.Verdicts {
		gauge(emit, c.judged, f, name, strings.ReplaceAll(string(verdict), " ", "_"))
	}
	c.hazards(name, p.Findings, emit)
	for _, q := range p.DeadLetterQueues {
		if !q.Shared.Any() {
			gauge(emit, c.deadLetters, q.Depth, name, q.Vhost, q.Name)
		}
	}
}

// sharedQueue sends the figures of a shared dead-letter queue once, and who shares it.
func (c *snapshotCollector) sharedQueue(q *dedup.SharedQueue, emit emitter) {
	gauge(emit, c.shared, q.Depth, q.Broker, q.Vhost, q.Name)
	gauge(emit, c.sharedFlow, q.Inflow, q.Broker, q.Vhost, q.Name)
	for _, p := range q.Pipelines {
		emit(c.sharers, prometheus.GaugeValue, 1, q.Broker, q.Vhost, q.Name, p)
	}
}

// hazards counts findings by kind and tier.
func (c *snapshotCollector) hazards(name string, findings []dedup.Finding, emit emitter) {
	counts := make(map[[2]string]float64)
	for _, f := range findings {
		counts[[2]string{f.Kind, f.Tier.String()}]++
	}
	for class, n := range counts {
		emit(c.findings, prometheus.GaugeValue, n, name, class[0], class[1])
	}
}

func (c *snapshotCollector) window(name string, w *dedup.WindowFigures, emit emitter) {
	span := shortSpan(w.Window)
	for _, m := range c.windows {
		if v, f := m.pick(w); f.Known() && !math.IsNaN(v) {
			emit(m.desc, prometheus.GaugeValue, v, append([]string{name, span}, m.labels...)...)
		}
	}
	if f := w.DuplicateRate; f.Known() {
		emit(c.rateInfo, prometheus.GaugeValue, 1, name, span, f.Quality.String(), f.Source)
	}
}

// gauge sends a figure if it is known.
func gauge(emit emitter, d *prometheus.Desc, f dedup.Figure, labels ...string) {
	if f.Known() && !math.IsNaN(f.Value) {
		emit(d, prometheus.GaugeValue, f.Value, labels...)
	}
}

// shortSpan writes 5m0s as 5m and 24h0m0s as 24h.
func shortSpan(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// valid makes label values that every reader takes: names of queues may hold any bytes. Prometheus itself reads control characters; other programs
// and people do not.
func valid(labels []string) []string {
	out := make([]string, len(labels))
	for i, l := range labels {
		out[i] = labelText(l)
	}
	return out
}

// labelText writes control characters and bytes that are no UTF-8 as \x00, and everything else as it is. Two names never get the same label: a
// backslash that could be taken for the begin of such an escape is doubled.
func labelText(s string) string {
	plain := utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
	if plain && !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1, unicode.IsControl(r):
			for _, c := range []byte(s[:size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
