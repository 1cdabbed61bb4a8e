package window

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// hitsEnds is how many readings back the end of the window may lie until the broker's counts reach beyond it.
const hitsEnds = 12

// hits estimate the rate from what the store itself counted of its consumers' questions.
type hits struct {
	p       *Pipeline
	traffic *Traffic
	store   *Store
	view    View
}

// A hitsSource is the readings in which a store counted what consumers asked it. n is 0 where why says what is missing.
type hitsSource struct {
	n       int
	at      func(int) time.Time
	between func(i, j int) rate.HitsSpan
	// earlier are readings up to i to compare with j, where questions are those of a whole server; nil else.
	earlier     func(i, j int) []int
	why, better string
}

// estimate estimates the rate from what the store itself counted of its consumers' questions.
func (h hits) estimate(w time.Duration) rate.HitsResult {
	refuse := func(why, better string) rate.HitsResult {
		return rate.HitsResult{Rate: rate.Refused(w, rate.HitsSource, rate.HitsFormula, why, better)}
	}
	switch {
	case h.store == nil || h.view.StoreDown != "":
		return refuse(h.view.StoreDown, "")
	case h.view.Scheme.Refuses(dedup.MethodStoreHits) != "":
		return refuse(h.view.Scheme.Refuses(dedup.MethodStoreHits), "")
	case h.view.noCounts() != "":
		return refuse(h.view.noCounts(), rate.BetterReport)
	case !h.view.CountsAcks:
		return refuse(h.p.noCounters(h.view), rate.BetterReport)
	}
	source := h.statements()
	if h.store.Source != nil {
		source = h.events()
	}
	if source.n == 0 {
		return refuse(source.why, source.better)
	}
	newest, ok := h.newest(source, w)
	if !ok {
		return refuse("the broker was not read often enough yet", rate.BetterReport)
	}
	fresh := h.quietEnds(source, newest, h.p.fresh())
	span, gain := h.spanOf(source, fresh)
	out := h.of(span, gain, w)
	if rate.Narrow(out.Rate) {
		return out
	}
	quiet := h.quietEnds(source, newest, rate.QuietReach)
	if quiet.last == fresh.last {
		return out
	}
	span, gain = h.spanOf(source, quiet)
	if settled := h.of(span, gain, w); !rate.Fresher(out.Rate, settled.Rate, h.p.ends[windowOf{dedup.MethodStoreHits, w}]) {
		return settled
	}
	return out
}

// of is the estimate of one span.
func (h hits) of(span rate.HitsSpan, gain sample.Gain, w time.Duration) rate.HitsResult {
	if why := h.view.strange(h.store.Events.Seen()); why != "" && gain.Acked[1] > 0 {
		return rate.HitsResult{Rate: rate.Refused(w, rate.HitsSource, rate.HitsFormula, why, rate.BetterReport)}
	}
	if other := h.askingPartner(span); other != "" {
		return h.judgeShared(span, gain, w, fmt.Sprintf("the store is shared with pipeline %s", text.Name(other)))
	}
	return h.judge(span, gain, w)
}

// askingPartner names a pipeline with the same store whose consumers may have asked in the time; empty where none has: whose hits they were
// does not show. One to whose consumers nothing was delivered asked nothing, as one of a dead-letter queue in which nothing dies.
func (h hits) askingPartner(span rate.HitsSpan) string {
	if h.p.Partner == "" {
		return ""
	}
	for _, other := range h.store.Users {
		if other == h.p {
			continue
		}
		if g, ok := other.Traffic.Flows.Between(span.From.Add(-span.FromTook), span.To); !ok || g.Delivered[1] > 0 || g.Acked[1] > 0 {
			return other.Config.Name
		}
	}
	return ""
}

// A hitsTime is from one reading of a store to another, with what the broker did meanwhile.
type hitsTime struct {
	first, last int
	gain        sample.Gain
}

// span returns what the store counted in the newest window with quiet ends on whose both sides the broker was read.
func (h hits) span(s hitsSource, w time.Duration) (rate.HitsSpan, sample.Gain, bool) {
	newest, ok := h.newest(s, w)
	if !ok {
		return rate.HitsSpan{}, sample.Gain{}, false
	}
	span, gain := h.spanOf(s, h.quietEnds(s, newest, rate.QuietReach))
	return span, gain, true
}

// newest is the newest window on whose both sides the broker was read.
func (h hits) newest(s hitsSource, w time.Duration) (hitsTime, bool) {
	for j := s.n - 1; j > 0 && j >= s.n-hitsEnds; j-- {
		if n := len(h.traffic.Joints.Readings); n > 0 && j > s.n-3 && h.traffic.Joints.Readings[n-1].At.Before(s.at(j)) {
			continue // soon it can be held against acks and completions, too
		}
		i := sample.FirstSince(s.n, s.at, s.at(j).Add(-w))
		if len(h.traffic.Flows.Readings) > 0 { // live counts are narrower than any that reach further back
			i = max(i, sample.FirstSince(s.n, s.at, h.traffic.Flows.Readings[0].At))
		}
		for ; i < j; i++ {
			if gain, ok := h.traffic.between(s.at(i), s.at(j)); ok {
				return hitsTime{i, j, gain}, true
			}
			if j-i > hitsEnds { // the broker may have been read for less long than the store
				i += (j - i) / 4
			}
		}
	}
	return hitsTime{}, false
}

// quietEnds are the quiet ends of a window where live counts tell of them, the last one no earlier than late before its own.
func (h hits) quietEnds(s hitsSource, t hitsTime, late time.Duration) hitsTime {
	if t.gain.Live {
		begin, end := rate.QuietEnds(h.traffic.unrest, s.at, t.first, t.last, late)
		if quiet, ok := h.traffic.between(s.at(begin), s.at(end)); ok && quiet.Live {
			return hitsTime{begin, end, quiet}
		}
	}
	return t
}

// spanOf is what the store counted in a window.
func (h hits) spanOf(s hitsSource, t hitsTime) (rate.HitsSpan, sample.Gain) {
	span := s.between(t.first, t.last)
	h.widenByAnswers(&t.gain, span)
	if span.OfServer && span.Why == "" {
		h.withinServer(s, &span, t.first, t.last, t.gain)
	}
	return span, t.gain
}

// widenByAnswers bounds what the broker did between two counts of the store, of which each may be as old as its answer took.
func (h hits) widenByAnswers(g *sample.Gain, s rate.HitsSpan) {
	if inner, ok := h.traffic.between(s.From, s.To.Add(-s.ToTook)); ok && s.ToTook > 0 {
		g.Acked[0], g.Delivered[0] = min(g.Acked[0], inner.Acked[0]), min(g.Delivered[0], inner.Delivered[0])
	}
	if outer, ok := h.traffic.between(s.From.Add(-s.FromTook), s.To); ok && s.FromTook > 0 {
		g.Acked[1], g.Delivered[1] = max(g.Acked[1], outer.Acked[1]), max(g.Delivered[1], outer.Delivered[1])
		g.Redelivered, g.Closed = max(g.Redelivered, outer.Redelivered), max(g.Closed, outer.Closed)
	}
}

// judge turns what the store counted into the interval of the rate.
func (h hits) judge(span rate.HitsSpan, gain sample.Gain, w time.Duration) rate.HitsResult {
	f := span.Figure(w)
	waiting := [2]float64{h.traffic.unackedAround(span.From), h.traffic.unackedAround(span.To)}
	f.Why = span.Why
	if span.Why != "" {
		f.Better = span.Better
		return rate.HitsResult{Rate: f}
	}
	if f.Why = span.Strangers(gain, waiting); f.Why != "" {
		return rate.HitsResult{Rate: f}
	}
	held := span.HoldRows(h.view.Scheme, h.store.Inserts.Readings, h.store.Statements.Readings)
	if f.Why = held.Strangers(); f.Why != "" {
		f.Better = rate.BetterIDs
		return rate.HitsResult{Rate: f}
	}
	met := estimate.Hits{Least: span.MeetWritten(h.view.Scheme, gain, waiting[0])}
	died := h.died(span, gain)
	unseen := h.unseen(span, gain, died) // perhaps hits, perhaps messages that are of no interest to their consumers
	span.Hits[1] += unseen
	if met.Hits = span.Hits; span.OfServer {
		met.Undone = h.undoneMarkers(span, gain, died)
	} else {
		again := h.comeAgain(span, gain, died, held)
		met.Undone = rate.UndoneRows(h.view.Scheme, h.view.Stats.Pass, span, gain, again)
		if h.view.Scheme.OnInFlight != "ack" && h.view.Scheme.Mark == "before" && !h.view.Scheme.Transactional {
			met.Least = max(0, met.Least-again.Before) // these may have been acked on a row of before whose work was not done
		}
		met.Least = max(met.Least, h.leastByRows(span, gain, again))
	}
	// Each message that was acked was asked for once, before it was.
	met.Messages = [2]float64{gain.Acked[0], min(gain.Acked[1], max(gain.Acked[0], span.Asked[1]+waiting[0]))}
	if f.Why = h.meetAcks(span, &met); f.Why != "" {
		return rate.HitsResult{Rate: f, Apart: met.Bounds()}
	}
	out := rate.OfHits(f, met, rate.ProvenHits(h.view.Scheme, h.view.Stats.Health.Version) && !span.ByIDs)
	out.Rate.Why = text.Reasons(out.Rate.Why, rate.UnseenWords(unseen))
	return out
}
