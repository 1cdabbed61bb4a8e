package events

import (
	"slices"
	"sort"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// trailStep is the time within which counts are not told apart, trailLength how many steps are kept: at least 10 s of them. Those older
	// than trailFine are thinned to trailCoarse as far as trailReach, which is what a server that scrapes consumers each minute needs.
	trailStep   = 5 * time.Millisecond
	trailLength = 2048
	trailFine   = 10 * time.Second
	trailCoarse = 20 * time.Millisecond
	trailReach  = 90 * time.Second
	// trailLate is how much later than usual events may be heard without a doubt of when they were.
	trailLate = 100 * time.Millisecond
	// trailMost is more than all of that comes to.
	trailMost = int(trailFine/trailStep+trailReach/trailCoarse) + trailLength
)

// An trail keeps what the events of the last seconds came to, so that it can be known for the moment at which something else was
// counted.
type trail struct {
	mu    sync.Mutex
	steps []trailEntry
	// full is how many steps there are when they are thinned next.
	full int
	// undecided is when the oldest event came of which it is not known yet what it was; zero where there is none.
	undecided time.Time
	// delays are the times within which events may have been heard late, in order; quickest is the quickest answer that the server ever gave.
	delays   []delay
	quickest time.Duration
}

// A delay is a time within which events may have been heard late.
type delay struct{ from, to time.Time }

type trailEntry struct {
	at time.Time
	dedup.EventCounts
}

// note adds the counts as of a time. Another epoch begins the trail anew.
func (t *trail) note(at time.Time, c dedup.EventCounts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.steps)
	switch {
	case n > 0 && (t.steps[n-1].Epoch != c.Epoch || at.Before(t.steps[n-1].at)):
		t.steps = t.steps[:0]
	case n > 0 && t.steps[n-1].EventCounts == c:
		return
	case n > 0 && at.Sub(t.steps[n-1].at) < trailStep:
		t.steps[n-1].EventCounts = c
		return
	case n >= t.full:
		t.thin(at)
	}
	t.steps = append(t.steps, trailEntry{at, c})
}

// thin drops what is too old, and of what is older than the newest seconds all but a step each trailCoarse. It works once in a while.
func (t *trail) thin(now time.Time) {
	var kept time.Time
	t.steps = slices.DeleteFunc(t.steps, func(e trailEntry) bool {
		age := now.Sub(e.at)
		drop := age > trailReach || age > trailFine && e.at.Sub(kept) < trailCoarse
		if !drop {
			kept = e.at
		}
		return drop
	})
	t.full = min(len(t.steps)+trailLength, max(trailMost, len(t.steps)+1))
}

// answered takes how long an answer took that came behind all events of before it was asked for. One that took much longer than the
// quickest tells that the server, the way or we were held up, perhaps as long before already.
func (t *trail) answered(asked, at time.Time) {
	took := at.Sub(asked)
	t.mu.Lock()
	if t.quickest == 0 || took < t.quickest {
		t.quickest = max(took, 1)
	}
	late := took > t.quickest+trailLate
	t.mu.Unlock()
	if late {
		t.delayed(asked.Add(-took), at)
	}
}

// woken takes when a tick of the session came and when the one before it: who is woken late reads late.
func (t *trail) woken(last, now time.Time) {
	if now.Sub(last) > sessionTick+trailLate {
		t.delayed(last, now)
	}
}

// delayed notes that events may have been heard late between two times.
func (t *trail) delayed(from, to time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delays = slices.DeleteFunc(t.delays, func(d delay) bool { return to.Sub(d.to) > trailReach || d.to.After(to) })
	if n := len(t.delays); n > 0 && !from.After(t.delays[n-1].to) {
		if from.Before(t.delays[n-1].from) {
			t.delays[n-1].from = from
		}
		t.delays[n-1].to = to
		return
	}
	t.delays = append(t.delays, delay{from, to})
}

// at returns the counts as of a time; false for one before the trail, and from the oldest event on that is not understood yet.
func (t *trail) at(when time.Time) (dedup.EventCounts, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := sort.Search(len(t.steps), func(i int) bool { return t.steps[i].at.After(when) })
	if i == 0 || !t.undecided.IsZero() && !t.undecided.After(when) {
		return dedup.EventCounts{}, false
	}
	c := t.steps[i-1].EventCounts
	c.Late = slices.ContainsFunc(t.delays, func(d delay) bool { return !when.Before(d.from) && !when.After(d.to) })
	return c, true
}

// CountsAt returns what had happened by a time of the last seconds. It is not ok while the server has not answered since: what it
// answers comes behind the notifications of all that happened before.
func (l *Listener) CountsAt(when time.Time) (dedup.EventCounts, bool) {
	l.mu.Lock()
	settled := l.published.Listening && !l.published.At.Before(when) && !l.published.Since.After(when)
	epoch := l.published.Epoch
	l.mu.Unlock()
	c, ok := l.trail.at(when)
	return c, ok && settled && c.Epoch == epoch
}
