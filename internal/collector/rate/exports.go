package rate

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	ExportsSource       = "exported counters"
	ExportsFormula      = "(S - U - G +- band) / S; S deliveries handled by the consumers' own counters, U completions, G given up"
	ExportsExactFormula = "duplicates / handled, both as the consumers' framework counts them"
)

// JudgeExports turns the residual into the interval of the rate. Where live counts give one too the truth is in both.
func JudgeExports(f dedup.Figure, r estimate.Residual, scheme dedup.Scheme, exact bool, live LiveResult) dedup.Figure {
	low, likely, high := r.Rate(0)
	if l := live.Rate; !exact && live.Told && l.Low <= high && low <= l.High {
		low, high = max(low, l.Low), min(high, l.High)
	}
	f.N, f.Hits = r.Acked, math.Round(likely*r.Acked)
	f.Low, f.High = low, high
	f.Value = min(max(f.Hits/f.N, low), high)
	width := high - low
	switch {
	case width > Widest && width*f.N > LiveWidest:
		f.Why = fmt.Sprintf("the interval is too wide: between %.2f %% and %.2f %% of %s were duplicates", 100*low, 100*high, text.Counted(text.Whole(f.N), "message"))
	case !exact && width <= MeasuredWidest && ProvenEvents(scheme):
		f.Quality = dedup.Measured
	default:
		f.Quality = dedup.Derived
	}
	f.Why = text.Reasons(f.Why, DoubledWords(r.Doubled), FailedWords(r.Failed))
	return f
}

// ExportsRefuted says what does not agree, with both numbers.
func ExportsRefuted(a estimate.Agreement, e *dedup.Exports, now time.Time) string {
	acks := text.Counted(text.Whole(max(0, a.Low)), "ack")
	if low, high := text.Whole(max(0, a.Low)), text.Whole(a.High); low < high {
		acks = fmt.Sprintf("%s to %s", text.Grouped(low), text.Counted(high, "ack"))
	}
	words := fmt.Sprintf("from %s to %s consumers handled %s by the recipe %s, but the broker took %s for that: ",
		text.Clock(a.From, now), text.Clock(a.To, now), text.Counted(text.Whole(a.Handled), "message"), e.Recipe, acks)
	if a.Handled > a.High {
		return words + "its series count other queues too, or tries inside of the process"
	}
	return words + "its series count another queue, or not all processes are read"
}
