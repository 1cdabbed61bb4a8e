package figure

import (
	"cmp"
	"math"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// RulesSource is the source of what the rules of a scheme imply.
const RulesSource = "rules of the scheme"

// origins splits the duplicates: those that are messages of their own, as a producer that sends again makes them, and those
// that are one message delivered again after a lost ack.
func (x Explanation) origins(out *dedup.WindowFigures) {
	const (
		sentFormula  = "A - U - G; acks less first completions and messages given up"
		againFormula = "duplicates less those sent again, at most the completions whose ack can have been lost"
	)
	var separate [2]float64
	var again [2]float64
	told, source := x.Residual.Rate, rate.ResidualSource
	switch t := x.Events.Terms; {
	case x.Hits.Apart != nil:
		out.ProducerSent, out.Redelivered = unknownCount(out, x.Hits.Rate.Why, x.better()), unknownCount(out, x.Hits.Rate.Why, x.better())
		return
	case x.Live.Told:
		r := x.Live.Residual
		told, source = x.Live.Rate, rate.LiveSource
		separate[0], _, separate[1] = r.Duplicates(0)
		again = [2]float64{0, min(x.Live.Lost, r.Redelivered)}
	case x.Events.Told && x.Scheme.OnInFlight != "ack" && !math.IsInf(t.Separate[1], 1):
		told, source = x.Events.Rate, rate.EventsSource
		separate = [2]float64{max(0, t.Separate[0], t.Duplicates[0]-t.Repeats), min(t.Separate[1], t.Duplicates[1])}
		again = [2]float64{t.Duplicates[0] - separate[1], min(t.Repeats, t.Duplicates[1]-separate[0])}
	case x.Residual.Told:
		separate, again = x.Residual.Separate, [2]float64{0, x.Residual.Repeats}
	default:
		why := text.Reasons("acks and completions cannot be compared", told.Why)
		out.ProducerSent, out.Redelivered = unknownCount(out, why, x.better()), unknownCount(out, why, x.better())
		return
	}
	count := func(low, high float64, formula string) dedup.Figure {
		f := dedup.Figure{Quality: dedup.Derived, Unit: dedup.Count, Source: source, Formula: formula, Window: out.Window, Covered: told.Covered, At: told.At, N: told.N}
		f.Low = max(0, low)
		f.High = max(f.Low, high)
		f.Value, f.Hits = f.Low, f.Low
		return f
	}
	out.ProducerSent = count(separate[0], separate[1], sentFormula)
	out.Redelivered = count(again[0], again[1], againFormula)
}

// Looping counts the deliveries that met work in flight and were returned.
func (x Explanation) Looping(out *dedup.WindowFigures) dedup.Figure {
	switch t := x.Events.Terms; {
	case x.Scheme.OnInFlight == "ack":
		return unknownCount(out, "consumers of this scheme ack what is in flight, so that nothing goes round", "")
	case x.Scheme.OnInFlight == "wait":
		return unknownCount(out, "consumers of this scheme wait for what is in flight, so that nothing goes round", "")
	case x.Reported.InFlight.Known():
		f := x.Reported.InFlight
		f.Formula = "duplicate_in_flight, as consumers report it: they return these deliveries"
		return f
	case x.Hits.Apart != nil:
		return unknownCount(out, x.Hits.Rate.Why, x.better())
	case x.Events.Told && !math.IsInf(t.Returned[1], 1):
		return x.between(out, dedup.Count, t.Returned[0], t.Returned[1], "hits less duplicates; the hits on work in flight, whose deliveries come back")
	}
	return unknownCount(out, text.Reasons("hits on work in flight are not counted", x.Events.Rate.Why), x.better())
}

// Swallowed counts the deliveries that were acked although their work was not done.
func (x Explanation) Swallowed(out *dedup.WindowFigures) dedup.Figure {
	race := x.Scheme.Preset == "redis-json-status"
	switch {
	case !x.Scheme.HasStore():
		return unknownCount(out, "the pipeline has no store whose rules would tell", "")
	case x.Scheme.OnInFlight == "ack" && x.Reported.InFlight.Known():
		f := x.Reported.InFlight
		f.Formula = "duplicate_in_flight, as consumers report it: they ack these deliveries"
		return f
	case x.Scheme.OnInFlight == "ack" && x.Events.Told:
		f := x.between(out, dedup.Count, 0, x.Events.Terms.Duplicates[1], "0 up to the hits; consumers ack what they meet, done or not")
		f.Why = "at most: hits on done work are no losses, and nothing tells them apart"
		return f
	case x.Scheme.OnInFlight == "ack":
		return unknownCount(out, text.Reasons("consumers ack what is in flight, and nothing counts it", x.Events.Rate.Why), x.better())
	case x.Scheme.OnInFlight == "nack" && !race && x.Scheme.OnFailed != "ack":
		return x.noneByRules(out, "consumers return what they find in flight, so that they ack nothing whose work is not done")
	case x.Scheme.OnInFlight == "wait" && (x.Scheme.OnFail == "delete" || x.Scheme.OnFailed != "ack"):
		return x.noneByRules(out, "consumers wait for what they find in flight, so that they ack nothing whose work is not done")
	case race && x.Events.Told && x.Hits.Apart == nil:
		f := x.between(out, dedup.Count, 0, x.Events.Terms.Duplicates[1], "0 up to the duplicates; two that look at once and claim one after the other look the same")
		f.Why = "at most: a consumer that finds nothing and then loses the claim acks its delivery, which looks like a duplicate"
		return f
	}
	return unknownCount(out, text.Reasons("hits on work that was not done are not counted", x.Events.Rate.Why), x.better())
}

// noneByRules is the 0 that the rules of the scheme imply, as long as broker and store show what consumers do.
func (x Explanation) noneByRules(out *dedup.WindowFigures, formula string) dedup.Figure {
	if why := cmp.Or(x.BrokerDown, x.StoreDown); why != "" {
		return unknownCount(out, why, "")
	}
	f := dedup.Exact(dedup.Derived, dedup.Count, 0, x.Now, RulesSource)
	f.Window, f.Covered, f.Formula = out.Window, out.Window, formula
	return f
}
