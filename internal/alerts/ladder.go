package alerts

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
)

// minHits are the events that a share must rest on before it is more than normal, as of a duplicate rate.
const minHits = 3

// A ladder holds the limits of a rule for warning, severe and emergency: where a tier is entered, and below what it is left. A tier
// that the rule has not has the limit 0.
type ladder struct {
	enter, leave [3]float64
}

func rung(t dedup.Tier) int { return int(t - dedup.Warning) }

// lowest returns the lowest tier that the rule has, and false for a rule without limits.
func (l ladder) lowest() (dedup.Tier, bool) {
	for t := dedup.Warning; t <= dedup.Emergency; t++ {
		if l.enter[rung(t)] > 0 {
			return t, true
		}
	}
	return dedup.Normal, false
}

// judge fills in what follows from a value.
func (l ladder) judge(j Judgement, v float64) Judgement {
	return l.fill(j, v, func(limits [3]float64, _ dedup.Tier) bool { return true })
}

// judgeShare fills in what follows from a share of hits among j.N, by the rule of the duplicate rate: a tier also needs three hits
// and a Wilson 95 % lower bound above the limit of the tier below it, for the lowest one above half its own.
func (l ladder) judgeShare(j Judgement, hits float64) Judgement {
	lower := WilsonLower(hits, j.N)
	return l.fill(j, hits/j.N, func(limits [3]float64, t dedup.Tier) bool {
		below := limits[rung(t)] / 2
		for r := rung(t) - 1; r >= 0; r-- {
			if limits[r] > 0 {
				below = limits[r]
				break
			}
		}
		return hits >= minHits && lower > below
	})
}

// fill judges a value by both sets of limits; sure says whether the evidence is enough for a tier.
func (l ladder) fill(j Judgement, v float64, sure func(limits [3]float64, t dedup.Tier) bool) Judgement {
	reach := func(limits [3]float64) dedup.Tier {
		for t := dedup.Emergency; t >= dedup.Warning; t-- {
			if limit := limits[rung(t)]; limit > 0 && v >= limit && sure(limits, t) {
				return t
			}
		}
		return dedup.Normal
	}
	j.Health, j.Value = HealthOK, v
	j.Enters = reach(l.enter)
	j.Holds = max(j.Enters, reach(l.leave))
	told := j.Enters
	if told <= dedup.Normal {
		told, _ = l.lowest()
	}
	if told > dedup.Normal {
		j.Limit = l.enter[rung(told)]
	}
	return j
}

// amount writes a value in its unit.
func amount(v float64, unit dedup.Unit) string {
	switch unit {
	case dedup.Ratio:
		return percent(v)
	case dedup.Seconds:
		if math.Abs(v) < 10 {
			return millis(v)
		}
		if d := time.Duration(v * float64(time.Second)); d >= 2*time.Minute {
			return span(d)
		}
		return strconv.FormatFloat(v, 'f', 0, 64) + " s"
	case dedup.PerHour:
		return plain(v) + " per hour"
	case dedup.Bytes:
		return fmt.Sprintf("%s MiB", plain(v/(1<<20)))
	default:
		return plain(v)
	}
}

// plain writes a number without needless decimals.
func plain(v float64) string {
	if v == math.Trunc(v) || math.Abs(v) >= 1000 {
		if v < 0 {
			return "-" + number(-v)
		}
		return number(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
