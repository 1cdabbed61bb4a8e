package estimate

import (
	"sort"
	"time"
)

// calmest returns the readings of the window, which begins with the first one, and of scatterSpan before it: where enough are calm, these. They
// are where they were: a day has thousands, and many windows are looked at. The last one lies no further back than reach, and
// calmer is true where it would be calm if it might lie a little further back.
func calmest(readings []Joint, window, reach time.Duration) (kept []*Joint, first int, calmer bool) {
	n := len(readings)
	if n == 0 {
		return nil, 0, false
	}
	begin := readings[n-1].At.Add(-max(window, scatterSpan))
	from := sort.Search(n, func(i int) bool { return !readings[i].At.Before(begin) })
	readings = readings[from:]
	calm := 0
	for i := range readings {
		if readings[i].Calm {
			calm++
		}
	}
	since, all := readings[len(readings)-1].At.Add(-window), calm*calmShare < len(readings)
	kept = make([]*Joint, 0, len(readings))
	for i := range readings {
		k := len(kept)
		if r := &readings[i]; all || r.Calm || k == 0 || r.At.Sub(kept[k-1].At) >= calmPatience || r.Run != kept[k-1].Run {
			kept = append(kept, r)
		}
	}
	if all {
		return kept, sort.Search(len(kept), func(i int) bool { return !kept[i].At.Before(since) }), false
	}
	newest, last := &readings[len(readings)-1], len(kept)-1
	for last > 0 && !kept[last].Calm {
		last--
	}
	switch age := newest.At.Sub(kept[last].At); {
	case kept[last].Calm && age <= reach:
		kept = kept[:last+1]
	default:
		if calmer = kept[last].Calm && age <= calmReach; kept[len(kept)-1] != newest {
			kept = append(kept, newest)
		}
	}
	first = sort.Search(len(kept), func(i int) bool { return !kept[i].At.Before(since) })
	for i := first; i < len(kept) && kept[i].At.Sub(since) <= calmReach; i++ {
		if kept[i].Calm {
			return kept, i, calmer
		}
	}
	return kept, first, calmer
}
