package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/dedup"
)

// shop is a tracer and a store in one: a message each 100 ms, done 20 ms after its delivery; every 20th is sent again 5 s later, and every
// 50th was done long before.
type shop struct {
	mu   sync.Mutex
	done map[string]time.Time
	// clock is the store's clock less ours, life the real life of markers.
	clock, life time.Duration
	// dead and slow are what is wrong with the store; untraced deliveries are counted and not shown, nameless have no id.
	dead     error
	slow     time.Duration
	untraced float64
	nameless int
	unsure   float64
	reads    int
	largest  int
}

func (s *shop) Trace(ctx context.Context, r dedup.TraceRequest) (dedup.Trace, error) {
	t := dedup.Trace{Began: time.Now(), Unsure: s.unsure}
	r.Started(t.Began)
	deliver := func(id string) {
		d := dedup.TracedDelivery{At: time.Now(), Queue: r.Queues[0].QueueRef, ID: id, Consumer: "c"}
		if int(t.Traced) < s.nameless {
			d.ID, d.NoID = "", "the message has no message_id"
		}
		t.Traced++
		t.Deliveries = append(t.Deliveries, d)
		r.Delivered(d)
	}
	n := 0
	for begin := time.Now(); time.Since(begin) < r.For; n++ {
		id := fmt.Sprintf("m-%d", n)
		deliver(id)
		s.mu.Lock()
		s.done[id] = time.Now().Add(20 * time.Millisecond)
		if n%50 == 7 {
			s.done[id] = time.Now().Add(-time.Hour)
		}
		s.mu.Unlock()
		if n%20 == 19 && n >= 69 {
			deliver(fmt.Sprintf("m-%d", n-50))
		}
		select {
		case <-ctx.Done():
			t.Stopped = "stopped"
		case <-time.After(100 * time.Millisecond):
		}
		if t.Stopped != "" {
			break
		}
	}
	t.Ended, t.Counted = time.Now(), t.Traced+s.untraced
	return t, nil
}

func (s *shop) Find(ctx context.Context, ids []string) ([]*dedup.Sighting, error) {
	if s.slow > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(s.slow):
		}
	}
	if s.dead != nil {
		return nil, s.dead
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	s.largest = max(s.largest, len(ids))
	out := make([]*dedup.Sighting, len(ids))
	for i, id := range ids {
		if done, ok := s.done[id]; ok && !done.After(time.Now()) {
			m := dedup.Marker{ID: id, State: dedup.Done, Expires: done.Add(s.clock + s.life)}
			out[i] = &dedup.Sighting{Marker: m, At: time.Now(), Clock: time.Now().Add(s.clock), ExpiresMillis: m.Expires.UnixMilli()}
		}
	}
	return out, nil
}

func request(s *shop) Request {
	return Request{Tracer: s, Store: s, Length: time.Minute, Log: slog.New(slog.DiscardHandler),
		Scheme:   dedup.Scheme{Kind: "redis-string", Mark: "after", DoneTTL: 24 * time.Hour, AcksEach: true, States: []dedup.State{dedup.Done}},
		Pipeline: dedup.Pipeline{Name: "orders", Vhost: "/", Queues: []string{"orders"}, IDFrom: "message_id"}}
}

func TestASessionJoinsWhatWasTracedWithMarkersThatAreReadLater(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*shop, *Request)
		why    string // "" where there is a result
		fails  string
	}{
		"a calm shop":                          {change: func(*shop, *Request) {}},
		"the store's clock is 3 s ahead":       {change: func(s *shop, _ *Request) { s.clock = 3 * time.Second }},
		"the store's clock is 3 s behind":      {change: func(s *shop, _ *Request) { s.clock = -3 * time.Second }},
		"the store answers in 3 s":             {change: func(s *shop, _ *Request) { s.slow = 3 * time.Second }},
		"two deliveries were not traced":       {change: func(s *shop, _ *Request) { s.untraced = 2 }},
		"the broker may have counted 9 more":   {change: func(s *shop, _ *Request) { s.untraced, s.unsure = 11, 9 }},
		"deliveries were not traced":           {change: func(s *shop, _ *Request) { s.untraced = 30 }, why: "of 657 deliveries were traced"},
		"more was traced than counted":         {change: func(s *shop, _ *Request) { s.untraced = -30 }, why: "deliveries were traced"},
		"messages have no id":                  {change: func(s *shop, _ *Request) { s.nameless = 50 }, why: "no message_id"},
		"markers live shorter than configured": {change: func(s *shop, _ *Request) { s.life = time.Hour }, why: "lives"},
		"markers have no times":                {change: func(s *shop, r *Request) { r.Scheme.DoneTTL = 0 }, why: "no times"},
		"the store holds none of the markers":  {change: func(s *shop, _ *Request) { s.done = nil }, why: "left no marker"},
		"the store is dead":                    {change: func(s *shop, _ *Request) { s.dead = errors.New("refused") }, fails: "markers could not be read"},
		"the store hangs":                      {change: func(s *shop, _ *Request) { s.slow = time.Hour }, fails: "markers could not be read"},
		"a lock is no marker":                  {change: func(_ *shop, r *Request) { r.Scheme.Lock = true }, fails: "A lock keeps no marker"},
		"no rule says where ids stand":         {change: func(_ *shop, r *Request) { r.Pipeline.IDFrom = "nowhere" }, fails: "no rule for ids"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shop{done: map[string]time.Time{}, life: 24 * time.Hour}
				r := request(s)
				c.change(s, &r)
				none := s.done == nil
				s.done = map[string]time.Time{}
				var progress []int64
				r.Progress = func(_ time.Time, seen int64) { progress = append(progress, seen) }
				if none {
					r.Store = &shop{done: map[string]time.Time{}}
				}
				got, err := Run(t.Context(), r)
				switch {
				case c.fails != "":
					if err == nil || !strings.Contains(dedup.PublicText(err), c.fails) {
						t.Fatalf("error %v, want %q", err, c.fails)
					}
					return
				case err != nil:
					t.Fatal(err)
				case c.why != "":
					if got.Result != nil || !strings.Contains(got.Why, c.why) {
						t.Fatalf("result %v, why %q, want %q", got.Result, got.Why, c.why)
					}
					return
				case got.Result == nil:
					t.Fatalf("no result: %s", got.Why)
				}
				// 600 messages, 12 of before; 27 sent again.
				if res := got.Result; res.Messages != 627 || res.Duplicates != 39 || res.Sent != 39 || res.RepeatedIDs != 39 {
					t.Errorf("%d duplicates of %d messages, %d ids", res.Duplicates, res.Messages, res.RepeatedIDs)
				}
				if l := got.Result.Latency; l.P50 < 0.019 || l.P99 > 0.022 {
					t.Errorf("latency %+v, want 20 ms", l)
				}
				if len(progress) < 15 || progress[len(progress)-1] < 500 {
					t.Errorf("progress %v", progress)
				}
				if s.largest > readAtOnce+probes || s.reads > 4*75 {
					t.Errorf("%d readings of up to %d markers", s.reads, s.largest)
				}
			})
		})
	}
}

func TestASessionThatIsStoppedTellsOfTheTimeUntilThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{done: map[string]time.Time{}, life: 24 * time.Hour}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, cancel)
		got, err := Run(ctx, request(s))
		if err != nil || got.Result == nil || got.Why != "stopped" || got.Result.Messages < 200 || got.Result.Messages > 220 {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}

// twice is a store whose first message is worked on again 5 s after the first time, and 10 s after it was delivered: its marker is set anew. While
// it is away nothing of it can be read.
type twice struct {
	*shop
	began      time.Time
	away, back time.Duration
	waits      bool // it does not answer rather than refuse
}

func (s *twice) Trace(ctx context.Context, r dedup.TraceRequest) (dedup.Trace, error) {
	s.began = time.Now()
	t := dedup.Trace{Began: s.began}
	r.Started(t.Began)
	for n := range 300 { // every 200 ms, each done 20 ms later
		id := fmt.Sprintf("m-%d", n)
		if n == 25 {
			id = "m-0"
		}
		d := dedup.TracedDelivery{At: time.Now(), Queue: r.Queues[0].QueueRef, ID: id, Consumer: "c"}
		t.Deliveries = append(t.Deliveries, d)
		r.Delivered(d)
		s.mu.Lock()
		s.done[id] = time.Now().Add(20 * time.Millisecond)
		s.mu.Unlock()
		time.Sleep(200 * time.Millisecond)
	}
	t.Ended, t.Traced, t.Counted = time.Now(), 300, 300
	return t, nil
}

func (s *twice) Find(ctx context.Context, ids []string) ([]*dedup.Sighting, error) {
	if since := time.Since(s.began); since >= s.away && since < s.back {
		if s.waits {
			<-ctx.Done()
		}
		return nil, errors.New("refused")
	}
	return s.shop.Find(ctx, ids)
}

func TestWorkThatWasDoneTwiceIsSeenThoughTheStoreCouldNotBeReadMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		away, back time.Duration
		waits      bool
		hidden     bool // both works lie before the first reading, so that the marker tells of the second alone
	}{
		"the store is always there":                   {},
		"it is away for a reading":                    {6 * time.Second, 7500 * time.Millisecond, false, false},
		"it does not answer for a while":              {6 * time.Second, 30 * time.Second, true, false},
		"it is away until the trace ends":             {6 * time.Second, 61 * time.Second, false, false},
		"a reading is under way when the trace ends":  {6 * time.Second, 61 * time.Second, true, false},
		"it is away at first, until the second work":  {0, 4 * time.Second, false, false},
		"it is away at first, beyond the second work": {0, 20 * time.Second, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &twice{shop: &shop{done: map[string]time.Time{}, life: 24 * time.Hour}, away: c.away, back: c.back, waits: c.waits}
				r := request(s.shop)
				r.Tracer, r.Store = s, s
				got, err := Run(t.Context(), r)
				if err != nil || got.Result == nil {
					t.Fatalf("%+v, %v", got, err)
				}
				res := got.Result
				counted := res.Duplicates == 0 && res.Doubled == 1
				if held := res.Band >= 2 && float64(res.Duplicates) <= res.Band; res.Messages != 300 || !counted && !(c.hidden && held) {
					t.Errorf("%d of %d were duplicates ± %.1f, done twice %d; want 0, and 1", res.Duplicates, res.Messages, res.Band, res.Doubled)
				}
			})
		})
	}
}
