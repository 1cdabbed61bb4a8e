package exports

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// A spread is a distribution with whatever buckets it was published with: counts by upper bound, cumulated. It has none where only sum
// and count are known.
type spread struct {
	buckets    map[float64]float64
	sum, count float64
}

// spread is what a field with a distribution came to, in seconds.
func (i *instance) spread(p *program, field string) (spread, bool) {
	counts := i.alternatives(p, field)
	if len(counts) == 0 {
		return spread{}, false
	}
	scale := 1.0
	if p.recipe.Milliseconds {
		scale = 1e-3
	}
	out := spread{buckets: map[float64]float64{}}
	for at, value := range i.counted {
		if at.field != field || !slices.Contains(counts, at.alternative) {
			continue
		}
		switch le, bucket := strings.CutPrefix(string(at.part), string(partBucket)); {
		case at.part == partSum:
			out.sum += value * scale
		case at.part == partCount:
			out.count += value
		case bucket:
			if bound, err := strconv.ParseFloat(le, 64); err == nil && bound > 0 {
				out.buckets[bound*scale] += value
			}
		}
	}
	if !out.whole() {
		out.buckets = nil
	}
	return out, true
}

// whole reports whether the buckets are those of one distribution: they rise with their bounds, up to the count. They do not where
// series of one instance have different bounds.
func (s spread) whole() bool {
	before := 0.0
	for _, bound := range slices.Sorted(maps.Keys(s.buckets)) {
		if s.buckets[bound] < before {
			return false
		}
		before = s.buckets[bound]
	}
	return s.buckets[math.Inf(1)] == s.count && len(s.buckets) > 1
}

// and adds another distribution: of the buckets those that both have.
func (s spread) and(other spread) spread {
	switch {
	case s.count == 0:
		return other
	case other.count == 0:
		return s
	}
	out := spread{buckets: map[float64]float64{}, sum: s.sum + other.sum, count: s.count + other.count}
	for bound, n := range s.buckets {
		if m, ok := other.buckets[bound]; ok {
			out.buckets[bound] = n + m
		}
	}
	return out
}

// distribution is the spread for the collector.
func (s spread) distribution() *dedup.Distribution {
	d := &dedup.Distribution{Sum: s.sum, Count: s.count}
	if s.whole() {
		for _, bound := range slices.Sorted(maps.Keys(s.buckets)) {
			d.Bounds, d.Counts = append(d.Bounds, bound), append(d.Counts, s.buckets[bound])
		}
	}
	return d
}

// latency is the spread as consumers report one in Redis; none where its buckets are others.
func (s spread) latency() dedup.LatencyCounts {
	bounds := dedup.LatencyBounds()
	if len(s.buckets) != len(bounds) {
		return dedup.LatencyCounts{}
	}
	out, before := dedup.LatencyCounts{Sum: int64(math.Round(s.sum * 1e6))}, 0.0
	for _, bound := range bounds {
		n, ok := s.buckets[bound]
		if !ok {
			return dedup.LatencyCounts{}
		}
		out.Buckets, before = append(out.Buckets, int64(math.Round(n-before))), n
	}
	return out
}
