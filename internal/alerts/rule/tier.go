package rule

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// wilsonZ is the normal quantile of a two-sided 95 % interval.
const wilsonZ = 1.959963984540054

// worstFinding returns the finding of the highest tier, of equals the most harmful one, and how many are above normal.
func worstFinding(findings []dedup.Finding) (worst dedup.Finding, n int) {
	for _, f := range findings {
		if f.Tier <= dedup.Normal {
			continue
		}
		n++
		if f.Tier > worst.Tier || (f.Tier == worst.Tier && f.Harm() < worst.Harm()) {
			worst = f
		}
	}
	return worst, n
}

// downSentence says which sources cannot be read, and why.
func downSentence(down []dedup.SourceHealth) string {
	parts := make([]string, len(down))
	for i, h := range down {
		parts[i] = h.Name + " has not been read yet"
		if h.Tried {
			parts[i] = h.Name + " cannot be read: " + h.Err
		}
	}
	return strings.Join(parts, "; ")
}

// judgement is the outcome for one measure.
type judgement struct {
	tier     dedup.Tier
	possible dedup.Tier
	risk     dedup.Risk
	figure   dedup.Figure
	why      string
}

// judgeDuplicates judges the first window, from the configured one upwards, that holds enough messages. Where its
// cross-check disputes the rate the lower of the two is judged, and the higher is possible. An interval that is too wide
// to be shown as a rate still holds the truth: where its low end alone is above normal, or its high end is normal, that much is certain.
func judgeDuplicates(windows []dedup.WindowFigures, l dedup.Limits) judgement {
	f, w, why := firstJudgeable(windows, l, func(w *dedup.WindowFigures) dedup.Figure { return w.DuplicateRate })
	if j, ok := judgeWide(windows, w, l); ok {
		return j
	}
	if w == nil {
		return judgement{figure: f, why: "duplicate rate unknown: " + why}
	}
	if disputed(f, w.CrossCheck, l) {
		return judgeDisputed(f, w.CrossCheck, l)
	}
	return judgeRate(f, l)
}

// judgeWide looks for an interval that is too wide to be shown as a rate and whose low end is above normal, or whose high end is not, in
// the windows from the configured one up to before. Its low end is judged, and its high end possible.
func judgeWide(windows []dedup.WindowFigures, before *dedup.WindowFigures, l dedup.Limits) (judgement, bool) {
	for i := range windows {
		w := &windows[i]
		if w == before {
			break
		}
		f := w.DuplicateRate
		if w.Window < l.Window || f.Known() || f.Low >= f.High || f.N < l.MinMessages || !Finite(f.Low, f.High, f.N) {
			continue
		}
		j := judgeRate(f, l)
		within := fmt.Sprintf("lies within %s and %s (%s messages in %s)", percent(f.Low), percent(f.High), Number(f.N), Seconds(seen(f)))
		switch {
		case j.tier > dedup.Normal && j.tier == j.possible:
			j.why = fmt.Sprintf("%s all the same: the duplicate rate %s", j.tier, within)
		case j.tier > dedup.Normal:
			j.why = fmt.Sprintf("at least %s: the duplicate rate cannot be told, but %s", j.tier, within)
		case j.possible == dedup.Normal && f.High < l.DuplicateWarning:
			j.why = fmt.Sprintf("the duplicate rate %s, all of it below the warning limit of %s", within, percent(l.DuplicateWarning))
		default:
			continue
		}
		return j, true
	}
	return judgement{}, false
}

// judgeRate judges a rate by its low end; its high end is possible.
func judgeRate(f dedup.Figure, l dedup.Limits) judgement {
	j := judgement{
		tier:     DuplicateTier(f.Low, f.N, l),
		possible: DuplicateTier(f.High, f.N, l),
		risk:     duplicateRisk(f.Low),
		figure:   f,
	}
	j.why = duplicateSentence(f, j.tier, l)
	return j
}

// disputed reports whether two rates that both could be judged exclude each other: their intervals do not meet, and lie
// further apart than the messages explain that only one of them saw.
func disputed(a, b dedup.Figure, l dedup.Limits) bool {
	if !b.Known() || b.Quality == dedup.Estimated || !Finite(b.Low, b.High, b.Value, b.N) || b.N < l.MinMessages {
		return false
	}
	margin := chance(a, b)
	below := func(x, y dedup.Figure) bool { return !x.AtLeast && x.High+margin < y.Low }
	return below(a, b) || below(b, a)
}

// chance bounds, by three standard deviations, how far two true rates can lie apart because their spans end or begin at
// different times. It is 0 for spans that are the same or not known.
func chance(a, b dedup.Figure) float64 {
	covered := min(a.Covered, b.Covered)
	if covered <= 0 || a.At.IsZero() || b.At.IsZero() {
		return 0
	}
	apart := a.At.Sub(b.At).Abs() + a.At.Add(-a.Covered).Sub(b.At.Add(-b.Covered)).Abs()
	alone := min(1, apart.Seconds()/covered.Seconds())
	p := min(max(a.High, b.High), 0.5)
	return 3 * math.Sqrt(alone*p*(1-p)/min(a.N, b.N))
}

// judgeDisputed judges the lower of two rates that exclude each other: a wrong alarm costs trust, and the dispute itself
// is named with the tier that the higher one would have.
func judgeDisputed(a, b dedup.Figure, l dedup.Limits) judgement {
	lower, higher := a, b
	if b.Low < a.Low {
		lower, higher = b, a
	}
	j := judgeRate(lower, l)
	j.possible = max(j.possible, DuplicateTier(higher.High, higher.N, l))
	dispute := fmt.Sprintf("disputed: by %s it is %s, by %s %s; the lower one is judged",
		lower.Source, percentRange(lower), higher.Source, percentRange(higher))
	j.why += "; " + dispute
	j.figure.Why = strings.TrimPrefix(j.figure.Why+"; "+dispute, "; ")
	return j
}

// JudgedWindow is the window over which the duplicates of a pipeline are judged; nil where they cannot be.
func JudgedWindow(p *dedup.PipelineStatus) *dedup.WindowFigures {
	_, w, _ := firstJudgeable(p.Windows, p.Pipeline.Limits, func(w *dedup.WindowFigures) dedup.Figure { return w.DuplicateRate })
	return w
}

// firstJudgeable returns the figure of the first window, from the configured one upwards, that is known, not merely
// estimated, and rests on enough messages, and that window. Failing that it returns the figure of the configured window, no
// window, and why.
func firstJudgeable(windows []dedup.WindowFigures, l dedup.Limits, pick func(*dedup.WindowFigures) dedup.Figure) (dedup.Figure, *dedup.WindowFigures, string) {
	first := dedup.Figure{Why: "no figures yet"}
	seen := false
	why := ""
	for i := range windows {
		w := &windows[i]
		if w.Window < l.Window {
			continue
		}
		f := pick(w)
		if !seen {
			first, seen = f, true
		}
		switch {
		case !f.Known():
			why = cmp.Or(why, f.Why, "no data")
		case f.Quality == dedup.Estimated:
			why = cmp.Or(why, "only estimated, and an estimate sets no tier")
		case !Finite(f.Low, f.High, f.Value, f.N):
			why = "the figure is not a number"
		case f.N < l.MinMessages:
			why = fmt.Sprintf("too few messages to judge (%s in %s)", Number(f.N), SeenIn(w, f))
		default:
			return f, w, ""
		}
	}
	return first, nil, cmp.Or(why, first.Why, "no data")
}

// DuplicateTier returns the tier of a duplicate rate over n messages: the row of the value (normal below the warning
// limit, warning below the severe one, severe up to and including the emergency limit, emergency above it), lowered
// step by step while the evidence is thin. A tier needs MinMessages messages, MinDuplicates duplicates, and a Wilson
// 95 % lower bound above the limit of the tier below it (for warning, above half its own limit).
func DuplicateTier(rate, n float64, l dedup.Limits) dedup.Tier {
	duplicates := math.Round(rate * n)
	if n < l.MinMessages {
		return dedup.TierUnknown
	}
	lower := WilsonLower(duplicates, n)
	enough := duplicates >= l.MinDuplicates
	switch {
	case rate > l.DuplicateEmergency && enough && lower > l.DuplicateSevere:
		return dedup.Emergency
	case rate >= l.DuplicateSevere && enough && lower > l.DuplicateWarning:
		return dedup.Severe
	case rate >= l.DuplicateWarning && enough && lower > l.DuplicateWarning/2:
		return dedup.Warning
	default:
		return dedup.Normal
	}
}

// WilsonLower returns the lower end of the 95 % Wilson score interval of hits out of n (E. B. Wilson, 1927), 0 for n = 0.
func WilsonLower(hits, n float64) float64 {
	if n <= 0 {
		return 0
	}
	p := min(hits/n, 1)
	z2 := wilsonZ * wilsonZ
	centre := p + z2/(2*n)
	spread := wilsonZ * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	// Rounding must not lift the bound above the rate itself, which it would for no hits at all.
	return min(p, max(0, (centre-spread)/(1+z2/n)))
}

// The risk scale is fixed: low [0, 1 %), medium [1 %, 5 %], high above; low [0, 100 ms), medium [100, 500] ms, high above.
// It is read off the value alone: unlike a tier, which wakes people, a risk is not lowered while the evidence is thin.
func duplicateRisk(rate float64) dedup.Risk { return risk(rate, 0.01, 0.05) }
func latencyRisk(mean float64) dedup.Risk   { return risk(mean, 0.100, 0.500) }

func risk(v, medium, high float64) dedup.Risk {
	switch {
	case v > high:
		return dedup.RiskHigh
	case v >= medium:
		return dedup.RiskMedium
	default:
		return dedup.RiskLow
	}
}

func duplicateSentence(f dedup.Figure, t dedup.Tier, l dedup.Limits) string {
	limit := fmt.Sprintf("below the warning limit of %s", percent(l.DuplicateWarning))
	switch t {
	case dedup.Emergency:
		limit = "above the emergency limit of " + percent(l.DuplicateEmergency)
	case dedup.Severe:
		limit = "at or above the severe limit of " + percent(l.DuplicateSevere)
	case dedup.Warning:
		limit = "at or above the warning limit of " + percent(l.DuplicateWarning)
	case dedup.Normal:
		switch {
		case f.Low >= l.DuplicateWarning:
			limit = "too few duplicates to be sure of more than normal"
		case f.IsInterval() && !f.AtLeast && f.High >= l.DuplicateWarning:
			limit = "its low end " + limit
		}
	}
	return fmt.Sprintf("duplicate rate %s, %s (%s of %s messages in %s)", percentRange(f), limit, Number(math.Round(f.Low*f.N)), Number(f.N), Seconds(seen(f)))
}

// Disputed reports whether the rate and the cross-check of a window exclude each other, as the tier decides it: both could
// be judged, neither is an estimate, and their intervals do not meet.
func Disputed(w *dedup.WindowFigures, l dedup.Limits) bool {
	f := w.DuplicateRate
	judgeable := f.Known() && f.Quality != dedup.Estimated && Finite(f.Low, f.High, f.Value, f.N) && f.N >= l.MinMessages
	return judgeable && disputed(f, w.CrossCheck, l)
}
