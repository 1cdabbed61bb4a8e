package figure

import (
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// The shape of a sparkline: one point a minute for an hour.
const (
	SparkStep   = time.Minute
	SparkPoints = 60
)

// A Spark is the judged duplicate rate over the last hour.
type Spark struct{ points []dedup.Point }

// Add takes the figure of now: a new point once a minute, between those the newest one is brought up to date.
func (s *Spark) Add(at time.Time, f dedup.Figure) {
	v := math.NaN()
	if f.Known() {
		v = f.Value
	}
	at = at.Truncate(SparkStep)
	if n := len(s.points); n > 0 && !s.points[n-1].At.Before(at) {
		s.points[n-1].Value = v
		return
	}
	s.points = append(s.points, dedup.Point{At: at, Value: v})
	s.trim(at)
}

// Restore puts what the history holds before the points that are there already.
func (s *Spark) Restore(old []dedup.Point) {
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

func (s *Spark) trim(now time.Time) {
	s.points = slices.DeleteFunc(s.points, func(p dedup.Point) bool { return now.Sub(p.At) >= SparkPoints*SparkStep })
	if extra := len(s.points) - SparkPoints; extra > 0 {
		s.points = slices.Delete(s.points, 0, extra)
	}
}

// Points returns them for a snapshot.
func (s *Spark) Points() []dedup.Point { return slices.Clone(s.points) }
