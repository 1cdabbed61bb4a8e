package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/dedup"
)

const (
	// readAfter is how long after the last delivery of a message its marker is read: its work is done by then, mostly. What decides is when
	// the marker was set, not when it is read, so that few readings of many markers do.
	readAfter = 2 * time.Second
	// readEvery is the time between two readings, readAtOnce the most markers of one, so that four a second are read at most; the first
	// probes of a tick are read as soon as they are seen.
	readEvery  = 250 * time.Millisecond
	readAtOnce = 1000
	probes     = 10
	// readLate is by how much a reading may be late before what was set meanwhile counts as hidden by what came after.
	readLate = time.Second
	// readTimeout bounds a reading, finishTimeout the readings after the trace.
	readTimeout   = 5 * time.Second
	finishTimeout = 30 * time.Second
	// progressEvery is the time between two reports.
	progressEvery = time.Second
	// sameSet is how far two readings of the time of one setting may lie apart: older servers tell what is left of a life.
	sameSet = 20 * time.Millisecond
	// mostIDs bounds the ids that are remembered, those of events that are never delivered too: a store can be others' as well.
	mostIDs = 500_000
)

// book keeps what is known of each id of a session. Ids are forgotten with it.
type book struct {
	scheme dedup.Scheme

	mu   sync.Mutex
	seen int64
	ids  map[string]*entry
	// queue are the ids to be read, in the order of their last deliveries, and behind them those that could not be read; an entry that was
	// delivered later stands in it again. fresh are those that nobody has read.
	queue []due
	fresh []string
	// offsets are the store's clock less ours, raw the times of markers as the store keeps them.
	offsets []time.Duration
	raw     []time.Time
	// full is true once an event was not taken.
	full bool
}

type due struct {
	id string
	at time.Time
}

// An entry is one id. Set are by the store's clock.
type entry struct {
	last time.Time
	// waits is true while it stands in the queue for its last delivery.
	waits, read bool
	estimate.SessionMarker
}

func newBook(s dedup.Scheme) *book { return &book{scheme: s, ids: map[string]*entry{}} }

// entry returns the one of an id. The caller holds the lock.
func (b *book) entry(id string) *entry {
	e := b.ids[id]
	if e == nil {
		e = &entry{}
		b.ids[id] = e
	}
	return e
}

// delivered takes a delivery as it is traced.
func (b *book) delivered(d dedup.TracedDelivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen++
	if d.ID == "" {
		return
	}
	e := b.entry(d.ID)
	if e.last.IsZero() && len(b.fresh) < probes {
		b.fresh = append(b.fresh, d.ID)
	}
	if e.waits && d.At.Sub(e.last) > readAfter+readLate {
		e.Unread = true
	}
	e.last, e.waits = d.At, true
	b.queue = append(b.queue, due{d.ID, d.At})
}

// event takes what a notification told of a marker. Of ids that are never delivered it is of no use, but which these are is not known yet.
func (b *book) event(v dedup.StoreEvent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids[v.ID] == nil && len(b.ids) >= mostIDs {
		b.full = true
		return
	}
	e := b.entry(v.ID)
	switch v.Kind {
	case dedup.MarkerCompleted:
		e.Completed = append(e.Completed, v.At)
	case dedup.MarkerClaimed:
		e.Claimed = append(e.Claimed, v.At)
	case dedup.MarkerFailed:
		e.Failed++
	}
}

// follow reads the markers that are due, and reports progress, until ctx ends.
func (b *book) follow(ctx context.Context, r Request, began <-chan time.Time) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	var since, told time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case since = <-began:
		case <-tick.C:
		}
		if now := time.Now(); r.Progress != nil && !since.IsZero() && now.Sub(told) >= progressEvery {
			told = now
			r.Progress(since, b.count())
		}
		if err := b.read(ctx, r.Store, b.due(time.Now().Add(-readAfter))); err != nil && ctx.Err() == nil {
			r.Log.Warn("markers of a measurement could not be read; they are read again", "pipeline", r.Pipeline.Name, "err", err)
		}
	}
}

func (b *book) count() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

// due takes the ids whose last delivery was before a time, and those that are to be seen at once.
func (b *book) due(before time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := b.fresh
	b.fresh = nil
	n := 0
	for n < len(b.queue) && len(ids) < readAtOnce && !b.queue[n].at.After(before) {
		if e := b.ids[b.queue[n].id]; e.waits && e.last.Equal(b.queue[n].at) {
			e.waits = false
			ids = append(ids, b.queue[n].id)
		}
		n++
	}
	b.queue = b.queue[n:]
	return ids
}

// read reads markers. Those that could not be read are due again: what was set since their last reading may be set anew later, and is seen no more then.
func (b *book) read(ctx context.Context, store Store, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	asked := time.Now()
	found, err := store.Find(ctx, ids)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		for _, id := range ids {
			if e := b.ids[id]; !e.waits {
				e.waits = true
				b.queue = append(b.queue, due{id, e.last})
			}
		}
		return err
	}
	for i, s := range found {
		b.note(b.ids[ids[i]], s, asked)
	}
	return nil
}

// note takes a reading of a marker, which was asked for at a time.
func (b *book) note(e *entry, s *dedup.Sighting, asked time.Time) {
	e.read = true
	if s == nil {
		e.State, e.Open = "", asked
		return
	}
	if !s.Clock.IsZero() && !s.At.IsZero() {
		b.offsets = append(b.offsets, s.Clock.Sub(s.At))
	}
	if e.State = s.State; s.CounterAlone() && (s.Attempts == nil || *s.Attempts < int64(b.scheme.GiveUp)) {
		e.State = "" // it failed, and is tried again
	}
	if e.State != dedup.Done && e.State != dedup.Present {
		e.Open = asked
		return
	}
	set := setTime(s, b.scheme)
	if set.IsZero() {
		return
	}
	if n := len(e.Set); n > 0 && set.Sub(e.Set[n-1]).Abs() <= sameSet {
		return
	}
	e.Set = append(e.Set, set)
	b.raw = append(b.raw, set)
}

// setTime is when a marker was set by the store's clock; zero where it does not tell. What is left of a life tells it to the millisecond,
// and by the store's clock, where a time in the value is of the consumer's.
func setTime(s *dedup.Sighting, scheme dedup.Scheme) time.Time {
	if scheme.DatesByExpiry() && s.ExpiresMillis > 0 && s.ExpirySet.IsZero() {
		return time.UnixMilli(s.ExpiresMillis).Add(-scheme.DoneTTL)
	}
	return s.Since
}

// finish reads what is left after the trace: ids whose last delivery was not followed by a reading, and those that were not done then.
func (b *book) finish(ctx context.Context, store Store) error {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(readAfter):
	}
	for part := range slices.Chunk(b.open(), readAtOnce) {
		if err := b.read(ctx, store, part); err != nil {
			return err
		}
	}
	return nil
}

// open are the ids that must be read once more.
func (b *book) open() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, e := range b.ids {
		if !e.last.IsZero() && (e.waits || !e.read || e.State != dedup.Done && e.State != dedup.Present) {
			ids = append(ids, id)
		}
	}
	return ids
}

// markers are the markers of the ids that were delivered, by our clock, with the resolution of their times.
func (b *book) markers() (map[string]estimate.SessionMarker, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	offset := median(b.offsets)
	out := make(map[string]estimate.SessionMarker, len(b.ids))
	for id, e := range b.ids {
		if e.last.IsZero() {
			continue
		}
		m := e.SessionMarker
		for i := range m.Set {
			m.Set[i] = m.Set[i].Add(-offset)
		}
		slices.SortFunc(m.Set, time.Time.Compare)
		out[id] = m
	}
	return out, estimate.ResolutionOf(b.raw)
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
