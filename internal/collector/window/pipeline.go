package window

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A Pipeline is what the figures of one pipeline are made of. The collector fills it, round after round.
type Pipeline struct {
	Config  dedup.Pipeline
	Traffic Traffic
	Store   *Store // nil for a scheme without markers
	Exports Exports
	// Partner is another pipeline that keeps its markers in the same store; empty when there is none.
	Partner string
	// Joined: the broker's live counts are joined with what the store came to.
	Joined bool
	// Doubled counts the double effects that an effect check found new since a time; nil where none is configured.
	Doubled func(since time.Time) float64
	// Interval is the time between two rounds.
	Interval time.Duration
	// ends are when the windows of the last round ended.
	ends map[windowOf]time.Time
}

// A windowOf is a window of one source.
type windowOf struct {
	source dedup.Method
	length time.Duration
}

// ended notes when a window ends that is told of.
func (p *Pipeline) ended(source dedup.Method, rate dedup.Figure) {
	if p.ends == nil {
		p.ends = map[windowOf]time.Time{}
	}
	p.ends[windowOf{source, rate.Window}] = rate.At
}

func (p *Pipeline) hits(v View) hits       { return hits{p, &p.Traffic, p.Store, v} }
func (p *Pipeline) live(v View) live       { return live{p, &p.Traffic, p.Store, v} }
func (p *Pipeline) idGap(v View) idGap     { return idGap{p, &p.Traffic, p.Store, v} }
func (p *Pipeline) latency(v View) latency { return latency{p, &p.Traffic, p.Store, v} }
func (p *Pipeline) exported(v View) exportFigures {
	return exportFigures{p, &p.Exports, p.Store, v}
}

// betweenLive is the time between two readings of live counts, which tell when something happened.
const betweenLive = time.Second

// fresh is how long before the newest reading a window may end so that it ends later in every round: two rounds' newest readings lie nearly an
// interval apart.
func (p *Pipeline) fresh() time.Duration {
	return min(max(0, p.Interval-2*betweenLive), rate.QuietReach)
}

// Several says how it is known of the pipeline's consumers that they work on several deliveries at once; empty where it is not, and where the
// scheme does not say otherwise.
func (p *Pipeline) Several(s dedup.Scheme) string {
	if p.Store == nil || p.Partner != "" || !s.AcksEach {
		return ""
	}
	return rate.Several(p.Store.Events.Epoch(), p.Traffic.Frames, p.Traffic.Own, s.ProcessingTTL)
}

// Figures are those of one window: of each the best valid source.
func (p *Pipeline) Figures(v View, gains *Gains) dedup.WindowFigures {
	v.failuresAcked, v.ignores = ackedFailures{p, v}.proven(), p.ignores(v.Now.Add(-ignoredFor), v.Now, v)
	w := gains.Window
	c := counts{p, v, gains}
	rep := c.reported()
	out := figure.UnknownWindow(w, "no source of this pipeline tells")
	out.Messages, out.Duplicates = rep.Messages, rep.Duplicates
	out.InFlightHits, out.Failures, out.FailureRate = rep.InFlight, rep.Failures, rep.FailureRate
	vouched := p.vouchedSince(v.Now, gains.Span)
	out.GaveUp = figure.Markers{Now: v.Now, Scheme: v.Scheme, Stats: v.Stats, Down: v.StoreDown, Since: vouched}.GaveUp(w)
	out.MeanRetries = figure.Markers{Now: v.Now, Scheme: v.Scheme, Stats: v.Stats, Down: v.StoreDown}.MeanRetries(w)
	p.latency(v).fill(&out, gains)
	x := figure.Explanation{Reported: rep, Gap: p.idGap(v).figures(w), Hits: p.hits(v).estimate(w), Live: p.live(v).estimate(w, gains.AutoAcks), Vouched: vouched}
	p.ended(dedup.MethodStoreHits, x.Hits.Rate)
	p.ended(dedup.MethodLive, x.Live.Rate)
	rate.HoldApart(&x.Live.Rate, x.Hits)
	exports := p.exported(v).estimate(w, x.Live)
	if exports.Formula != rate.ExportsExactFormula {
		rate.HoldApart(&exports, x.Hits)
	}
	switch live := x.Live.Residual; {
	case x.Live.Told:
		c.view.unasked = live.Unasked / live.Covered.Seconds()
	case v.Scheme.Unasked:
		c.view.unasked = math.Inf(1)
	}
	x.Events, x.Residual = c.events(), c.residual()
	rate.HoldApart(&x.Events.Rate, x.Hits)
	rate.HoldApart(&x.Residual.Rate, x.Hits)
	out.Estimates = []dedup.Estimate{
		{Method: dedup.MethodReported, Rate: rep.Rate},
		{Method: dedup.MethodExports, Rate: exports},
		{Method: dedup.MethodIDGap, Rate: x.Gap.Rate},
		{Method: dedup.MethodStoreHits, Rate: x.Hits.Rate},
		{Method: dedup.MethodLive, Rate: x.Live.Rate},
		{Method: dedup.MethodStoreEvents, Rate: x.Events.Rate},
		{Method: dedup.MethodResidual, Rate: x.Residual.Rate},
	}
	figure.WholeCounts(out.Estimates)
	figure.Choose(&out)
	p.explain(&out, v, x)
	// Only here: until they are chosen from, advice tells a source that could be had from one that could not.
	figure.Advise(&out, v.advice(rep))
	if v.BrokerDown != "" {
		figure.WithoutBroker(&out, v.BrokerDown)
		return out
	}
	if !out.Messages.Known() {
		out.Messages = figure.Messages(x.Live, c.acked(), x.Gap.Messages)
	}
	out.Duplicates = figure.OfPart(out.Duplicates, out.Messages)
	out.Redeliveries = c.redelivered()
	p.leftBehind(&out, v)
	return out
}

// vouchedSince is the time since which the marker figures of a window can be vouched for: as long as the history, which holds so much of it, or
// this run has followed the store, and no longer than since it last lost markers.
func (p *Pipeline) vouchedSince(now time.Time, held time.Duration) time.Time {
	if p.Store == nil {
		return now
	}
	since := p.Store.First
	if since.IsZero() {
		since = now
	}
	if kept := now.Add(-held); kept.Before(since) {
		since = kept
	}
	if p.Store.Disturbed.After(since) {
		since = p.Store.Disturbed
	}
	return since
}

// explain fills in where the duplicates come from, and what is counted apart from them.
func (p *Pipeline) explain(out *dedup.WindowFigures, v View, x figure.Explanation) {
	x.Now, x.Scheme, x.Stats, x.BrokerDown, x.StoreDown, x.Partner = v.Now, v.Scheme, v.Stats, v.noCounts(), v.StoreDown, p.Partner
	if e := v.Stats.Events; p.Store != nil && p.Partner == "" && v.StoreDown == "" && e != nil && e.Listening {
		x.Span, x.SpanKnown = sample.SpanOf(p.Store.Events.Epoch(), out.Window)
	}
	x.Frames, x.ReportedDuplicates, x.Slip = p.Traffic.Frames, v.Reports.Duplicates, p.Interval
	x.Own, x.Meter = p.Traffic.Own, p.Traffic.Loss.Lost().Acks
	x.Fill(out)
}

// leftBehind fills in what bounds the duplicates that closed channels left behind, over the span of the duplicate rate.
func (p *Pipeline) leftBehind(out *dedup.WindowFigures, v View) {
	rate := out.DuplicateRate
	if !rate.Known() {
		return
	}
	from := rate.At.Add(-rate.Covered)
	if !v.Scheme.AcksEach { // more may have been returned with others, without a closed channel
		return
	}
	out.LostPerChannel = p.Traffic.lostPerChannel(v.Scheme, v.Several, from)
	out.MostClosed = p.Traffic.closedSince(from)
}

// doubledSince bounds the double effects since a time: done markers that were written again, as the events of the store show, and what the effect
// check found beyond those of them that were proved. The check may find them later than they happened, so that all until now count.
func (p *Pipeline) doubledSince(since time.Time) float64 {
	again := 0.0
	if p.Store != nil {
		again, _ = p.Store.doubled(since)
	}
	return again + p.doubledUnseen(since)
}

// doubledUnseen are those that the effect check knows beyond what the events prove.
func (p *Pipeline) doubledUnseen(since time.Time) float64 {
	if p.Doubled == nil {
		return 0
	}
	twice := 0.0
	if p.Store != nil {
		_, twice = p.Store.doubled(since)
	}
	return max(0, p.Doubled(since)-twice)
}

// LiveRate is what live counts say of the duplicate rate between two times. It is not ok where they say nothing of at least half of it.
func (p *Pipeline) LiveRate(v View, from, to time.Time) (dedup.Calibration, bool) {
	if why, _ := p.live(v).refusal(); why != "" {
		return dedup.Calibration{}, false
	}
	readings := p.Traffic.Joints.Readings
	n := len(readings)
	for n > 0 && readings[n-1].At.After(to) {
		n--
	}
	r, ok := estimate.ResidualOf(readings[:n], to.Sub(from), p.Traffic.waitingAcks(from, v.Scheme, v.Several))
	if !ok || 2*r.Covered < to.Sub(from) || r.Acked == 0 {
		return dedup.Calibration{}, false
	}
	v.failuresAcked, v.ignores = ackedFailures{p, v}.proven(), p.ignores(to.Add(-ignoredFor), to, v)
	r.Doubled, r.Failed = p.doubledUnseen(r.From), ackedFailures{p, v}.most(r.From, r.To)
	p.askedIn(&r, v)
	live := dedup.Calibration{Method: dedup.MethodLive, Window: r.Covered}
	live.Low, live.Value, live.High = r.Rate(p.Traffic.acksLost(r, v.Scheme, v.Several, p.Traffic.closedMost(r)))
	return live, true
}
