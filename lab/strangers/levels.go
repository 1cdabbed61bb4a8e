package main

import (
	"maps"
	"slices"
	"sort"
	"time"
)

// levels are what there was at each time: dead letters, done markers and claims that died consumers left behind.
type levels struct {
	dead, orphaned []level
	marks, ends    []int64 // sorted: when done markers were first written, or again after they had ended, and when they ended
}

// A level is how many are there after a change, and how many ever came.
type level struct {
	at          int64
	there, came float64
}

func levelAt(l []level, at int64) level {
	i := sort.Search(len(l), func(i int) bool { return l[i].at > at })
	if i == 0 {
		return level{}
	}
	return l[i-1]
}

func newLevels(events []event) levels {
	l := levels{dead: deadLevels(events), orphaned: orphanLevels(events)}
	slot := map[string]int{} // of a message in ends
	for _, e := range events {
		if e.Kind != kindMark {
			continue
		}
		i, ok := slot[e.ID]
		if ok && l.ends[i] >= e.At { // the marker lives and is renewed
			l.ends[i] = e.At + e.Dur
			continue
		}
		slot[e.ID] = len(l.ends)
		l.marks, l.ends = append(l.marks, e.At), append(l.ends, e.At+e.Dur)
	}
	slices.Sort(l.ends)
	return l
}

func deadLevels(events []event) []level {
	var all []level
	depth := map[string]int64{}
	taken := 0.0
	for _, e := range events {
		switch e.Kind {
		case kindDepth:
			depth[e.Q] = e.N
		case kindTake:
			taken++
		default:
			continue
		}
		there := 0.0
		for n := range maps.Values(depth) {
			there += float64(n)
		}
		all = append(all, level{e.At, there, there + taken})
	}
	return all
}

func orphanLevels(events []event) []level {
	var all []level
	open := map[string]int64{} // when claims that were left behind end
	for _, e := range events {
		switch e.Kind {
		case kindOrphan:
			open[e.ID] = e.At + e.Dur
		case kindWork:
			delete(open, e.ID)
		default:
			continue
		}
		there := 0.0
		for end := range maps.Values(open) {
			if end > e.At {
				there++
			}
		}
		all = append(all, level{at: e.At, there: there})
	}
	return all
}

// deadLetters is the number of dead letters at a time.
func (l *levels) deadLetters(at int64) float64 { return levelAt(l.dead, at).there }

// doneMarkers is how many live done markers there are at a time.
func (l *levels) doneMarkers(at int64) float64 {
	until := func(x []int64) int { return sort.Search(len(x), func(i int) bool { return x[i] > at }) }
	return float64(until(l.marks) - until(l.ends))
}

// orphans is how many claims of died consumers are still there at a time.
func (l *levels) orphans(at int64) float64 { return levelAt(l.orphaned, at).there }

// around are the bounds of a level from before a time until after it, each step.
func around(level func(int64) float64, at time.Time, before, after, step time.Duration) bounds {
	b := nothing()
	for d := -before; d <= after; d += step {
		b.include(level(at.Add(d).UnixMicro()))
	}
	return b
}

// inflow is how many dead letters came per hour. Depths are looked at each second and told seconds late.
func (l *levels) inflow(f figure) (bounds, bool) {
	if f.Covered <= 0 {
		return bounds{}, false
	}
	const late = 6_000_000
	came := func(from, to int64) float64 {
		return max(0, levelAt(l.dead, to).came-levelAt(l.dead, from).came) * 3600 / f.Covered
	}
	from, to := f.span()
	return bounds{came(from+late, to-late), came(from-late, to+late)}, true
}
