package api

import (
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// SourcesOf writes the health of sources. While rounds are late nobody knows whether they answer.
func SourcesOf(all []dedup.SourceHealth, r web.Reading) []SourceJSON {
	out := make([]SourceJSON, len(all))
	for i, h := range all {
		out[i] = sourceOf(h)
		if r.Late != "" {
			out[i].OK, out[i].Error, out[i].Note, out[i].Took = false, r.Late, "", nil
		}
	}
	return out
}

// downOf are the sources of a pipeline that do not answer: all of them while rounds are late.
func downOf(snap *dedup.Snapshot, p *dedup.PipelineStatus, r web.Reading) []SourceJSON {
	if r.Late == "" {
		return SourcesOf(p.Down, r)
	}
	return SourcesOf(sourcesOf(snap, p), r)
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
	Tier   string         `json:"tier"`
	Risk   string         `json:"risk"`
	Figure web.FigureJSON `json:"figure"`
}

// PipelineJSON is a pipeline at a glance.
type PipelineJSON struct {
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
	Cause       *causeJSON     `json:"cause"`
	Risk        string         `json:"risk"`
	RiskDriver  string         `json:"risk_driver"`
	Duplicates  judgedJSON     `json:"duplicate_rate"`
	Latency     judgedJSON     `json:"ack_latency"`
	DeadLetters web.FigureJSON `json:"dead_letters"`
	Ready       web.FigureJSON `json:"ready"`
	Unacked     web.FigureJSON `json:"unacked"`
	Consumers   web.FigureJSON `json:"consumers"`
	// Gauges are the other levels of the source queues.
	Gauges       map[dedup.GaugeName]web.FigureJSON `json:"gauges,omitempty"`
	LastActivity *time.Time                         `json:"last_activity"`
	// Down are the sources of this pipeline that do not answer.
	Down []SourceJSON `json:"down"`
}

func pipelineOf(snap *dedup.Snapshot, p *dedup.PipelineStatus, v alerts.Verdict, r web.Reading) PipelineJSON {
	labels := p.Pipeline.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	return PipelineJSON{
		Name: p.Pipeline.Name, Labels: labels, Broker: p.Pipeline.Broker, Vhost: p.Pipeline.Vhost,
		Queues: web.OrEmpty(p.Pipeline.Queues), Store: p.Pipeline.Store, Lock: p.Pipeline.Lock,
		Tier: v.Tier.String(), PossibleTier: v.Possible.String(), Why: v.Sentence(), Alert: alertBehind(v), Cause: CauseOf(snap, show.Judged{PipelineStatus: p, Verdict: v}, r.Late), Risk: v.Risk.String(), RiskDriver: v.RiskDriver,
		Duplicates:  judgedJSON{v.DuplicateTier.String(), v.DuplicateRisk.String(), r.Figure(v.Judged)},
		Latency:     judgedJSON{v.LatencyTier.String(), v.LatencyRisk.String(), r.Figure(v.JudgedLatency)},
		DeadLetters: r.Figure(p.DeadLetters), Ready: r.Figure(p.Gauges[dedup.Ready]), Unacked: r.Figure(p.Gauges[dedup.Unacked]),
		Consumers: r.Figure(p.Gauges[dedup.Consumers]), Gauges: otherGauges(p, r), LastActivity: web.Time(p.LastActivity), Down: downOf(snap, p, r),
	}
}

func otherGauges(p *dedup.PipelineStatus, r web.Reading) map[dedup.GaugeName]web.FigureJSON {
	all := make(map[dedup.GaugeName]web.FigureJSON)
	for _, g := range dedup.OtherGauges() {
		all[g.Name] = r.Figure(p.Gauges[g.Name])
	}
	return all
}

// alertBehind is the key of the alert that raised a tier; empty where figures and findings alone made it.
func alertBehind(v alerts.Verdict) string {
	if v.Alert == nil {
		return ""
	}
	return v.Alert.Key.String()
}

// PipelineDetailJSON is everything known of a pipeline.
type PipelineDetailJSON struct {
	Round    uint64     `json:"round"`
	At       *time.Time `json:"at"`
	Interval float64    `json:"interval_seconds"`
	PipelineJSON
	Limits           limitsJSON                `json:"limits"`
	Windows          []windowJSON              `json:"windows"`
	Markers          map[string]web.FigureJSON `json:"markers"`
	MarkersNoExpiry  web.FigureJSON            `json:"markers_without_expiry"`
	OldestProcessing web.FigureJSON            `json:"oldest_processing"`
	OldestWaiting    web.FigureJSON            `json:"oldest_waiting"`
	Stuck            web.FigureJSON            `json:"stuck"`
	Verdicts         map[string]web.FigureJSON `json:"verdicts"`
	PassAge          web.FigureJSON            `json:"pass_age"`
	Coverage         web.FigureJSON            `json:"coverage"`
	DeadLetterQueues []web.DeadLetterQueueJSON `json:"dead_letter_queues"`
	DeadLetterRoutes []routeJSON               `json:"dead_letter_routes"`
	RoutesLeftOut    int                       `json:"dead_letter_routes_left_out"`
	Baseline         *web.BaselineJSON         `json:"dead_letter_baseline"`
	BrokerDeaths     *deathsJSON               `json:"broker_dead_letters"`
	Sources          []SourceJSON              `json:"sources"`
	Findings         []findingJSON             `json:"findings"`
	Events           []eventJSON               `json:"events"`
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
	Window           float64        `json:"window_seconds"`
	Messages         web.FigureJSON `json:"messages"`
	Duplicates       web.FigureJSON `json:"duplicates"`
	DuplicateRate    web.FigureJSON `json:"duplicate_rate"`
	CrossCheck       web.FigureJSON `json:"cross_check"`
	Redeliveries     web.FigureJSON `json:"redeliveries"`
	InFlightHits     web.FigureJSON `json:"in_flight_hits"`
	Failures         web.FigureJSON `json:"failures"`
	FailureRate      web.FigureJSON `json:"failure_rate"`
	GaveUp           web.FigureJSON `json:"gave_up"`
	AckMean          web.FigureJSON `json:"ack_mean"`
	AckP50           web.FigureJSON `json:"ack_p50"`
	AckP95           web.FigureJSON `json:"ack_p95"`
	AckP99           web.FigureJSON `json:"ack_p99"`
	WorkMean         web.FigureJSON `json:"work_mean"`
	WorkP50          web.FigureJSON `json:"work_p50"`
	WorkP95          web.FigureJSON `json:"work_p95"`
	WorkP99          web.FigureJSON `json:"work_p99"`
	DeadLetterInflow web.FigureJSON `json:"dead_letter_inflow"`
	ProducerSent     web.FigureJSON `json:"producer_sent"`
	Redelivered      web.FigureJSON `json:"redelivered"`
	Swallowed        web.FigureJSON `json:"swallowed"`
	Looping          web.FigureJSON `json:"looping"`
	DoubleEffects    web.FigureJSON `json:"double_effects"`
	Lost             web.FigureJSON `json:"lost"`
	MeanRetries      web.FigureJSON `json:"mean_retries"`
	AckTimeouts      web.FigureJSON `json:"ack_timeouts"`
	ConsumerRestarts web.FigureJSON `json:"consumer_restarts"`
	// Estimates are what each source says of the duplicate rate, best first.
	Estimates []estimateJSON `json:"estimates"`
}

type estimateJSON struct {
	Method string         `json:"method"`
	Rate   web.FigureJSON `json:"rate"`
	// Uses are the parts that it plays in this window: shown, cross-check, disputed, in reserve, refused, agrees.
	Uses []string `json:"uses"`
}

// SourceJSON is how a source is.
type SourceJSON struct {
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

func sourceOf(h dedup.SourceHealth) SourceJSON {
	j := SourceJSON{
		Name: h.Name, Kind: h.Kind, Tried: h.Tried, OK: h.OK, LastTry: web.Time(h.LastTry), LastSuccess: web.Time(h.LastSuccess),
		Since: web.Time(h.Since), Error: h.Err, Note: h.Note, Missed: h.Missed,
	}
	if h.Tried {
		j.Took = web.Number(h.Took.Seconds())
	}
	return j
}

type findingJSON struct {
	Kind     string `json:"kind"`
	Tier     string `json:"tier"`
	Text     string `json:"text"`
	Evidence string `json:"evidence"`
	Remedy   string `json:"mend"`
}

type eventJSON struct {
	At   *time.Time `json:"at"`
	Kind string     `json:"kind"`
	Text string     `json:"text"`
	// Count is how many happenings it tells of, of a job how many messages it sent; 0 for one, or where that is not known.
	Count int64 `json:"count"`
}

func detailOf(snap *dedup.Snapshot, p *dedup.PipelineStatus, v alerts.Verdict, r web.Reading) PipelineDetailJSON {
	f := r.Figure
	d := PipelineDetailJSON{
		Round: snap.Round, At: web.Time(snap.At), Interval: snap.Interval.Seconds(), PipelineJSON: pipelineOf(snap, p, v, r),
		Limits: limitsOf(p.Pipeline.Limits), Markers: map[string]web.FigureJSON{},
		MarkersNoExpiry: f(p.MarkersNoExpiry), OldestProcessing: f(p.OldestProcessing), OldestWaiting: f(p.OldestWaiting), Stuck: f(p.Stuck), Verdicts: map[string]web.FigureJSON{}, PassAge: f(p.PassAge), Coverage: f(p.Coverage),
		Windows: []windowJSON{}, DeadLetterRoutes: RoutesOf(p), RoutesLeftOut: p.RoutesLeftOut, Baseline: web.BaselineOf(p.Baseline), BrokerDeaths: DeathsOf(p.BrokerDeaths, f), Sources: SourcesOf(sourcesOf(snap, p), r), Findings: []findingJSON{}, Events: []eventJSON{},
	}
	for _, w := range p.Windows {
		d.Windows = append(d.Windows, windowOf(show.Judged{PipelineStatus: p, Verdict: v}, w, f))
	}
	for state, x := range p.Markers {
		d.Markers[string(state)] = f(x)
	}
	for verdict, x := range p.Verdicts {
		d.Verdicts[string(verdict)] = f(x)
	}
	d.DeadLetterQueues = list.Map(p.DeadLetterQueues, r.DeadLetterQueue)
	if r.Late == "" { // a hazard that was seen long ago may be gone
		for _, x := range p.Findings {
			d.Findings = append(d.Findings, findingJSON{x.Kind, x.Tier.String(), x.Text, x.Evidence, x.Remedy})
		}
	}
	for _, e := range p.Events {
		d.Events = append(d.Events, eventJSON{web.Time(e.At), e.Kind, e.Text, e.Count})
	}
	return d
}

func limitsOf(l dedup.Limits) limitsJSON {
	return limitsJSON{
		l.DuplicateWarning, l.DuplicateSevere, l.DuplicateEmergency, l.LatencyWarning, l.LatencySevere,
		l.MinMessages, l.MinDuplicates, l.Window.Seconds(),
	}
}

func windowOf(p show.Judged, w dedup.WindowFigures, f func(dedup.Figure) web.FigureJSON) windowJSON {
	estimates := make([]estimateJSON, 0, len(w.Estimates))
	uses := show.Uses(p, &w)
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
