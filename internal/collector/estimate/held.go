// Package estimate turns samples and counts into figures: arithmetic alone, without a broker, a store or a clock of its own.
package estimate

import "time"

// Held is the running account of the samples of one pipeline's unacked messages. Its sums only grow, so that what lies between two
// accounts is their difference.
type Held struct {
	// Sum and Count are those of the samples.
	Sum, Count float64
	// Area is the integral of the unacked messages over time, in message seconds, by straight lines from sample to sample, and Span
	// the seconds that it covers. Samples are rare just when the broker is busy and much is held, so that their plain mean is too low.
	Area, Span float64
	// Noise estimates the variance of Area. Of samples that do not depend on one another, half the squared difference of two is
	// their variance on average, and each weighs as much as the time to the next one.
	Noise float64
	// Seen counts the times that something was held after a sample of nothing.
	Seen float64
	// Took is how long the samples took together, in seconds: see asking.
	Took float64
	// Lost are the seconds that no line was drawn over, and LostFrom is when the last of them began.
	Lost     float64
	LostFrom time.Time
	// Blocks, BlockArea and BlockSquares are the number, the sum and the sum of squares of the areas of blockSamples samples each.
	Blocks, BlockArea, BlockSquares float64
	// Longer counts the times that a message could be held unseen that were longer than each of unseenBounds.
	Longer [len(unseenBounds)]uint32
	// Since is when the samples began to be above nothing; zero while nothing is held.
	Since time.Time
	// Last is the newest sample, At when it was taken, and LastTook how long it took. Broken is true where the next one begins anew.
	Last     float64
	At       time.Time
	LastTook time.Duration
	Broken   bool
	// block is the area of the block under way, of so many samples.
	block, blockCount float64
}

const (
	// longestLine is the longest time between two samples that a straight line is drawn over: it bears one that failed or gave way.
	longestLine = 10 * time.Second
	// blockSamples is the number of samples in a block: so many that what one message, or one burst of them, adds to neighbouring
	// samples mostly falls into one block, and so few that a window of five minutes has enough blocks.
	blockSamples = 8
)

// unseenBounds are the times that the longest time between two samples is known to within, in seconds.
var unseenBounds = [...]float64{1, 1.25, 1.5, 2, 3, 5, 12}

// Take adds a sample that took so long; at is the middle of that. What was held in a longer gap before it is not known, and not covered.
func (h Held) Take(unacked float64, at time.Time, took time.Duration) Held {
	gap := at.Sub(h.At)
	switch {
	case h.At.IsZero() || gap <= 0:
	case h.Broken || gap > longestLine:
		h.Lost += gap.Seconds()
		h.LostFrom = h.At
		h.block, h.blockCount = 0, 0
	default:
		h = h.line(unacked, gap.Seconds(), (took+h.LastTook).Seconds()/2)
	}
	switch {
	case unacked <= 0:
		h.Since = time.Time{}
	case h.Since.IsZero() || h.Broken:
		h.Since = at
		h.Seen++
	}
	h.Sum += unacked
	h.Count++
	h.Took += took.Seconds()
	h.Last, h.At, h.LastTook, h.Broken = unacked, at, took, false
	return h
}

// line draws a straight line from the last sample to this one. A message can be held unseen for the gap and for what the two samples
// take, as nobody knows when in that time a queue was asked.
func (h Held) line(unacked, gap, asking float64) Held {
	area := gap * (h.Last + unacked) / 2
	h.Area += area
	h.Span += gap
	h.Noise += gap * gap * (unacked - h.Last) * (unacked - h.Last) / 2
	for i, bound := range unseenBounds {
		if gap+asking > bound {
			h.Longer[i]++
		}
	}
	h.block += area
	if h.blockCount++; h.blockCount == blockSamples {
		h.Blocks++
		h.BlockArea += h.block
		h.BlockSquares += h.block * h.block
		h.block, h.blockCount = 0, 0
	}
	return h
}

// Miss says that a sample told nothing of the pipeline: no line is drawn over it.
func (h Held) Miss() Held {
	h.Broken = true
	return h
}
