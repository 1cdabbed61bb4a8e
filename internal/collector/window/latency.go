package window

import (
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	// liveLate is how late live counts come: they lie at most so far from the moment of a frame, unless they have ended since.
	liveLate = time.Second
	// leastEventSlip is how late an event of a store may come although the store answers at once.
	leastEventSlip = 5 * time.Millisecond
)

// latency makes the figures of ack latency and processing time.
type latency struct {
	p       *Pipeline
	traffic *Traffic
	store   *Store
	view    View
}

// fill fills in the ack latency and the processing time: the reported histogram, else what the samples of unacked messages tell.
func (l latency) fill(out *dedup.WindowFigures, gains *Gains) {
	ack, work := figure.UnknownLatency(out.Window, l.view.ReportDown), figure.UnknownLatency(out.Window, l.view.ReportDown)
	if l.view.ReportDown == "" {
		ack, work = gains.Ack.figures(out.Window), gains.Work.figures(out.Window)
	}
	if l.p.Exports.latest != nil {
		exported := l.p.exported(l.view)
		ack = exported.latency(out.Window, func(r *exportReading) *dedup.Distribution { return r.Ack })
		work = exported.latency(out.Window, func(r *exportReading) *dedup.Distribution { return r.Work })
	}
	switch {
	case ack.Mean.Known() || l.view.BrokerDown != "":
	case l.view.Uncounted != "":
		ack = figure.UnknownLatency(out.Window, l.view.Uncounted)
	default:
		ack = figure.Latencies(l.estimated(out.Window))
	}
	if !work.Mean.Known() {
		work = l.work(out.Window, work)
	}
	out.AckMean, out.AckP50, out.AckP95, out.AckP99 = ack.Mean, ack.P50, ack.P95, ack.P99
	out.WorkMean, out.WorkP50, out.WorkP95, out.WorkP99 = work.Mean, work.P50, work.P95, work.P99
}

// estimated is what the samples of unacked messages tell of the ack latency in a window, with the work that the store tells.
func (l latency) estimated(w time.Duration) estimate.Latencies {
	frames := l.traffic.Frames
	from := l.view.Now.Add(-w)
	e := estimate.Latency{Window: w, Tape: frames, Capacity: float64(l.view.Capacity)}
	within := l.traffic.Flows.Within(frames, from)
	if within != nil {
		e.Tape, e.Late = sample.LiveFrames{Frames: within, Live: &l.traffic.Flows}, max(liveLate, within[len(within)-1].Began.Sub(l.traffic.Flows.Readings[len(l.traffic.Flows.Readings)-1].At))
	}
	if n := len(l.traffic.Flows.Readings); n > 0 && l.view.Now.Sub(l.traffic.Flows.Readings[n-1].At) <= sample.LiveStale {
		e.Single = l.traffic.Prefetches.Since(from) == 1
		e.Channels = l.traffic.consumersMost(from)
		e.AllAck = l.traffic.Flows.Readings[n-1].Quiet.After(from)
		e.Pace = l.traffic.Flows.Pace(from)
	}
	if (within != nil || frames.CountsAll(from)) && l.whyNoWork() == "" {
		e.Work, e.Slip = l.store.works, max(leastEventSlip, l.view.Stats.Health.LatencyP99)
	}
	return e.Estimate()
}

// work is the processing time by store events; where they cannot tell it is what was known before, with their reason
// where they could be had.
func (l latency) work(w time.Duration, without figure.Latencies) figure.Latencies {
	switch why := l.whyNoWork(); why {
	case "":
	case " ":
		return without
	default:
		return figure.UnknownLatency(w, text.Reasons(without.Mean.Why, why))
	}
	s, ok := sample.SpanOf(l.store.Events.Epoch(), w)
	if !ok {
		return figure.UnknownLatency(w, text.Reasons(without.Mean.Why, "the store's events were read only once yet"))
	}
	if got := figure.OfWork(s, l.view.Scheme); got.Mean.Known() {
		return got
	}
	return without
}

// whyNoWork says why store events tell no work of the pipeline's own; a blank where they never could.
func (l latency) whyNoWork() string {
	e := l.view.Stats.Events
	switch {
	case l.store == nil || e == nil || l.view.StoreDown != "" || l.view.Scheme.Mark != "before":
		return " "
	case l.p.Partner != "":
		return "the store is shared with pipeline " + text.Name(l.p.Partner) + ", and its events do not tell whose work they show"
	case !e.Listening:
		return text.Reasons("store events do not come", e.Why)
	}
	return ""
}
