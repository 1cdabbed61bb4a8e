package series

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Downsample returns at most two points for each of a number of columns of equal width: the lowest and the highest of
// the column, in the order of time. Every point it returns is one of the given ones, so nothing is drawn in a gap; the
// extremes of the line are kept. Points must be in the order of time; those that are not finite are left out.
func Downsample(points []dedup.Point, columns int) []dedup.Point {
	points = finite(points)
	if len(points) == 0 || columns <= 0 {
		return nil
	}
	start := points[0].At
	width := points[len(points)-1].At.Sub(start)/time.Duration(columns) + 1
	out := make([]dedup.Point, 0, min(len(points), 2*columns))
	for from := 0; from < len(points); {
		column := points[from].At.Sub(start) / width
		low, high, to := from, from, from+1
		for ; to < len(points) && points[to].At.Sub(start)/width == column; to++ {
			if points[to].Value < points[low].Value {
				low = to
			}
			if points[to].Value > points[high].Value {
				high = to
			}
		}
		out = append(out, points[min(low, high)])
		if low != high {
			out = append(out, points[max(low, high)])
		}
		from = to
	}
	return out
}

// Split cuts a line wherever two neighbours are further apart than longest, or a value is not finite, so that gaps are
// not drawn over. Split before Downsample: afterwards the distances say nothing any more.
func Split(points []dedup.Point, longest time.Duration) [][]dedup.Point {
	var out [][]dedup.Point
	start := 0
	cut := func(end, next int) {
		if end > start {
			out = append(out, points[start:end])
		}
		start = next
	}
	for i, p := range points {
		switch {
		case !isFinite(p.Value):
			cut(i, i+1)
		case i > start && p.At.Sub(points[i-1].At) > longest:
			cut(i, i)
		}
	}
	cut(len(points), len(points))
	return out
}

func finite(points []dedup.Point) []dedup.Point {
	for i, p := range points {
		if !isFinite(p.Value) {
			out := append([]dedup.Point(nil), points[:i]...)
			for _, p := range points[i:] {
				if isFinite(p.Value) {
					out = append(out, p)
				}
			}
			return out
		}
	}
	return points
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
