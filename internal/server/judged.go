package server

import (
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// judgedSnapshot holds the verdicts on the pipelines of one snapshot, so that they are reached once per round.
type judgedSnapshot struct {
	snapshot *dedup.Snapshot
	verdicts []alerts.Verdict
}

// verdictsAt returns the verdicts as they hold at a time: while rounds are late nothing can be told, and the old verdicts
// are not given.
func (s *Server) verdictsAt(snap *dedup.Snapshot, now time.Time) []alerts.Verdict {
	why := late(snap, now)
	if why == "" {
		return s.verdicts(snap)
	}
	out := make([]alerts.Verdict, len(snap.Pipelines))
	for i := range out {
		out[i] = alerts.Verdict{Why: why}
	}
	return out
}

// verdicts returns the verdict on each pipeline of the snapshot, in its order. The slice is shared: it is not to be changed.
func (s *Server) verdicts(snap *dedup.Snapshot) []alerts.Verdict {
	if j := s.judged.Load(); j != nil && j.snapshot == snap {
		return j.verdicts
	}
	j := &judgedSnapshot{snapshot: snap, verdicts: make([]alerts.Verdict, len(snap.Pipelines))}
	for i := range snap.Pipelines {
		j.verdicts[i] = alerts.Judge(&snap.Pipelines[i])
	}
	s.judged.Store(j)
	return j.verdicts
}
