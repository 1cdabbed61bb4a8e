package sample

import (
	"math"
)

// A Gain bounds what the broker did with the messages of one pipeline between two times. Redelivered is at most.
type Gain struct {
	Acked, Delivered    [2]float64
	Redelivered, Closed float64
	// Taken are the dead letters that were taken out of the pipeline's queues and may have been sent again, as far as that is known.
	Taken float64
	// Fetched are those of Delivered that somebody fetched one by one; known where Live.
	Fetched float64
	// Live is true where live counts told it. Slack is by how much a count may be off that was taken between two readings.
	Live  bool
	Slack float64
}

// AsksLeast is how many deliveries asked the store at least: those that were acked, and those that came back, save what waited in the
// prefetch of channels that were closed.
func (g Gain) AsksLeast(prefetch int64) float64 {
	switch {
	case g.Closed == 0:
		return g.Acked[0] + g.Redelivered
	case prefetch > 0:
		return g.Acked[0] + max(0, g.Redelivered-g.Closed*float64(prefetch))
	}
	return g.Acked[0]
}

// DiedAsking bounds the deliveries that asked the store and whose consumers died before the ack, where a channel asked for so many that it did not ack, and held so many; 0 where nothing bounds these. Those
// of the channels that were closed lately may not have come back yet.
func (g Gain) DiedAsking(asked, held int64, lately float64) float64 {
	most, waiting := math.Inf(1), math.Inf(1)
	if asked > 0 {
		most = g.Closed * float64(asked)
	}
	switch {
	case lately <= 0:
		waiting = 0
	case held > 0:
		waiting = lately * float64(held)
	}
	return min(most, g.Redelivered+waiting)
}
