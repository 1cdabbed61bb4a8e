package figure

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const passSource = "last complete pass over the store"

// Markers are what the marker figures are computed from. Down says why the store cannot be shown; empty if it can.
type Markers struct {
	Now    time.Time
	Scheme dedup.Scheme
	Stats  dedup.StoreStats
	Down   string
	// Since is when the store began to be followed without loss, by our clock; a window reaches back no further.
	Since time.Time
}

// A MarkerFigures holds the marker figures of a pipeline.
type MarkerFigures struct {
	States                      map[dedup.State]dedup.Figure
	NoExpiry, Oldest, Age, Seen dedup.Figure
}

// Figures computes the marker figures. A state that the scheme does not know is absent.
func (s Markers) Figures() MarkerFigures {
	p, why := s.Stats.Pass, s.Down
	if why == "" && p == nil {
		why = "no complete pass over the store yet"
	}
	r := MarkerFigures{States: make(map[dedup.State]dedup.Figure), Seen: s.seen()}
	if why != "" {
		for _, state := range s.Scheme.States {
			r.States[state] = dedup.Unknown(dedup.Count, why)
		}
		r.NoExpiry, r.Oldest = dedup.Unknown(dedup.Count, why), dedup.Unknown(dedup.Seconds, why)
		r.Age = dedup.Unknown(dedup.Seconds, why)
		return r
	}
	for _, state := range s.Scheme.States {
		r.States[state] = dedup.Exact(dedup.Measured, dedup.Count, float64(p.States[state]), p.Ended, passSource)
	}
	for state, n := range p.States {
		r.States[state] = dedup.Exact(dedup.Measured, dedup.Count, float64(n), p.Ended, passSource)
	}
	if f, ok := r.States[dedup.Processing]; ok && p.States[dedup.StateUnknown] > 0 {
		f.AtLeast, f.Why = true, "at least: "+mayBeProcessing(p)
		r.States[dedup.Processing] = f
	}
	var permanent int64
	for _, n := range p.NoExpiry {
		permanent += n
	}
	r.NoExpiry = dedup.Exact(dedup.Measured, dedup.Count, float64(permanent), p.Ended, passSource)
	r.Age = dedup.Exact(dedup.Measured, dedup.Seconds, max(0, s.Now.Sub(p.Ended).Seconds()), s.Now, passSource)
	r.Oldest = s.oldest(p)
	return r
}

// mayBeProcessing says of how many markers it is not known whether they are processing.
func mayBeProcessing(p *dedup.Pass) string {
	n := p.States[dedup.StateUnknown]
	return fmt.Sprintf("%s could not be decoded and may be processing", text.Counted(n, "marker"))
}

func (s Markers) seen() dedup.Figure {
	if s.Down != "" {
		return dedup.Unknown(dedup.Ratio, s.Down)
	}
	if s.Stats.Progress.Started.IsZero() {
		return dedup.Unknown(dedup.Ratio, "no pass is under way")
	}
	return dedup.Exact(dedup.Estimated, dedup.Ratio, s.Stats.Progress.Coverage, s.Now, "pass under way")
}

// oldest is the age of the longest processing marker, as of now: at least, where the beginning of one is not known.
func (s Markers) oldest(p *dedup.Pass) dedup.Figure {
	doubtful := p.States[dedup.StateUnknown] > 0
	switch {
	case len(p.OldestProcessing) == 0 && doubtful:
		return dedup.Unknown(dedup.Seconds, mayBeProcessing(p))
	case len(p.OldestProcessing) == 0:
		return dedup.Unknown(dedup.Seconds, "no marker is processing")
	}
	age := dedup.OldestAge(p.OldestProcessing, s.Now, p.ClockOffset)
	if !age.Known {
		return dedup.Unknown(dedup.Seconds, "the processing markers have no expiry, so that their age cannot be known")
	}
	f := dedup.Exact(dedup.Derived, dedup.Seconds, age.Span.Seconds(), p.Ended, passSource)
	f.N = float64(len(p.OldestProcessing))
	if doubtful {
		f.AtLeast, f.Why = true, "at least: "+mayBeProcessing(p)
	}
	if age.AtLeast {
		f.AtLeast = true
		undated := int64(0)
		for _, m := range p.OldestProcessing {
			if m.Since.IsZero() {
				undated++
			}
		}
		f.Why = fmt.Sprintf("at least: %s %s no known beginning, and %s been seen for as long", text.Counted(undated, "processing marker"),
			text.Agree(undated, "has", "have"), text.Agree(undated, "has", "one has"))
	}
	return f
}

// GaveUp counts the messages that were acked without their work after too many failures, in the window that ends at the
// start of the last pass. It covers the part of the window that the store was followed for, and its sample size is the
// markers of the pass.
func (s Markers) GaveUp(window time.Duration) dedup.Figure {
	p, why := s.Stats.Pass, s.Down
	switch {
	case why != "":
	case s.Scheme.GiveUp == 0:
		why = "the scheme never gives a message up"
	case p == nil:
		why = "no complete pass over the store yet"
	}
	if why != "" {
		f := dedup.Unknown(dedup.Count, why)
		f.Window = window
		return f
	}
	end := p.Started.Add(p.ClockOffset)
	f := dedup.Exact(dedup.Derived, dedup.Count, float64(p.GaveUp.Between(end.Add(-window), end)), p.Started, passSource)
	f.Window, f.Covered, f.N = window, min(max(p.Started.Sub(s.Since), 0), window), float64(p.Matched)
	if s.Scheme.DoneTTL > 0 {
		f.Covered = min(f.Covered, s.Scheme.DoneTTL)
	}
	if p.UndatedGaveUp > 0 {
		f.AtLeast = true
		f.Why = fmt.Sprintf("at least: the retry counters of %s have no expiry, so that the time cannot be known", text.Counted(p.UndatedGaveUp, "message"))
	}
	return f
}

// MeanRetries is the mean number of failures of the messages that have failed and are not done, as of the last pass. Of
// those that failed and are done the counter is gone, so that it says nothing of them.
func (s Markers) MeanRetries(window time.Duration) dedup.Figure {
	f := dedup.Unknown(dedup.Count, s.Down)
	f.Window, f.Source, f.Formula = window, passSource, "sum of the retry counters / retry counters"
	p := s.Stats.Pass
	switch {
	case s.Down != "":
	case s.Scheme.GiveUp == 0:
		f.Why = "the scheme counts no failures"
	case p == nil:
		f.Why = "no complete pass over the store yet"
	default:
		n := float64(p.Retrying + p.GaveUp.Total() + p.UndatedGaveUp)
		if n == 0 {
			f.Why = "no message that failed is waiting to be done"
			return f
		}
		v := float64(p.RetrySum) / n
		f.Quality, f.Value, f.Low, f.High, f.N, f.At, f.Covered = dedup.Measured, v, v, v, n, p.Ended, window
		f.Why = "of messages that failed and are not done, those that were given up included, whenever they failed; a message that was done at last has left no count"
	}
	return f
}
