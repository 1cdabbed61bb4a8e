package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	// hitsEnds is how many readings back the end of the window may lie until the broker's counts reach beyond it.
	hitsEnds = 12
)

// A hitsSource is the readings in which a store counted what consumers asked it. n is 0 where why says what is missing.
type hitsSource struct {
	n       int
	at      func(int) time.Time
	between func(i, j int) rate.HitsSpan
	// earlier are readings up to i to compare with j, where questions are those of a whole server; nil else.
	earlier     func(i, j int) []int
	why, better string
}

// hitsEstimate estimates the rate from what the store itself counted of its consumers' questions.
func (c *Collector) hitsEstimate(p *pipeline, v view, w time.Duration) rate.HitsResult {
	refuse := func(why, better string) rate.HitsResult {
		return rate.HitsResult{Rate: rate.Refused(w, rate.HitsSource, rate.HitsFormula, why, better)}
	}
	switch {
	case p.store == nil || v.storeDown != "":
		return refuse(v.storeDown, "")
	case v.scheme.Refuses(dedup.MethodStoreHits) != "":
		return refuse(v.scheme.Refuses(dedup.MethodStoreHits), "")
	case v.brokerDown != "":
		return refuse(v.brokerDown, rate.BetterReport)
	case !p.acks.Open:
		return refuse(c.noCounters(p), rate.BetterReport)
	}
	source := p.statementHits(v)
	if _, ok := p.store.store.(eventful); ok {
		source = p.eventHits(v)
	}
	if source.n == 0 {
		return refuse(source.why, source.better)
	}
	span, gain, ok := p.hitsSpan(source, w)
	if !ok {
		return refuse("the broker was not read often enough yet", rate.BetterReport)
	}
	if other := c.askingPartner(p, span); other != "" {
		return c.judgeShared(p, v, span, gain, w, fmt.Sprintf("the store is shared with pipeline %s", name(other)))
	}
	return p.judgeHits(v, span, gain, w)
}

// askingPartner names a pipeline with the same store whose consumers may have asked in the time; empty where none has: whose hits they were
// does not show. One to whose consumers nothing was delivered asked nothing, as one of a dead-letter queue in which nothing dies.
func (c *Collector) askingPartner(p *pipeline, span rate.HitsSpan) string {
	if p.partner == "" {
		return ""
	}
	for _, other := range c.pipelines {
		if other == p || other.store != p.store {
			continue
		}
		if g, ok := other.flows.Between(span.From.Add(-span.FromTook), span.To); !ok || g.Delivered[1] > 0 || g.Acked[1] > 0 {
			return other.Name
		}
	}
	return ""
}

// hitsSpan returns what the store counted in the newest window on whose both sides the broker was read.
func (p *pipeline) hitsSpan(s hitsSource, w time.Duration) (rate.HitsSpan, sample.Gain, bool) {
	for j := s.n - 1; j > 0 && j >= s.n-hitsEnds; j-- {
		if n := len(p.joints.Readings); n > 0 && j > s.n-3 && p.joints.Readings[n-1].At.Before(s.at(j)) {
			continue // soon it can be held against acks and completions, too
		}
		i := sample.FirstSince(s.n, s.at, s.at(j).Add(-w))
		if len(p.flows.Readings) > 0 { // live counts are narrower than any that reach further back
			i = max(i, sample.FirstSince(s.n, s.at, p.flows.Readings[0].At))
		}
		for ; i < j; i++ {
			if gain, ok := p.brokerBetween(s.at(i), s.at(j)); ok {
				if gain.Live {
					begin, end := rate.QuietEnds(p.unrest, s.at, i, j)
					if quiet, ok := p.brokerBetween(s.at(begin), s.at(end)); ok && quiet.Live {
						i, j, gain = begin, end, quiet
					}
				}
				span := s.between(i, j)
				p.widenByAnswers(&gain, span)
				if span.OfServer && span.Why == "" {
					p.withinServer(s, &span, i, j, gain)
				}
				return span, gain, true
			}
			if j-i > hitsEnds { // the broker may have been read for less long than the store
				i += (j - i) / 4
			}
		}
	}
	return rate.HitsSpan{}, sample.Gain{}, false
}

// widenByAnswers bounds what the broker did between two counts of the store, of which each may be as old as its answer took.
func (p *pipeline) widenByAnswers(g *sample.Gain, s rate.HitsSpan) {
	if inner, ok := p.brokerBetween(s.From, s.To.Add(-s.ToTook)); ok && s.ToTook > 0 {
		g.Acked[0], g.Delivered[0] = min(g.Acked[0], inner.Acked[0]), min(g.Delivered[0], inner.Delivered[0])
	}
	if outer, ok := p.brokerBetween(s.From.Add(-s.FromTook), s.To); ok && s.FromTook > 0 {
		g.Acked[1], g.Delivered[1] = max(g.Acked[1], outer.Acked[1]), max(g.Delivered[1], outer.Delivered[1])
		g.Redelivered, g.Closed = max(g.Redelivered, outer.Redelivered), max(g.Closed, outer.Closed)
	}
}

// judgeHits turns what the store counted into the interval of the rate.
func (p *pipeline) judgeHits(v view, span rate.HitsSpan, gain sample.Gain, w time.Duration) rate.HitsResult {
	f := span.Figure(w)
	waiting := [2]float64{p.unackedAround(span.From), p.unackedAround(span.To)}
	f.Why = span.Why
	if span.Why != "" {
		f.Better = span.Better
		return rate.HitsResult{Rate: f}
	}
	if f.Why = span.Strangers(gain, waiting); f.Why != "" {
		return rate.HitsResult{Rate: f}
	}
	held := span.HoldRows(v.scheme, p.store.inserts.Readings, p.store.statements.Readings)
	if f.Why = held.Strangers(); f.Why != "" {
		f.Better = rate.BetterIDs
		return rate.HitsResult{Rate: f}
	}
	h := estimate.Hits{Least: span.MeetWritten(v.scheme, gain, waiting[0])}
	died := p.diedAsking(v, span, gain)
	if h.Hits = span.Hits; span.OfServer {
		h.Undone = p.undoneMarkers(v, span, gain, died)
	} else {
		again := p.comeAgain(v, span, gain, died, held)
		h.Undone = rate.UndoneRows(v.scheme, v.stats.Pass, span, gain, again)
		h.Least = max(h.Least, p.leastByRows(v, span, gain, again))
	}
	// Each message that was acked was asked for once, before it was.
	h.Messages = [2]float64{gain.Acked[0], min(gain.Acked[1], max(gain.Acked[0], span.Asked[1]+waiting[0]))}
	if f.Why = p.meetAcks(v, span, &h); f.Why != "" {
		return rate.HitsResult{Rate: f}
	}
	return rate.OfHits(f, h, rate.ProvenHits(v.scheme, v.stats.Health.Version) && !span.ByIDs)
}
