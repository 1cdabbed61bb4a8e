package sql

import (
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
)

const (
	// datedFor is how far back completions and given-up messages are dated: beyond every window that is shown. A table that
	// is never purged holds years of them.
	datedFor = 26 * time.Hour
	// clockSlack is how far in the future a time may lie before it counts as wrong: written by another clock or in
	// another zone than the session's.
	clockSlack = 2 * time.Minute
)

// tally adds up the rows of a pass. It does no I/O.
type tally struct {
	layout *Layout
	pass   dedup.Pass
	// began is the store's clock at the start of the pass.
	began time.Time
	// known are the listed markers of the pass before, by key.
	known                       map[string]dedup.Marker
	processing, failed, forever pace.Oldest
	gaveUp                      pace.Oldest
	repeats                     *repeats
	forms                       idForms
	nullIDs                     int64
	// future counts rows whose time lies in the future.
	future int64
	buf    []byte
}

// newTally may take the tables of spare, which may be nil.
func newTally(l *Layout, last *dedup.Pass, spare *repeats) *tally {
	t := &tally{layout: l, known: map[string]dedup.Marker{}}
	t.pass.States = map[dedup.State]int64{}
	if l.Expires != nil {
		t.pass.NoExpiry = map[dedup.State]int64{}
		t.pass.Expiries = make([]int64, len(dedup.ExpiryBounds())+1)
	}
	if l.business != nil {
		t.repeats = newRepeats(spare)
	}
	if last != nil {
		for _, list := range [][]dedup.Marker{last.OldestProcessing, last.FailedMarkers, last.Permanent, last.GaveUpMarkers} {
			for _, m := range list {
				t.known[m.Key] = m
			}
		}
	}
	return t
}

// add counts a row. behind returns the primary key in front of it.
func (t *tally) add(r Row, behind func() []string) {
	t.pass.Examined++
	if !r.hasID() {
		t.nullIDs++
		return
	}
	state := t.layout.state(r).State
	t.pass.Matched++
	t.pass.States[state]++
	since := t.layout.since(r)
	if t.isFuture(since) {
		t.future++
	}
	t.identified(r)
	t.expiring(r, state, since)
	t.attempted(r, state, since)
	switch state {
	case dedup.Done:
		t.date(since, &t.pass.Completions, &t.pass.UndatedCompletions)
	case dedup.Processing:
		t.keep(&t.processing, r, since)
	case dedup.Failed:
		t.keep(&t.failed, r, since)
		t.date(since, &t.pass.FailedAt, &t.pass.UndatedFailures)
	case dedup.StateUnknown:
		if len(t.pass.Undecodable) < pace.MaxUndecodable {
			t.pass.Undecodable = append(t.pass.Undecodable, t.layout.marker(r))
		}
	}
	if t.repeats != nil && len(r.business) > 0 {
		t.repeats.add(r.business, t.buf, behind)
	}
}

// identified looks at the id itself, and leaves it in buf.
func (t *tally) identified(r Row) {
	t.buf = r.id(t.buf[:0])
	t.forms.add(t.buf)
	if len(t.buf) == 32 && codec.IsHex(string(t.buf)) {
		t.pass.HashIDs++
	}
	if n := r.idLength(); n > t.pass.LongestID || t.pass.Matched == 1 {
		t.pass.LongestID, t.pass.LongID = n, ""
		if len(t.buf) <= pace.MaxSampleKey {
			t.pass.LongID = string(t.buf)
		}
	}
}

func (t *tally) expiring(r Row, state dedup.State, since time.Time) {
	if t.layout.Expires == nil {
		return
	}
	expires := t.layout.expiry(r)
	if expires.IsZero() {
		t.pass.NoExpiry[state]++
		t.keep(&t.forever, r, since)
		return
	}
	left := expires.Sub(t.began)
	if left <= 0 {
		t.pass.Expired++
		return
	}
	class := 0
	for _, bound := range dedup.ExpiryBounds() {
		if left <= bound {
			break
		}
		class++
	}
	t.pass.Expiries[class]++
}

// attempted counts failures of messages that are not done.
func (t *tally) attempted(r Row, state dedup.State, since time.Time) {
	limit := int64(t.layout.cfg.Retry.GiveUp)
	if limit == 0 || state == dedup.Done {
		return
	}
	n, err := strconv.ParseInt(string(r.attempts), 10, 64)
	if err == nil {
		t.pass.RetrySum += min(max(n, 0), pace.MaxRetryCount)
	}
	switch {
	case err != nil || n <= 0:
	case n < limit:
		t.pass.Retrying++
	default:
		t.keep(&t.gaveUp, r, since)
		if since.IsZero() {
			t.pass.UndatedGaveUp++
		} else if t.dated(since) {
			t.pass.GaveUp.Add(since)
		}
	}
}

// date takes the time of a row in, or counts it among those without one that can be.
func (t *tally) date(at time.Time, times *dedup.Timeline, undated *int64) {
	switch {
	case at.IsZero() || t.isFuture(at):
		*undated++
	case t.dated(at):
		times.Add(at)
	}
}

func (t *tally) isFuture(at time.Time) bool {
	return at.After(t.began.Add(time.Since(t.pass.Started) + clockSlack))
}

func (t *tally) dated(at time.Time) bool { return t.began.Sub(at) < datedFor }

// keep lists the row's marker if it is among the oldest.
func (t *tally) keep(list *pace.Oldest, r Row, since time.Time) {
	if !list.Takes(t.layout.expiry(r), since) {
		return
	}
	m := t.layout.marker(r)
	m.FirstSeen = time.Now()
	if known, ok := t.known[m.Key]; ok && sameMarker(known, m) {
		m.FirstSeen = known.FirstSeen
	}
	list.Add(m)
}

// sameMarker says whether a marker is still as it was.
func sameMarker(a, b dedup.Marker) bool {
	sameAttempts := (a.Attempts == nil) == (b.Attempts == nil) && (a.Attempts == nil || *a.Attempts == *b.Attempts)
	return a.ID == b.ID && a.State == b.State && a.Status == b.Status && a.Since.Equal(b.Since) &&
		a.Expires.Equal(b.Expires) && a.Owner == b.Owner && sameAttempts && !a.FirstSeen.IsZero()
}

// finish completes the pass.
func (t *tally) finish() {
	p := &t.pass
	p.Ended = time.Now()
	p.OldestProcessing, p.FailedMarkers, p.Permanent = t.processing.Sorted(), t.failed.Sorted(), t.forever.Sorted()
	p.GaveUpMarkers = t.gaveUp.Sorted()
	p.IDsDiffer, p.IDInBoth = t.forms.differ()
	if t.repeats != nil {
		p.RepeatedKeys, p.Repeated = t.repeats.keys, t.repeats.list()
	}
	p.Completions.Freeze()
	p.GaveUp.Freeze()
	p.FailedAt.Freeze()
}
