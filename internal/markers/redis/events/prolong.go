package events

import (
	"errors"
	"time"
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

// forgetBirth keeps the time of a work from being told whose claim may be older than it is known: when it was first seen it was made or prolonged.
func (b *book) forgetBirth(c *openClaim) {
	if b.prolongs.shown && !c.sure && c.born.Before(b.horizon) {
		c.older = true
	}
}

// prolonged takes that a claim is open: if it was written again, it was prolonged.
func (b *book) prolonged(c *openClaim) {
	b.forgetBirth(c)
	if !c.rewritten.IsZero() {
		c.rewritten = time.Time{}
		b.counts.Prolonged++
	}
}
