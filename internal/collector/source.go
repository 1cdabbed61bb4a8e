package collector

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
)

// staleAfter is the number of intervals without a success after which a source is stale.
const staleAfter = 3

// errBusy is returned by a reading that gave way to another reading of the same broker: a missed tick, not a failure.
var errBusy = errors.New("another reading is under way")

// A source is one thing that is read on a timer by one goroutine of its own.
type source struct {
	name string
	kind string
	// place names the server that is read; empty where nobody says it.
	place string
	// interval is the time between two readings, timeout the bound of one, patience the age at which it is stale.
	interval time.Duration
	timeout  time.Duration
	patience time.Duration
	read     func(context.Context) error
	// pace, if set, stretches the interval after a reading that took long.
	pace func(took time.Duration) time.Duration
	// sway is the share of the interval by which chance moves each reading back or forth: no beat of what is sampled keeps step with it.
	sway float64
	// turned is called without locks held when the first attempt ended and whenever OK changed.
	turned func()
	// stirred, if set, asks for a reading out of turn, which turned follows: it is what was worth it.
	stirred <-chan struct{}

	mu     sync.Mutex
	health dedup.SourceHealth
	began  time.Time // of the reading under way; zero when there is none
	note   string    // shown while the source is OK
	// wasOK is whether it was OK before a restart, which stands in for an attempt until the first one ended.
	wasOK bool
}

// A placed broker, store or reporter names the server that it reads, without credentials: what is known of one says nothing of another.
type placed interface{ Place() string }

// placeOf returns the place of what is read; empty where it does not say it.
func placeOf(read any) string {
	if p, ok := read.(placed); ok {
		return p.Place()
	}
	return ""
}

// phase returns a share of span that depends on the name alone, so that sources spread over the interval and keep
// their places after a restart.
func (s *source) phase(span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(s.name))
	return time.Duration(h.Sum64() % uint64(span))
}

// run reads until ctx ends. The first reading comes within a second so that the pages fill at once, the second after
// half an interval and the phase, and so on every interval; ticks that pass during a reading are counted, not queued.
func (s *source) run(ctx context.Context) {
	next := time.Now().Add(s.phase(min(s.interval/4, time.Second)))
	gap := s.interval/2 + s.phase(s.interval/2)
	for s.await(ctx, next) {
		took := s.attempt(ctx)
		if s.pace != nil {
			gap = max(gap, s.pace(took))
		}
		next = next.Add(gap + time.Duration(s.sway*(2*rand.Float64()-1)*float64(gap)))
		gap = s.interval
		for at := time.Now(); !next.After(at); next = next.Add(s.interval) {
			s.miss()
		}
	}
}

// await sleeps until t, reads out of turn when it is asked to, and reports false when ctx ended first.
func (s *source) await(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return ctx.Err() == nil
		case <-s.stirred:
			s.attempt(ctx)
			if s.turned != nil {
				s.turned()
			}
		}
	}
}

// waitUntil sleeps until t and reports false when ctx ended first.
func waitUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

func (s *source) attempt(ctx context.Context) time.Duration {
	start := time.Now()
	s.mu.Lock()
	s.began = start
	s.mu.Unlock()

	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	err := s.read(bounded)
	cancel()
	took := time.Since(start)
	if ctx.Err() != nil {
		return took
	}
	if s.finish(start, took, err) && s.turned != nil {
		s.turned()
	}
	return took
}

// finish records the end of a reading and reports whether the source turned.
func (s *source) finish(start time.Time, took time.Duration, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = time.Time{}
	if errors.Is(err, errBusy) {
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
		h.Err = strings.TrimPrefix(words(err, s.timeout), "broker "+strings.TrimPrefix(s.name, s.kind+" ")+": ")
	}
	return turned
}

// before is whether the source was OK at the last attempt, that of a run before this one if need be. It is called with the lock held.
func (s *source) before() bool {
	if s.health.Tried {
		return s.health.OK
	}
	return s.wasOK
}

// resume goes on from how the source was before a restart. An absence as short as the source may be silent is none.
func (s *source) resume(r dedup.SourceRecord, gone dedup.Absence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wasOK = r.OK
	s.health.LastSuccess, s.health.Since, s.health.Away = r.LastSuccess, r.Since, r.Away
	if d := gone.Lasted(); d > s.patience && d > r.Away.Lasted() {
		s.health.Away = gone
	}
}

// record is how the source is now, for a restart to go on from.
func (s *source) record(now time.Time) dedup.SourceRecord {
	h := s.status(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := dedup.SourceRecord{Name: s.name, Place: s.place, OK: h.OK, LastSuccess: h.LastSuccess, Since: h.Since, Away: h.Away}
	if !h.Tried {
		r.OK = s.wasOK
	}
	return r
}

// remark sets what is shown beside a source that is OK.
func (s *source) remark(note string) {
	s.mu.Lock()
	s.note = note
	s.mu.Unlock()
}

func (s *source) miss() {
	s.mu.Lock()
	s.health.Missed++
	s.mu.Unlock()
}

// status returns the health as of now. A reading that outlives its own timeout, or a success that is too old, is not
// OK although no attempt has failed.
func (s *source) status(now time.Time) dedup.SourceHealth {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.health
	h.Name, h.Kind = s.name, s.kind
	if !s.began.IsZero() {
		under := now.Sub(s.began)
		h.Missed += uint64(max(0, under/s.interval))
		if under > s.timeout+time.Second {
			if s.before() || h.Since.IsZero() {
				h.Since = s.began
			}
			h.OK, h.Err = false, fmt.Sprintf("no answer for %s, and the reading does not end", under.Round(time.Second))
			h.Tried = true
		}
	}
	if h.OK && now.Sub(h.LastSuccess) > s.patience {
		h.Since = h.LastSuccess
		h.OK, h.Err = false, fmt.Sprintf("the last answer is %s old", now.Sub(h.LastSuccess).Round(time.Second))
	}
	if h.OK {
		h.Note = s.note
	}
	return h
}

// words returns an error in words for people: the public text where there is one, bounded and without control characters.
func words(err error, timeout time.Duration) string {
	var public *dedup.Error
	switch {
	case errors.As(err, &public):
		return plain(public.Public, 300)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", timeout)
	default:
		return plain(err.Error(), 300)
	}
}

// A reading is the newest value that a source gave, and how many it has given.
type reading[T any] struct {
	mu    sync.Mutex
	value T
	count uint64
}

func (r *reading[T]) set(v T) {
	r.mu.Lock()
	r.value, r.count = v, r.count+1
	r.mu.Unlock()
}

func (r *reading[T]) get() (T, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.count
}
