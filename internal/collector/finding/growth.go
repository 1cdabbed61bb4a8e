package finding

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// A growthNote is what one pass counted of markers that only a purge or an operator takes away.
type growthNote struct {
	ended           time.Time
	failed, Expired int64
	// gaveUp are the given-up messages without a time.
	gaveUp int64
}

// A Growth keeps the counts of the passes of the last hour, one a minute.
type Growth struct{ notes []growthNote }

// Take notes a pass.
func (g *Growth) Take(p *dedup.Pass) {
	const apart, kept = time.Minute, time.Hour
	n := len(g.notes)
	if n > 0 && p.Ended.Before(g.notes[n-1].ended) {
		g.notes, n = nil, 0 // the clock was set back
	}
	if n > 0 && p.Ended.Sub(g.notes[n-1].ended) < apart {
		return
	}
	for len(g.notes) > 0 && p.Ended.Sub(g.notes[0].ended) > kept {
		g.notes = g.notes[1:]
	}
	g.notes = append(g.notes, growthNote{p.Ended, p.States[dedup.Failed], p.Expired, p.UndatedGaveUp})
}

// First returns the oldest pass of the last hour, and whether there is one.
func (g Growth) First() (growthNote, bool) {
	if len(g.notes) == 0 {
		return growthNote{}, false
	}
	return g.notes[0], true
}

// Failed is how many more markers say that the work failed than at the oldest pass of the last hour.
func (g Growth) Failed(p *dedup.Pass) int64 {
	then, _ := g.First()
	return max(0, p.States[dedup.Failed]-then.failed)
}
