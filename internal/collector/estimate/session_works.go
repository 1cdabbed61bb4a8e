package estimate

import (
	"slices"
	"time"
)

// works is how often the work of an id was done, and how many of these cannot be told from duplicates.
func (j *joined) works(m SessionMarker, s settling, done time.Time) (works, unsure int64) {
	if told := j.told(m); j.Listened && len(told) > 0 {
		if j.claims() { // a claim that failed is deleted, and made anew
			return max(1, int64(len(told))-m.Failed-s.crashed), 0
		}
		return int64(len(told)), 0
	}
	if j.claims() || j.Scheme.DatesClaim { // a claim that was made anew is no second work
		return 1, 0
	}
	works = max(1, int64(len(m.Set)))
	if j.Scheme.Mark != "after" || j.Scheme.Transactional || len(m.Set) == 0 {
		return min(works, int64(len(s.kept))), 0
	}
	// A marker after the work is set anew by each work: whoever asked before it was set found none, and worked.
	last, looked := m.Set[len(m.Set)-1], int64(0)
	for _, i := range s.kept {
		if j.looked[i].Before(last.Add(-tie)) {
			looked++
		}
	}
	if looked > works {
		return min(looked, int64(len(s.kept))), looked - works
	}
	return min(works, int64(len(s.kept))), 0
}

// metInFlight takes those off that were acked while the work was under way.
func (j *joined) metInFlight(f *fate, rest []int, done time.Time) {
	var met []int
	for _, i := range rest {
		if j.Scheme.AcksEach && j.all[i].Consumer == j.all[f.worker].Consumer {
			continue // it was taken up after the work
		}
		earliest, likely, latest := j.workEnds(f.worker, done)
		isMet, within := j.looked[i].Before(likely), tie+j.Resolution
		switch {
		case isMet && j.looked[i].After(earliest.Add(-within)):
			f.under++
		case !isMet && j.looked[i].Before(latest.Add(within)):
			f.over++
		}
		if isMet {
			met = append(met, i)
		}
	}
	n := min(int64(len(met)), f.duplicates)
	f.inFlight, f.duplicates = n, f.duplicates-n
	f.redelivered = min(f.redelivered, f.duplicates)
	f.repeats = slices.DeleteFunc(f.repeats, func(i int) bool { return slices.Contains(met, i) })
}

// workEnds bounds when the work of a delivery ended. Where its marker tells when it began alone, it took about as long as others did, and
// had ended when its consumer took up the next one.
func (j *joined) workEnds(worker int, done time.Time) (earliest, likely, latest time.Time) {
	if !j.Scheme.DatesClaim || j.Listened {
		return done, done, done
	}
	earliest, likely, latest = done.Add(j.usual/4), done.Add(j.usual), done.Add(4*j.usual)
	if j.usual == 0 {
		latest = done.Add(time.Second)
	}
	if j.next[worker] == 0 || !j.Scheme.AcksEach {
		return earliest, likely, latest
	}
	began, ok := j.firstDone(j.Markers[j.all[j.next[worker]].ID])
	if !ok || !began.After(done) {
		return earliest, likely, latest
	}
	bound := func(t time.Time) time.Time {
		if t.After(began) {
			return began
		}
		return t
	}
	return bound(earliest), bound(likely), bound(latest)
}

// usualWork is how long work usually takes by what waited for it: the time from one claim of a consumer to its next, where the next message
// was there already.
func (j *joined) usualWork() time.Duration {
	var took []time.Duration
	for i, n := range j.next {
		if n == 0 {
			continue
		}
		a, known := j.firstDone(j.Markers[j.all[i].ID])
		b, next := j.firstDone(j.Markers[j.all[n].ID])
		if known && next && b.After(a) && j.all[n].At.Before(a) {
			took = append(took, b.Sub(a))
		}
	}
	if len(took) < fewestTaken {
		return j.Work
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// quickestWork is how long the quickest works take, those that are quicker than one of twenty left aside; 0 where that is not known. A
// delivery that came again that little before its message was done did not do the work itself.
func (j *joined) quickestWork() time.Duration {
	n := map[string]int{}
	for i := range j.all {
		n[j.all[i].ID]++
	}
	var took []time.Duration
	for i := range j.all {
		d := &j.all[i]
		if done, ok := j.firstDone(j.Markers[d.ID]); ok && n[d.ID] == 1 && !d.Redelivered && !j.claims() && done.After(d.At) {
			took = append(took, done.Sub(d.At))
		}
	}
	if len(took) < fewestTaken {
		return 0
	}
	slices.Sort(took)
	return min(took[len(took)/20], 2*latestOrder)
}

// isCoarse reports whether the time of a marker is too coarse to tell whether a delivery came before it.
func (j *joined) isCoarse(i int, done time.Time) bool {
	return j.Resolution > coarsest && j.all[i].At.Before(done.Add(j.Resolution))
}

// mayBeLost reports whether the ack of a delivery can have been lost that came again as i. Where times are too coarse to tell, and consumers ack
// each, only the first one that a closed channel held can have been done: those behind it were not taken up.
func (j *joined) mayBeLost(gone, i int, done time.Time) bool {
	return !j.Scheme.AcksEach || !j.isCoarse(i, done) || j.back[j.all[gone].Consumer] == gone
}

// cameBack finds the first delivery of each closed channel that came again.
func (j *joined) cameBack() map[string]int {
	back, before := map[string]int{}, map[string]int{}
	for i := range j.all {
		d := &j.all[i]
		if p, ok := before[d.ID]; ok && d.Redelivered && d.ID != "" {
			c := j.all[p].Consumer
			if first, known := back[c]; c != d.Consumer && j.last[c] < i && (!known || p < first) {
				back[c] = p
			}
		}
		before[d.ID] = i
	}
	return back
}

// ResolutionOf is that of times as they were stored: those of whole seconds all have nothing behind the point.
func ResolutionOf(times []time.Time) time.Duration {
	if len(times) < 5 {
		return time.Second
	}
	for _, r := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if !slices.ContainsFunc(times, func(t time.Time) bool { return t.Nanosecond()%int(r) != 0 }) {
			return r
		}
	}
	return 0
}
