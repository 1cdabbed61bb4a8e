package figure

import (
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

// UnknownWindow returns the figures of a window of which nothing is known.
func UnknownWindow(w time.Duration, why string) dedup.WindowFigures {
	unknown := func(u dedup.Unit) dedup.Figure {
		f := dedup.Unknown(u, why)
		f.Window = w
		return f
	}
	ratio, count, seconds := unknown(dedup.Ratio), unknown(dedup.Count), unknown(dedup.Seconds)
	return dedup.WindowFigures{
		Window: w, Messages: count, Duplicates: count, DuplicateRate: ratio, CrossCheck: ratio, Redeliveries: ratio,
		InFlightHits: count, Failures: count, FailureRate: ratio, GaveUp: count,
		AckMean: seconds, AckP50: seconds, AckP95: seconds, AckP99: seconds,
		WorkMean: seconds, WorkP50: seconds, WorkP95: seconds, WorkP99: seconds,
		DeadLetterInflow: unknown(dedup.PerHour),
		ProducerSent:     count, Redelivered: count, Swallowed: count, Looping: count, DoubleEffects: count, Lost: count,
		MeanRetries: count, AckTimeouts: unknown(dedup.PerHour), ConsumerRestarts: unknown(dedup.PerHour),
	}
}

// WithoutBroker turns the figures unknown that need the broker. What consumers still report moves to the cross-check:
// it is true, but a pipeline whose broker is down has no good rate.
func WithoutBroker(out *dedup.WindowFigures, why string) {
	out.CrossCheck = out.DuplicateRate
	unknown := UnknownWindow(out.Window, why)
	out.Messages, out.Duplicates, out.DuplicateRate = unknown.Messages, unknown.Duplicates, unknown.DuplicateRate
	out.Redeliveries, out.DeadLetterInflow = unknown.Redeliveries, unknown.DeadLetterInflow
	out.AckTimeouts, out.ConsumerRestarts = unknown.AckTimeouts, unknown.ConsumerRestarts
	out.AckMean, out.AckP50, out.AckP95, out.AckP99 = unknown.AckMean, unknown.AckP50, unknown.AckP95, unknown.AckP99
	for _, f := range []*dedup.Figure{&out.ProducerSent, &out.Redelivered, &out.Looping, &out.Swallowed} {
		if f.Source == rate.EventsSource || f.Source == rate.LiveSource || f.Source == rate.HitsSource || f.Source == rate.ResidualSource || f.Source == RulesSource { // what consumers report, and rows, need no broker
			*f = unknown.ProducerSent
		}
	}
}
