package source

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// StaleAfter is the number of intervals without a success after which a source is stale.
const StaleAfter = 3

// ErrBusy is returned by a reading that gave way to another reading of the same broker: a missed tick, not a failure.
var ErrBusy = errors.New("another reading is under way")

// A Source is one thing that is read on a timer by one goroutine of its own. Its exported fields are fixed once it runs.
type Source struct {
	Name string
	Kind string
	// Place names the server that is read; empty where nobody says it.
	Place string
	// Interval is the time between two readings, Timeout the bound of one, Patience the age at which it is stale.
	Interval time.Duration
	Timeout  time.Duration
	Patience time.Duration
	Read     func(context.Context) error
	// Pace, if set, stretches the interval after a reading that took long.
	Pace func(took time.Duration) time.Duration
	// Sway is the share of the interval by which chance moves each reading back or forth: no beat of what is sampled keeps step with it.
	Sway float64
	// Turned is called without locks held when the first attempt ended and whenever OK changed.
	Turned func()
	// Stirred, if set, asks for a reading out of turn, which Turned follows: it is what was worth it.
	Stirred <-chan struct{}

	// late is how much later than planned the reading under way began, with those that were missed before it. Of Run.
	late time.Duration

	mu     sync.Mutex
	health dedup.SourceHealth
	began  time.Time // of the reading under way; zero when there is none
	note   string    // shown while the source is OK
	// wasOK is whether it was OK before a restart, which stands in for an attempt until the first one ended.
	wasOK bool
}

// A placed broker, store or reporter names the server that it reads, without credentials: what is known of one says nothing of another.
type placed interface{ Place() string }

// PlaceOf returns the place of what is read; empty where it does not say it.
func PlaceOf(read any) string {
	if p, ok := read.(placed); ok {
		return p.Place()
	}
	return ""
}

// Phase returns a share of span that depends on the name alone, so that sources spread over the interval and keep
// their places after a restart.
func Phase(name string, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return time.Duration(h.Sum64() % uint64(span))
}

// Run reads until ctx ends. The first reading comes within a second so that the pages fill at once, the second after
// half an interval and the phase, and so on every interval; ticks that pass during a reading are counted, not queued.
func (s *Source) Run(ctx context.Context) {
	next := time.Now().Add(Phase(s.Name, min(s.Interval/4, time.Second)))
	gap := s.Interval/2 + Phase(s.Name, s.Interval/2)
	for s.await(ctx, next) {
		s.late += time.Since(next)
		took := s.Attempt(ctx)
		s.late = 0
		if s.Pace != nil {
			gap = max(gap, s.Pace(took))
		}
		next = next.Add(gap + time.Duration(s.Sway*(2*rand.Float64()-1)*float64(gap)))
		gap = s.Interval
		for at := time.Now(); !next.After(at); next = next.Add(s.Interval) {
			s.miss()
			s.late += s.Interval
		}
	}
}

// await sleeps until t, reads out of turn when it is asked to, and reports false when ctx ended first.
func (s *Source) await(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return ctx.Err() == nil
		case <-s.Stirred:
			s.Attempt(ctx)
			if s.Turned != nil {
				s.Turned()
			}
		}
	}
}

// WaitUntil sleeps until t and reports false when ctx ended first.
func WaitUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// Attempt reads once, and returns how long that took.
func (s *Source) Attempt(ctx context.Context) time.Duration {
	start := time.Now()
	s.mu.Lock()
	s.began = start
	s.mu.Unlock()

	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	err := s.Read(bounded)
	cancel()
	took := time.Since(start)
	if ctx.Err() != nil {
		return took
	}
	if s.Finish(start, took, err) && s.Turned != nil {
		s.Turned()
	}
	return took
}

// Finish records the end of a reading and reports whether the source turned.
func (s *Source) Finish(start time.Time, took time.Duration, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = time.Time{}
	if errors.Is(err, ErrBusy) {
		s.health.Missed++
		return false
	}
	h := &s.health
	turned := !h.Tried || h.OK != (err == nil)
	// What a restart came between goes on; that it answered all the time is not known of one that nobody asked for long.
	if was := s.before(); was != (err == nil) || h.Since.IsZero() || err == nil && !h.Away.IsZero() {
		h.Since = start
	}
	h.Tried, h.OK, h.LastTry, h.Took = true, err == nil, start, took
	if err == nil {
		h.LastSuccess, h.Err, h.Away = start, "", dedup.Absence{}
	} else {
		// The broker's own messages begin with the name that is shown beside them.
		h.Err = strings.TrimPrefix(Words(err, s.Timeout), "broker "+strings.TrimPrefix(s.Name, s.Kind+" ")+": ")
	}
	return turned
}

// before is whether the source was OK at the last attempt, that of a run before this one if need be. It is called with the lock held.
func (s *Source) before() bool {
	if s.health.Tried {
		return s.health.OK
	}
	return s.wasOK
}

// Resume goes on from how the source was before a restart. An absence as short as the source may be silent is none.
func (s *Source) Resume(r dedup.SourceRecord, gone dedup.Absence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wasOK = r.OK
	s.health.LastSuccess, s.health.Since, s.health.Away = r.LastSuccess, r.Since, r.Away
	if d := gone.Lasted(); d > s.Patience && d > r.Away.Lasted() {
		s.health.Away = gone
	}
}

// Record is how the source is now, for a restart to go on from.
func (s *Source) Record(now time.Time) dedup.SourceRecord {
	h := s.Status(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := dedup.SourceRecord{Name: s.Name, Place: s.Place, OK: h.OK, LastSuccess: h.LastSuccess, Since: h.Since, Away: h.Away}
	if !h.Tried {
		r.OK = s.wasOK
	}
	return r
}

// Remark sets what is shown beside a source that is OK.
func (s *Source) Remark(note string) {
	s.mu.Lock()
	s.note = note
	s.mu.Unlock()
}

func (s *Source) miss() {
	s.mu.Lock()
	s.health.Missed++
	s.mu.Unlock()
}

// Status returns the health as of now. A reading that outlives its own timeout, or a success that is too old, is not
// OK although no attempt has failed.
func (s *Source) Status(now time.Time) dedup.SourceHealth {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.health
	h.Name, h.Kind = s.Name, s.Kind
	if !s.began.IsZero() {
		under := now.Sub(s.began)
		h.Missed += uint64(max(0, under/s.Interval))
		if under > s.Timeout+time.Second {
			if s.before() || h.Since.IsZero() {
				h.Since = s.began
			}
			h.OK, h.Err = false, fmt.Sprintf("no answer for %s, and the reading does not end", under.Round(time.Second))
			h.Tried = true
		}
	}
	if h.OK && now.Sub(h.LastSuccess) > s.Patience {
		h.Since = h.LastSuccess
		h.OK, h.Err = false, fmt.Sprintf("the last answer is %s old", now.Sub(h.LastSuccess).Round(time.Second))
	}
	if h.OK {
		h.Note = s.note
	}
	return h
}

// Words returns an error in words for people: the public text where there is one, bounded and without control characters.
func Words(err error, timeout time.Duration) string {
	var public *dedup.Error
	switch {
	case errors.As(err, &public):
		return text.Plain(public.Public, 300)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", timeout)
	default:
		return text.Plain(err.Error(), 300)
	}
}

// A Reading is the newest value that a source gave, and how many it has given.
type Reading[T any] struct {
	mu    sync.Mutex
	value T
	count uint64
}

// Set takes a new value.
func (r *Reading[T]) Set(v T) {
	r.mu.Lock()
	r.value, r.count = v, r.count+1
	r.mu.Unlock()
}

// Get returns the newest value, and how many there were.
func (r *Reading[T]) Get() (T, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.count
}

// WhyDown returns why a source's values cannot be shown, and an empty string when they can.
func WhyDown(what string, h dedup.SourceHealth) string {
	switch {
	case !h.Tried:
		return what + " has not been read yet"
	case !h.OK:
		return what + " cannot be read: " + h.Err
	}
	return ""
}
