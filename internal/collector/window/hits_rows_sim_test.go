package window

import (
	"math/rand/v2"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// An insertFirst simulates consumers that insert the row of a message first, take whatever has one for done and ack it, and whose failures delete
// their row and return their message. What crashes leaves its row behind.
type insertFirst struct {
	r        *rand.Rand
	tick     int
	prefetch int
	// crash, lose and fail are how often a message dies in mid-work, loses its ack, and fails.
	crash, lose, fail float64
	bursts            bool
	// twins is true where a message that is sent twice comes twice at once, so that the second meets the first in work. dead is true where each
	// attempt may fail, and its message becomes a dead letter.
	twins, dead bool

	queue []int
	later map[int][]int
	next  int
	held  [][]int
	busy  []int // the tick at which the work of a channel ends; 0 where it does none
	// rows are the messages with a row: true where their work was done. came are those whose first attempt is over.
	rows, came map[int]bool
	// tries are all inserts: their tick and the message that they wrote the row of, -1 where there was one.
	tries []try

	wrote, acked, delivered, redelivered, closed float64
	hits                                         []hit
}

type try struct{ tick, id int }

// A hit is a delivery that met a row and was acked.
type hit struct{ tick, id int }

const ticks = 100 // of a second

func (s *insertFirst) step() {
	s.tick++
	pace := 0.2
	if s.bursts {
		pace = map[bool]float64{true: 1, false: 0}[(s.tick/ticks+5)%10 < 2]
	}
	if s.r.Float64() < pace {
		s.next++
		s.queue = append(s.queue, s.next)
		if s.twins {
			if s.r.Float64() < 0.03 {
				s.queue = append(s.queue, s.next)
			}
		} else if s.r.Float64() < 0.03 {
			at := s.tick + ticks + s.r.IntN(3*ticks)
			s.later[at] = append(s.later[at], s.next)
		}
	}
	s.queue = append(s.queue, s.later[s.tick]...)
	delete(s.later, s.tick)
	for i := range s.held {
		for len(s.held[i]) < s.prefetch && len(s.queue) > 0 {
			s.held[i], s.queue = append(s.held[i], s.queue[0]), s.queue[1:]
			s.delivered++
		}
		for len(s.held[i]) > 0 && s.busy[i] <= s.tick {
			s.handle(i)
		}
	}
}

// handle begins the work on what a channel holds first, or ends it.
func (s *insertFirst) handle(i int) {
	id := s.held[i][0]
	if s.busy[i] == 0 {
		if _, there := s.rows[id]; there {
			s.tries = append(s.tries, try{s.tick, -1})
			s.hits = append(s.hits, hit{s.tick, id})
			s.settle(i)
			return
		}
		s.tries = append(s.tries, try{s.tick, id})
		s.wrote++
		s.rows[id] = false
		s.busy[i] = s.tick + 2 + s.r.IntN(8)
		return
	}
	s.busy[i] = 0
	first := !s.came[id]
	s.came[id] = true
	switch draw := s.r.Float64(); {
	case first && draw < s.crash:
		s.die(i)
	case s.dead && draw < s.fail: // deletes its row and rejects its message, which goes to a dead-letter queue
		delete(s.rows, id)
		s.held[i] = s.held[i][1:]
	case first && draw < s.crash+s.fail:
		delete(s.rows, id)
		s.held[i] = s.held[i][1:]
		s.queue = append([]int{id}, s.queue...)
		s.redelivered++
	case first && draw < s.crash+s.fail+s.lose:
		s.rows[id] = true
		s.die(i)
	default:
		s.rows[id] = true
		s.settle(i)
	}
}

func (s *insertFirst) settle(i int) { s.acked++; s.held[i] = s.held[i][1:] }

func (s *insertFirst) die(i int) {
	s.closed++
	s.redelivered += float64(len(s.held[i]))
	s.queue = append(append([]int(nil), s.held[i]...), s.queue...)
	s.held[i] = nil
}

// inserts counts the rows of the ids that were given a minute ago.
func (s *insertFirst) inserts(at func(int) time.Time) dedup.InsertStats {
	until := s.tick - 60*ticks
	c := dedup.InsertStats{At: at(until), Last: at(until), Epoch: 1}
	newest := map[int]int{}
	for i, t := range s.tries {
		newest[t.id] = i
	}
	for i, t := range s.tries {
		if t.tick > until {
			break
		}
		c.IDs++
		if done, there := s.rows[t.id]; there && newest[t.id] == i { // else the row is of a later try
			c.Rows++
			if done {
				c.Done++
			} else {
				c.Undone++
			}
		}
	}
	c.Next = c.IDs + 1
	return c
}

// watch runs for a time and reads what the collector does.
func (s *insertFirst) watch(seconds int) *Pipeline {
	at := func(tick int) time.Time { return time.Unix(100_000, 0).Add(time.Duration(tick) * time.Second / ticks) }
	p := &Pipeline{Store: &Store{}, Traffic: Traffic{Prefetches: sample.Bounds{{At: at(0), Most: int64(s.prefetch)}}}}
	p.Traffic.Capacities.Add(at(0), int64(s.prefetch*len(s.held)))
	for range seconds * ticks {
		s.step()
		now := at(s.tick)
		if s.tick%ticks == 0 {
			p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: now, Acked: sample.LiveSum{Count: s.acked}, Delivered: sample.LiveSum{Count: s.delivered}, Redelivered: s.redelivered, Closed: s.closed})
		}
		if s.tick%(5*ticks) != 37 {
			continue
		}
		unacked := 0
		for i := range s.held {
			unacked += len(s.held[i])
		}
		p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: now, Ended: now, DepthFrom: now, Whole: true, Depth: float64(len(s.queue) + unacked), Unacked: float64(unacked), Consumers: float64(len(s.held)), ConsumersKnown: true})
		given := int64(len(s.tries))
		p.Store.Statements.Add(&dedup.StatementStats{At: now, Epoch: 1, Unfailed: int64(s.wrote), IDs: &[2]int64{given - int64(s.r.IntN(2)), given}})
		if s.tick > 60*ticks {
			c := s.inserts(at)
			p.Store.Inserts.Add(&c)
		}
	}
	return p
}

// truth is how many of the hits of a time were on work that was done, then or later.
func (s *insertFirst) truth(from, to time.Time) (n float64) {
	for _, h := range s.hits {
		at := time.Unix(100_000, 0).Add(time.Duration(h.tick) * time.Second / ticks)
		if done := s.rows[h.id]; done && at.After(from) && !at.After(to) {
			n++
		}
	}
	return n
}

func TestConsumersWhoseFailuresDeleteTheirRowAreWithinTheHits(t *testing.T) {
	for name, c := range map[string]struct {
		crash, lose, fail float64
		prefetch          int
		bursts            bool
		twins             bool
		widest            float64
	}{
		"living, steady":                 {0, 0, 0.01, 1, false, false, 0.011},
		"living, in bursts":              {0, 0, 0.01, 50, true, false, 0.008},
		"dying, steady":                  {0.001, 0.003, 0.01, 50, false, false, 0.022},
		"dying, in bursts":               {0.001, 0.003, 0.01, 50, true, false, 0.022},
		"dying all the time, one by one": {0.01, 0.01, 0.01, 1, false, false, 0.06},
		"few fail, and copies meet them": {0, 0, 0.01, 1, false, true, 0.012},
		"some fail":                      {0, 0, 0.05, 1, false, true, 0.025},
		"many fail":                      {0, 0, 0.2, 1, false, true, 0.05},
		"half of all fail":               {0, 0, 0.5, 1, false, true, 0.1},
	} {
		windows, held, widest, told := 0, 0, 0.0, 0.0
		for seed := range uint64(12) {
			s := &insertFirst{r: rand.New(rand.NewPCG(seed, 5)), crash: c.crash, lose: c.lose, fail: c.fail, prefetch: c.prefetch, bursts: c.bursts, twins: c.twins, dead: c.twins,
				later: map[int][]int{}, rows: map[int]bool{}, came: map[int]bool{}, held: make([][]int, 5), busy: make([]int, 5)}
			p := s.watch(440)
			v := plainView()
			v.Stats.Pass = &dedup.Pass{States: map[dedup.State]int64{}}
			for _, done := range s.rows {
				v.Stats.Pass.States[map[bool]dedup.State{true: dedup.Done, false: dedup.Processing}[done]]++
			}
			span, gain, ok := p.hits(v).span(p.hits(v).statements(), 5*time.Minute)
			if !ok {
				t.Fatalf("%s: nothing is counted", name)
			}
			f := p.hits(v).judge(span, gain, 5*time.Minute).Rate
			windows++
			told += f.High
			if truth := s.truth(span.From, span.To) / f.N; (f.Quality == dedup.Derived || c.widest > rate.Widest) && f.Low <= truth+1e-9 && truth <= f.High+1e-9 {
				held++
			} else {
				t.Errorf("%s, seed %d: %v to %v %s, the truth is %v: %s", name, seed, f.Low, f.High, f.Quality, truth, f.Why)
			}
			widest = max(widest, f.High-f.Low)
		}
		if held != windows || widest > c.widest {
			t.Errorf("%s: held in %d of %d windows, at most %.2f %% wide", name, held, windows, 100*widest)
		}
		t.Logf("%s: held in %d of %d windows, at most %.2f %% wide, %.2f %% in the mean", name, held, windows, 100*widest, 100*told/float64(windows))
	}
}
