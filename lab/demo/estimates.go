package demo

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// What the sources say that refuse, and how to have them.
const (
	noReports     = "consumers have reported nothing under this pipeline's name"
	betterReports = "Report counters: 6 lines of Python"
	noIDs         = "the markers are Redis keys, not rows of a table that counts its inserts"
	noEvents      = "store events are off: notify-keyspace-events is empty on this server"
	betterEvents  = "Enable notify-keyspace-events K$gxe on the server and set events: true in the store"
)

func refused(why, better string) dedup.Figure {
	f := dedup.Unknown(dedup.Ratio, why)
	f.Better = better
	return f
}

// estimates are what each source says of the rate of a pipeline: that which is shown, its cross-check, and refusals.
func (sp spec) estimates(f *dedup.WindowFigures) []dedup.Estimate {
	reported, residual := refused(noReports, betterReports), f.CrossCheck
	switch {
	case sp.down != "":
		residual = refused(sp.down+" does not answer", "")
	case sp.cannot != "":
		residual = refused(sp.cannot, "Let consumers close their channels less often, or report counters")
		residual.Low, residual.High, residual.N = 0.004, 0.045, f.Messages.N
	case sp.source == "residual interval":
		residual = f.DuplicateRate
	default:
		reported = f.DuplicateRate
	}
	return []dedup.Estimate{
		{Method: dedup.MethodReported, Rate: reported},
		{Method: dedup.MethodIDGap, Rate: refused(noIDs, "")},
		{Method: dedup.MethodStoreEvents, Rate: refused(noEvents, betterEvents)},
		{Method: dedup.MethodResidual, Rate: residual},
	}
}

// explainedSpecs are one pipeline for each state that an explanation of duplicates can have.
func explainedSpecs() []spec {
	reported := func(name string, rate float64, change func(*dedup.PipelineStatus, time.Time)) spec {
		return spec{name: name, queues: []string{name}, store: "orders", team: "shop", quality: dedup.Measured, source: "reported counters", low: rate, high: rate,
			perMinute: 667, mean: 0.04, percentiles: true, processing: 12, done: 90_000, failed: 2, unacked: 12, consumers: 4, redelivered: 0.02, change: change}
	}
	nothing := spec{name: "nothing-reported", queues: []string{"nothing.reported"}, store: "orders", team: "shop", perMinute: 40, cannot: "no complete pass over the store yet", consumers: 1, change: nothingReported}
	cannot := spec{name: "cannot-tell", queues: []string{"cannot.tell"}, store: "orders", team: "shop", perMinute: 210, consumers: 2, redelivered: 0.11,
		cannot: "the interval would be 4.1 points wide: channels were closed 31 times in this window", change: cannotTell}
	all := []spec{
		reported("all-sources", 0.062, allSources), reported("disputed", 0.044, disputed), cannot, reported("swallowed", 0.004, swallowed),
		reported("looping", 0, looping), reported("double-effects", 0.021, doubled), reported("requeued", 0.051, requeued), nothing,
	}
	all[0].rose, all[6].rose = 13*time.Minute, 8*time.Minute
	return all
}

func explained(now time.Time) *dedup.Snapshot {
	s := base(now)
	s.Brokers, s.Stores = brokers(now)[:1], stores(now)[:1]
	s.Brokers[0].Events = nil
	for _, sp := range explainedSpecs() {
		s.Pipelines = append(s.Pipelines, sp.status(now))
	}
	return s
}

// rated makes an interval of a rate in the window of another figure.
func rated(like dedup.Figure, q dedup.Quality, low, high float64, source, formula string) dedup.Figure {
	f := like
	f.Quality, f.Unit, f.Value, f.Low, f.High, f.Source, f.Formula, f.Why, f.Better = q, dedup.Ratio, low, low, high, source, formula, "", ""
	f.Hits = math.Round(low * f.N)
	return f
}

// allSources has a figure from every source, a rise, and consumers that restarted before it.
func allSources(p *dedup.PipelineStatus, now time.Time) {
	for i := range p.Windows {
		w := &p.Windows[i]
		e := w.Estimates
		e[1].Rate = rated(w.Messages, dedup.Measured, 0.0614, 0.0624, "ids without a row", "(Δid − rows) / Δid")
		e[2].Rate = rated(w.Messages, dedup.Measured, 0.0612, 0.0629, "store events", "A − U − F to min(X, A − U − F + B)")
		w.CrossCheck = e[1].Rate
		split(w, 0.82, 0.95)
	}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	p.Events = []dedup.Event{{At: ago(52 * time.Minute), Kind: "mark", Text: "shop v41 was deployed"}}
	for i := range 12 { // a crash loop
		p.Events = append(p.Events, dedup.Event{At: ago(14*time.Minute - time.Duration(i)*4*time.Second), Kind: "consumer_restart", Text: "1 consumer was restarted: others took their place"})
	}
	p.Events = append(p.Events,
		dedup.Event{At: ago(31 * time.Minute), Kind: "alarm", Text: "Broker main: memory alarm on rabbit@b"}, dedup.Event{At: ago(26 * time.Minute), Kind: "counter_reset", Text: "The counters that consumers report were reset"},
		dedup.Event{At: ago(22 * time.Minute), Kind: "eviction", Text: "Store orders threw out 14 markers"}, dedup.Event{At: ago(18 * time.Minute), Kind: "node_down", Text: "Node rabbit@b went down"},
		dedup.Event{At: ago(9 * time.Minute), Kind: "ack_timeout", Text: "A delivery of all-sources was not acked within 30 m"}, dedup.Event{At: ago(4 * time.Minute), Kind: "job", Text: "Requeue of 120 messages of all-sources.dlq"},
		dedup.Event{At: ago(2 * time.Minute), Kind: "source_down", Text: "Store orders did not answer for 20 s"})
}

func disputed(p *dedup.PipelineStatus, _ time.Time) {
	for i := range p.Windows {
		w := &p.Windows[i]
		w.CrossCheck = rated(w.Messages, dedup.Measured, 0.0117, 0.0124, "store events", "A − U − F to min(X, A − U − F + B)")
		w.Estimates[2].Rate = w.CrossCheck
		split(w, 0.2, 0.7)
	}
}

func cannotTell(p *dedup.PipelineStatus, _ time.Time) {
	for i := range p.Windows {
		w := &p.Windows[i]
		none := dedup.Unknown(dedup.Count, "the duplicates themselves cannot be told")
		w.ProducerSent, w.Redelivered = none, none
	}
}

func swallowed(p *dedup.PipelineStatus, now time.Time) {
	p.Findings = append(p.Findings, dedup.Finding{Kind: "failed_and_acked", Tier: dedup.Severe, Text: "23 failed messages were acked: they are lost unless somebody sends them again",
		Evidence: "the newest is order:20261121-0042", Remedy: "Let the consumer nack what failed, or read the list and send the messages again."})
	for i := range p.Windows {
		p.Windows[i].Swallowed.Value, p.Windows[i].Swallowed.Low, p.Windows[i].Swallowed.High = 23, 23, 23
		p.Windows[i].Lost = p.Windows[i].Swallowed
	}
	p.Events = []dedup.Event{{At: now.Add(-12 * time.Minute), Kind: "store_restart", Text: "Store orders was restarted"}}
}

func looping(p *dedup.PipelineStatus, now time.Time) {
	p.Stuck = dedup.Exact(dedup.Derived, dedup.Count, 1, now, "markers and the evidence of the broker")
	for i := range p.Windows {
		l := &p.Windows[i].Looping
		l.Value, l.Low, l.High = 12_400, 12_400, 12_400
	}
	p.Events = nil
}

func doubled(p *dedup.PipelineStatus, _ time.Time) {
	p.Findings = append(p.Findings, dedup.Finding{Kind: "double_effects", Tier: dedup.Emergency, Text: "4 orders were paid twice in the last 24 h",
		Evidence: "order 20261120-1187 and 3 more", Remedy: "Refund them, and keep markers for longer than a message may come back."})
	for i := range p.Windows {
		w := &p.Windows[i]
		w.DoubleEffects.Value, w.DoubleEffects.Low, w.DoubleEffects.High, w.DoubleEffects.Source = 4, 4, 4, "effect check"
		split(w, 0.03, 0.03)
	}
	p.Events = nil
}

func requeued(p *dedup.PipelineStatus, now time.Time) {
	for i := range p.Windows {
		split(&p.Windows[i], 0, 0.02)
	}
	p.Events = []dedup.Event{{At: now.Add(-9 * time.Minute), Kind: "job", Text: "Requeue of 1,200 messages of requeued.dlq"}}
}

func nothingReported(p *dedup.PipelineStatus, _ time.Time) {
	const why = "nothing tells: no counters are reported and store events are off"
	p.Events = nil
	for i := range p.Windows {
		w := &p.Windows[i]
		for _, f := range []*dedup.Figure{&w.ProducerSent, &w.Redelivered, &w.Swallowed, &w.Looping, &w.DoubleEffects, &w.Lost, &w.InFlightHits, &w.MeanRetries, &w.AckTimeouts, &w.ConsumerRestarts} {
			*f = refused(why, betterReports)
		}
		for j := range w.Estimates {
			w.Estimates[j].Rate.Low, w.Estimates[j].Rate.High = 0, 0
		}
	}
}

// split says that between these shares of the duplicates are redeliveries.
func split(w *dedup.WindowFigures, low, high float64) {
	d := w.Duplicates
	w.Redelivered, w.ProducerSent = d, d
	set := func(f *dedup.Figure, low, high float64) {
		f.Quality, f.Low, f.High, f.Source = dedup.Derived, math.Round(low*d.Low), math.Round(high*d.High), "store events and redeliveries of the broker"
		f.Value = f.Low
	}
	set(&w.Redelivered, low, high)
	set(&w.ProducerSent, 1-high, 1-low)
}
