package markers

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// mostOwn bounds the acts of our own that are remembered until their notifications came.
const mostOwn = 10_000

// ownUnsure is why counts begin anew behind an act that cannot be told from what consumers do.
const ownUnsure = "what an operator did to a marker cannot be told from what consumers did"

// ownActs are what our own actor does to markers, noted before it is done: a notification does not say who wrote the key, and
// neither a clear nor a restore was the work of a delivery. A nil *ownActs notes nothing.
type ownActs struct {
	mu     sync.Mutex
	acts   []*ownAct
	unsure bool
}

// An ownAct is one write of ours to one key.
type ownAct struct {
	key, event string
	// state is that of a restored marker, value that of a restored retry counter.
	state dedup.State
	value string
	// done: the server has carried it out. heard: its notification came. asked: the server was asked something since it was
	// done, so that the notification comes before the answer or never.
	done, heard, asked bool
}

// begin notes what is about to be done.
func (o *ownActs) begin(acts ...*ownAct) []*ownAct {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.acts)+len(acts) > mostOwn {
		o.unsure = true
		return nil
	}
	o.acts = append(o.acts, acts...)
	return acts
}

// errUndone ends acts that the server did not carry out although it carried out their transaction.
var errUndone = errors.New("there was nothing to do")

// end says what became of acts: done without an error, perhaps done where the answer was lost, else not done.
func (o *ownActs) end(acts []*ownAct, err error) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var lost *lostError
	for _, a := range acts {
		a.done = err == nil
		switch {
		case errors.As(err, &lost):
			o.unsure = true
		case err != nil && a.heard:
			// What came was somebody else's: another operator's, or a consumer's that was taken for ours.
			i := slices.IndexFunc(o.acts, func(b *ownAct) bool { return !b.heard && b.key == a.key && b.event == a.event })
			if i < 0 {
				o.unsure = true
			} else {
				o.acts[i].heard = true
			}
		}
	}
	o.acts = slices.DeleteFunc(o.acts, func(a *ownAct) bool {
		return a.done && a.heard || err != nil && slices.Contains(acts, a)
	})
}

// take returns the act of ours that a notification tells of, nil where somebody else did it.
func (o *ownActs) take(key, event string) *ownAct {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.acts, func(a *ownAct) bool { return !a.heard && a.key == key && a.event == event })
	if i < 0 {
		return nil
	}
	a := o.acts[i]
	if a.heard = true; a.done {
		o.acts = slices.Delete(o.acts, i, i+1)
	}
	return a
}

// ask marks what was done until now: its notifications come before the answer to what is asked next. It returns true once
// after something happened that cannot be told from the acts of others; then the counts before that answer are worthless.
func (o *ownActs) ask() (unsure bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.acts {
		a.asked = a.done
	}
	unsure, o.unsure = o.unsure, false
	return unsure
}

// answered forgets what was done before the question and of which no notification came.
func (o *ownActs) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acts = slices.DeleteFunc(o.acts, func(a *ownAct) bool { return a.asked })
}

// reset forgets what was done before a subscription stands.
func (o *ownActs) reset() {
	o.ask()
	o.answered()
}

// ours takes a notification of what our own actor did: a clear is no failure of a delivery, a restore no claim of one.
func (b *eventBook) ours(act *ownAct, at time.Time) error {
	b.events++
	if act.event == "del" {
		before := b.counts.Failures
		b.ends(act.key, "del", at)
		if b.ended.has(act.key) { // whoever held the claim may work on: a second claim is one of another delivery
			b.ended.put(act.key, byTwo)
		}
		b.past.drop(act.key) // who clears a done marker wants its work done anew
		b.counts.Cleared += b.counts.Failures - before
		return nil
	}
	switch {
	case b.open[act.key] != nil:
		// A restore writes only where no marker is.
		return errMissed
	case act.state == dedup.Done || b.rules.way == wayAfter:
		b.done.put(act.key, 0)
		b.ended.drop(act.key)
		return nil
	case b.rules.way == wayBefore && !b.rules.expiring:
		return nil
	}
	if err := b.claim(act.key, true, at); err != nil {
		return err
	}
	b.open[act.key].restored = true
	return nil
}

// restored takes a counter that our own actor wrote back: no failure raised it.
func (r *retryCounts) restored(act *ownAct) {
	if n, err := strconv.ParseInt(act.value, 10, 64); err == nil {
		r.last.put(act.key, n)
	}
}

// lostError is a transaction that may or may not have been carried out.
type lostError struct{ err error }

func (e *lostError) Error() string { return "the answer to EXEC was lost: " + e.err.Error() }

func (e *lostError) Unwrap() error { return e.err }
