package collector

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// liveEstimate estimates the rate from the acks of the broker and the completions of the store, both known for the same moments.
func (c *Collector) liveEstimate(p *pipeline, v view, w time.Duration) rate.LiveResult {
	if why, better := c.liveRefusal(p, v); why != "" {
		return rate.LiveResult{Rate: rate.Refused(w, rate.LiveSource, rate.LiveFormula, why, better)}
	}
	f := dedup.Figure{Unit: dedup.Ratio, Source: rate.LiveSource, Formula: rate.LiveFormula, Window: w, Better: rate.BetterReport}
	e := v.stats.Events
	waiting := p.waitingAcks(v.now.Add(-w), v.several)
	r, ok := p.residualLive(w, waiting)
	switch auto := c.past.gain(w, p.autoAcks); {
	case ok && v.now.Sub(r.To) > sample.LiveStale:
		why, _ := p.live.told()
		f.Why = joinReasons("broker and store were not counted together since "+clock(r.To, v.now), why)
		return rate.LiveResult{Rate: f}
	case auto.Known && auto.Delta > 0:
		f.Why = "messages were delivered with automatic acks in the window, which the broker does not count as acks"
		return rate.LiveResult{Rate: f}
	case !ok:
		why, _ := p.live.told()
		f.Why = joinReasons("broker and store were not counted together often enough yet", why)
		return rate.LiveResult{Rate: f}
	}
	f.Covered, f.At = r.Covered, r.To
	if other := c.busyPartner(p, r); other != "" {
		f.Why = fmt.Sprintf("the store is shared with pipeline %s", name(other))
		return rate.LiveResult{Rate: f}
	}
	if p.store.disturbed.After(r.From) {
		f.Why = p.store.disturbedWhy + untilAbout(p.store.disturbed.Add(w), v.now)
		return rate.LiveResult{Rate: f}
	}
	if r.Acked == 0 {
		f.Why = "no message was acked in the window"
		return rate.LiveResult{Rate: f}
	}
	if v.scheme.BoundsOnly(dedup.MethodLive) {
		return rate.LiveBound(f, p.joints.Readings, r, w, waiting, p.unackedAround(r.From))
	}
	if over := -(r.Sent + r.Band + r.Unsure); over > 3*math.Sqrt(r.Acked) {
		f.Why = fmt.Sprintf("the store shows %s more than the broker shows acks: it holds markers of other work", counted(whole(over), "completed message"))
		return rate.LiveResult{Rate: f}
	}
	why, checked := rate.ForeignAcks(p.joints.Readings, p.store.told.Epoch(), v.scheme, w, waiting)
	if f.Why = why; why != "" {
		return rate.LiveResult{Rate: f}
	}
	if checked {
		r.Fetched = 0 // those who fetch ask the store, too
	}
	if p.vanishing() {
		r.Redelivered = math.Inf(1) // what came again may have left the queue unseen
	}
	r.Doubled = p.doubledUnseen(r.From)
	r.Ends = p.unackedEnds(r)
	closed := p.channelsClosed(r)
	out := rate.LiveResult{Told: true, Checked: checked, Residual: r, Lost: p.acksLost(r, v.scheme, v.several, closed)}
	if v.scheme.AcksEach && v.several == "" {
		out.Lost = max(0, out.Lost-rate.DiedAtWork(p.joints.Readings, r, e, p.MaxProcessing))
	}
	untrusted := v.scheme
	untrusted.AcksEach = false
	out.LostUntrusted = p.acksLost(r, untrusted, v.several, closed)
	out.Rate = out.Judge(f, v.scheme)
	out.Rate.Why = joinReasons(out.Rate.Why, rate.DoubledWords(r.Doubled), rate.AgainWords(r.Again), rate.FetchedWords(r.Fetched))
	return out
}

// liveRefusal says why live counts can tell nothing of the pipeline, and what would help.
func (c *Collector) liveRefusal(p *pipeline, v view) (why, better string) {
	e := v.stats.Events
	switch {
	case p.store == nil || v.storeDown != "":
		return v.storeDown, ""
	case v.scheme.Refuses(dedup.MethodLive) != "":
		return v.scheme.Refuses(dedup.MethodLive), ""
	case e == nil:
		return "store events are off", rate.BetterEvents
	case !e.Listening:
		return joinReasons("store events do not come", e.Why), rate.BetterEvents
	case v.brokerDown != "":
		return v.brokerDown, rate.BetterReport
	case p.joint == nil:
		return "the broker has no live counts", rate.BetterLive
	}
	// One that fails now and then cuts out its seconds alone.
	if n := len(p.joints.Readings); n > 0 && v.now.Sub(p.joints.Readings[n-1].At) <= sample.LiveStale {
		return "", ""
	}
	_, better = p.live.told()
	return down("the broker's live counts", p.live.src.status(v.now)), better
}

// residualLive is the residual of the newest window whose ends are quiet.
func (p *pipeline) residualLive(w time.Duration, waiting estimate.Unacked) (estimate.Residual, bool) {
	readings := p.joints.Readings
	last := len(readings) - 1
	if last < 0 {
		return estimate.Residual{}, false
	}
	at := func(i int) time.Time { return readings[i].At }
	first := sample.FirstSince(len(readings), at, readings[last].At.Add(-w))
	if begin, end := rate.QuietEnds(p.unrest, at, first, last); begin < end {
		first, last = begin, end
	}
	return estimate.ResidualOf(readings[:last+1], min(w, at(last).Sub(at(first))), waiting)
}

// busyPartner names a pipeline with the same store that may have written there in the time; empty where none has: one to whose consumers
// nothing was delivered settled nothing, as one of a dead-letter queue in which nothing dies.
func (c *Collector) busyPartner(p *pipeline, r estimate.Residual) string {
	if p.partner == "" {
		return ""
	}
	for _, other := range c.pipelines {
		if other != p && other.store == p.store && (other.joint == nil || other.live != p.live || !other.joints.Quiet(r.From, r.To)) {
			return other.Name
		}
	}
	return ""
}

// waitingAcks is how many deliveries whose work is done wait for their ack: on average since a time, and by the newest readings, at most so many
// as are unacked, or may be.
func (p *pipeline) waitingAcks(since time.Time, several string) estimate.Unacked {
	frames := p.frames
	if len(frames) == 0 {
		return estimate.Unacked{}
	}
	s := rate.Residual{Scheme: p.store.store.Scheme(), Several: several, Frames: frames}
	newest := frames[len(frames)-1].Began
	if within := frames.Span(since, newest); len(within) > 0 {
		frames = within
	}
	var all estimate.Unacked
	for i := range frames {
		f := &frames[i]
		n := s.UnackedWork(f)
		if all.Mean += n / float64(len(frames)); newest.Sub(f.Began) <= sample.DepthLag {
			all.Last = max(all.Last, n)
		}
	}
	return all
}
