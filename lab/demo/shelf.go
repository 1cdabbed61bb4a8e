package demo

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A Shelf is a store of markers in memory that can be read and changed like a real one. It is safe for concurrent use.
type Shelf struct {
	mu      sync.Mutex
	markers map[string]dedup.Sighting
	retries map[string]dedup.RetryCounter
	born    time.Time
	changes int
	// Down makes every call fail, as when the store does not answer; Slow delays every reading.
	Down bool
	Slow time.Duration
}

// NewShelf returns the markers of the store orders: alive, dead, orphaned and doubtful ones, some that never expire, some
// that failed, and messages that were given up.
func NewShelf(now time.Time) *Shelf {
	s := &Shelf{markers: map[string]dedup.Sighting{}, retries: map[string]dedup.RetryCounter{}, born: now}
	id := func(i int) string {
		return fmt.Sprintf("%08x-7d3e-4b7e-9c1f-%012x", hash("a"+strconv.Itoa(i))&0xffffffff, hash("b"+strconv.Itoa(i))&0xffffffffffff)
	}
	add := func(i int, age, ttl time.Duration, attempts string) {
		s.put(id(i), "order:"+strconv.Itoa(88000+i), now.Add(-age), ttl)
		if attempts != "" {
			s.retries["msg:"+id(i)] = dedup.RetryCounter{Key: "retry:" + id(i), Value: attempts, ExpiresMillis: now.Add(23 * time.Hour).UnixMilli()}
		}
	}
	for i, age := range []time.Duration{192 * time.Minute, 171 * time.Minute, 64 * time.Minute, 61 * time.Minute} {
		add(i, age, 0, "")
	}
	for i, age := range []time.Duration{44 * time.Minute, 31 * time.Minute, 22 * time.Minute, 9 * time.Minute, 8 * time.Minute, 7 * time.Minute, 390 * time.Second, 5 * time.Minute} {
		add(10+i, age, 2*time.Hour, []string{"", "2", "", "", "4", "", "", ""}[i])
	}
	for i, age := range []time.Duration{58 * time.Second, 49 * time.Second, 41 * time.Second} {
		add(20+i, age, 5*time.Minute, "")
	}
	return s
}

func (s *Shelf) put(id, business string, since time.Time, ttl time.Duration) {
	g := dedup.Sighting{
		Marker: dedup.Marker{Store: "orders", ID: id, Key: "msg:" + id, State: dedup.Processing, Status: "processing", BusinessKey: business, Since: since},
		Server: "demo", Type: "string", Value: []byte("processing"), ExpiresMillis: dedup.NoExpiry,
	}
	if ttl > 0 {
		g.Expires = since.Add(ttl).Truncate(time.Millisecond)
		g.ExpiresMillis = g.Expires.UnixMilli()
	}
	s.markers[g.Key] = g
}

// renew replaces the markers of living consumers: they come and go all the time.
func (s *Shelf) renew(now time.Time) {
	for key := range s.markers {
		if strings.HasPrefix(key, "msg:live-") {
			delete(s.markers, key)
		}
	}
	for i := range 6 {
		since := now.Add(-time.Duration(1+i*3) * time.Second).Truncate(time.Second)
		s.put(fmt.Sprintf("live-%x-%d", since.Unix(), i), "order:"+strconv.FormatInt(90000+since.Unix()%9999, 10), since, 30*time.Second)
	}
}

// Stock puts the markers of the shelf into the last pass of the store orders.
func (s *Shelf) Stock(snap *dedup.Snapshot, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renew(now)
	for i := range snap.Stores {
		st := &snap.Stores[i]
		if st.Name != "orders" || st.Stats.Pass == nil {
			continue
		}
		pass := *st.Stats.Pass
		pass.OldestProcessing = s.list(func(g dedup.Sighting) bool { return g.State == dedup.Processing })
		pass.Permanent = s.list(func(g dedup.Sighting) bool { return g.ExpiresMillis == dedup.NoExpiry })
		pass.NoExpiry = map[dedup.State]int64{dedup.Processing: int64(len(pass.Permanent))}
		pass.States = map[dedup.State]int64{dedup.Processing: int64(len(pass.OldestProcessing)), dedup.Done: 586_380, dedup.Failed: 0, dedup.StateUnknown: 1}
		pass.GaveUpMarkers = gaveUp(now)
		st.Stats.Pass = &pass
		st.Evidence = evidence(now)
		count(snap, st)
	}
}

// count tells the pipelines of a store how many of its markers are stuck.
func count(snap *dedup.Snapshot, st *dedup.StoreStatus) {
	verdicts := map[dedup.Verdict]float64{}
	for _, m := range st.Stats.Pass.OldestProcessing {
		v, _ := dedup.Judge(m, st.Evidence, st.Scheme)
		verdicts[v]++
	}
	for i := range snap.Pipelines {
		p := &snap.Pipelines[i]
		if p.Pipeline.Name != "orders" {
			continue
		}
		at, source := st.Stats.Pass.Ended, "store "+st.Name
		p.Stuck = dedup.Exact(dedup.Derived, dedup.Count, verdicts[dedup.ProbablyDead]+verdicts[dedup.Orphan]+verdicts[dedup.Looping], at, source)
		p.Verdicts = map[dedup.Verdict]dedup.Figure{}
		for _, v := range dedup.Verdicts() {
			p.Verdicts[v] = dedup.Exact(dedup.Derived, dedup.Count, verdicts[v], at, source)
		}
	}
}

// evidence is a broker whose queues ran empty some minutes ago, and where nothing was out a minute ago.
func evidence(now time.Time) dedup.Evidence {
	consumers, ready, unacked, dead := int64(4), int64(18), int64(6), int64(0)
	return dedup.Evidence{
		At: now, MaxProcessing: 30 * time.Second, WorkP99: 430 * time.Millisecond, Consumers: &consumers, Ready: &ready, Unacked: &unacked, DeadLetters: &dead, DeadLettersNow: &dead,
		NothingOut: [2]time.Time{now.Add(-65 * time.Second), now.Add(-95 * time.Second)}, Empty: [2]time.Time{now.Add(-12 * time.Minute), now.Add(-14 * time.Minute)},
	}
}

func gaveUp(now time.Time) []dedup.Marker {
	var list []dedup.Marker
	five := int64(5)
	for i, age := range []time.Duration{6 * time.Hour, 5 * time.Hour, 95 * time.Minute} {
		id := fmt.Sprintf("%08x-11aa-4b7e-8d2c-%012x", hash("g"+strconv.Itoa(i))&0xffffffff, hash("h"+strconv.Itoa(i))&0xffffffffffff)
		list = append(list, dedup.Marker{
			Store: "orders", ID: id, Key: "retry:" + id, State: dedup.Failed, Status: "5", BusinessKey: "order:" + strconv.Itoa(87100+i), Attempts: &five,
			Since: now.Add(-age), Expires: now.Add(24*time.Hour - age),
		})
	}
	return list
}

func (s *Shelf) list(keep func(dedup.Sighting) bool) []dedup.Marker {
	var list []dedup.Marker
	for key, g := range s.markers {
		if keep(g) {
			m := g.Marker
			if r, ok := s.retries[key]; ok {
				if n, err := strconv.ParseInt(r.Value, 10, 64); err == nil {
					m.Attempts = &n
				}
			}
			list = append(list, m)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Since.Before(list[j].Since) })
	return list
}

// Put adds a marker as it stands.
func (s *Shelf) Put(g dedup.Sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	s.markers[g.Key] = g
	if g.Retry != nil {
		s.retries[g.Key] = *g.Retry
	}
}

// Changes counts what was done to the shelf.
func (s *Shelf) Changes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// wait stands for the way to the store.
func (s *Shelf) wait(ctx context.Context) error {
	if s.Down {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "connect to 10.0.4.17:6379: connection refused. Is Redis running there, and may this machine reach it?"}
	}
	select {
	case <-ctx.Done():
		return &dedup.Error{Kind: dedup.Unavailable, Public: "The store did not answer in time", Err: ctx.Err()}
	case <-time.After(s.Slow):
		return nil
	}
}

// seen returns a marker as it is now; nil where there is none. The caller holds mu.
func (s *Shelf) seen(key string) *dedup.Sighting {
	g, ok := s.markers[key]
	if !ok {
		return nil
	}
	g.At = time.Now()
	g.Clock = g.At
	if r, ok := s.retries[key]; ok {
		g.Retry = &r
	}
	return &g
}

// Look returns the markers with these keys.
func (s *Shelf) Look(ctx context.Context, keys []string) ([]*dedup.Sighting, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*dedup.Sighting, len(keys))
	for i, key := range keys {
		out[i] = s.seen(key)
	}
	return out, nil
}

// Lookup returns the markers whose id or business key is the term.
func (s *Shelf) Lookup(ctx context.Context, term string) ([]dedup.Sighting, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []dedup.Sighting
	for key, g := range s.markers {
		if g.ID == term || g.BusinessKey == term {
			found = append(found, *s.seen(key))
		}
	}
	return found, nil
}

// Browse returns a page of the markers on the shelf, and of done ones that it has plenty of.
func (s *Shelf) Browse(ctx context.Context, q dedup.MarkerQuery) (dedup.MarkerPage, error) {
	if err := s.wait(ctx); err != nil {
		return dedup.MarkerPage{}, err
	}
	s.mu.Lock()
	all := append(s.list(func(dedup.Sighting) bool { return true }), s.doneMarkers()...)
	s.mu.Unlock()
	all = append(all, dedup.Marker{Store: "orders", Key: "msg:tmp:import:\xff\xfe", State: dedup.StateUnknown, Expires: s.born.Add(9 * time.Hour), Detail: "a hash, not a string"})
	page := dedup.MarkerPage{At: time.Now(), Examined: 1000}
	from, _ := strconv.Atoi(q.Cursor) // the first page has none
	n := 0
	for _, m := range all {
		if q.State != "" && m.State != q.State || !strings.Contains(m.ID, q.Match) && !strings.Contains(m.BusinessKey, q.Match) {
			continue
		}
		if n++; n <= from {
			continue
		}
		if len(page.Markers) == q.Limit {
			page.Next = strconv.Itoa(from + q.Limit)
			break
		}
		page.Markers = append(page.Markers, m)
	}
	return page, nil
}

func (s *Shelf) doneMarkers() []dedup.Marker {
	list := make([]dedup.Marker, 120)
	for i := range list {
		id := fmt.Sprintf("%08x-22bb-4f10-a1c4-%012x", hash("d"+strconv.Itoa(i))&0xffffffff, hash("e"+strconv.Itoa(i))&0xffffffffffff)
		since := s.born.Add(-time.Duration(i) * time.Minute)
		list[i] = dedup.Marker{Store: "orders", ID: id, Key: "msg:" + id, State: dedup.Done, Status: "done", Since: since, Expires: since.Add(24 * time.Hour)}
	}
	return list
}
