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

const (
	betterMisses = "Set notify-keyspace-events K$gxem in Redis 6 or later (docs/stores.md)."
	betterAsk    = "Say in the store's ask with which command consumers ask, once for each delivery (docs/stores.md)."
)

// eventHits are what the commands of the pipeline's consumers met, by the store's own counts.
func (p *pipeline) eventHits(v view) hitsSource {
	e, readings := v.stats.Events, p.store.told.Epoch()
	n := len(readings)
	switch {
	case e == nil:
		return hitsSource{why: "store events are off", better: rate.BetterEvents}
	case !e.Listening:
		return hitsSource{why: joinReasons("store events do not come", e.Why), better: rate.BetterEvents}
	case v.scheme.Ask == "":
		return hitsSource{why: "the store does not say with which command consumers ask", better: betterAsk}
	case n < 2 || !readings[n-1].AskedKnown:
		return hitsSource{why: "the store has not told often enough yet how often consumers asked it", better: rate.BetterReport}
	case rate.AsksByReading(v.scheme) && !readings[n-1].MissedKnown:
		return hitsSource{why: "the server does not tell which questions found nothing", better: betterMisses}
	}
	return hitsSource{n: n, at: func(i int) time.Time { return readings[i].At }, between: func(i, j int) rate.HitsSpan { return rate.EventHits(v.scheme, readings, i, j) },
		earlier: func(i, j int) []int {
			var all []int
			for k := range triedEarlier {
				if at := k * i / triedEarlier; at < i && (len(all) == 0 || at > all[len(all)-1]) {
					all = append(all, at)
				}
			}
			return append(all, i)
		}}
}

// triedEarlier is how many earlier times are looked at for what others ask.
const triedEarlier = 24

// withinServer narrows the questions of the whole server to those that can have been of the pipeline's deliveries: each delivery asks once.
func (p *pipeline) withinServer(source hitsSource, span *rate.HitsSpan, i, j int, gain sample.Gain) {
	asked := span.Asked[1]
	most := min(asked, gain.Delivered[1]+p.unackedAround(span.From)+gain.Slack)
	strange := asked
	for _, k := range source.earlier(i, j) {
		g, ok := p.brokerBetween(source.at(k), source.at(j))
		if !ok {
			continue
		}
		all := source.between(k, j).Asked[1]
		if all <= 0 {
			continue
		}
		others := max(0, all-g.AsksLeast(p.prefetchSince(source.at(k)))+p.unackedAround(source.at(j))+g.Slack)
		// Their pace may follow the traffic or the clock; 4 standard deviations allow for chance.
		pace := max(asked/all, span.To.Sub(span.From).Seconds()/source.at(j).Sub(source.at(k)).Seconds())
		strange = min(strange, min(others, others*pace+4*math.Sqrt(others*pace*(1-min(1, pace)))))
	}
	least := min(most, max(asked-strange, 0))
	span.Asked = [2]float64{least, most}
	// Questions and answers are counted some milliseconds apart, in which a burst asks much: as much as its pace tells at both ends.
	span.Hits = [2]float64{max(0, least-span.Missed[1]-gain.Slack), max(0, most-span.Missed[0]+gain.Slack)}
}

// undoneMarkers bounds the hits that are no duplicates: those that met a marker of work that was not done, and those that came again, of which
// so many died.
func (p *pipeline) undoneMarkers(v view, span rate.HitsSpan, gain sample.Gain, died float64) [2]float64 {
	s, hits := v.scheme, span.Hits[1]
	switch {
	case s.Mark == "after":
		return [2]float64{0, min(hits, died)}
	}
	switch {
	case s.OnInFlight != "ack":
		return [2]float64{0, min(hits, p.returnedHits(span, gain))}
	case !s.AcksEach || p.consumersMost(span.From) > 1 || math.IsInf(gain.Redelivered, 1): // a copy may come while another consumer works
		return [2]float64{0, hits}
	}
	// One consumer alone leaves a marker behind only where its delivery comes back or was refused, and a copy meets it as often as any other.
	left := gain.Closed + max(0, gain.Delivered[1]-gain.Acked[0]-gain.Redelivered) + gain.Slack
	copies := hits * min(1, left/max(1, span.Missed[1]))
	return [2]float64{0, min(hits, min(gain.Redelivered, p.unackedHits(span, gain))+copies+3*math.Sqrt(copies))}
}

// consumersMost is how many consumers the source queues had at most since a time; infinitely many where that is not known.
func (p *pipeline) consumersMost(since time.Time) float64 {
	most := 0.0
	for i := len(p.frames) - 1; i >= 0; i-- {
		f := &p.frames[i]
		if !f.ConsumersKnown {
			return math.Inf(1)
		}
		if most = max(most, f.Consumers); f.Began.Before(since) {
			return most
		}
	}
	return math.Inf(1)
}

// meetAcks narrows the duplicates by acks less completions of the same time: both hold, and where they exclude each other it says so.
func (p *pipeline) meetAcks(v view, span rate.HitsSpan, h *estimate.Hits) string {
	if p.joint == nil || v.scheme.Refuses(dedup.MethodLive) != "" || v.scheme.OnInFlight == "ack" {
		return ""
	}
	waiting := p.waitingAcks(span.From, v.several)
	inner, okInner := p.residualWithin(span, waiting)
	low, high := 0.0, math.Inf(1)
	if okInner {
		low, _, _ = inner.Duplicates(0)
	}
	if outer, ok := p.residualAround(span, waiting); ok && !p.vanishing() {
		_, _, high = outer.Duplicates(p.acksLost(outer, v.scheme, v.several, p.channelsClosed(outer)))
	}
	least, _, most := h.Duplicates()
	const apart = 3 // messages that are on their way at the ends
	if low > most+apart || least > high+apart {
		return fmt.Sprintf("the store's hits and the acks exclude each other: %s to %s duplicates by the one, %s to %s by the other",
			grouped(whole(least)), grouped(whole(most)), grouped(whole(low)), grouped(whole(high)))
	}
	least, most = max(least, low), min(most, high)
	h.Hits, h.Undone = [2]float64{min(least, most), max(least, most)}, [2]float64{}
	return ""
}

// residualWithin compares acks and completions within the span: what was a duplicate in a part of it was one in all of it.
func (p *pipeline) residualWithin(span rate.HitsSpan, waiting estimate.Unacked) (estimate.Residual, bool) {
	all := p.joints.Readings
	first, last := p.joints.After(span.From), p.joints.After(span.To.Add(-span.ToTook))-1
	if last <= first {
		return estimate.Residual{}, false
	}
	r, ok := estimate.ResidualOf(all[:last+1], all[last].At.Sub(all[first].At), waiting)
	r.Doubled = p.doubledUnseen(r.From)
	return r, ok && !r.From.Before(span.From) && !r.To.After(span.To)
}

// residualAround compares them over all of the span, and a little more: it may take some readings until one is fit to end with.
func (p *pipeline) residualAround(span rate.HitsSpan, waiting estimate.Unacked) (estimate.Residual, bool) {
	all, from := p.joints.Readings, span.From.Add(-span.FromTook)
	for _, more := range []int{0, 4, 10} {
		first, last := p.joints.After(from)-1-more, p.joints.After(span.To)+more
		if first < 0 || last >= len(all) {
			break
		}
		r, ok := estimate.ResidualOf(all[:last+1], all[last].At.Sub(all[first].At), waiting)
		if ok && !r.From.After(from) && !r.To.Before(span.To) && r.Covered == r.To.Sub(r.From) {
			r.Doubled = p.doubledUnseen(r.From)
			return r, true
		}
	}
	return estimate.Residual{}, false
}
