package demo

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// spec is a pipeline in a few numbers, from which its whole status follows.
type spec struct {
	name    string
	queues  []string
	store   string
	team    string
	quality dedup.Quality
	source  string
	// low and high are the ends of the duplicate rate; equal for a point.
	low, high float64
	perMinute float64
	// mean is the mean ack latency in seconds; without percentiles it is estimated.
	mean        float64
	percentiles bool
	dead        float64
	processing  float64
	noExpiry    float64
	done        float64
	failed      float64
	ready       float64
	unacked     float64
	consumers   float64
	redelivered float64
	// down names a source that does not answer; cannot is why the rate cannot be told.
	down     string
	cannot   string
	findings []dedup.Finding
	// rose is how long ago the rate rose from an eighth; zero when it did not. change puts the status in the state that it is to show.
	rose   time.Duration
	change func(*dedup.PipelineStatus, time.Time)
}

func mixedSpecs() []spec {
	return []spec{
		{name: "orders", queues: []string{"orders"}, store: "orders", team: "shop", quality: dedup.Measured, source: "reported counters",
			low: 0.015, high: 0.015, perMinute: 667, mean: 0.084, percentiles: true, dead: 12, processing: 41, done: 184_220, failed: 3, ready: 18, unacked: 32, consumers: 4, redelivered: 0.021},
		{name: "payments", queues: []string{"payments", "payments.retry"}, store: "payments", team: "money", quality: dedup.Measured, source: "reported counters",
			low: 0.0624, high: 0.0624, perMinute: 212, mean: 0.212, percentiles: true, dead: 47, processing: 9, done: 96_014, failed: 21, ready: 340, unacked: 64, consumers: 2, redelivered: 0.094},
		{name: "inventory", queues: []string{"inventory.reserve"}, store: "orders", team: "shop", quality: dedup.Measured, source: "reported counters",
			low: 0.1718, high: 0.1718, perMinute: 1480, mean: 0.731, percentiles: true, dead: 2318, processing: 164, noExpiry: 12, done: 402_118, failed: 77, ready: 18_240, unacked: 500, consumers: 1, redelivered: 0.233,
			findings: []dedup.Finding{{Kind: "marker_without_expiry", Tier: dedup.Severe, Text: "12 processing markers never expire: their messages are skipped for ever.",
				Evidence: "msg:5f0c19ab and 11 more, the oldest for 3 h 12 m", Remedy: "Set marker and expiry in one command: SET key processing NX EX 30."},
				{Kind: "dedup_window_unusual", Tier: dedup.Normal, Text: "The dedup window is shorter than 24 h: a message that comes back the next day is processed again",
					Evidence: "done markers live for 12 h", Remedy: "Keep done markers for at least as long as a producer, or an operator, may send a message again."}}},
		{name: "invoices", queues: []string{"invoices"}, store: "orders", team: "money", quality: dedup.Derived, source: "residual interval",
			low: 0.0080, high: 0.0192, perMinute: 95, mean: 0.051, dead: 0, processing: 2, done: 12_480, ready: 0, unacked: 3, consumers: 2, redelivered: 0.017},
		{name: "shipping-labels", queues: []string{"shipping.labels"}, store: "orders", team: "logistics", perMinute: 44, mean: 0.046, dead: 3, processing: 1, done: 8_211, ready: 2, unacked: 1, consumers: 3,
			redelivered: 0.12, cannot: "the interval would be 4.1 points wide: channels closed 31 times in this window"},
		{name: "mailings", queues: []string{"mail.outbound"}, store: "sessions", team: "marketing", perMinute: 20, down: "store sessions", dead: 5, consumers: 1, redelivered: 0.002},
		{name: "points", queues: []string{"loyalty.points"}, store: "orders", team: "shop", quality: dedup.Measured, source: "reported counters",
			low: 0.0021, high: 0.0021, perMinute: 318, mean: 0.012, percentiles: true, processing: 4, done: 55_301, unacked: 6, consumers: 4, redelivered: 0.003},
		{name: "search-index", queues: []string{"search.index"}, store: "orders", team: "search", quality: dedup.Derived, source: "residual interval",
			low: 0.0004, high: 0.0009, perMinute: 1210, mean: 0.006, processing: 11, done: 610_998, ready: 4, unacked: 20, consumers: 8, redelivered: 0.001},
	}
}

func (sp spec) status(now time.Time) dedup.PipelineStatus {
	p := dedup.PipelineStatus{
		Pipeline: dedup.Pipeline{
			Name: sp.name, Broker: "main", Vhost: "/", Queues: sp.queues, Store: sp.store, DiscoverDeadLetters: true,
			IDFrom: "message_id", MaxProcessing: 30 * time.Second, Labels: map[string]string{"team": sp.team}, Limits: dedup.DefaultLimits(),
		},
		Sources: []string{"broker main", "store " + sp.store}, Findings: sp.findings, LastActivity: now.Add(-3 * time.Second),
	}
	for _, w := range dedup.Windows() {
		p.Windows = append(p.Windows, sp.window(w, now))
	}
	at := now.Add(-4 * time.Second)
	count := func(v float64, source string) dedup.Figure {
		return dedup.Exact(dedup.Measured, dedup.Count, v, at, source)
	}
	p.Gauges = map[dedup.GaugeName]dedup.Figure{
		dedup.Ready: count(sp.ready, "broker main"), dedup.Unacked: count(sp.unacked, "broker main"), dedup.Consumers: count(sp.consumers, "broker main"),
	}
	p.DeadLetters = count(sp.dead, "broker main")
	p.DeadLetterQueues = []dedup.DeadLetterQueue{{
		QueueRef: dedup.QueueRef{Vhost: "/", Name: sp.queues[0] + ".dlq"}, Type: "classic",
		Found: "argument x-dead-letter-exchange of " + sp.queues[0], Depth: p.DeadLetters, Consumers: count(0, "broker main"),
	}}
	p.DeadLetterRoutes = routes(sp.queues[0])
	p.BrokerDeaths = deaths(now)
	sp.markers(&p, at, now)
	p.Effects = sp.effects(now)
	for i := range 60 {
		t := now.Add(time.Duration(i-59) * time.Minute)
		if v := sp.rateAt(t, now); !math.IsNaN(v) && sp.quality != dedup.QualityUnknown {
			p.Spark = append(p.Spark, dedup.Point{At: t, Value: v})
		}
	}
	p.Events = []dedup.Event{{At: now.Add(-38 * time.Minute), Kind: "consumer_restart", Text: "2 of 4 consumers of " + sp.queues[0] + " reconnected"}}
	if sp.change != nil {
		sp.change(&p, now)
	}
	return p
}

func (sp spec) markers(p *dedup.PipelineStatus, at, now time.Time) {
	if sp.down != "" {
		for _, h := range sources(now) {
			if h.Name == sp.down {
				p.Down = append(p.Down, h)
			}
		}
		why := sp.down + " does not answer"
		p.MarkersNoExpiry, p.OldestProcessing, p.PassAge = dedup.Unknown(dedup.Count, why), dedup.Unknown(dedup.Seconds, why), dedup.Unknown(dedup.Seconds, why)
		p.Markers = map[dedup.State]dedup.Figure{dedup.Processing: dedup.Unknown(dedup.Count, why), dedup.Done: dedup.Unknown(dedup.Count, why)}
		return
	}
	count := func(v float64) dedup.Figure {
		return dedup.Exact(dedup.Measured, dedup.Count, v, at, "store "+sp.store)
	}
	p.Markers = map[dedup.State]dedup.Figure{dedup.Processing: count(sp.processing), dedup.Done: count(sp.done), dedup.Failed: count(sp.failed)}
	p.MarkersNoExpiry = count(sp.noExpiry)
	p.PassAge = dedup.Exact(dedup.Measured, dedup.Seconds, passAge.Seconds(), now, "store "+sp.store)
	p.OldestProcessing = dedup.Exact(dedup.Derived, dedup.Seconds, 4+sp.noExpiry*960, at, "store "+sp.store)
}

func (sp spec) window(w time.Duration, now time.Time) dedup.WindowFigures {
	at := now.Add(-4 * time.Second)
	n := math.Round(sp.perMinute * w.Minutes())
	put := func(q dedup.Quality, u dedup.Unit, v, n float64, source string) dedup.Figure {
		f := dedup.Exact(q, u, v, at, source)
		f.Window, f.Covered, f.N = w, w, n
		return f
	}
	none := func(u dedup.Unit, why string) dedup.Figure { return dedup.Unknown(u, why) }
	why := sp.cannot
	if sp.down != "" {
		why = sp.down + " does not answer"
	}
	f := dedup.WindowFigures{
		Window: w, Messages: put(dedup.Measured, dedup.Count, n, n, "broker acks"),
		Redeliveries: put(dedup.Estimated, dedup.Ratio, sp.redelivered, n, "redeliveries / deliveries of the broker"),
		Failures:     put(dedup.Measured, dedup.Count, math.Round(n*0.002), n, "reported counters"),
		FailureRate:  put(dedup.Measured, dedup.Ratio, 0.002, n, "reported counters"),
		GaveUp:       put(dedup.Measured, dedup.Count, 0, n, "retry counters"),
		InFlightHits: put(dedup.Measured, dedup.Count, math.Round(n*0.0007), n, "reported counters"),
		CrossCheck:   none(dedup.Ratio, "no other source is valid for this pipeline"),
	}
	sp.explain(&f, put, n)
	f.DeadLetterInflow = put(dedup.Derived, dedup.PerHour, sp.dead/6, 0, "depth and settlements of the dead-letter queues")
	if sp.quality == dedup.QualityUnknown {
		f.Duplicates, f.DuplicateRate = none(dedup.Count, why), none(dedup.Ratio, why)
		f.DuplicateRate.Better = "Let consumers report duplicate_done: docs/consumers.md shows how in ten lines."
	} else {
		sp.rates(&f, put, n)
	}
	sp.latencies(&f, put, n, why)
	f.Estimates = sp.estimates(&f)
	return f
}

// explain splits the duplicates and counts their neighbours.
func (sp spec) explain(f *dedup.WindowFigures, put func(dedup.Quality, dedup.Unit, float64, float64, string) dedup.Figure, n float64) {
	hits := math.Round(sp.low * n)
	sent := math.Round(hits * 0.6)
	events := func(v float64) dedup.Figure { return put(dedup.Measured, dedup.Count, v, n, "store events") }
	f.ProducerSent, f.Redelivered = events(sent), events(hits-sent)
	f.Swallowed, f.Looping, f.DoubleEffects, f.Lost = events(0), events(0), events(0), events(0)
	f.MeanRetries = put(dedup.Measured, dedup.Count, 1.2, math.Round(n*0.002), "retry counters")
	f.AckTimeouts = put(dedup.Measured, dedup.PerHour, 0, 0, "log exchange of the broker")
	f.ConsumerRestarts = put(dedup.Derived, dedup.PerHour, 0, 0, "consumer list of the broker")
}

func (sp spec) rates(f *dedup.WindowFigures, put func(dedup.Quality, dedup.Unit, float64, float64, string) dedup.Figure, n float64) {
	f.Duplicates = put(sp.quality, dedup.Count, math.Round(sp.low*n), n, sp.source)
	f.Duplicates.High = math.Round(sp.high * n)
	f.DuplicateRate = put(sp.quality, dedup.Ratio, sp.low, n, sp.source)
	f.DuplicateRate.High, f.DuplicateRate.Hits = sp.high, math.Round(sp.low*n)
	f.DuplicateRate.Formula = "duplicate_done / messages"
	if sp.low < sp.high {
		f.DuplicateRate.Formula = "(A − U − F) / A to (A − U − F + B) / A"
		f.DuplicateRate.Better = "Let consumers report duplicate_done: docs/consumers.md shows how in ten lines."
		return
	}
	f.CrossCheck = put(dedup.Derived, dedup.Ratio, max(0, sp.low-0.0009), n, "residual interval")
	f.CrossCheck.High = sp.low + 0.0031
}

func (sp spec) latencies(f *dedup.WindowFigures, put func(dedup.Quality, dedup.Unit, float64, float64, string) dedup.Figure, n float64, why string) {
	if why == "" {
		why = "no distribution is reported; only the mean is known"
	}
	all := []*dedup.Figure{&f.AckMean, &f.AckP50, &f.AckP95, &f.AckP99, &f.WorkMean, &f.WorkP50, &f.WorkP95, &f.WorkP99}
	for i, scale := range []float64{1, 0.7, 2.6, 5.1, 0.8, 0.55, 2.1, 4.2} {
		switch {
		case sp.mean == 0 || (i > 0 && !sp.percentiles):
			*all[i] = dedup.Unknown(dedup.Seconds, why)
		case sp.percentiles:
			*all[i] = put(dedup.Measured, dedup.Seconds, sp.mean*scale, n, "reported histogram")
		default:
			*all[i] = put(dedup.Estimated, dedup.Seconds, sp.mean, n, "Little's law: mean unacked / delivery rate")
			all[i].Low, all[i].High, all[i].Error = sp.mean*0.88, sp.mean*1.12, sp.mean*0.12
			all[i].Why = "includes the time that messages wait in the prefetch buffer"
		}
	}
}

// routes are the ways of a queue's dead letters: to a dead-letter queue, and round through a delay queue.
func routes(queue string) []dedup.DeadLetterRoute {
	at := func(name string) dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: name} }
	const origin = "argument x-dead-letter-exchange"
	return []dedup.DeadLetterRoute{
		{Source: at(queue), Exchange: "shop.dead", KeyKept: true, Target: at(queue + ".dlq"), Role: dedup.RouteDeadLetter, Certain: true, Origin: origin},
		{Source: at(queue), Exchange: "shop.dead", KeyKept: true, Target: at(queue + ".retry"), Role: dedup.RouteDelay, Origin: origin, Note: "messages with the key retry"},
		{Source: at(queue + ".retry"), RoutingKey: queue, Target: at(queue), Role: dedup.RouteSource, Certain: true, Origin: origin,
			Note: "only what was rejected on its way comes back; the broker drops the rest"},
	}
}

// deaths are the dead letters of the whole broker by reason.
func deaths(now time.Time) *dedup.BrokerDeaths {
	d := &dedup.BrokerDeaths{Discarded: dedup.Exact(dedup.Measured, dedup.Count, 0, now, "Prometheus plugin of the broker")}
	for i, reason := range message.DeathReasons() {
		d.Reasons = append(d.Reasons, dedup.ReasonDeaths{Reason: reason,
			PerHour: deathsPerHour(float64(12-4*i), now)})
	}
	return d
}

// deathsPerHour is what died in a whole hour.
func deathsPerHour(n float64, now time.Time) dedup.Figure {
	f := dedup.Exact(dedup.Measured, dedup.PerHour, n, now, "Prometheus plugin of the broker")
	f.N, f.Covered, f.Window = n, time.Hour, time.Hour
	return f
}
