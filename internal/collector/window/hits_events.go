package window

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	betterMisses = "Set notify-keyspace-events K$gxem in Redis 6 or later (docs/stores.md)."
	betterAsk    = "Say in the store's ask with which command consumers ask, once for each delivery (docs/stores.md)."
	// triedEarlier is how many earlier times are looked at for what others ask.
	triedEarlier = 24
)

// events are what the commands of the pipeline's consumers met, by the store's own counts.
func (h hits) events() hitsSource {
	e, readings := h.view.Stats.Events, h.store.Events.Epoch()
	n := len(readings)
	switch {
	case e == nil:
		return hitsSource{why: "store events are off", better: rate.BetterEvents}
	case !e.Listening:
		return hitsSource{why: text.Reasons("store events do not come", e.Why), better: rate.BetterEvents}
	case h.view.Scheme.Ask == "":
		return hitsSource{why: "the store does not say with which command consumers ask", better: betterAsk}
	case n < 2 || !readings[n-1].AskedKnown:
		return hitsSource{why: "the store has not told often enough yet how often consumers asked it", better: rate.BetterReport}
	case rate.AsksByReading(h.view.Scheme) && !readings[n-1].MissedKnown:
		return hitsSource{why: "the server does not tell which questions found nothing", better: betterMisses}
	}
	return hitsSource{n: n, at: func(i int) time.Time { return readings[i].At }, between: func(i, j int) rate.HitsSpan { return rate.EventHits(h.view.Scheme, readings, i, j) },
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

// withinServer narrows the questions of the whole server to those that can have been of the pipeline's deliveries: each delivery asks once, and once more
// for each failure of its work that is tried again within it.
func (h hits) withinServer(source hitsSource, span *rate.HitsSpan, i, j int, gain sample.Gain) {
	asked := span.Asked[1]
	most := min(asked, gain.Delivered[1]+h.triedAgain(*span)+h.traffic.unackedAround(span.From)+gain.Slack)
	strange := asked
	for _, k := range source.earlier(i, j) {
		g, ok := h.traffic.between(source.at(k), source.at(j))
		if !ok {
			continue
		}
		all := source.between(k, j).Asked[1]
		if all <= 0 {
			continue
		}
		others := max(0, all-g.AsksLeast(h.traffic.Prefetches.Since(source.at(k)))+h.traffic.unackedAround(source.at(j))+g.Slack)
		// Their pace may follow the traffic or the clock; 4 standard deviations allow for chance.
		pace := max(asked/all, span.To.Sub(span.From).Seconds()/source.at(j).Sub(source.at(k)).Seconds())
		strange = min(strange, min(others, others*pace+4*math.Sqrt(others*pace*(1-min(1, pace)))))
	}
	least := min(most, max(asked-strange, 0))
	if h.view.Scheme.Unasked { // others may have asked in their place
		least = 0
	}
	span.Asked = [2]float64{least, most}
	// Questions and answers are counted some milliseconds apart, in which a burst asks much: as much as its pace tells at both ends.
	span.Hits = [2]float64{max(0, least-span.Missed[1]-gain.Slack), max(0, most-span.Missed[0]+gain.Slack)}
}

// triedAgain bounds the questions that were asked anew within a delivery: where the claim of a failure is given back, no more than there were failures.
func (h hits) triedAgain(span rate.HitsSpan) float64 {
	if s := h.view.Scheme; s.Mark != "before" || s.OnFail != "delete" {
		return 0
	}
	return span.Failed
}

// undoneMarkers bounds the hits that are no duplicates: those that met a marker of work that was not done, and those that came again, of which
// so many died.
func (h hits) undoneMarkers(span rate.HitsSpan, gain sample.Gain, died float64) [2]float64 {
	s, hits := h.view.Scheme, span.Hits[1]
	switch {
	case s.Mark == "after" && !s.AcksEach: // what is returned with others asks again
		return [2]float64{0, min(hits, max(died, min(gain.Redelivered+h.traffic.waitingAround(span.To), h.unacked(span, gain))))}
	case s.Mark == "after":
		return [2]float64{0, min(hits, died)}
	case s.OnInFlight != "ack":
		return [2]float64{0, min(hits, h.returned(span, gain))}
	case !s.AcksEach || h.traffic.consumersMost(span.From) > 1 || math.IsInf(gain.Redelivered, 1): // a copy may come while another consumer works
		return [2]float64{0, hits}
	}
	// One consumer alone leaves a marker behind only where its delivery comes back or was refused, and a copy meets it as often as any other.
	left := gain.Closed + max(0, gain.Delivered[1]-gain.Acked[0]-gain.Redelivered) + gain.Slack
	copies := hits * min(1, left/max(1, span.Missed[1]))
	return [2]float64{0, min(hits, min(gain.Redelivered, h.unacked(span, gain))+copies+3*math.Sqrt(copies))}
}

// died bounds the deliveries that asked the store, and whose consumers died before the ack: each comes again and asks again, so that two hits
// are of one ack.
func (h hits) died(span rate.HitsSpan, gain sample.Gain) float64 {
	if gain.Closed <= 0 {
		return 0
	}
	s := rate.Residual{Scheme: h.view.Scheme, Several: h.view.Several, Prefetch: h.traffic.Prefetches.Since(span.From)}
	return gain.DiedAsking(s.LostPerChannel(), s.Prefetch, min(gain.Closed, h.traffic.closedSinceTaken(span.From, span.To)))
}

// meetAcks narrows the duplicates by acks less completions of the same time: both hold, and where they exclude each other it says so.
func (h hits) meetAcks(span rate.HitsSpan, met *estimate.Hits) string {
	if !h.p.Joined || h.view.Scheme.Refuses(dedup.MethodLive) != "" || h.view.Scheme.OnInFlight == "ack" {
		return ""
	}
	waiting := h.traffic.waitingAcks(span.From, h.view.Scheme, h.view.Several)
	inner, okInner := h.residualWithin(span, waiting)
	low, high := 0.0, math.Inf(1)
	if okInner {
		low, _, _ = inner.Duplicates(0)
	}
	if outer, ok := h.residualAround(span, waiting); ok && !h.view.Vanishing {
		_, _, high = outer.Duplicates(h.traffic.acksLost(outer, h.view.Scheme, h.view.Several, h.traffic.closedMost(outer)))
	}
	least, _, most := met.Duplicates()
	const apart = 3 // messages that are on their way at the ends
	if low > most+apart || least > high+apart {
		return fmt.Sprintf("the store's hits and the acks exclude each other: %s to %s duplicates by the one, %s to %s by the other",
			text.Grouped(text.Whole(least)), text.Grouped(text.Whole(most)), text.Grouped(text.Whole(low)), text.Grouped(text.Whole(high)))
	}
	least, most = max(least, low), min(most, high)
	met.Hits, met.Undone = [2]float64{min(least, most), max(least, most)}, [2]float64{}
	return ""
}

// residualWithin compares acks and completions within the span: what was a duplicate in a part of it was one in all of it.
func (h hits) residualWithin(span rate.HitsSpan, waiting estimate.Unacked) (estimate.Residual, bool) {
	all := h.traffic.Joints.Readings
	first, last := h.traffic.Joints.After(span.From), h.traffic.Joints.After(span.To.Add(-span.ToTook))-1
	if last <= first {
		return estimate.Residual{}, false
	}
	r, ok := estimate.ResidualOf(all[:last+1], all[last].At.Sub(all[first].At), waiting)
	r.Doubled, r.Failed = h.p.doubledUnseen(r.From), ackedFailures{h.p, h.view}.most(r.From, r.To)
	if ok {
		h.p.askedIn(&r, h.view)
	}
	return r, ok && !r.From.Before(span.From) && !r.To.After(span.To)
}

// residualAround compares them over all of the span, and a little more: it may take some readings until one is fit to end with.
func (h hits) residualAround(span rate.HitsSpan, waiting estimate.Unacked) (estimate.Residual, bool) {
	all, from := h.traffic.Joints.Readings, span.From.Add(-span.FromTook)
	for _, more := range []int{0, 4, 10} {
		first, last := h.traffic.Joints.After(from)-1-more, h.traffic.Joints.After(span.To)+more
		if first < 0 || last >= len(all) {
			break
		}
		r, ok := estimate.ResidualOf(all[:last+1], all[last].At.Sub(all[first].At), waiting)
		if ok && !r.From.After(from) && !r.To.Before(span.To) && r.Covered == r.To.Sub(r.From) {
			r.Doubled = h.p.doubledUnseen(r.From)
			return r, true
		}
	}
	return estimate.Residual{}, false
}
