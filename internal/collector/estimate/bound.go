package estimate

import "math"

// fewestBlocks is the number of blocks from which on their sums tell how far what is held comes in lumps.
const fewestBlocks = 4

// bound is the highest mean, in seconds, that the samples leave: 95 of 100 such bounds hold. It is the lower of two, and formula says
// which one. Less is divided by than was delivered: what was held when the window began was delivered before, and what is delivered
// again was not acked. So it holds where messages go round, too.
func (s *stretch) bound(capacity float64) (high float64, formula string) {
	n, each := s.settled(), s.each()
	held, sum := s.area+s.older+s.missed, s.sum+s.older/each
	lump := s.lump(held/each, capacity)
	high, formula = lump*limit95(held/each/lump)*each/n, "φ · ½χ²(2(S/φ + 1)) · Δ / n, at 95 %; S unacked over the samples, Δ apart, φ of them at once, n acks"
	if s.meets() {
		if met := (s.mostMet(lump) + s.older + s.missed) / n; met < high {
			high, formula = met, "(w + φ · ½χ²(2(S/φ + 1)) · Δ) / n, at 95 %; w the work, S unacked over the samples without the works that they met, Δ apart, φ of them at once, n acks"
		}
	}
	if sure := s.unseen * (1 + sum/n); sure < high {
		high, formula = sure, "Δ · (1 + S / n); S unacked over the samples, at most Δ apart, n acks"
	}
	return roundUp(high), formula
}

// most95 is the highest that the 95th percentile can be, in seconds: what is held for longer than the longest time between two
// samples is in one of them. It is not ok where more than a twentieth can have been held for so long, or samples are missing.
func (s *stretch) most95() (high float64, ok bool) {
	return s.unseen, !math.IsInf(s.unseen, 1) && s.sum+s.older/s.each() < 0.05*s.settled()
}

// settled is the least number of messages that were delivered and acked in the window.
func (s *stretch) settled() float64 {
	n := min(s.delivered, s.acked)
	if unsure := s.open + s.from.More + s.to.Less; n > unsure {
		n -= unsure
	}
	first, _ := s.ends(s.late)
	if held, ok := heldIn(first); ok && n > held-s.floor {
		n -= held - s.floor
	}
	return n
}

// lump is how many of the samples' sum come at once, by chance or because messages come in bursts: the variance of the sums of
// neighbouring samples over their mean, 1 where each comes by itself. Where nothing was ever seen it is the most that a burst can be: what
// the consumers can take, if that is known, and what was delivered in each of the readings that counted something. What was seen a few
// times only may have been the rest of a burst each time: it says no more than so many parts of that.
func (s *stretch) lump(sum, capacity float64) float64 {
	most := s.delivered / max(1, s.busy)
	if capacity > 0 {
		most = min(most, capacity)
	}
	least := max(1, most/(1+s.seen))
	if sum <= 0 {
		return least
	}
	if s.blocks < fewestBlocks || s.blockArea <= 0 {
		return max(least, sum)
	}
	mean := s.blockArea / s.blocks
	variance := max(0, s.blockSquares-s.blockArea*mean) / (s.blocks - 1)
	return max(least, variance/mean/s.each())
}

// limit95 is the highest mean of a count that came out as n, or lower, once in twenty times: half the 95th percentile of χ² with 2(n+1)
// degrees of freedom, after Wilson and Hilferty (1931), whose error of less than 1 % is added.
func limit95(n float64) float64 {
	const z = 1.6448536269514722
	a := n + 1
	return 1.01 * a * math.Pow(1-1/(9*a)+z/(3*math.Sqrt(a)), 3)
}

// roundUp rounds a bound up to two digits, so that it still holds as it is printed.
func roundUp(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Ceil(v/unit-1e-9) * unit
}
