package events

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/redis/layout"
)

// Of the first completions one each sessionTick is looked at, afterwards one a second: a scheme that prolongs claims shows soon that it does.
const (
	looksAtFirst = 200
	looksApart   = time.Second
)

// errProlonged says that a write that was counted as a completion left a claim.
var errProlonged = errors.New("consumers write their claims again while they work: another write of a marker need not complete it")

// prolongs tells of a scheme whose consumers write a claim again while they work, as SET XX EX does, so that it lives on. A notification of it
// is the same as that of a completion: only what the marker is then tells them apart.
type prolongs struct {
	// shown: claims are prolonged, so that each further write of one is looked at.
	shown bool
	// look is the newest key that was completed and not looked at, looks how many were, looked when the last one was.
	look   string
	looks  int
	looked time.Time
	// pending are the claims that were written again and not looked at yet, in the order of those writes.
	pending []pendingWrite
}

// A pendingWrite is another write of an open claim.
type pendingWrite struct {
	claim *openClaim
	at    time.Time
}

// wrote notes a write that was counted as a completion.
func (p *prolongs) wrote(key string) {
	if !p.shown {
		p.look = key
	}
}

// next returns the key to look at now, if any.
func (p *prolongs) next(now time.Time) (string, bool) {
	if p.look == "" || p.looks >= looksAtFirst && now.Sub(p.looked) < looksApart {
		return "", false
	}
	key := p.look
	p.look, p.looked = "", now
	p.looks++
	return key, true
}

// since is when the oldest write came of which it is not known what it was; zero where there is none.
func (p *prolongs) since() time.Time {
	for len(p.pending) > 0 && (p.pending[0].claim.over || p.pending[0].claim.rewritten.IsZero()) {
		p.pending[0], p.pending = pendingWrite{}, p.pending[1:]
	}
	if len(p.pending) == 0 {
		p.pending = nil
		return time.Time{}
	}
	return p.pending[0].at
}

// rewritten takes another write of an open claim where claims are prolonged: it was that, or a completion.
func (b *book) rewritten(key string, c *openClaim, at time.Time) {
	if c.rewritten.IsZero() {
		b.prolongs.pending = append(b.prolongs.pending, pendingWrite{c, at})
	}
	c.rewritten, c.sampledTo = at, b.meter.taken()
	b.doubt(rewriteCheck, key, c, at)
}

// mayBeOlder notes that a claim of which it is not known whether it was made or prolonged when it was first seen may be older than that.
func (b *book) mayBeOlder(c *openClaim) {
	if b.prolongs.shown && !c.sure && c.born.Before(b.horizon) {
		c.restored = true
	}
}

// prolonged takes that a claim is open: if it was written again, it was prolonged.
func (b *book) prolonged(c *openClaim) {
	b.mayBeOlder(c)
	if !c.rewritten.IsZero() {
		c.rewritten = time.Time{}
		b.counts.Prolonged++
	}
}

// finish takes the completion of a claim.
func (b *book) finish(key, id string, c *openClaim, at time.Time, sampled int) {
	b.mayBeOlder(c)
	b.decideLate(c)
	b.close(key)
	if !c.restored {
		b.counts.Work.Add(at.Sub(c.born))
		b.meter.ended(c.sampled, sampled, at.Sub(c.born))
		b.renewals.worked(at.Sub(c.born))
	}
	b.workedAnew(key)
	b.complete(key, id)
}

// isDone reports whether a key was completed last, as far as the book knows.
func (b *book) isDone(key string) bool { return b.open[key] == nil && b.done.has(key) }

// lookedAt judges what was counted as a completion by what is left of its life.
func (s *session) lookedAt(key string) func(wireValue, time.Time) error {
	return func(v wireValue, _ time.Time) error {
		left, err := strconv.ParseInt(v.text, 10, 64)
		switch {
		case v.failed() != nil || err != nil:
			return v.failed()
		case left == layout.Gone:
			s.book.misses.own++
		case s.book.isDone(key) && !s.l.layout.IsLongLived(left, 0):
			s.looks = append(s.looks, key)
		}
		return nil
	}
}

// valueLookedAt judges it by its value.
func (s *session) valueLookedAt(key string) func(wireValue, time.Time) error {
	return func(v wireValue, _ time.Time) error {
		if err := v.failed(); err != nil {
			if strings.HasPrefix(err.Error(), "WRONGTYPE") {
				return nil
			}
			return err
		}
		if v.text == "" {
			s.book.misses.perhapsOwn++
			return nil
		}
		if s.book.isDone(key) && s.l.layout.Decode(layout.Fetched{Value: v.text}).State == dedup.Processing {
			s.l.prolonged()
			s.book.renewals.shown = false // what looked like a done marker that is written again may have been this
			return errProlonged
		}
		return nil
	}
}

// told hands an answer to the book, and what it shows of a write of before to those who follow the events of single markers.
func (s *session) told(d doubt, what found, at time.Time) error {
	id := s.l.layout.IdOf(d.key)
	c, open := s.book.stillOpen(d)
	if !open || c.rewritten.IsZero() || !s.l.followers.any() {
		return s.book.answer(d, id, what, at)
	}
	before, when := s.book.totals(), c.rewritten
	err := s.book.answer(d, id, what, at)
	s.l.followers.report(id, when, before, s.book.totals())
	return err
}
