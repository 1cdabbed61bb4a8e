package sample

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// A link is a connection that has been seen to consume.
type link struct {
	// opened is the earliest time at which it can have been opened; zero when not known.
	opened time.Time
	queues map[dedup.QueueRef]bool
}

// A birth is the earliest time at which a connection can have been opened, zero when not known. It is dated once the broker
// has told the time: only the first telling counts, so that a broker whose clock is set back later changes nothing.
type birth struct {
	opened time.Time
	dated  bool
}

// told adds what the broker tells of the connection's opening.
func (b birth) told(opened time.Time) birth {
	if opened = opened.Round(0); b.dated || opened.IsZero() {
		return b
	}
	if opened.After(b.opened) {
		b.opened = opened
	}
	b.dated = true
	return b
}

// A Closing says that every connection which consumed from some queues before Since had been closed by At.
type Closing struct{ At, Since time.Time }

// closingsKept bounds the remembered closings of the queues of one broker.
const closingsKept = 64

// Links follow the connections of one broker.
type Links struct {
	// open are the connections of the newest reading that have ever been seen to consume.
	open map[string]*link
	// births is when each connection of the newest reading can have been opened at the earliest.
	births map[string]birth
	read   time.Time
	ended  time.Time
	// nameless are queues with a consumer whose connection is not known.
	nameless map[dedup.QueueRef]bool
	listed   map[dedup.QueueRef]int64
}

// Take takes one topology. It forgets everything when the broker does not tell.
func (l *Links) Take(t *dedup.Topology) {
	if t.Consumers == nil || t.Connections == nil {
		*l = Links{}
		return
	}
	began := t.At.Round(0)
	if began.Before(l.read) {
		*l = Links{} // the clock was set back
	}
	births := make(map[string]birth, len(t.Connections))
	for _, c := range t.Connections {
		was, known := l.births[c.Name]
		if !known {
			was.opened = l.read // it was not there at the last reading
		}
		births[c.Name] = was.told(c.Opened)
	}
	open := make(map[string]*link)
	for name, was := range l.open {
		if b, ok := births[name]; ok {
			open[name] = &link{b.opened, was.queues}
		}
	}
	nameless, listed := make(map[dedup.QueueRef]bool), make(map[dedup.QueueRef]int64)
	for _, c := range t.Consumers {
		listed[c.Queue]++
		if c.Connection == "" {
			nameless[c.Queue] = true
			continue
		}
		// A consumer without an open connection is of a kind that is not listed: it may have been there for ever.
		if open[c.Connection] == nil {
			open[c.Connection] = &link{births[c.Connection].opened, make(map[dedup.QueueRef]bool)}
		}
		open[c.Connection].queues[c.Queue] = true
	}
	*l = Links{open, births, began, began.Add(t.Took), nameless, listed}
}

// Closing returns what the newest reading says of such queues, and the consumers that were listed; it is not ok when the
// reading proves nothing. The queues are those of the newest sample: only when they have
// as many consumers as were listed does the list hide none. A consumer that subscribed within DepthLag may be missing.
func (l *Links) Closing(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue) (c Closing, consumers int64, ok bool) {
	if l.read.IsZero() {
		return Closing{}, 0, false
	}
	c = Closing{At: l.ended, Since: l.read.Add(-DepthLag)}
	for _, ref := range refs {
		q := queues[ref]
		if q == nil || q.Consumers == nil || *q.Consumers != l.listed[ref] || l.nameless[ref] {
			return c, 0, false
		}
		consumers += l.listed[ref]
	}
	for _, link := range l.open {
		for _, ref := range refs {
			if !link.queues[ref] {
				continue
			}
			if link.opened.IsZero() {
				return c, consumers, false
			}
			if link.opened.Before(c.Since) {
				c.Since = link.opened
			}
		}
	}
	return c, consumers, true
}

// Closings keeps what was learned of such queues, oldest first.
type Closings struct {
	All []Closing
	// Trusted: consumers have been listed and were as many as the queues count, so that the account may see them.
	Trusted bool
}

// Take notes what a reading says, unless it adds nothing.
func (l *Closings) Take(c Closing, consumers int64, ok bool) {
	if n := len(l.All); n > 0 && !c.At.IsZero() && c.At.Before(l.All[n-1].At) {
		l.All = nil // the clock was set back
	}
	l.Trusted = l.Trusted || consumers > 0
	if !ok || !l.Trusted {
		return
	}
	if n := len(l.All); n > 0 && !c.Since.After(l.All[n-1].Since) {
		return
	}
	l.All = append(l.All, c)
	if len(l.All) > closingsKept {
		l.All = l.All[1:]
	}
}

// Forget drops what was learned: there are workers that it says nothing of.
func (l *Closings) Forget() { l.All = nil }

// Until returns the closing that tells most, of those known at a time. It tells of the workers before ungot only, up to
// when it is known that all of them consumed.
func (l *Closings) Until(at, ungot time.Time) Closing {
	for i := len(l.All) - 1; i >= 0; i-- {
		if c := l.All[i]; !c.At.After(at) && !c.Since.After(ungot) {
			return c
		}
	}
	return Closing{}
}
