package estimate

import (
	"math"
	"slices"
	"sort"
	"time"

	"dedup-dashboard/internal/dedup"
)

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
	// Slipped is how much later than planned samples were taken, in seconds: see Slip.
	Slipped float64
	// Lost are the seconds that no line was drawn over, and LostFrom is when the last of them began.
	Lost     float64
	LostFrom time.Time
	// Blocks, BlockArea and BlockSquares are the number, the sum and the sum of squares of the areas of blockSamples samples each.
	Blocks, BlockArea, BlockSquares float64
	// Longer counts the times that a message could be held unseen that were longer than each of unseenBounds.
	Longer [len(unseenBounds)]uint32
	// Age is how old a sample may have been when it was asked for.
	Age time.Duration
	// First is when the first sample was taken.
	First time.Time
	// Stairs lead up to the last sample: see Stair. They are not changed once made.
	Stairs []Stair
	// Last is the newest sample, At when it was taken, and LastTook how long it took. Broken is true where the next one begins anew.
	Last     float64
	At       time.Time
	LastTook time.Duration
	Broken   bool
	Met      Met
	// block is the area of the block under way, of so many samples.
	block, blockCount float64
	// gap is the time before the last sample, and weighed what the one before that weighs in Area, if lines were drawn.
	gap, weighed float64
}

// A Stair is how many messages every sample since a time has shown at least: no more can have been held since then without an ack.
type Stair struct {
	Since  time.Time
	Height float64
}

// mostStairs bounds the stairs that are kept: more, as of a pile that grows, are made fewer by the step that adds least.
const mostStairs = 32

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
	h.weighed = 0
	switch {
	case h.At.IsZero() || gap <= 0:
	case h.Broken || gap > longestLine+h.Age:
		h.Lost += gap.Seconds()
		h.LostFrom = h.At
		h.block, h.blockCount, h.gap = 0, 0, 0
	default:
		h = h.line(unacked, gap.Seconds(), (took+h.LastTook).Seconds()/2+h.Age.Seconds())
	}
	if unacked > 0 && (h.Last <= 0 || h.Broken || h.At.IsZero()) {
		h.Seen++
	}
	if h.First.IsZero() {
		h.First = at
	}
	h.Stairs = climb(h.Stairs, unacked, at)
	h.Sum += unacked
	h.Count++
	h.Took += took.Seconds()
	h.Last, h.At, h.LastTook, h.Broken = unacked, at, took, false
	return h
}

// TakeOld adds a sample of what the broker itself renews each so often: one of the same renewal again tells nothing more, and is left out. Which works
// it met nobody knows.
func (h Held) TakeOld(unacked float64, at time.Time, took, each time.Duration) Held {
	if !h.Broken && at.Sub(h.At) < each*9/10 {
		return h
	}
	h.Age = each
	return h.Take(unacked, at, took).Meet(dedup.WorkMet{}, false)
}

// Slip says that the next sample was taken so much later than planned. A machine is late just when it is busy, so that what was held meanwhile is met
// less often than what is held at other times.
func (h Held) Slip(late time.Duration) Held {
	h.Slipped += late.Seconds()
	return h
}

// line draws a straight line from the last sample to this one. A message can be held unseen for the gap and for what the two samples
// take, as nobody knows when in that time a queue was asked.
func (h Held) line(unacked, gap, asking float64) Held {
	area := gap * (h.Last + unacked) / 2
	h.Area += area
	h.Span += gap
	h.gap, h.weighed = gap, (h.gap+gap)/2*h.Last
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

// climb returns the stairs after one more sample.
func climb(stairs []Stair, height float64, at time.Time) []Stair {
	i := sort.Search(len(stairs), func(i int) bool { return stairs[i].Height >= height || !stairs[i].Since.Before(at) })
	switch {
	case height <= 0:
		return nil
	case i == len(stairs):
	case i == len(stairs)-1 && stairs[i].Height == height:
		return stairs
	default:
		at = stairs[i].Since
	}
	stairs = append(slices.Clip(stairs[:i]), Stair{at, height})
	if len(stairs) <= mostStairs {
		return stairs
	}
	least, added := 0, math.Inf(1)
	for j := range stairs[1:] {
		if area := (stairs[j+1].Height - stairs[j].Height) * stairs[j+1].Since.Sub(stairs[j].Since).Seconds(); area < added {
			least, added = j, area
		}
	}
	stairs[least+1].Since = stairs[least].Since
	return slices.Delete(stairs, least, least+1)
}

// stood is how many messages every sample from a time to the last one has shown at least.
func (h *Held) stood(since time.Time) float64 {
	i := sort.Search(len(h.Stairs), func(i int) bool { return h.Stairs[i].Since.After(since) })
	if i == 0 {
		return 0
	}
	return h.Stairs[i-1].Height
}

// unborn is how many messages were held when the first sample was taken, and still are.
func (h *Held) unborn() float64 {
	if len(h.Stairs) == 0 || h.Stairs[0].Since.After(h.First) {
		return 0
	}
	return h.Stairs[0].Height
}

// under is the waiting that lies under the stairs, but not below a height, from a time to another, in message seconds: the most that
// those had waited then who are held still.
func (h *Held) under(from, to time.Time, above float64) float64 {
	area, below := 0.0, above
	for _, s := range h.Stairs {
		if s.Height <= below {
			continue
		}
		begin := s.Since
		if from.After(begin) {
			begin = from
		}
		area += (s.Height - below) * max(0, to.Sub(begin).Seconds())
		below = s.Height
	}
	return area
}
