package main

import (
	"errors"
	"path/filepath"
	"sync"
	"time"
)

// The kinds of events.
const (
	kindAck      = "ack"    // a delivery was acked, see the hows
	kindAuto     = "auto"   // delivered with automatic acks
	kindRequeued = "req"    // returned to its queue
	kindRejected = "rej"    // rejected, not requeued
	kindDied     = "died"   // its channel ended with it
	kindWork     = "work"   // work was done
	kindFail     = "fail"   // work failed
	kindAgain    = "again"  // work was done twice
	kindHit      = "hit"    // met work in flight
	kindOrphan   = "orphan" // a claim was left behind, Dur is its life
	kindMark     = "mark"   // a done marker was written, Dur is its life
	kindDepth    = "depth"  // N dead letters are in Q
	kindTake     = "take"   // N dead letters were taken out of Q
	kindPurge    = "purge"  // N messages were purged
)

// The hows: what an ack came of.
const (
	howWork      = "work"
	howDup       = "dup"       // the work was done before
	howEarly     = "early"     // the work was in flight
	howSwallowed = "swallowed" // the work was neither
	howParked    = "parked"
	howFailed    = "failed"
	howIgnored   = "ignored"
	howMoved     = "moved" // by hand
)

// An event is one thing that truly happened in a pipeline.
type event struct {
	At   int64  `json:"t"` // microseconds since 1970
	Kind string `json:"k"`
	How  string `json:"h,omitempty"`
	ID   string `json:"i,omitempty"`
	Copy int64  `json:"c,omitempty"`
	Came int64  `json:"a,omitempty"` // when the delivery arrived
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
	done     map[string]int   // how often the work of a message was done
	doneBy   map[string]int64 // the copy that did it first
	working  map[string]int   // how many are at it
	attempts map[string]int
	acked    map[int64]int // the event of the last ack of a copy
	received int64
}

func newLedger() *ledger {
	return &ledger{done: map[string]int{}, doneBy: map[string]int64{}, working: map[string]int{}, attempts: map[string]int{}, acked: map[int64]int{}}
}

func now() int64 { return time.Now().UnixMicro() }

// add notes an event that happens now.
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
	e.Kind = kindAck
	if e.How == howDup {
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

// end notes that work ended: nil if it is done, or with what error, and how long it took.
func (l *ledger) end(id string, copy int64, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working[id]--
	switch {
	case errors.Is(err, errDied):
	case errors.Is(err, errFailed):
		l.append(event{Kind: kindFail, ID: id, Dur: took.Microseconds()})
	default:
		l.done[id]++
		l.append(event{Kind: kindWork, ID: id, Copy: copy, Dur: took.Microseconds()})
		if l.done[id] > 1 {
			l.append(event{Kind: kindAgain, ID: id})
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
		return howDup
	case l.working[id] > 0:
		return howEarly
	}
	return howSwallowed
}

// A record is what is kept of one pipeline.
type record struct {
	Name         string
	Begun, Ended int64
	Config       string
	Events       []event
	Done         map[string]int
}

// write keeps the ledger in a folder.
func (l *ledger) write(folder string, r record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Events, r.Done = l.events, l.done
	return writeZipped(filepath.Join(folder, "ledger-"+r.Name+".json.gz"), r)
}

// readTruths reads all ledgers of a folder.
func readTruths(folder string) (map[string]*truth, error) {
	files, err := filepath.Glob(filepath.Join(folder, "ledger-*.json.gz"))
	if err != nil {
		return nil, err
	}
	truths := map[string]*truth{}
	for _, name := range files {
		err := readZipped(name, func(r record) error {
			truths[r.Name] = newTruth(r)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return truths, nil
}
