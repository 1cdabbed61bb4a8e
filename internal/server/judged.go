package server

import (
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

// verdictsAt returns the verdicts as they hold at a time: while rounds are late nothing can be told, and the old verdicts
// are not given.
func (s *Server) verdictsAt(snap *dedup.Snapshot, now time.Time) []alerts.Verdict {
	why := show.Late(snap, now)
	if why == "" {
		return s.verdicts(snap)
	}
	out := make([]alerts.Verdict, len(snap.Pipelines))
	for i := range out {
		out[i] = alerts.Verdict{Verdict: rule.Verdict{Why: why}}
	}
	return out
}

// verdicts returns the verdict on each pipeline of the snapshot, in its order. The slice is shared: it is not to be changed.
func (s *Server) verdicts(snap *dedup.Snapshot) []alerts.Verdict {
	view := s.raising(time.Now())
	if j := s.judged.Load(); j != nil && j.snapshot == snap && j.view == view {
		return j.verdicts
	}
	judge := judgeWith(view)
	j := &judgedSnapshot{snapshot: snap, view: view, verdicts: make([]alerts.Verdict, len(snap.Pipelines))}
	for i := range snap.Pipelines {
		j.verdicts[i] = judge(&snap.Pipelines[i])
	}
	s.judged.Store(j)
	return j.verdicts
}

// judgeAt returns how pipelines are judged at a time: by their figures and findings, and by what fires of them. Every page, the API
// and the metrics judge so.
func (s *Server) judgeAt(now time.Time) judge { return judgeWith(s.raising(now)) }

// raising returns the view whose alerts raise tiers; nil without alerts, and while rules were not judged for so long that nothing can
// be told of them.
func (s *Server) raising(now time.Time) *alerts.View {
	if s.alerts.View == nil {
		return nil
	}
	if view := s.alerts.View.View(); alert.LateText(view, now) == "" {
		return view
	}
	return nil
}

func judgeWith(view *alerts.View) judge {
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
