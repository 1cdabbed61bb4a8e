package server

import (
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/show"
)

// judgedSnapshot holds the verdicts on the pipelines of one snapshot under one view of alerts, so that they are reached once for both.
type judgedSnapshot struct {
	snapshot *dedup.Snapshot
	view     *alerts.View
	verdicts []alerts.Verdict
}

// judging reaches verdicts. It is safe for concurrent use.
type judging struct {
	alerts *alert.Deps
	kept   atomic.Pointer[judgedSnapshot]
}

// at returns the verdicts as they hold at a time: while rounds are late nothing can be told, and the old verdicts
// are not given.
func (j *judging) at(snap *dedup.Snapshot, now time.Time) []alerts.Verdict {
	why := show.Late(snap, now)
	if why == "" {
		return j.all(snap)
	}
	out := make([]alerts.Verdict, len(snap.Pipelines))
	for i := range out {
		out[i] = alerts.Verdict{Verdict: rule.Verdict{Why: why}}
	}
	return out
}

// all returns the verdict on each pipeline of the snapshot, in its order. The slice is shared: it is not to be changed.
func (j *judging) all(snap *dedup.Snapshot) []alerts.Verdict {
	view := j.raising(time.Now())
	if k := j.kept.Load(); k != nil && k.snapshot == snap && k.view == view {
		return k.verdicts
	}
	judge := judgeWith(view)
	k := &judgedSnapshot{snapshot: snap, view: view, verdicts: make([]alerts.Verdict, len(snap.Pipelines))}
	for i := range snap.Pipelines {
		k.verdicts[i] = judge(&snap.Pipelines[i])
	}
	j.kept.Store(k)
	return k.verdicts
}

// by returns how pipelines are judged at a time: by their figures and findings, and by what fires of them. Every page, the API
// and the metrics judge so.
func (j *judging) by(now time.Time) show.Judge { return judgeWith(j.raising(now)) }

// raising returns the view whose alerts raise tiers; nil without alerts, and while rules were not judged for so long that nothing can
// be told of them.
func (j *judging) raising(now time.Time) *alerts.View {
	if j.alerts.View == nil {
		return nil
	}
	if view := j.alerts.View.View(); show.AlertsLate(view, now) == "" {
		return view
	}
	return nil
}

func judgeWith(view *alerts.View) show.Judge {
	if view == nil {
		return alerts.Judge
	}
	firing, causes := view.FiringOfPipelines(), view.CausesOfPipelines()
	return func(p *dedup.PipelineStatus) alerts.Verdict {
		v := alerts.JudgeWith(p, firing[p.Pipeline.Name])
		v.Cause = causes[p.Pipeline.Name]
		return v
	}
}
