package show

import (
	"slices"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// The parts that a source can play in a duplicate rate. The API has the same words.
const (
	UseShown    = "shown"
	UseCheck    = "cross-check"
	useDisputed = "disputed"
	useReserve  = "in reserve"
	UseRefused  = "refused"
	useAgrees   = "agrees"
)

// Judged is a pipeline with its verdict.
type Judged struct {
	*dedup.PipelineStatus
	Verdict alerts.Verdict
}

// LikelyCause is the likely cause of a pipeline's duplicates: the one that an alert gives, which knows what it said before and was told in
// notifications, else what the figures say. While rounds are late nothing can be told.
func LikelyCause(snap *dedup.Snapshot, p Judged, late string) (cause.Cause, bool) {
	if late != "" {
		return cause.Cause{}, false
	}
	if p.Verdict.Cause.Told() {
		// What figures showed before a source was lost says nothing of now.
		blind := slices.ContainsFunc(p.Down, IsLost)
		return p.Verdict.Cause, !blind || p.Verdict.Cause.Kind == cause.Outage
	}
	if _, ok := cause.Likely(p.PipelineStatus, nil); !ok { // the events of most pipelines need not be joined
		return cause.Cause{}, false
	}
	return cause.Likely(p.PipelineStatus, snap.EventsOf(p.PipelineStatus))
}

// Uses says which part each estimate of a window plays. Of two disputed rates the judged one is shown.
func Uses(p Judged, w *dedup.WindowFigures) [][]string {
	disputed := rule.Disputed(w, p.Pipeline.Limits)
	// Each source has one estimate of a window, so that its name tells whose a figure is.
	is := func(f dedup.Figure) int {
		return slices.IndexFunc(w.Estimates, func(e dedup.Estimate) bool { return f.Known() && e.Rate.Known() && e.Rate.Source == f.Source })
	}
	rate, check := is(w.DuplicateRate), is(w.CrossCheck)
	shown := rate
	if f := p.Verdict.Judged; f.Window == w.Window && is(f) >= 0 {
		shown = is(f)
	}
	uses := make([][]string, len(w.Estimates))
	for i, e := range w.Estimates {
		switch {
		case !e.Rate.Known():
			uses[i] = []string{UseRefused}
			if shown >= 0 && Agrees(e.Rate, w.Estimates[shown].Rate) {
				uses[i] = append(uses[i], useAgrees)
			}
		case i == shown:
			uses[i] = []string{UseShown}
		case i == check || i == rate:
			uses[i] = []string{UseCheck}
		default:
			uses[i] = []string{useReserve}
		}
		if disputed && (i == rate || i == check) {
			uses[i] = append(uses[i], useDisputed)
		}
	}
	return uses
}

// Agrees reports whether a figure lies within the interval of a source that refuses. One that is wider than widest says nothing.
func Agrees(refused, shown dedup.Figure) bool {
	const widest = 0.2
	return Bounds(refused) != "" && refused.High-refused.Low <= widest && shown.Known() && refused.Low <= shown.Low && shown.High <= refused.High
}

// JudgedWindow is the window of the rate that is shown: the judged one, else the configured one.
func JudgedWindow(p Judged) *dedup.WindowFigures {
	if f := p.Verdict.Judged; f.Window > 0 && f.N > 0 {
		return Figures(p.PipelineStatus, f.Window)
	}
	return Figures(p.PipelineStatus, p.Pipeline.Limits.Window)
}
