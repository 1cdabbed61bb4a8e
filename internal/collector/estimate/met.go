package estimate

import (
	"math"

	"dedup-dashboard/internal/dedup"
)

// Met is what the samples of a Held met of the works that a store saw. Where it is known how long these took, the samples need only tell of the
// rest: what was held and not worked on. That is a control variate, as in Glasserman, Monte Carlo Methods in Financial Engineering (2003), §4.1.
type Met struct {
	// Area is the integral of the works under way by the lines of the samples, Took that integral as it is. Both are in message seconds.
	Area, Took float64
	// Noise estimates the variance of Held.Area less this Area.
	Noise float64
	// Gaps counts the samples that cannot be compared with the one before.
	Gaps float64
	last dedup.WorkMet
	rest float64 // what the sample before the last one met besides works, in message seconds
	runs int     // how many samples could be compared since the last gap, as far as two
}

// Meet adds what the samples met of works by the last one, if that is known.
func (h Held) Meet(w dedup.WorkMet, ok bool) Held {
	m := &h.Met
	if !ok || h.gap == 0 || w.Epoch != m.last.Epoch || m.Gaps == 0 { // no line leads to a sample after a gap
		m.Gaps++
		m.last, m.runs = w, 0
		return h
	}
	area := w.Met - m.last.Met
	rest := h.weighed - area
	if m.runs == 2 {
		m.Noise += (rest - m.rest) * (rest - m.rest) / 2
	} else {
		m.runs++
	}
	m.Area, m.Took, m.rest, m.last = m.Area+area, m.Took+w.Took-m.last.Took, rest, w
	return h
}

// since is what was met since another account; its Gaps are those between both.
func (m Met) since(o Met) Met {
	return Met{Area: m.Area - o.Area, Took: m.Took - o.Took, Noise: m.Noise - o.Noise, Gaps: m.Gaps - o.Gaps}
}

func (m Met) plus(o Met) Met {
	return Met{Area: m.Area + o.Area, Took: m.Took + o.Took, Noise: m.Noise + o.Noise, Gaps: m.Gaps + o.Gaps}
}

// An integral is the waiting of a window in message seconds, and twice its standard error.
type integral struct{ area, twice float64 }

// waiting is what the samples tell of all waiting: by the jumps from sample to sample, and at least by 2 / sqrt(S), S the sum of the samples, which
// is what held 95 % of means whose truth was known. Where that tells more, the samples stand for what was not worked on alone.
func (s *stretch) waiting() integral {
	all := integral{s.area, 2 * math.Sqrt(max(s.noise, s.area*s.each()))}
	if !s.meets() {
		return all
	}
	rest := s.area - s.met.Area
	less := integral{rest + s.met.Took, 2 * math.Sqrt(max(s.met.Noise, max(rest, s.each())*s.each()))}
	if less.twice < all.twice && less.area > 0 {
		return less
	}
	return all
}

// meets reports whether it is known what all samples of the window met of works.
func (s *stretch) meets() bool {
	return s.cuts == 0 && s.met.Gaps == 0 && s.met.Took > 0 && s.to.Held.Lost == s.from.Held.Lost
}

// mostMet is the most waiting that the works and the samples of the rest leave, at 95 %.
func (s *stretch) mostMet(lump float64) float64 {
	rest, each := max(0, s.area-s.met.Area), s.each()
	return s.met.Took + max(lump*limit95(rest/each/lump)*each, rest+2*math.Sqrt(s.met.Noise))
}
