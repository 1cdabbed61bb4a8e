package main

import (
	"sync"
	"time"
)

// An event is one thing that truly happened in a pipeline.
//
// Kinds: ack (a delivery was acked, see How), req (returned to its queue), rej (rejected, not requeued), died (its channel ended
// with it), work (work was done), fail (work failed), hit (met work in flight), again (work was done twice), depth (of the
// dead-letter queue Q, N), take (N were taken out of the dead-letter queue Q), orphan (a claim was left behind, Dur is its life),
// mark (a done marker was written), auto (delivered with automatic acks).
type event struct {
	At   int64  `json:"t"` // microseconds since 1970
	Kind string `json:"k"`
	// How an ack came: work, dup (the work was done before), early (the work was in flight), swallowed, parked, failed, moved.
	How  string `json:"h,omitempty"`
	ID   string `json:"i,omitempty"`
	Copy int64  `json:"c,omitempty"`
	// Came is when the delivery arrived.
	Came int64  `json:"a,omitempty"`
	Dur  int64  `json:"d,omitempty"`
	N    int64  `json:"n,omitempty"`
	Q    string `json:"q,omitempty"`
	// Lost: an ack that the broker never saw, for the message came again.
	Lost bool `json:"l,omitempty"`
	// Sent: of a duplicate, it is another copy than the one that did the work.
	Sent bool `json:"s,omitempty"`
}

// A ledger is the truth of one pipeline.
type ledger struct {
	mu       sync.Mutex
	events   []event
	done     map[string]int
	doneBy   map[string]int64
	working  map[string]int
	attempts map[string]int
	acked    map[int64]int // the event of the last ack of a copy
	received int64
}

func newLedger() *ledger {
	return &ledger{done: map[string]int{}, doneBy: map[string]int64{}, working: map[string]int{}, attempts: map[string]int{}, acked: map[int64]int{}}
}

func now() int64 { return time.Now().UnixMicro() }

func (l *ledger) add(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.append(e)
}

func (l *ledger) append(e event) {
	if e.At == 0 {
		e.At = now()
	}
	l.events = append(l.events, e)
}

// arrived notes a delivery; one whose ack was sent before shows that this ack was lost.
func (l *ledger) arrived(copy int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received++
	if i, ok := l.acked[copy]; ok && copy != 0 {
		l.events[i].Lost = true
		delete(l.acked, copy)
	}
}

// ack notes an ack that was sent.
func (l *ledger) ack(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Kind = "ack"
	if e.How == "dup" {
		e.Sent = l.doneBy[e.ID] != e.Copy
	}
	l.append(e)
	if e.Copy != 0 {
		l.acked[e.Copy] = len(l.events) - 1
	}
}

// begin notes that work begins and returns the number of the attempt.
func (l *ledger) begin(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working[id]++
	l.attempts[id]++
	return l.attempts[id]
}

// end notes that work ended: with what, and how long it took.
func (l *ledger) end(id string, copy int64, took time.Duration, failed, died bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working[id]--
	switch {
	case died:
	case failed:
		l.append(event{Kind: "fail", ID: id, Dur: took.Microseconds()})
	default:
		l.done[id]++
		l.append(event{Kind: "work", ID: id, Copy: copy, Dur: took.Microseconds()})
		if l.done[id] > 1 {
			l.append(event{Kind: "again", ID: id})
		} else {
			l.doneBy[id] = copy
		}
	}
}

// met says what a delivery that met a marker truly met.
func (l *ledger) met(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.done[id] > 0:
		return "dup"
	case l.working[id] > 0:
		return "early"
	}
	return "swallowed"
}
