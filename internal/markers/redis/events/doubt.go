package events

import "time"

// A stage is an occasion on which the server is asked about a claim.
type stage uint8

// The stages.
const (
	// rewriteCheck asks whether a claim that was written again was prolonged or completed.
	rewriteCheck stage = iota
	// unsureCheck asks what a set was that may have been a claim or a completion.
	unsureCheck
	// birthCheck asks for the expiry of a claim that no expiry was heard of.
	birthCheck
	// openCheck asks now and then whether a claim that is open for long is still there.
	openCheck
	stages
)

// The time after which each stage asks. Consumers that set an expiry by a second command need a moment for it.
const (
	unsureAfter = 250 * time.Millisecond
	birthAfter  = time.Second
	openAfter   = 30 * time.Second
)

func (s stage) after() time.Duration {
	switch s {
	case unsureCheck:
		return unsureAfter
	case birthCheck:
		return birthAfter
	case rewriteCheck:
		return 0
	}
	return openAfter
}

// doubtQueue holds claims in the order in which they are due.
type doubtQueue struct {
	list []doubt
	head int
}

// A doubt is a claim that the server is asked about.
type doubt struct {
	key    string
	number uint64
	due    time.Time
}

func (q *doubtQueue) push(d doubt) { q.list = append(q.list, d) }

// pop returns the next one that is due.
func (q *doubtQueue) pop(now time.Time) (doubt, bool) {
	if q.head == len(q.list) || q.list[q.head].due.After(now) {
		return doubt{}, false
	}
	d := q.list[q.head]
	q.list[q.head] = doubt{}
	if q.head++; q.head >= 1024 && 2*q.head >= len(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	return d, true
}

func (b *book) doubt(s stage, key string, c *openClaim, at time.Time) {
	if c.doubted[s] {
		return
	}
	c.doubted[s] = true
	b.queues[s].push(doubt{key: key, number: c.number, due: at.Add(s.after())})
}

// doubts returns the claims to ask about now, at most so many. What it is told of one it must be told in the order of the
// notifications, by answer.
func (b *book) doubts(now time.Time, most int) []doubt {
	var asked []doubt
	for s := range stages {
		for len(asked) < most {
			d, ok := b.queues[s].pop(now)
			if !ok {
				break
			}
			c, open := b.stillOpen(d)
			if open {
				c.doubted[s] = false
			}
			switch {
			case !open:
			case s == birthCheck && c.expires && c.sure && (c.seen || b.rules.way != wayTwoSteps):
				b.doubt(openCheck, d.key, c, now)
			default:
				asked = append(asked, d)
			}
		}
	}
	return asked
}

// found is what the server says of a marker.
type found uint8

const (
	// foundGone: there is no such key.
	foundGone found = iota
	// foundClaim: it is a claim, or in a scheme without states the marker, and it expires.
	foundClaim
	// foundEndless: the same, and it never expires.
	foundEndless
	// foundDone: the work is done.
	foundDone
	// foundOdd: the value says nothing that the configuration knows.
	foundOdd
)

// open reports whether a claim is still as it was when it was asked about.
func (b *book) stillOpen(d doubt) (*openClaim, bool) {
	c := b.open[d.key]
	return c, c != nil && c.number == d.number
}

// answer takes what the server says of a doubt.
func (b *book) answer(d doubt, id string, what found, at time.Time) error {
	c, ok := b.stillOpen(d)
	if !ok {
		return nil
	}
	if !c.rewritten.IsZero() && (what == foundDone || what == foundOdd) {
		b.backdate(c.rewritten, func() { b.finish(d.key, id, c, c.rewritten, c.sampledTo) })
		return nil
	}
	switch what {
	case foundGone:
		return errMissed
	case foundDone:
		if c.seen || b.rules.way != wayTwoSteps {
			return errMissed
		}
		b.backdate(c.born, func() { b.foundDone(c, d.key, id) })
		return nil
	case foundClaim, foundOdd:
		b.prolonged(c)
		b.decideLate(c)
		c.seen = true
		c.expires = true
		if b.rules.way == wayBefore {
			b.close(d.key)
			return nil
		}
	case foundEndless:
		b.prolonged(c)
		b.decideLate(c)
		c.seen = true
		if !c.endless && b.rules.expiring && at.Sub(c.born) >= birthAfter {
			c.endless, b.endless[d.key], b.changed = true, c.born, true
		}
		if !c.endless {
			b.doubt(birthCheck, d.key, c, at)
			return nil
		}
	}
	b.doubt(openCheck, d.key, c, at)
	return nil
}
