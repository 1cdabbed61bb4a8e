package sample

import (
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/dedup"
)

// A LiveReading is what a broker's live counts told of the source queues of one pipeline, as of one moment. Counts are compared within one Since.
type LiveReading struct {
	// Began and Ended bound the moment, At is their middle.
	At, Began, Ended time.Time
	Since            time.Time
	Quiet            time.Time // see dedup.LiveCount
	Acked, Delivered LiveSum
	// Redelivered is at most, Closed the channels that were closed, MayBeClosed how many more there may be until later readings tell.
	Redelivered, Closed, MayBeClosed float64
	// Fetched are those of Delivered that somebody fetched one by one, Automatic the deliveries that need no ack.
	Fetched, Automatic float64
	// Out is how many deliveries were out at most, where OutKnown. met is true once that was looked for.
	Out           float64
	OutKnown, met bool
}

// SumLive is the sum of the counts of queues; false where the broker does not tell those of all of them.
func SumLive(c *dedup.LiveCounts, refs []dedup.QueueRef) (LiveReading, bool) {
	r, unseen := LiveReading{At: c.Began.Add(c.Ended.Sub(c.Began) / 2), Began: c.Began, Ended: c.Ended, Quiet: c.Began}, 0.0
	for _, ref := range refs {
		q, ok := c.Queues[ref]
		if !ok {
			return r, false
		}
		if q.Since.After(r.Since) {
			r.Since = q.Since
		}
		if q.Quiet.Before(r.Quiet) {
			r.Quiet = q.Quiet
		}
		r.Acked.add(q.Acked, q.Unsure, q.Open)
		r.Delivered.add(q.Delivered, q.DeliveredUnsure, q.DeliveredOpen)
		r.Redelivered, r.Closed, r.MayBeClosed = r.Redelivered+q.Redelivered, r.Closed+q.Closed, r.MayBeClosed+q.MayBeClosed
		r.Fetched, r.Automatic = r.Fetched+q.Fetched, r.Automatic+q.Automatic
		unseen = max(unseen, q.Unseen)
	}
	r.Closed += unseen
	return r, true
}

// Joint is the side of a joint reading that the broker tells.
func (r *LiveReading) Joint() estimate.Joint {
	return estimate.Joint{At: r.At, Acked: r.Acked.Count, Unsure: r.Acked.Unsure, Open: r.Acked.Open,
		Delivered: r.Delivered.Count, DeliveredUnsure: r.Delivered.Unsure, DeliveredOpen: r.Delivered.Open,
		Fetched: r.Fetched, Redelivered: r.Redelivered, Closed: r.Closed, MayBeClosed: r.MayBeClosed}
}

// A LiveSum is a count of dedup.LiveCount: at least Count, of which Unsure and Open are missing.
type LiveSum struct{ Count, Unsure, Open float64 }

func (s *LiveSum) add(count, unsure, open float64) {
	s.Count, s.Unsure, s.Open = s.Count+count, s.Unsure+unsure, s.Open+open
}

// between bounds what a count gained.
func (s LiveSum) between(later LiveSum) (low, high float64) {
	return max(0, later.Count-s.Count-s.Open), later.Count - s.Count + later.Unsure - s.Unsure + later.Open
}
