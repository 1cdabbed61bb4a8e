package server

import (
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// sources writes the health of sources. While rounds are late nobody knows whether they answer.
func (r reading) sources(all []dedup.SourceHealth) []sourceJSON {
	out := make([]sourceJSON, len(all))
	for i, h := range all {
		out[i] = sourceOf(h)
		if r.why != "" {
			out[i].OK, out[i].Error, out[i].Note, out[i].Took = false, r.why, "", nil
		}
	}
	return out
}

// down are the sources of a pipeline that do not answer: all of them while rounds are late.
func (r reading) down(snap *dedup.Snapshot, p *dedup.PipelineStatus) []sourceJSON {
	if r.why == "" {
		return r.sources(p.Down)
	}
	return r.sources(sourcesOf(snap, p))
}

// sourcesOf returns the sources that the pipeline depends on.
func sourcesOf(snap *dedup.Snapshot, p *dedup.PipelineStatus) []dedup.SourceHealth {
	var out []dedup.SourceHealth
	for _, name := range p.Sources {
		for _, h := range snap.Sources {
			if h.Name == name {
				out = append(out, h)
			}
		}
	}
	return out
}

// judgedJSON is one judged measure: its tier, its risk and the figure that was judged.
type judgedJSON struct {
	Tier   string     `json:"tier"`
	Risk   string     `json:"risk"`
	Figure figureJSON `json:"figure"`
}

// pipelineJSON is a pipeline at a glance.
type pipelineJSON struct {
	Name         string            `json:"name"`
	Labels       map[string]string `json:"labels"`
	Broker       string            `json:"broker"`
	Vhost        string            `json:"vhost"`
	Queues       []string          `json:"queues"`
	Store        string            `json:"store"`
	Lock         string            `json:"lock,omitempty"`
	Tier         string            `json:"tier"`
	PossibleTier string            `json:"possible_tier"`
	Why          string            `json:"why"`
	// Alert is the key of the firing alert that raised the tier; empty where figures and findings alone made it.
	Alert string `json:"alert"`
	// Cause is the likely cause of the duplicates, null when there is nothing to explain.
	Cause        *causeJSON `json:"cause"`
	Risk         string     `json:"risk"`
	RiskDriver   string     `json:"risk_driver"`
	Duplicates   judgedJSON `json:"duplicate_rate"`
	Latency      judgedJSON `json:"ack_latency"`
	DeadLetters  figureJSON `json:"dead_letters"`
	Ready        figureJSON `json:"ready"`
	Unacked      figureJSON `json:"unacked"`
	Consumers    figureJSON `json:"consumers"`
	LastActivity *time.Time `json:"last_activity"`
	// Down are the sources of this pipeline that do not answer.
	Down []sourceJSON `json:"down"`
}

func pipelineOf(snap *dedup.Snapshot, p *dedup.PipelineStatus, v alerts.Verdict, r reading) pipelineJSON {
	labels := p.Pipeline.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	return pipelineJSON{
		Name: p.Pipeline.Name, Labels: labels, Broker: p.Pipeline.Broker, Vhost: p.Pipeline.Vhost,
		Queues: orEmpty(p.Pipeline.Queues), Store: p.Pipeline.Store, Lock: p.Pipeline.Lock,
		Tier: v.Tier.String(), PossibleTier: v.Possible.String(), Why: v.Sentence(), Alert: alertBehind(v), Cause: causeOf(snap, judged{p, v}, r.why), Risk: v.Risk.String(), RiskDriver: v.RiskDriver,
		Duplicates:  judgedJSON{v.DuplicateTier.String(), v.DuplicateRisk.String(), r.figure(v.Judged)},
		Latency:     judgedJSON{v.LatencyTier.String(), v.LatencyRisk.String(), r.figure(v.JudgedLatency)},
		DeadLetters: r.figure(p.DeadLetters), Ready: r.figure(p.Ready), Unacked: r.figure(p.Unacked),
		Consumers: r.figure(p.Consumers), LastActivity: timeOf(p.LastActivity), Down: r.down(snap, p),
	}
}

// alertBehind is the key of the alert that raised a tier; empty where figures and findings alone made it.
func alertBehind(v alerts.Verdict) string {
	if v.Alert == nil {
		return ""
	}
	return v.Alert.Key.String()
}

// orEmpty returns an empty list for a nil one, so that JSON says [] and not null.
func orEmpty[T any](some []T) []T {
	if some == nil {
		return []T{}
	}
	return some
}

// pipelineDetailJSON is everything known of a pipeline.
type pipelineDetailJSON struct {
	Round    uint64     `json:"round"`
	At       *time.Time `json:"at"`
	Interval float64    `json:"interval_seconds"`
	pipelineJSON
	Limits           limitsJSON            `json:"limits"`
	Windows          []windowJSON          `json:"windows"`
	Markers          map[string]figureJSON `json:"markers"`
	MarkersNoExpiry  figureJSON            `json:"markers_without_expiry"`
	OldestProcessing figureJSON            `json:"oldest_processing"`
	OldestWaiting    figureJSON            `json:"oldest_waiting"`
	Stuck            figureJSON            `json:"stuck"`
	Verdicts         map[string]figureJSON `json:"verdicts"`
	PassAge          figureJSON            `json:"pass_age"`
	Coverage         figureJSON            `json:"coverage"`
	DeadLetterQueues []deadLetterQueueJSON `json:"dead_letter_queues"`
	DeadLetterRoutes []routeJSON           `json:"dead_letter_routes"`
	RoutesLeftOut    int                   `json:"dead_letter_routes_left_out"`
	Baseline         *baselineJSON         `json:"dead_letter_baseline"`
	BrokerDeaths     *deathsJSON           `json:"broker_dead_letters"`
	Sources          []sourceJSON          `json:"sources"`
	Findings         []findingJSON         `json:"findings"`
	Events           []eventJSON           `json:"events"`
}

type limitsJSON struct {
	DuplicateWarning   float64 `json:"duplicate_warning_ratio"`
	DuplicateSevere    float64 `json:"duplicate_severe_ratio"`
	DuplicateEmergency float64 `json:"duplicate_emergency_ratio"`
	LatencyWarning     float64 `json:"latency_warning_seconds"`
	LatencySevere      float64 `json:"latency_severe_seconds"`
	MinMessages        float64 `json:"min_messages"`
	MinDuplicates      float64 `json:"min_duplicates"`
	Window             float64 `json:"window_seconds"`
}

// windowJSON are the figures over one span.
type windowJSON struct {
	Window           float64    `json:"window_seconds"`
	Messages         figureJSON `json:"messages"`
	Duplicates       figureJSON `json:"duplicates"`
	DuplicateRate    figureJSON `json:"duplicate_rate"`
	CrossCheck       figureJSON `json:"cross_check"`
	Redeliveries     figureJSON `json:"redeliveries"`
	InFlightHits     figureJSON `json:"in_flight_hits"`
	Failures         figureJSON `json:"failures"`
	FailureRate      figureJSON `json:"failure_rate"`
	GaveUp           figureJSON `json:"gave_up"`
	AckMean          figureJSON `json:"ack_mean"`
	AckP50           figureJSON `json:"ack_p50"`
	AckP95           figureJSON `json:"ack_p95"`
	AckP99           figureJSON `json:"ack_p99"`
	WorkMean         figureJSON `json:"work_mean"`
	WorkP50          figureJSON `json:"work_p50"`
	WorkP95          figureJSON `json:"work_p95"`
	WorkP99          figureJSON `json:"work_p99"`
	DeadLetterInflow figureJSON `json:"dead_letter_inflow"`
	ProducerSent     figureJSON `json:"producer_sent"`
	Redelivered      figureJSON `json:"redelivered"`
	Swallowed        figureJSON `json:"swallowed"`
	Looping          figureJSON `json:"looping"`
	DoubleEffects    figureJSON `json:"double_effects"`
	Lost             figureJSON `json:"lost"`
	MeanRetries      figureJSON `json:"mean_retries"`
	AckTimeouts      figureJSON `json:"ack_timeouts"`
	ConsumerRestarts figureJSON `json:"consumer_restarts"`
	// Estimates are what each source says of the duplicate rate, best first.
	Estimates []estimateJSON `json:"estimates"`
}

type estimateJSON struct {
	Method string     `json:"method"`
	Rate   figureJSON `json:"rate"`
	// Uses are the parts that it plays in this window: shown, cross-check, disputed, in reserve, refused, agrees.
	Uses []string `json:"uses"`
}

type deadLetterQueueJSON struct {
	Vhost     string     `json:"vhost"`
	Queue     string     `json:"queue"`
	Type      string     `json:"type"`
	Found     string     `json:"found"`
	Depth     figureJSON `json:"depth"`
	Consumers figureJSON `json:"consumers"`
	// Shared is null where nobody else has messages there.
	Shared *sharingJSON `json:"shared_with"`
}

type sourceJSON struct {
	Name        string     `json:"name"`
	Kind        string     `json:"kind"`
	Tried       bool       `json:"tried"`
	OK          bool       `json:"ok"`
	LastTry     *time.Time `json:"last_try"`
	LastSuccess *time.Time `json:"last_success"`
	Since       *time.Time `json:"since"`
	Took        *float64   `json:"took_seconds"`
	Error       string     `json:"error"`
	Note        string     `json:"note"`
	Missed      uint64     `json:"missed_ticks"`
}

func sourceOf(h dedup.SourceHealth) sourceJSON {
	j := sourceJSON{
		Name: h.Name, Kind: h.Kind, Tried: h.Tried, OK: h.OK, LastTry: timeOf(h.LastTry), LastSuccess: timeOf(h.LastSuccess),
		Since: timeOf(h.Since), Error: h.Err, Note: h.Note, Missed: h.Missed,
	}
	if h.Tried {
		j.Took = number(h.Took.Seconds())
	}
	return j
}

type findingJSON struct {
	Kind     string `json:"kind"`
	Tier     string `json:"tier"`
	Text     string `json:"text"`
	Evidence string `json:"evidence"`
	Mend     string `json:"mend"`
}

type eventJSON struct {
	At   *time.Time `json:"at"`
	Kind string     `json:"kind"`
	Text string     `json:"text"`
	// Count is how many happenings it tells of, of a job how many messages it sent; 0 for one, or where that is not known.
	Count int64 `json:"count"`
}

func detailOf(snap *dedup.Snapshot, p *dedup.PipelineStatus, v alerts.Verdict, r reading) pipelineDetailJSON {
	f := r.figure
	d := pipelineDetailJSON{
		Round: snap.Round, At: timeOf(snap.At), Interval: snap.Interval.Seconds(), pipelineJSON: pipelineOf(snap, p, v, r),
		Limits: limitsOf(p.Pipeline.Limits), Markers: map[string]figureJSON{},
		MarkersNoExpiry: f(p.MarkersNoExpiry), OldestProcessing: f(p.OldestProcessing), OldestWaiting: f(p.OldestWaiting), Stuck: f(p.Stuck), Verdicts: map[string]figureJSON{}, PassAge: f(p.PassAge), Coverage: f(p.Coverage),
		Windows: []windowJSON{}, DeadLetterQueues: []deadLetterQueueJSON{}, DeadLetterRoutes: routesOf(p), RoutesLeftOut: p.RoutesLeftOut, Baseline: baselineOf(p.Baseline), BrokerDeaths: deathsOf(p.BrokerDeaths, f), Sources: r.sources(sourcesOf(snap, p)), Findings: []findingJSON{}, Events: []eventJSON{},
	}
	for _, w := range p.Windows {
		d.Windows = append(d.Windows, windowOf(judged{p, v}, w, f))
	}
	for state, x := range p.Markers {
		d.Markers[string(state)] = f(x)
	}
	for verdict, x := range p.Verdicts {
		d.Verdicts[string(verdict)] = f(x)
	}
	for _, q := range p.DeadLetterQueues {
		d.DeadLetterQueues = append(d.DeadLetterQueues, deadLetterQueueJSON{q.Vhost, q.Name, q.Type, q.Found, f(q.Depth), f(q.Consumers), sharingOf(q.Shared)})
	}
	if r.why == "" { // a hazard that was seen long ago may be gone
		for _, x := range p.Findings {
			d.Findings = append(d.Findings, findingJSON{x.Kind, x.Tier.String(), x.Text, x.Evidence, x.Mend})
		}
	}
	for _, e := range p.Events {
		d.Events = append(d.Events, eventJSON{timeOf(e.At), e.Kind, e.Text, e.Count})
	}
	return d
}

func limitsOf(l dedup.Limits) limitsJSON {
	return limitsJSON{
		l.DuplicateWarning, l.DuplicateSevere, l.DuplicateEmergency, l.LatencyWarning, l.LatencySevere,
		l.MinMessages, l.MinDuplicates, l.Window.Seconds(),
	}
}

func windowOf(p judged, w dedup.WindowFigures, f func(dedup.Figure) figureJSON) windowJSON {
	estimates := make([]estimateJSON, 0, len(w.Estimates))
	uses := usesOf(p, &w)
	for i, e := range w.Estimates {
		estimates = append(estimates, estimateJSON{string(e.Method), f(e.Rate), uses[i]})
	}
	return windowJSON{
		Window: w.Window.Seconds(), Messages: f(w.Messages), Duplicates: f(w.Duplicates), DuplicateRate: f(w.DuplicateRate),
		CrossCheck: f(w.CrossCheck), Redeliveries: f(w.Redeliveries), InFlightHits: f(w.InFlightHits), Failures: f(w.Failures),
		FailureRate: f(w.FailureRate), GaveUp: f(w.GaveUp), AckMean: f(w.AckMean), AckP50: f(w.AckP50), AckP95: f(w.AckP95),
		AckP99: f(w.AckP99), WorkMean: f(w.WorkMean), WorkP50: f(w.WorkP50), WorkP95: f(w.WorkP95), WorkP99: f(w.WorkP99),
		DeadLetterInflow: f(w.DeadLetterInflow), Estimates: estimates,
		ProducerSent: f(w.ProducerSent), Redelivered: f(w.Redelivered), Swallowed: f(w.Swallowed), Looping: f(w.Looping), DoubleEffects: f(w.DoubleEffects), Lost: f(w.Lost), MeanRetries: f(w.MeanRetries), AckTimeouts: f(w.AckTimeouts), ConsumerRestarts: f(w.ConsumerRestarts),
	}
}
