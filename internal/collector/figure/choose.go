package figure

import (
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// Choose makes the best valid estimate the duplicate rate and the next valid one its cross-check: what consumers report, else the narrowest
// interval, of equals the first. Where none is valid, or the best is an upper bound beyond the interval of one that is too wide for a number, the
// rate is unknown for all their reasons, with the narrowest interval that is known to hold it.
func Choose(out *dedup.WindowFigures) {
	valid := func(e dedup.Estimate) bool { return e.Rate.Known() && e.Rate.Quality != dedup.Estimated }
	best := -1
	for i, e := range out.Estimates {
		if valid(e) && (best < 0 || out.Estimates[best].Method != dedup.MethodReported && e.Rate.Width() < out.Estimates[best].Rate.Width()) {
			best = i
		}
	}
	if held, ok := narrowest(out.Estimates); ok && best >= 0 && out.Estimates[best].Rate.AtMost() && held.Low <= out.Estimates[best].Rate.High && held.High-held.Low < out.Estimates[best].Rate.Width() {
		best = -1
	}
	best = newer(out.Estimates, best, valid)
	var rest []dedup.Estimate
	for i, e := range out.Estimates {
		if i != best {
			rest = append(rest, e)
		}
	}
	if best < 0 {
		out.DuplicateRate = cannotTell(out.Window, out.Estimates)
		out.Duplicates = dedup.Unknown(dedup.Count, out.DuplicateRate.Why)
		out.Duplicates.Window = out.Window
		if r := out.DuplicateRate; r.N > 0 && r.Low < r.High {
			out.Duplicates.Low, out.Duplicates.High, out.Duplicates.N = r.Low*r.N, r.High*r.N, r.N
			out.Duplicates.Source, out.Duplicates.Covered, out.Duplicates.At = r.Source, r.Covered, r.At
		}
		out.CrossCheck = dedup.Unknown(dedup.Ratio, "no second source")
		out.CrossCheck.Window = out.Window
		return
	}
	out.DuplicateRate = out.Estimates[best].Rate
	if out.Estimates[best].Method != dedup.MethodReported {
		out.Duplicates = duplicatesOf(out.DuplicateRate)
	}
	for _, e := range rest {
		if valid(e) {
			out.CrossCheck = e.Rate
			return
		}
	}
	out.CrossCheck = cannotTell(out.Window, rest)
}

// patience is how much older than another rate one may be that is shown because it is narrower.
const patience = 10 * time.Second

// newer is the narrowest valid estimate that ends well after the best one and knows as much as half of its time, where it is as narrow as what is
// measured, or of no lesser quality and not much wider. Else the best one. What consumers report is the best, however old.
func newer(all []dedup.Estimate, best int, valid func(dedup.Estimate) bool) int {
	if best < 0 || all[best].Method == dedup.MethodReported {
		return best
	}
	of, out := all[best].Rate, best
	for i, e := range all {
		f := e.Rate
		if !valid(e) || f.AtMost() || f.At.Sub(of.At) <= patience || 2*f.Covered < of.Covered || !rate.Narrow(f) && !rate.Fresher(f, of, time.Time{}) {
			continue
		}
		if out == best || f.Width() < all[out].Rate.Width() {
			out = i
		}
	}
	return out
}

// cannotTell is the figure of estimates of which none is valid: the reasons of those that could be had, and the narrowest
// interval that one of them still gives.
func cannotTell(window time.Duration, all []dedup.Estimate) dedup.Figure {
	f, found := narrowest(all)
	if n := len(all); !found && n > 0 {
		last := all[n-1].Rate
		f.Source, f.Formula, f.Covered, f.At, f.N = last.Source, last.Formula, last.Covered, last.At, last.N
	}
	var reasons []string
	for _, e := range all {
		if e.Rate.Better != "" {
			reasons = append(reasons, reasonOf(e))
		}
	}
	f.Unit, f.Window = dedup.Ratio, window
	f.Better = betterOf(all)
	f.Quality, f.Why = dedup.QualityUnknown, text.Reasons(reasons...)
	return f
}

// narrowest is the narrowest interval that any of the estimates knows to hold the rate, of equals the first.
func narrowest(all []dedup.Estimate) (f dedup.Figure, found bool) {
	for _, e := range all {
		if r := e.Rate; r.N > 0 && r.Low < r.High && r.Quality != dedup.Estimated && (!found || r.High-r.Low < f.High-f.Low) {
			f, found = r, true
		}
	}
	return f, found
}

// reasonOf is why a source refuses, among the reasons of others. That nobody reports needs no name of a source.
func reasonOf(e dedup.Estimate) string {
	if e.Rate.Why == "" || e.Rate.Source == "" || e.Method == dedup.MethodReported {
		return e.Rate.Why
	}
	return "by the " + e.Rate.Source + ": " + e.Rate.Why
}

// betterOf is the advice of the best source that has one. What an operator can do comes before a change of the consumers' code.
func betterOf(all []dedup.Estimate) string {
	var advice string
	for _, e := range all {
		switch {
		case e.Rate.Better == "":
		case e.Rate.Better != rate.BetterReport:
			return e.Rate.Better
		default:
			advice = e.Rate.Better
		}
	}
	return advice
}

// duplicatesOf turns the interval of a rate into the interval of a count.
func duplicatesOf(rate dedup.Figure) dedup.Figure {
	f := rate
	f.Unit, f.Value, f.Low, f.High = dedup.Count, rate.Hits, min(rate.Hits, rate.Low*rate.N), max(rate.Hits, rate.High*rate.N)
	f.Formula = "the duplicates of the rate: " + rate.Formula
	return f
}
