package collector

import (
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/series"
)

// A healthSeries is what is stored of how a source is.
type healthSeries struct {
	src    *source.Source
	missed *counter.Tally
	// counted are the missed ticks that the tally holds.
	counted uint64
}

func newHealthSeries(s *source.Source, b *counter.Book) *healthSeries {
	h := &healthSeries{src: s, missed: b.Tally(series.SourceMissed, "source", s.Name)}
	h.missed.Open = true
	return h
}

// keep adds how the source is now, once it was tried.
func (s *healthSeries) keep(into counter.Batch, now time.Time) {
	h := s.src.Status(now)
	if !h.Tried {
		return
	}
	up := 0.0
	if h.OK {
		up = 1
	}
	into.Add(series.SourceUp, up, "source", s.src.Name)
	into.Add(series.SourceDuration, h.Took.Seconds(), "source", s.src.Name)
	if h.Missed > s.counted {
		s.missed.Total += float64(h.Missed - s.counted)
		s.counted = h.Missed
	}
	into.Tallies(s.missed)
	if !h.LastSuccess.IsZero() {
		into.Add(series.SourceLastSuccess, float64(h.LastSuccess.UnixMilli())/1e3, "source", s.src.Name)
	}
}
