package figure

import (
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	restartSource  = "consumers listed by the broker"
	restartFormula = "consumers that ended and whose place another one took, per hour"
)

// Restarts are what the figure of consumer restarts is computed from.
type Restarts struct {
	Window time.Duration
	// Why says why they cannot be told; empty when they can.
	Why       string
	Restarted sample.Increase
	// Closed are the channels that were closed in the whole broker; Blind is true where it does not count them.
	Closed sample.Increase
	Blind  bool
}

// Figure computes the consumer restarts per hour.
func (s Restarts) Figure() dedup.Figure {
	f := dedup.Unknown(dedup.PerHour, s.Why)
	f.Window, f.Source, f.Formula = s.Window, restartSource, restartFormula
	switch {
	case s.Why != "":
	case !s.Restarted.Known || s.Restarted.Covered < ShortestRate:
		f.Why = "the history holds too little of this window yet"
	default:
		v := s.Restarted.Delta / s.Restarted.Covered.Hours()
		f.Quality, f.Value, f.Low, f.High, f.N = dedup.Derived, v, v, v, s.Restarted.Delta
		f.Covered, f.At = s.Restarted.Covered, s.Restarted.At
		// While no channel is closed no consumer can come back as another one.
		if s.Blind || !s.Closed.Known || s.Closed.Delta > 0 {
			f.AtLeast, f.Why = true, "at least: consumers are listed every few minutes and when channels were closed; of one that restarts several times in between, one restart is seen"
		}
	}
	return f
}
