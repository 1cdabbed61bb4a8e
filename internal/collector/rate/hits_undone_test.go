package rate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A takeover simulates consumers that insert the row of a message first. What has a row of done work is acked, what has one of work under way is
// returned, and the work of a row that failed or is stale is taken over.
type takeover struct {
	r *rand.Rand
	// deletes is true where a failure deletes its row, else it stays as failed. strange is how often an insert fails for another cause.
	deletes                                 bool
	fail, crash, lose, copies, strange, dlx float64
	consumers, lease, work                  int

	tick, next int
	queue      []waiting
	later      map[int][]int
	letters    []int
	busy       []*worker
	rows       map[int]*row
	all        []*insert

	acked, redelivered, dead, taken []int // the ticks
}

type (
	waiting struct {
		id          int
		redelivered bool
	}
	worker struct {
		id, until int
		row       *row
	}
	row struct {
		state dedup.State
		since int
		wrote *insert
	}
	insert struct {
		at    int
		wrote bool // its row
		gone  bool // which its failure deleted
		met   bool // a row of done work, and was acked
	}
)

func (s *takeover) step() {
	if s.tick++; s.r.Float64() < 0.2 {
		s.next++
		s.queue = append(s.queue, waiting{id: s.next})
		if s.r.Float64() < s.copies {
			at := s.tick + 1 + s.r.IntN(60)
			s.later[at] = append(s.later[at], s.next)
		}
	}
	for _, id := range s.later[s.tick] {
		s.queue = append(s.queue, waiting{id: id})
	}
	delete(s.later, s.tick)
	if len(s.letters) > 0 && s.r.Float64() < 0.01 {
		s.taken = append(s.taken, s.tick)
		s.queue, s.letters = append(s.queue, waiting{id: s.letters[0]}), s.letters[1:]
	}
	for i, w := range s.busy {
		if w != nil && w.until <= s.tick {
			s.busy[i] = nil
			s.end(w)
		}
	}
	for i := range s.busy {
		if s.busy[i] == nil && len(s.queue) > 0 {
			d := s.queue[0]
			s.queue = s.queue[1:]
			if d.redelivered {
				s.redelivered = append(s.redelivered, s.tick)
			}
			s.busy[i] = s.ask(d.id)
		}
	}
}

// ask inserts the row of a message, and returns the work on it; nil where there is none.
func (s *takeover) ask(id int) *worker {
	ins := &insert{at: s.tick}
	s.all = append(s.all, ins)
	r := s.rows[id]
	switch {
	case s.r.Float64() < s.strange:
		s.comeBack(id)
		return nil
	case r == nil:
		r = &row{wrote: ins}
		s.rows[id], ins.wrote = r, true
	case r.state == dedup.Done:
		ins.met = true
		s.acked = append(s.acked, s.tick)
		return nil
	case r.state == dedup.Processing && s.tick-r.since <= s.lease:
		s.comeBack(id)
		return nil
	}
	r.state, r.since = dedup.Processing, s.tick
	return &worker{id, s.tick + 1 + s.r.IntN(s.work), r}
}

func (s *takeover) comeBack(id int) { s.queue = append(s.queue, waiting{id, true}) }

func (s *takeover) end(w *worker) {
	switch x := s.r.Float64(); {
	case x < s.crash:
		s.comeBack(w.id)
		return
	case x < s.crash+s.fail:
		if w.row.state = dedup.Failed; s.deletes {
			w.row.wrote.gone = true
			delete(s.rows, w.id)
		}
		if s.r.Float64() < s.dlx {
			s.letters, s.dead = append(s.letters, w.id), append(s.dead, s.tick)
			return
		}
		s.comeBack(w.id)
		return
	case x < s.crash+s.fail+s.lose:
		w.row.state = dedup.Done
		s.comeBack(w.id)
		return
	}
	w.row.state = dedup.Done
	s.acked = append(s.acked, s.tick)
}

// atWork is how many have asked and are unacked.
func (s *takeover) atWork() (n float64) {
	for _, w := range s.busy {
		if w != nil {
			n++
		}
	}
	return n
}

// out are the messages that are in the queue or at work.
func (s *takeover) out() float64 { return s.atWork() + float64(len(s.queue)) }

func (s *takeover) pass() *dedup.Pass {
	p := &dedup.Pass{States: map[dedup.State]int64{}}
	for _, r := range s.rows {
		p.States[r.state]++
	}
	return p
}

func since(ticks []int, from int) (n float64) {
	for _, t := range ticks {
		if t > from {
			n++
		}
	}
	return n
}

// TestHitsOfWorkThatWasNotDoneAreBounded counts what a perfect observer would tell of a span, and holds the bound against every single insert.
func TestHitsOfWorkThatWasNotDoneAreBounded(t *testing.T) {
	met, close := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 18))
		some := func(most float64) float64 { return most * float64(r.IntN(3)) / 2 }
		s := &takeover{r: r, deletes: seed%2 == 0, fail: some(0.1), crash: some(0.03), lose: some(0.03), copies: some(0.2), strange: some(0.02), dlx: some(0.5),
			lease: 20 + r.IntN(60), work: 10, rows: map[int]*row{}, later: map[int][]int{}, busy: make([]*worker, 3)}
		for range 200 + r.IntN(2000) {
			s.step()
		}
		from, waited, atWork := s.tick, s.out(), s.atWork()
		for range 300 + r.IntN(6000) {
			s.step()
		}
		scheme := dedup.Scheme{Mark: "before", InsertFirst: true, OnInFlight: "nack", OnFail: map[bool]string{true: "delete", false: "mark"}[s.deletes],
			States: []dedup.State{dedup.Processing, dedup.Done, dedup.Failed}}
		span := HitsSpan{ByIDs: true}
		again, undone := HitsAgain{Before: waited + since(s.taken, from)}, 0.0
		for _, ins := range s.all {
			if ins.at <= from {
				continue
			}
			span.Asked = [2]float64{span.Asked[1] + 1, span.Asked[1] + 1}
			switch {
			case ins.gone:
				again.Rows.Unacked++
			case ins.met:
				span.Hits[1]++
			case !ins.wrote:
				span.Hits[1]++
				undone++
			}
		}
		again.Unacked = max(0, span.Asked[1]-since(s.acked, from)+atWork)
		again.Returned = min(again.Unacked, since(s.redelivered, from)+s.out()+since(s.dead, from))
		again.Strange = max(0, again.Unacked-again.Rows.Unacked)
		bound := UndoneRows(scheme, s.pass(), span, sample.Gain{}, again)[1]
		what := fmt.Sprintf("seed %d (deletes %v, fail %.2f, crash %.3f, copies %.2f): %.0f of %.0f hits met work that was not done, at most %.1f", seed, s.deletes, s.fail, s.crash, s.copies, undone, span.Hits[1], bound)
		if undone > bound {
			t.Error(what)
		}
		if undone > 20 {
			met++
			if bound < 1.5*undone+20 {
				close++
			}
		}
	}
	if met < 50 || close < met/2 {
		t.Errorf("%d of %d spans have a bound that is of use", close, met)
	}
}
