package dedup

import (
	"maps"
	"math"
	"slices"
	"time"
)

// sketchGrowth is the ratio of two neighbouring bounds of a Sketch: a quantile is off by at most half of that, 2 %.
const sketchGrowth = 1.04

// sketchLeast is the upper bound of the first bucket of a Sketch.
const sketchLeast = 100 * time.Microsecond

// A Sketch is a distribution of durations in buckets that grow geometrically, so that its quantiles have a relative error of
// at most 2 % at any scale (Masson, Rim, Lee: DDSketch, VLDB 2019). The zero value is empty. It is not safe for concurrent use.
type Sketch struct {
	buckets map[int]int64
	count   int64
	sum     time.Duration
}

// Add counts one duration; a negative one counts as 0.
func (s *Sketch) Add(d time.Duration) {
	d = max(0, d)
	if s.buckets == nil {
		s.buckets = make(map[int]int64)
	}
	s.buckets[bucketOf(d)]++
	s.count++
	s.sum += d
}

func bucketOf(d time.Duration) int {
	if d <= sketchLeast {
		return 0
	}
	return int(math.Ceil(math.Log(float64(d)/float64(sketchLeast)) / math.Log(sketchGrowth)))
}

// Count returns how many durations were added, Sum their sum.
func (s *Sketch) Count() int64       { return s.count }
func (s *Sketch) Sum() time.Duration { return s.sum }

// Clone returns a copy that shares nothing.
func (s *Sketch) Clone() Sketch {
	return Sketch{buckets: maps.Clone(s.buckets), count: s.count, sum: s.sum}
}

// Merge adds all durations of another sketch.
func (s *Sketch) Merge(other Sketch) {
	if s.buckets == nil {
		s.buckets = make(map[int]int64, len(other.buckets))
	}
	for i, n := range other.buckets {
		s.buckets[i] += n
	}
	s.count += other.count
	s.sum += other.sum
}

// Since returns the durations that were added after earlier, an earlier state of the same sketch, was taken.
func (s *Sketch) Since(earlier Sketch) Sketch {
	out := Sketch{buckets: make(map[int]int64), count: s.count - earlier.count, sum: s.sum - earlier.sum}
	for i, n := range s.buckets {
		if n -= earlier.buckets[i]; n > 0 {
			out.buckets[i] = n
		}
	}
	return out
}

// Quantile returns the q-quantile by nearest rank, 0 < q <= 1, as the geometric middle of its bucket; zero when empty.
func (s *Sketch) Quantile(q float64) time.Duration {
	rank := int64(math.Ceil(q * float64(s.count)))
	for _, i := range slices.Sorted(maps.Keys(s.buckets)) {
		if rank -= s.buckets[i]; rank <= 0 {
			if i == 0 {
				return sketchLeast / 2
			}
			return time.Duration(float64(sketchLeast) * math.Pow(sketchGrowth, float64(i)-0.5))
		}
	}
	return 0
}

// Longest returns the most that the k longest took together, and the ends of the bucket that the k-th longest is in; all zero where there are
// fewer than k, or k is less than 1.
func (s *Sketch) Longest(k int64) (sum, low, high time.Duration) {
	if k < 1 || k > s.count {
		return 0, 0, 0
	}
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(s.buckets))) {
		high = time.Duration(float64(sketchLeast) * math.Pow(sketchGrowth, float64(i)))
		if n := s.buckets[i]; n < k {
			sum, k = sum+time.Duration(n)*high, k-n
			continue
		}
		if i > 0 {
			low = time.Duration(float64(high) / sketchGrowth)
		}
		return min(s.sum, sum+time.Duration(k)*high), low, high
	}
	return 0, 0, 0
}

// A PackedSketch is a Sketch as it is kept in great numbers: 16 bytes a bucket. The zero value is empty, and it is read-only.
type PackedSketch struct {
	buckets []packedBucket
	count   int64
	sum     time.Duration
}

type packedBucket struct {
	index int32
	n     int64
}

// Pack returns the sketch in little memory. It shares the buckets of like, an earlier state of the same sketch, when nothing
// was added since.
func (s *Sketch) Pack(like PackedSketch) PackedSketch {
	if s.count == like.count && s.sum == like.sum {
		return like
	}
	out := PackedSketch{buckets: make([]packedBucket, 0, len(s.buckets)), count: s.count, sum: s.sum}
	for _, i := range slices.Sorted(maps.Keys(s.buckets)) {
		out.buckets = append(out.buckets, packedBucket{int32(i), s.buckets[i]})
	}
	return out
}

// Sketch returns the packed sketch as one to work with.
func (p PackedSketch) Sketch() Sketch {
	s := Sketch{buckets: make(map[int]int64, len(p.buckets)), count: p.count, sum: p.sum}
	for _, b := range p.buckets {
		s.buckets[int(b.index)] = b.n
	}
	return s
}
