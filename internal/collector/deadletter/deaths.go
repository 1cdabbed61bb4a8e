package deadletter

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/text"
)

// deathsWindow is the span over which dead letters by reason are shown.
const deathsWindow = time.Hour

// Deaths follow the dead letters of a whole broker by reason and strategy, which each node counts by itself.
type Deaths struct {
	nodes map[string]map[dedup.DeathKey]*sample.Counter
	sums  map[dedup.DeathKey]*counter.Tally
	// asked: the broker's nodes are asked. missing says why the newest counts are not those of all nodes.
	asked   bool
	missing string
}

// NewDeaths counts those of a broker.
func NewDeaths(b *counter.Book, broker string) Deaths {
	d := Deaths{nodes: make(map[string]map[dedup.DeathKey]*sample.Counter), sums: make(map[dedup.DeathKey]*counter.Tally)}
	for _, reason := range message.DeathReasons() {
		for _, strategy := range dedup.DeathStrategies() {
			d.sums[dedup.DeathKey{Reason: reason, Strategy: strategy}] = b.Tally(series.BrokerDeadLettered, "broker", broker, "reason", reason, "strategy", strategy)
		}
	}
	return d
}

// Observe takes a sample. A node that could not be read keeps its counters: what it counted meanwhile comes with its next answer.
func (d *Deaths) Observe(s *dedup.BrokerSample) {
	d.asked, d.missing = len(s.Deaths) > 0, ""
	for _, n := range s.Deaths {
		if n.Err != "" {
			d.missing = fmt.Sprintf("node %s cannot be read: %s", text.Name(n.URL), text.Plain(n.Err, 200))
			continue
		}
		of := d.nodes[n.URL]
		if of == nil {
			of = make(map[dedup.DeathKey]*sample.Counter)
			d.nodes[n.URL] = of
		}
		for key, sum := range d.sums {
			if of[key] == nil {
				of[key] = &sample.Counter{}
			}
			var value *int64
			if v, ok := n.Counts[key]; ok {
				value = &v
			}
			if st := of[key].Observe(value); of[key].Known() {
				sum.Take(st)
			}
		}
	}
	if nodes := len(s.State.Nodes); d.asked && d.missing == "" && nodes > len(s.Deaths) {
		d.missing = fmt.Sprintf("prometheus_urls lists %d of %d nodes, and each tells of itself alone", len(s.Deaths), nodes)
	}
}

// Store adds the counters, while they are those of all nodes.
func (d *Deaths) Store(into counter.Batch) {
	if !d.asked || d.missing != "" {
		return
	}
	for _, sum := range d.sums {
		into.Tallies(sum)
	}
}

// Figures are the dead letters of the last hour; nil where nobody is asked. why says why they cannot be shown, "" when they can.
func (d *Deaths) Figures(p *counter.Past, why string) *dedup.BrokerDeaths {
	if !d.asked {
		return nil
	}
	if why == "" {
		why = d.missing
	}
	out := &dedup.BrokerDeaths{Discarded: d.sum(p, why, dedup.Count, func(k dedup.DeathKey) bool { return k.Strategy == dedup.StrategyDisabled })}
	for _, reason := range message.DeathReasons() {
		out.Reasons = append(out.Reasons, dedup.ReasonDeaths{Reason: reason,
			PerHour: d.sum(p, why, dedup.PerHour, func(k dedup.DeathKey) bool { return k.Reason == reason })})
	}
	return out
}

// sum adds what the chosen counters gained.
func (d *Deaths) sum(p *counter.Past, why string, unit dedup.Unit, chosen func(dedup.DeathKey) bool) dedup.Figure {
	const shortest = 30 * time.Second
	f := dedup.Unknown(unit, why)
	f.Window, f.Source, f.Formula = deathsWindow, "Prometheus plugin of the broker", "messages that died, of the whole broker"
	if why != "" {
		return f
	}
	f.Covered = deathsWindow
	for key, sum := range d.sums {
		if !chosen(key) || !sum.Open {
			continue
		}
		g := p.Gain(deathsWindow, sum)
		if !g.Known || g.Covered < shortest {
			continue
		}
		f.Quality = dedup.Measured
		f.N += g.Delta
		f.Covered, f.At = min(f.Covered, g.Covered), g.At
	}
	if !f.Known() {
		f.Why, f.Covered = "the history holds too little of this window yet", 0
		return f
	}
	f.Value = f.N
	if unit == dedup.PerHour {
		f.Value /= f.Covered.Hours()
	}
	f.Low, f.High = f.Value, f.Value
	return f
}
