package collector

import (
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// The shape of a sparkline: one point a minute for an hour.
const (
	sparkStep   = time.Minute
	sparkPoints = 60
)

// A spark is the judged duplicate rate over the last hour.
type spark struct{ points []dedup.Point }

// add takes the figure of now: a new point once a minute, between those the newest one is brought up to date.
func (s *spark) add(at time.Time, f dedup.Figure) {
	v := math.NaN()
	if f.Known() {
		v = f.Value
	}
	at = at.Truncate(sparkStep)
	if n := len(s.points); n > 0 && !s.points[n-1].At.Before(at) {
		s.points[n-1].Value = v
		return
	}
	s.points = append(s.points, dedup.Point{At: at, Value: v})
	s.trim(at)
}

// restore puts what the history holds before the points that are there already.
func (s *spark) restore(old []dedup.Point) {
	kept := slices.Clone(old)
	if len(s.points) > 0 {
		first := s.points[0].At
		kept = slices.DeleteFunc(kept, func(p dedup.Point) bool { return !p.At.Before(first) })
	}
	s.points = append(kept, s.points...)
	if n := len(s.points); n > 0 {
		s.trim(s.points[n-1].At)
	}
}

func (s *spark) trim(now time.Time) {
	s.points = slices.DeleteFunc(s.points, func(p dedup.Point) bool { return now.Sub(p.At) >= sparkPoints*sparkStep })
	if extra := len(s.points) - sparkPoints; extra > 0 {
		s.points = slices.Delete(s.points, 0, extra)
	}
}

// copy returns the points for a snapshot.
func (s *spark) copy() []dedup.Point { return slices.Clone(s.points) }
