package figure

import (
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

// Advise replaces the advice to report in all figures of a window.
func Advise(out *dedup.WindowFigures, advice string) {
	if advice == rate.BetterReport {
		return
	}
	figures := []*dedup.Figure{
		&out.Messages, &out.Duplicates, &out.DuplicateRate, &out.CrossCheck, &out.Redeliveries, &out.InFlightHits, &out.Failures, &out.FailureRate,
		&out.GaveUp, &out.ProducerSent, &out.Redelivered, &out.Swallowed, &out.Looping, &out.DoubleEffects, &out.Lost, &out.MeanRetries,
	}
	for i := range out.Estimates {
		figures = append(figures, &out.Estimates[i].Rate)
	}
	for _, f := range figures {
		if f.Better == rate.BetterReport {
			f.Better = advice
		}
	}
}
