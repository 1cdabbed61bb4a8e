package window

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// An EventSource knows what the events of a store came to at a moment of the last seconds; not ok until that is certain.
type EventSource interface {
	EventsAt(when time.Time) (dedup.EventCounts, bool)
}

// A Store is what a store told over time. It belongs to the round.
type Store struct {
	// Source is nil for a store that has no events.
	Source EventSource
	// Users are the pipelines whose markers are there, in the order of the configuration.
	Users []*Pipeline
	// First is when the store was first read in this run.
	First time.Time
	// Disturbed is when markers were last lost, with the reason.
	Disturbed    time.Time
	DisturbedWhy string

	Inserts    sample.Inserts
	Statements sample.Statements
	Events     sample.Events
	Growth     finding.Growth
	// Earlier are the passes before the newest one.
	Earlier []rate.PassNote
}

// works are those that the store's events told of between two times.
func (s *Store) works(from, to time.Time) (estimate.Works, bool) {
	readings := s.Events.Epoch()
	i := sort.Search(len(readings), func(i int) bool { return !readings[i].At.Before(from) })
	j := sort.Search(len(readings), func(j int) bool { return readings[j].At.After(to) }) - 1
	if i >= j {
		return estimate.Works{}, false
	}
	first, last := readings[i].Work.Sketch(), readings[j].Work.Sketch()
	return estimate.Works{From: readings[i].At, To: readings[j].At, Times: last.Since(first)}, true
}

// doubled are the done markers that were written again since a time, and those of them that prove a double effect.
func (s *Store) doubled(since time.Time) (again, twice float64) {
	r := s.Events.Epoch()
	if len(r) == 0 {
		return 0, 0
	}
	a, b := &r[max(sort.Search(len(r), func(i int) bool { return r[i].At.After(since) })-1, 0)], &r[len(r)-1]
	return b.Again - a.Again, b.Twice - a.Twice
}
