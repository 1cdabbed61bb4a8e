package window

import (
	"cmp"
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// counts make figures of what our counters gained over one window.
type counts struct {
	p     *Pipeline
	view  View
	gains *Gains
}

// reported are the figures of what consumers report.
func (c counts) reported() rate.ReportedResult {
	w := c.gains.Window
	if c.view.ReportDown != "" {
		return rate.Unreported(w, c.view.ReportDown)
	}
	if c.p.Exports.latest != nil {
		none := rate.Unreported(w, "consumers report no outcomes: a recipe reads what their framework counts")
		none.Rate.Better = "" // it is none of the sources that could be had
		return none
	}
	dropped := c.view.Reports.Dropped
	return rate.Reported{
		Window: w, Scheme: c.view.Scheme, Outcomes: c.gains.Outcomes, Present: c.view.Reports.Present,
		Acked: c.gains.Ack.all(), BrokerAcks: c.gains.Acks, Dropped: !dropped.IsZero() && c.view.Now.Sub(dropped) < w,
	}.Estimate()
}

// acked counts messages by the broker's acks.
func (c counts) acked() dedup.Figure {
	acks, auto := c.gains.Acks, c.gains.AutoAcks
	f := dedup.Unknown(dedup.Count, "")
	f.Window, f.Source, f.Formula = c.gains.Window, "acks of the broker", "acks of the source queues"
	switch {
	case c.view.Uncounted != "":
		f.Why = c.view.Uncounted
	case !c.view.CountsAcks:
		f.Why = c.p.noCounters(c.view)
	case !acks.Known:
		f.Why = "the history holds nothing of this window yet"
	case auto.Delta > 0:
		f.Why = "messages are delivered with automatic acks, which the broker does not count as acks"
	default:
		g, covered, ok := c.ackedBetween(acks)
		if !ok {
			f.Why = "the counters of the broker are seconds old, and the window is hardly longer yet"
			break
		}
		f.Quality, f.Covered, f.At = dedup.Derived, covered, acks.At.Add(covered-acks.Covered)
		f.Low, f.High = g.Acked[0], g.Acked[1]
		f.Value = min(max(f.Low, acks.Delta*covered.Seconds()/acks.Covered.Seconds()), f.High)
		f.N = f.Value
		if c.gains.Closures.Delta > 0 {
			exact, loss := false, c.p.Traffic.Loss
			f.Why, exact = loss.Words(acks.At.Add(-acks.Covered), acks.At.Add(-2*c.p.Interval))
			if f.AtLeast = !exact; f.AtLeast {
				f.Value = f.Low
			}
			if !loss.Asked {
				f.Better = sample.BetterMeter
			}
		}
	}
	return f
}

// fewestLags is how many times as long as counters are old a time must be for what they gained in it to tell a pace.
const fewestLags = 3

// ackedBetween bounds the acks of a time, and says of how much of it. Counters of the management API are seconds old when they are read, and so is what
// they gained: where live counts, or readings before and after, do not bound it, or a time that ends a little earlier, it is what came at the same pace in
// a time longer and shorter by that. It is not ok where the time is hardly longer than they are old.
func (c counts) ackedBetween(acks sample.Increase) (g sample.Gain, covered time.Duration, ok bool) {
	from := acks.At.Add(-acks.Covered)
	for _, late := range [...]time.Duration{0, sample.CounterLag, 2 * sample.CounterLag} {
		if covered = acks.Covered - late; covered <= 0 || covered < acks.Covered/2 {
			break
		}
		if g, ok := c.p.Traffic.between(from, acks.At.Add(-late)); ok {
			return g, covered, true
		}
	}
	if acks.Covered < fewestLags*sample.CounterLag {
		return g, 0, false
	}
	part := float64(sample.CounterLag) / float64(acks.Covered)
	g.Acked = [2]float64{acks.Delta / (1 + part), acks.Delta / (1 - part)}
	return g, acks.Covered, true
}

// redelivered is a signal of loops; it is never a duplicate rate.
func (c counts) redelivered() dedup.Figure {
	again, manual, auto := c.gains.Redeliveries, c.gains.Deliveries, c.gains.AutoAcks
	f := dedup.Unknown(dedup.Ratio, cmp.Or(c.view.Uncounted, "no deliveries in the window"))
	f.Window, f.Source, f.Formula = c.gains.Window, "broker counters", "redeliveries / deliveries"
	if !again.Known || !manual.Known {
		f.Why = "the history holds nothing of this window yet"
		if !c.view.CountsDeliveries {
			f.Why = c.p.noCounters(c.view)
		}
		return f
	}
	if n := manual.Delta + auto.Delta; n > 0 {
		v := again.Delta / n
		f.Quality, f.Value, f.Low, f.High, f.N, f.Hits = dedup.Estimated, v, v, v, n, again.Delta
		f.Covered, f.At, f.Why = again.Covered, again.At, "loop signal, not a duplicate rate"
	}
	return f
}

// noCounters says why the broker gives no counters for the pipeline's queues.
func (p *Pipeline) noCounters(v View) string {
	switch {
	case v.Info.StatsDisabled:
		return "the broker gives no counters: its statistics are disabled"
	case v.Info.RatesMode == "none":
		return "the broker gives no counters: its rates_mode is none"
	}
	for i, q := range v.Queues {
		if q == nil {
			return finding.QueueNotFound(p.Config.Queues[i], p.Config.Broker)
		}
	}
	return "the broker gives no counters for the queues yet"
}

// events estimates the rate from the events of the pipeline's store.
func (c counts) events() rate.EventsResult {
	w, s := c.gains.Window, c.view.Scheme
	refuse := func(why, better string) rate.EventsResult {
		return rate.EventsResult{Rate: rate.Refused(w, rate.EventsSource, rate.EventsFormula, why, better)}
	}
	e, store, traffic := c.view.Stats.Events, c.p.Store, &c.p.Traffic
	switch {
	case store == nil || c.view.StoreDown != "":
		return refuse(c.view.StoreDown, "")
	case !s.Notifies():
		return refuse("only Redis strings give store events", "")
	case e == nil && s.Refuses(dedup.MethodStoreEvents) != "": // nobody is told to switch on what would never tell a rate
		return refuse(s.Refuses(dedup.MethodStoreEvents), "")
	case e == nil:
		return refuse("store events are off", rate.BetterEvents)
	case !e.Listening:
		return refuse(text.Reasons("store events do not come", e.Why), rate.BetterEvents)
	case c.view.noCounts() != "":
		return refuse(c.view.noCounts(), rate.BetterReport)
	case c.p.Partner != "":
		return refuse(fmt.Sprintf("the store is shared with pipeline %s", text.Name(c.p.Partner)), rate.BetterReport)
	case !c.view.CountsAcks:
		return refuse(c.p.noCounters(c.view), rate.BetterReport)
	case c.gains.Acks.Delta > 0 && c.view.strange(store.Events.Seen()) != "":
		return refuse(c.view.strange(store.Events.Seen()), rate.BetterReport)
	}
	return rate.Events{
		Window: w, Interval: c.p.Interval, Frames: traffic.Frames, Scheme: s, Readings: store.Events.Epoch(), Broke: store.Events.Broke,
		Command: e.Command, Sharers: c.view.Sharers, Slip: max(rate.AskSlip, c.view.Stats.Health.LatencyP99), Disturbed: store.Disturbed, DisturbedWhy: store.DisturbedWhy,
		Prefetch: traffic.Prefetches.Since(c.view.Now.Add(-2 * w)), Vanishing: c.view.Vanishing, Limited: c.view.limited(), Several: c.view.Several,
		Meter: traffic.Loss.Lost(), Own: traffic.Own, Doubled: c.p.doubledSince, OtherAcks: c.otherAcks,
	}.Estimate()
}

// residual estimates the rate from the acks of the broker and the last complete pass over the store.
func (c counts) residual() rate.ResidualResult {
	w, v, traffic := c.gains.Window, &c.view, &c.p.Traffic
	why := text.Reasons(v.noCounts(), v.StoreDown)
	if why == "" && c.p.Partner != "" {
		why = fmt.Sprintf("the store is shared with pipeline %s", text.Name(c.p.Partner))
	}
	if why == "" && !v.CountsAcks {
		why = c.p.noCounters(*v)
	}
	if why != "" {
		return rate.ResidualResult{Rate: rate.Refused(w, rate.ResidualSource, rate.ResidualFormula, why, rate.BetterReport)}
	}
	store := c.p.Store
	return rate.Residual{
		Window: w, Interval: c.p.Interval, Frames: traffic.Frames, Scheme: v.Scheme, Pass: v.Stats.Pass,
		Earlier: store.Earlier, ClockError: clockError(v.Stats.Health.LatencyP99), Disturbed: store.Disturbed, DisturbedWhy: store.DisturbedWhy,
		Prefetch: traffic.Prefetches.Since(v.Now.Add(-2 * w)), Several: v.Several, Meter: traffic.Loss.Lost(), Own: traffic.Own, Vanishing: v.Vanishing,
		Doubled: c.p.doubledSince, OtherAcks: c.otherAcks, Conflated: finding.Conflated(v.Stats.Pass, v.Stats.Facts, c.p.Config.IDFrom),
	}.Estimate()
}

// otherAcks bounds the acks between two times that are no duplicates although nothing was settled for them: of work that failed, and of messages for
// which no store was asked.
func (c counts) otherAcks(from, to time.Time) float64 {
	return ackedFailures{c.p, c.view}.most(from, to) + c.view.unasked*to.Sub(from).Seconds()
}

// clockError bounds the error of a clock offset that was taken as the middle of one round trip.
func clockError(roundTrip time.Duration) time.Duration {
	const least = 20 * time.Millisecond
	return max(least, roundTrip)
}
