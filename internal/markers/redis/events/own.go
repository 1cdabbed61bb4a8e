package events

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

// OwnActs are what our own actor does to markers, noted before it is done: a notification does not say who wrote the key, and
// neither a clear nor a restore was the work of a delivery. A nil *OwnActs notes nothing.
type OwnActs struct {
	mu     sync.Mutex
	acts   []*OwnAct
	unsure bool
}

// An OwnAct is one write of ours to one key.
type OwnAct struct {
	Key, Event string
	// State is that of a restored marker, value that of a restored retry counter.
	State dedup.State
	Value string
	// done: the server has carried it out. heard: its notification came. asked: the server was asked something since it was
	// done, so that the notification comes before the answer or never.
	done, received, asked bool
}

// Begin notes what is about to be done.
func (o *OwnActs) Begin(acts ...*OwnAct) []*OwnAct {
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

// ErrUndone ends acts that the server did not carry out although it carried out their transaction.
var ErrUndone = errors.New("there was nothing to do")

// End says what became of acts: done without an error, perhaps done where the answer was lost, else not done.
func (o *OwnActs) End(acts []*OwnAct, err error) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var lost *LostError
	for _, a := range acts {
		a.done = err == nil
		switch {
		case errors.As(err, &lost):
			o.unsure = true
		case err != nil && a.received:
			// What came was somebody else's: another operator's, or a consumer's that was taken for ours.
			i := slices.IndexFunc(o.acts, func(b *OwnAct) bool { return !b.received && b.Key == a.Key && b.Event == a.Event })
			if i < 0 {
				o.unsure = true
			} else {
				o.acts[i].received = true
			}
		}
	}
	o.acts = slices.DeleteFunc(o.acts, func(a *OwnAct) bool {
		return a.done && a.received || err != nil && slices.Contains(acts, a)
	})
}

// take returns the act of ours that a notification tells of, nil where somebody else did it.
func (o *OwnActs) take(key, event string) *OwnAct {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.acts, func(a *OwnAct) bool { return !a.received && a.Key == key && a.Event == event })
	if i < 0 {
		return nil
	}
	a := o.acts[i]
	if a.received = true; a.done {
		o.acts = slices.Delete(o.acts, i, i+1)
	}
	return a
}

// ask marks what was done until now: its notifications come before the answer to what is asked next. It returns true once
// after something happened that cannot be told from the acts of others; then the counts before that answer are worthless.
func (o *OwnActs) ask() (unsure bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.acts {
		a.asked = a.done
	}
	unsure, o.unsure = o.unsure, false
	return unsure
}

// answered forgets what was done before the question and of which no notification came.
func (o *OwnActs) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acts = slices.DeleteFunc(o.acts, func(a *OwnAct) bool { return a.asked })
}

// reset forgets what was done before a subscription stands.
func (o *OwnActs) reset() {
	o.ask()
	o.answered()
}

// ours takes a notification of what our own actor did: a clear is no failure of a delivery, a restore no claim of one.
func (b *book) ours(act *OwnAct, at time.Time) error {
	b.events++
	if act.Event == "del" {
		before := b.counts.Failures
		b.ends(act.Key, "del", at)
		if b.ended.has(act.Key) { // whoever held the claim may work on: a second claim is one of another delivery
			b.ended.put(act.Key, byTwo)
		}
		b.past.drop(act.Key) // who clears a done marker wants its work done anew
		b.counts.Cleared += b.counts.Failures - before
		return nil
	}
	switch {
	case b.open[act.Key] != nil:
		// A restore writes only where no marker is.
		return errMissed
	case act.State == dedup.Done || b.rules.way == wayAfter:
		b.done.put(act.Key, 0)
		b.ended.drop(act.Key)
		return nil
	case b.rules.way == wayBefore && !b.rules.expiring:
		return nil
	}
	if err := b.claim(act.Key, true, at); err != nil {
		return err
	}
	b.open[act.Key].older = true
	return nil
}

// restored takes a counter that our own actor wrote back: no failure raised it.
func (r *retryCounts) restored(act *OwnAct) {
	if n, err := strconv.ParseInt(act.Value, 10, 64); err == nil {
		r.last.put(act.Key, n)
	}
}

// LostError is a transaction that may or may not have been carried out.
type LostError struct{ Err error }

// Error says what was lost.
func (e *LostError) Error() string { return "the answer to EXEC was lost: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }
