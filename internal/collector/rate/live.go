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
	LiveSource  = "live counts"
	LiveFormula = "(A - U +- band, + B) / A; A acks, U settled, B redeliveries after a lost ack; both counted at one moment, each second"
	BetterLive  = "Switch the broker's Prometheus plugin on and list every node in prometheus_urls (docs/figures.md)."
	// LiveWidest is how many messages the ends of an interval may always lie apart: of few messages two are many per cent.
	LiveWidest = 4
)

// A LiveResult is the residual of live counts. Told is false when there is none.
type LiveResult struct {
	Rate dedup.Figure
	Told bool
	// Checked is true where the store was asked as often as it must have been.
	Checked  bool
	Residual estimate.Residual
	// Lost is the most acks that closed channels can have taken along, LostUntrusted the same if each of them took all along that it held.
	Lost, LostUntrusted float64
}

// Judge turns the residual into the interval of the rate, and gives it the quality that it has.
func (r LiveResult) Judge(f dedup.Figure, s dedup.Scheme) dedup.Figure {
	f.Low, f.Value, f.High = r.Residual.Rate(r.Lost)
	f.Hits, _, _ = r.Residual.Duplicates(r.Lost)
	f.N = r.Residual.Acked
	width := f.High - f.Low
	_, _, untrusted := r.Residual.Rate(r.LostUntrusted)
	switch {
	case width > Widest && width*f.N > LiveWidest:
		f.Why = fmt.Sprintf("the interval is too wide: between %.2f %% and %.2f %% of %s were duplicates", 100*f.Low, 100*f.High, text.Counted(text.Whole(f.N), "message"))
	case untrusted-f.Low <= MeasuredWidest && r.Checked && r.Residual.Unasked < fewUnasked && ProvenEvents(s):
		f.Quality = dedup.Measured
	default:
		f.Quality = dedup.Derived
	}
	return f
}

// HoldApart widens what acks less completions say of the rate to what the store's hits say, where the one excludes the other: either is false, and
// nobody knows which.
func HoldApart(f *dedup.Figure, hits HitsResult) {
	if hits.Apart == nil || f.N <= 0 || !f.Known() && f.Low >= f.High {
		return
	}
	f.Low, f.High = min(f.Low, hits.Apart[0]), max(f.High, hits.Apart[1])
	f.Why = text.Reasons(f.Why, hits.Rate.Why)
	switch width := f.High - f.Low; {
	case width > Widest && width*f.N > LiveWidest:
		f.Quality = dedup.QualityUnknown
	case f.Quality == dedup.Measured:
		f.Quality = dedup.Derived
	}
}

// AgainWords says that a marker that is written again looks like work that is done again; empty where none was.
func AgainWords(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s written again, or may have been: work that was done twice, or duplicates that renew their marker", text.Counted(text.Whole(n), "done marker")+" "+text.Agree(text.Whole(n), "was", "were"))
}

// FetchedWords says that acks may be of those who move messages or take them away; empty where nobody fetched any.
func FetchedWords(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s fetched one by one, perhaps by whoever moved them: they may be no duplicates", text.Counted(text.Whole(n), "message")+" "+text.Agree(text.Whole(n), "was", "were"))
}

// UnaskedWords says that acks may be of messages for which no store was asked; empty where no more are missing than there are at the ends of any time.
func UnaskedWords(n float64) string {
	if n < fewUnasked {
		return ""
	}
	return fmt.Sprintf("up to %s acked without asking the store or without finishing, and no duplicates", text.Counted(text.Whole(n), "message")+" "+text.Agree(text.Whole(n), "was", "were"))
}

// fewUnasked is how many may seem to be so in any time.
const fewUnasked = 10

// Messages are the messages behind the rate: as many as were acked.
func (r LiveResult) Messages() dedup.Figure {
	f := r.Rate
	f.Unit, f.Formula, f.Why = dedup.Count, "acks of the source queues, counted as they happen", ""
	f.Quality, f.Value, f.Low, f.High, f.Hits = dedup.Measured, r.Residual.Acked, r.Residual.Acked, r.Residual.MostAcked(), 0
	if f.Low < f.High {
		f.Quality = dedup.Derived
	}
	return f
}

// deliveriesLessClaims are the readings with deliveries in place of acks, and claims in place of what was settled.
func deliveriesLessClaims(readings []estimate.Joint) []estimate.Joint {
	out := make([]estimate.Joint, len(readings))
	for i, r := range readings {
		out[i] = estimate.Joint{At: r.At, Run: r.Run, Calm: r.Calm, Acked: r.Delivered, Settled: r.Claims}
	}
	return out
}

// LiveBound is the most that the rate can be where consumers ack whatever meets a marker, done or not: the deliveries that claimed nothing. Those
// that were out when the time began may have asked in it. Deliveries and claims reach us at different moments, on a busy machine the more so: how
// far they are apart shows in their scatter, as that of acks and completions does.
func LiveBound(f dedup.Figure, readings []estimate.Joint, r estimate.Residual, w time.Duration, unacked estimate.Unacked, out float64) LiveResult {
	const formula = "at most (D - C + band) / A; D deliveries, C claims of them, A acks; both counted at one moment, each second"
	unclaimed, ok := estimate.ResidualOf(deliveriesLessClaims(readings), w, unacked)
	high := unclaimed.Sent + unclaimed.Band + unclaimed.Rose + r.DeliveredUnsure + out
	f.N, f.Formula = r.Acked, formula
	switch {
	case !ok || high < -3*math.Sqrt(r.Delivered+1):
		f.Why = fmt.Sprintf("%s were written while the broker delivered %s: others write them too", text.Counted(text.Whole(r.Claims), "claim"), text.Counted(text.Whole(r.Delivered), "message"))
	case math.IsInf(high, 1) || high >= r.Acked:
		f.Why = "more deliveries claimed nothing than were acked: messages that come back tell no bound"
	default:
		if f.High = max(0, high, out) / r.Acked; f.High <= Widest || f.High*f.N <= LiveWidest {
			f.Quality = dedup.Derived
		}
		f.Why = "at most: deliveries that were refused before they asked are among those that claimed nothing, and hits on work that was not done"
	}
	return LiveResult{Rate: f, Residual: r}
}
