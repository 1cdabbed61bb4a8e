// Package admintest has what tests of acting share: callers, a clock, what the collector knows, and an audit in memory.
package admintest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// Caller returns somebody with a role, who has signed in.
func Caller(name string, role auth.Role) admin.Caller {
	return admin.Caller{Principal: auth.Principal{Name: name, Role: role, Method: "session"}, From: "192.0.2.7"}
}

// Must ends the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Denied checks that somebody who has the role was refused, and that this left one denied entry with its reason and nothing after it. The
// entries are those of that person, newest first.
func Denied(t *testing.T, action string, err error, entries []admin.Entry) {
	t.Helper()
	if kind := dedup.KindOf(err); kind != dedup.Forbidden && kind != dedup.Conflict {
		t.Fatalf("not refused: %v", err)
	}
	var denied []admin.Entry
	for _, e := range entries {
		if e.Phase == admin.Denied {
			denied = append(denied, e)
		}
	}
	if len(denied) != 1 || denied[0].Action != action || denied[0].Detail != dedup.PublicText(err) || denied[0].Target == "" {
		t.Errorf("%v left %+v", err, denied)
	}
	if len(denied) == 1 && entries[0].Number != denied[0].Number {
		t.Errorf("something was begun after it: %+v", entries[0])
	}
}

// Quiet returns a log that nobody reads.
func Quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// A Clock stands still until it is advanced.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows a time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A Round is what the collector knows.
type Round struct {
	mu   sync.Mutex
	snap *dedup.Snapshot
}

// Snapshot returns what is known; nil before anything is.
func (r *Round) Snapshot() *dedup.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap
}

// Set replaces what is known.
func (r *Round) Set(snap *dedup.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snap = snap
}

// A Recorder is an audit in memory that fails at one entry.
type Recorder struct {
	mu sync.Mutex
	// Entries are what was recorded.
	Entries []admin.Entry
	// FailAt is the number of the entry that fails: 1 for the first one, 0 for none.
	FailAt int
}

// Record keeps an entry.
func (r *Recorder) Record(_ context.Context, e admin.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.Entries)+1 == r.FailAt {
		r.FailAt = 0
		return errors.New("disk full")
	}
	r.Entries = append(r.Entries, e)
	return nil
}

// Phases returns the phases of the entries.
func (r *Recorder) Phases() []string {
	var all []string
	for _, e := range r.Entries {
		all = append(all, e.Phase)
	}
	return all
}

// Gate returns a gate that records here, and has no accounts.
func (r *Recorder) Gate() *admin.Gate { return admin.NewGate(r, nil, Quiet()) }
