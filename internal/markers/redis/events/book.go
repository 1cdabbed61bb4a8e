package events

import (
	"errors"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
)

const (
	// mostOpen and mostOpenBytes bound the open claims that are remembered.
	mostOpen      = 100_000
	mostOpenBytes = 16 << 20
	// mostAgain is how many ids of work that was perhaps done twice are kept.
	mostAgain = 50
	// horizonSlack is how much longer than its time to live a claim may stand: servers delete expired keys a little late.
	horizonSlack = 5 * time.Second
)

var (
	// errOverflow says that more is going on than may be remembered.
	errOverflow = errors.New("more claims or retry counters are open than are remembered")
	// errMissed says that a marker is not as its notifications tell: one of them never came.
	errMissed = errors.New("a marker changed and no notification of it came")
)

// A way is how a scheme writes its markers, which is what a notification means in it.
type way uint8

const (
	// wayTwoSteps writes a claim before the work and the result after it: the second set of a key is its completion.
	wayTwoSteps way = iota
	// wayAfter writes a marker after the work alone: each set is a completion.
	wayAfter
	// wayBefore writes a marker before the work alone: each set is a claim, and what became of it is not told.
	wayBefore
)

// rules is what a book must know of a scheme.
type rules struct {
	way way
	// processing is the longest life of a claim.
	processing time.Duration
	// deletes is true where a failure deletes the marker.
	deletes bool
	// expiring is true where the scheme gives each marker an expiry that was just written.
	expiring bool
	// giveUp is the failure from which on a message is given up; zero for never.
	giveUp int
}

// rulesOf returns them for a store.
func rulesOf(c markers.Config) rules {
	r := rules{processing: c.TTL.Processing, deletes: c.OnFail == "delete", giveUp: c.Retry.GiveUp}
	switch {
	case c.Mark == "after":
		r.way = wayAfter
	case len(c.States[dedup.Processing]) > 0:
		r.way, r.expiring = wayTwoSteps, true
	default:
		r.way, r.expiring = wayBefore, c.TTL.Done > 0
	}
	if c.Retry.Match == "" {
		r.giveUp = 0
	}
	return r
}

// openClaim is a marker that was set once, as far as we know.
type openClaim struct {
	born time.Time
	// number tells it from other claims of its key.
	number uint64
	// sure: this set was a claim, and is counted as one. Else it may have been the completion of a claim that we did not see.
	sure bool
	// expires: an expiry was set since.
	expires bool
	endless bool
	// retried: the claim before it was given back by a failure, and the message was not given up.
	retried bool
	// older: its consumer may have begun before it was born, as our own actor wrote it back or it was prolonged.
	older bool
	// sampled is how many samples its meter had taken when it was born.
	sampled int
	// rewritten is when it was written again where claims are prolonged, and sampledTo how many samples the meter had taken then; zero once it is
	// known that this was no completion.
	rewritten time.Time
	sampledTo int
	// over: it was closed. seen: the server was asked, and it was a claim.
	over, seen bool
	// doubted: a doubt of this stage waits in its queue.
	doubted [stages]bool
}

// book turns the notifications of one store, in the order in which the server sent them, into counts. It is a pure state
// machine: who reads the markers that it is in doubt about (see doubts) tells it the answers, which must stand in the same
// order as the notifications. Everything in it is bounded.
type book struct {
	rules rules
	epoch int64
	// began is when it began to listen, horizon when no claim from before can be open any more.
	began, horizon time.Time
	open           map[string]*openClaim
	openBytes      int
	endless        map[string]time.Time
	number         uint64
	// done are keys that were completed of late, ended those whose claim ended without a completion, both with who may have worked on them.
	done, ended *memory
	// past are keys that were completed and whose marker ended since.
	past     *memory
	renewals renewals
	prolongs prolongs
	retries  *retryCounts
	queues   [stages]doubtQueue
	// unsure are claims in the order of their births, of which the first is neither sure nor over; late is what was learned too late.
	unsure []*openClaim
	late   []lateCount
	events int64
	misses missCount
	meter  *meter
	// counts has the cumulative figures.
	counts dedup.StoreEvents
	// changed is true once the list of endless claims changed; the reader resets it.
	changed bool
}

// newBook returns an empty book. Numbers of claims go on from another book, so that late answers to its questions are
// known for what they are.
func newBook(rules rules, began time.Time, number uint64) *book {
	return &book{rules: rules, meter: &meter{}, began: began, horizon: began.Add(rules.processing + horizonSlack), number: number,
		open: map[string]*openClaim{}, endless: map[string]time.Time{}, done: newMemory(), ended: newMemory(), past: newMemory(),
		retries: newRetryCounts(rules.giveUp)}
}

// event takes one notification of a marker: what happened to the key, and when it came.
func (b *book) event(key, id, name string, at time.Time) error {
	b.events++
	switch name {
	case "set":
		return b.set(key, id, at)
	case "expire":
		b.expiring(key, at)
	case "persist":
		if c := b.open[key]; c != nil {
			c.expires = false
			b.doubt(birthCheck, key, c, at)
		}
	case "del", "expired", "evicted", "rename_from", "move_from":
		b.ends(key, name, at)
	}
	return nil
}

func (b *book) set(key, id string, at time.Time) error {
	switch b.rules.way {
	case wayAfter:
		b.workedAnew(key)
		b.complete(key, id)
		return nil
	case wayBefore:
		b.counts.Claims++
		if !b.rules.expiring || b.open[key] != nil {
			return nil
		}
		return b.claim(key, true, at)
	}
	if c := b.open[key]; c != nil {
		if b.prolongs.shown {
			b.rewritten(key, c, at)
			return nil
		}
		b.finish(key, id, c, at, b.meter.taken())
		b.prolongs.wrote(key)
		return nil
	}
	if b.done.has(key) {
		b.complete(key, id)
		b.prolongs.wrote(key)
		return nil
	}
	// Claims that were open before we listened, or ended without a completion, may be completed now.
	by, ended := b.ended.get(key)
	sure := !at.Before(b.horizon) && !ended
	if sure {
		b.counts.Claims++
	}
	if err := b.claim(key, sure, at); err != nil {
		return err
	}
	b.open[key].retried = ended && by == byOne && !b.retries.undone.has(id) // what was given up and comes again is no retry
	return nil
}

// finish takes the completion of a claim.
func (b *book) finish(key, id string, c *openClaim, at time.Time, sampled int) {
	b.forgetBirth(c)
	b.decideLate(c)
	b.close(key)
	if !c.older {
		b.counts.Work.Add(at.Sub(c.born))
		b.meter.ended(c.sampled, sampled, at.Sub(c.born))
		b.renewals.worked(at.Sub(c.born))
	}
	b.workedAnew(key)
	b.complete(key, id)
}

// complete counts a completion. One that is not the first is work that was done again, or a duplicate that renews the marker.
func (b *book) complete(key, id string) {
	b.retries.completed(id)
	if by, known := b.done.get(key); known {
		b.again(id)
		b.writtenAgain(key, by)
		return
	}
	b.counts.Completions++
	by, _ := b.ended.get(key)
	b.done.put(key, by)
	b.ended.drop(key)
}

// again notes work that was perhaps done twice.
func (b *book) again(id string) {
	b.counts.Again++
	ids := slices.Insert(b.counts.AgainIDs, 0, codec.Shown(id))
	b.counts.AgainIDs = ids[:min(len(ids), mostAgain)]
}

func (b *book) claim(key string, sure bool, at time.Time) error {
	if len(b.open) >= mostOpen || b.openBytes+len(key) > mostOpenBytes {
		return errOverflow
	}
	b.number++
	c := &openClaim{born: at, number: b.number, sure: sure, sampled: b.meter.taken()}
	b.open[key] = c
	b.openBytes += len(key)
	if sure {
		b.doubt(birthCheck, key, c, at)
	} else {
		b.unsure = append(b.unsure, c)
		b.doubt(unsureCheck, key, c, at)
	}
	return nil
}

// decide counts a claim that was not counted when it was made.
func (b *book) decide(c *openClaim) {
	if c.sure {
		return
	}
	c.sure = true
	b.counts.Claims++
	if c.retried {
		b.counts.Retried++
	}
}

// isDone reports whether a key was completed last, as far as the book knows.
func (b *book) isDone(key string) bool { return b.open[key] == nil && b.done.has(key) }

// bare reports whether the book knows of no marker that is there.
func (b *book) bare() bool { return len(b.open) == 0 && b.done.empty() }

func (b *book) close(key string) {
	if c := b.open[key]; c != nil {
		c.over = true
	}
	delete(b.open, key)
	b.openBytes -= len(key)
	if _, listed := b.endless[key]; listed {
		delete(b.endless, key)
		b.changed = true
	}
}

func (b *book) expiring(key string, at time.Time) {
	c := b.open[key]
	switch {
	case c == nil:
	case b.rules.way == wayBefore:
		b.close(key)
	default:
		if c.expires && c.rewritten.IsZero() && at.Sub(c.born) >= birthAfter { // the first one belongs to the birth
			b.counts.Prolonged++
		}
		c.expires, c.endless = true, false
		if _, listed := b.endless[key]; listed {
			delete(b.endless, key)
			b.changed = true
		}
	}
}

// ends takes the end of a marker.
func (b *book) ends(key, name string, at time.Time) {
	if name == "evicted" {
		b.counts.Evicted++
	}
	wasDone := b.done.drop(key)
	if wasDone {
		b.past.put(key, 0)
	}
	c := b.open[key]
	if c != nil {
		b.decideLate(c)
		b.close(key)
	}
	if b.rules.way == wayAfter || b.rules.way == wayBefore {
		if name == "del" && b.rules.deletes && b.rules.way == wayBefore {
			b.counts.Failures++
		}
		return
	}
	switch {
	case c == nil && (wasDone || name != "del" || !at.Before(b.horizon)):
		// A done marker that ends, or one that we know nothing of.
		return
	case name == "del" && b.rules.deletes:
		b.counts.Failures++
		if !b.ended.has(key) {
			b.ended.put(key, byOne)
		}
		return
	case name == "expired":
		b.counts.Expired++
	}
	b.ended.put(key, byTwo)
}

// totals returns the counts that are compared with those of the broker.
func (b *book) totals() dedup.EventCounts {
	return dedup.EventCounts{Epoch: b.epoch, Claims: b.counts.Claims, Completions: b.counts.Completions, Again: b.counts.Again, Unclear: b.counts.Unclear,
		Failures: b.counts.Failures - b.counts.Cleared, Retried: b.counts.Retried, GaveUp: b.retries.gaveUp}
}

// figures returns the counts as of now.
func (b *book) figures() dedup.StoreEvents {
	f := b.counts
	f.Work = b.counts.Work.Clone()
	f.AgainIDs = slices.Clone(b.counts.AgainIDs)
	f.GaveUp, f.Lost = b.retries.gaveUp, b.retries.lost
	if b.rules.way == wayTwoSteps {
		f.InFlight = int64(len(b.open))
	}
	f.Since = b.began
	return f
}
