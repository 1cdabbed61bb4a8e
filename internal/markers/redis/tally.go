package redis

import (
	"strconv"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/layout"
)

const (
	// maxAttempts bounds the retry counters that a pass remembers, to say how often a processing message failed.
	maxAttempts = 20_000
)

// tally adds up what a pass sees. It decides from times and values alone and does no I/O.
type tally struct {
	layout *layout.Layout
	pass   dedup.Pass
	// at is when, by our clock, what is being counted was read.
	at time.Time
	// bounds are dedup.ExpiryBounds in milliseconds.
	bounds   []int64
	expiries []int64
	expiring bool
	// lived counts the markers that their remaining life told.
	lived int64

	processing, failed, permanent, gaveUp pace.Oldest
	// attempts are retry counters by message id; full says that there were too many to keep.
	attempts map[string]int64
	full     bool
}

func newTally(l *layout.Layout) *tally {
	t := &tally{layout: l, attempts: map[string]int64{}, pass: dedup.Pass{States: map[dedup.State]int64{}, NoExpiry: map[dedup.State]int64{}}}
	for _, bound := range dedup.ExpiryBounds() {
		t.bounds = append(t.bounds, bound.Milliseconds())
	}
	t.expiries = make([]int64, len(t.bounds)+1)
	return t
}

// byLife counts a marker when its remaining life tells its state without its value, and reports whether it did. The
// expiry must have been read before now.
func (t *tally) byLife(key, id string, expiry, now int64) bool {
	if !t.layout.IsLongLived(expiry, now) {
		return false
	}
	if _, given := t.layout.Late.Find(key, expiry); given {
		return false // its life is what somebody chose
	}
	state := t.layout.LongLived
	t.lived++
	t.count(id, state, expiry, now)
	if t.layout.Completes(state) {
		t.completed(layout.Began(expiry, now, t.layout.Config.TTL.Done))
	}
	return true
}

// byValue counts a marker by what its value says. An expiry of gone means that it vanished meanwhile.
func (t *tally) byValue(key, id string, d codec.Decoded, expiry, now int64) {
	if expiry == layout.Gone {
		return
	}
	t.count(id, d.State, expiry, now)
	m := dedup.Marker{Store: t.layout.Config.Name, State: d.State, Status: codec.Shown(d.Status), Owner: codec.Shown(d.Owner), Detail: d.Detail, Sample: d.Sample, FirstSeen: t.at}
	m.Expires, m.Since = t.layout.Dated(d, expiry, now)
	t.layout.Lived(&m, key, d, expiry)
	if t.layout.Completes(d.State) {
		t.completed(m.Since)
	}
	switch d.State {
	case dedup.Processing:
		t.list(&t.processing, m, key)
	case dedup.Failed:
		t.list(&t.failed, m, key)
	case dedup.StateUnknown:
		if len(t.pass.Undecodable) < pace.MaxUndecodable {
			t.pass.Undecodable = append(t.pass.Undecodable, t.layout.Named(m, key))
		}
	}
	if t.layout.Permanent(d.State, expiry) {
		t.list(&t.permanent, m, key)
	}
}

func (t *tally) list(list *pace.Oldest, m dedup.Marker, key string) {
	if list.Takes(m.Expires, m.Since) {
		list.Add(t.layout.Named(m, key))
	}
}

func (t *tally) count(id string, state dedup.State, expiry, now int64) {
	t.pass.Matched++
	t.pass.States[state]++
	t.name(id)
	if expiry == layout.NoExpiry {
		t.pass.NoExpiry[state]++
		return
	}
	left, class := expiry-now, 0
	for class < len(t.bounds) && left > t.bounds[class] {
		class++
	}
	t.expiries[class]++
	t.expiring = true
}

// misfit counts a key that match finds although it holds no message id.
func (t *tally) misfit(key string) {
	if t.pass.Misfits == 0 {
		t.pass.Misfit = codec.Printable(key)
	}
	t.pass.Misfits++
}

// name takes in what the id itself tells.
func (t *tally) name(id string) {
	if len(id) == 32 && codec.IsHex(id) {
		t.pass.HashIDs++
	}
	// No text has more characters than bytes.
	if int64(len(id)) <= t.pass.LongestID {
		return
	}
	if n := int64(utf8.RuneCountInString(id)); n > t.pass.LongestID {
		t.pass.LongestID, t.pass.LongID = n, codec.Shown(id)
	}
}

// completed dates a done marker.
func (t *tally) completed(at time.Time) {
	if at.IsZero() {
		t.pass.UndatedCompletions++
		return
	}
	t.pass.Completions.Add(at)
}

// retry counts a retry counter.
func (t *tally) retry(key, id, value string, expiry, now int64) {
	if expiry == layout.Gone {
		return
	}
	rule := t.layout.Config.Retry
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		t.byValue(key, id, codec.Unknown("a retry counter that is no whole number").WithSample(value), expiry, now)
		return
	}
	if t.full = t.full || len(t.attempts) >= maxAttempts; !t.full {
		t.attempts[id] = n
	}
	t.pass.RetrySum += min(max(n, 0), pace.MaxRetryCount)
	if n < int64(rule.GiveUp) {
		t.pass.Retrying++
		return
	}
	t.pass.GaveUpAgain += min(n, pace.MaxRetryCount) - int64(rule.GiveUp)
	at := layout.Began(expiry, now, rule.TTL)
	var expires time.Time
	if expiry > 0 {
		expires = time.UnixMilli(expiry)
	}
	if len(key) <= pace.MaxSampleKey && t.gaveUp.Takes(expires, at) {
		t.gaveUp.Add(dedup.Marker{Store: t.layout.Config.Name, Key: key, ID: id, State: dedup.Failed, Attempts: &n, Since: at, Expires: expires, FirstSeen: t.at})
	}
	if at.IsZero() {
		t.pass.UndatedGaveUp++
		return
	}
	t.pass.GaveUp.Add(at)
}

// finish makes the lists of the pass.
func (t *tally) finish() {
	t.pass.OldestProcessing = t.processing.Sorted()
	t.pass.FailedMarkers = t.failed.Sorted()
	t.pass.Permanent = t.permanent.Sorted()
	t.pass.GaveUpMarkers = t.gaveUp.Sorted()
	if t.expiring {
		t.pass.Expiries = t.expiries
	}
	for _, list := range [][]dedup.Marker{t.pass.OldestProcessing, t.pass.FailedMarkers, t.pass.Permanent} {
		for i := range list {
			list[i].Attempts = t.failures(list[i].ID)
		}
	}
	t.pass.Completions.Freeze()
	t.pass.GaveUp.Freeze()
}

// failures returns how often a message failed so far, nil where that is not known. A message that never failed has no
// counter.
func (t *tally) failures(id string) *int64 {
	n, ok := t.attempts[id]
	if !t.layout.HasRetry || id == "" || !ok && t.full {
		return nil
	}
	return &n
}

// carry takes over from the pass before when a marker was first seen as it still is. Of a lock it is enough that the
// same owner holds it: one whose lease was moved meanwhile is kept alive by its holder (Redisson's watchdog), and how
// long it has been held is known from our own looking alone.
func carry(last, pass *dedup.Pass, locks bool) {
	if last == nil {
		return
	}
	known := map[string]*dedup.Marker{}
	for _, list := range lists(last) {
		for i := range list {
			known[list[i].Key] = &list[i]
		}
	}
	for _, list := range lists(pass) {
		for i := range list {
			m := &list[i]
			before := known[m.Key]
			if before == nil || m.Key == "" || before.State != m.State || before.Owner != m.Owner {
				continue
			}
			switch {
			case !m.ExpirySet.IsZero(): // since when it is there was noted when it got its expiry
			case before.Expires.Equal(m.Expires):
				m.FirstSeen = before.FirstSeen
				if locks && before.Detail != "" {
					m.Since, m.Detail = before.Since, before.Detail
				}
			case locks && m.Expires.After(before.Expires):
				renewed(m, before, pass.ClockOffset)
			}
		}
	}
	if locks {
		pace.ByAge(pass.OldestProcessing)
	}
}

// renewed words a lock that its holder keeps alive. Its expiry does not tell when it was taken.
func renewed(m, before *dedup.Marker, offset time.Duration) {
	m.FirstSeen = before.FirstSeen
	m.Since = before.FirstSeen.Add(offset)
	m.Detail = "renewed by its holder, which is alive; held at least since then"
}

func lists(p *dedup.Pass) [][]dedup.Marker {
	return [][]dedup.Marker{p.OldestProcessing, p.FailedMarkers, p.Permanent, p.GaveUpMarkers}
}
