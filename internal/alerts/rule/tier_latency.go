package rule

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
)

// judgeLatency judges a mean that was measured. Failing that it judges the ends of what is known.
func judgeLatency(windows []dedup.WindowFigures, l dedup.Limits) judgement {
	f, w, why := firstJudgeable(windows, l, func(w *dedup.WindowFigures) dedup.Figure {
		f := w.AckMean
		if f.IsInterval() {
			f.Quality = dedup.QualityUnknown
		}
		return f
	})
	if w == nil {
		if bounded, ok := boundedLatency(windows, l); ok {
			return judgeBound(bounded, l)
		}
		return judgement{figure: f, why: "ack latency unknown: " + why}
	}
	j := judgement{tier: LatencyTier(f.Value, l), risk: latencyRisk(f.Value), figure: f}
	j.possible = j.tier
	j.why = latencySentence(f, j.tier, l)
	return j
}

// boundedLatency returns the estimate of the first window, from the configured one upwards, that has one, unless what was seen in the
// first window excludes it; else the first bounds without a number.
func boundedLatency(windows []dedup.WindowFigures, l dedup.Limits) (dedup.Figure, bool) {
	var bound dedup.Figure
	for i := range windows {
		f := windows[i].AckMean
		if windows[i].Window < l.Window || !f.Known() || !Finite(f.Low, f.High, f.Value, f.N) {
			continue
		}
		switch {
		case f.Bounded() && !bound.Known():
			bound = f
		case f.InBand() && (!bound.Known() || f.Low <= bound.High && bound.Low <= f.High):
			return f, true
		}
	}
	return bound, bound.Known()
}

// judgeBound judges a mean by the ends of what is known, as a rate is judged: a number in a band by its low end, while its high end is
// possible. Bounds alone decide where both are of one tier, or the low one is above normal: an upper bound can prove that a mean is normal, and its
// risk low, and nothing worse.
func judgeBound(f dedup.Figure, l dedup.Limits) judgement {
	few := f.N < l.MinMessages
	if f.InBand() && !few {
		return judgeBand(f, l)
	}
	j := judgement{figure: f}
	if latencyRisk(f.High) == dedup.RiskLow {
		j.risk = dedup.RiskLow
	}
	what := "mean ack latency " + boundsText(f)
	if few {
		what = "mean ack latency at most " + secondsText(f.High)
	}
	switch low, high := LatencyTier(f.Low, l), LatencyTier(f.High, l); {
	case high == dedup.Normal:
		j.tier, j.possible = dedup.Normal, dedup.Normal
		j.why = fmt.Sprintf("%s, below the warning limit of %s (%s messages in %s)", what, secondsText(l.LatencyWarning), Number(f.N), Seconds(seen(f)))
	case low > dedup.Normal && !few:
		return judgeBand(f, l)
	default:
		j.why = fmt.Sprintf("ack latency unknown: %s, which may be normal or not", what)
	}
	return j
}

// boundsText says what is known of a mean of which there is no number.
func boundsText(f dedup.Figure) string {
	if f.AtMost() {
		return "at most " + secondsText(f.High)
	}
	return "between " + secondsText(f.Low) + " and " + secondsText(f.High)
}

// judgeBand judges a number by the low end of its band, or bounds by their lower one; the high end is possible.
func judgeBand(f dedup.Figure, l dedup.Limits) judgement {
	j := judgement{tier: LatencyTier(f.Low, l), possible: LatencyTier(f.High, l), risk: latencyRisk(f.Low), figure: f}
	j.why = latencySentence(f, j.tier, l)
	return j
}

// LatencyTier returns the tier of a mean ack latency in seconds. Latency has no emergency tier.
func LatencyTier(mean float64, l dedup.Limits) dedup.Tier {
	switch {
	case mean > l.LatencySevere:
		return dedup.Severe
	case mean >= l.LatencyWarning:
		return dedup.Warning
	default:
		return dedup.Normal
	}
}

func latencySentence(f dedup.Figure, t dedup.Tier, l dedup.Limits) string {
	limit := "below the warning limit of " + secondsText(l.LatencyWarning)
	value := secondsText(f.Value)
	if f.Bounded() {
		value = boundsText(f)
	}
	if f.InBand() {
		value += fmt.Sprintf(" (%s to %s)", secondsText(f.Low), secondsText(f.High))
		if t == dedup.Normal && f.High >= l.LatencyWarning {
			limit = "its low end " + limit
		}
	}
	switch t {
	case dedup.Severe:
		limit = "above the severe limit of " + secondsText(l.LatencySevere)
	case dedup.Warning:
		limit = "at or above the warning limit of " + secondsText(l.LatencyWarning)
	}
	return fmt.Sprintf("mean ack latency %s, %s (%s messages in %s)", value, limit, Number(f.N), Seconds(seen(f)))
}
