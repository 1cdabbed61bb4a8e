package collector_test

import (
	"math"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/shop"
)

// A witness writes down ten times a second what truly happened, and every duplicate rate that was shown meanwhile, so that
// each can be compared with the truth of its own span, however slow the machine is.
type witness struct {
	notes []note
	shown []testimony
	quit  chan struct{}
	ended chan struct{}
}

// A note is the ledger, read between two times.
type note struct {
	began, ended time.Time
	truth        map[string]shop.Truth
}

// A testimony is one duplicate rate as it was shown.
type testimony struct {
	pipeline string
	rate     dedup.Figure
}

// acksFollow is by how much the ledger can count an outcome later than its marker shows it, where the notes come in time.
const acksFollow = time.Second

// attend begins to write down until finish is called.
func (s *scene) attend(ledger *shop.Ledger) *witness {
	w := &witness{quit: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		var seen uint64
		for {
			began := time.Now()
			w.notes = append(w.notes, note{began, time.Now(), ledger.Report().Pipelines})
			w.notes[len(w.notes)-1].ended = time.Now()
			if snap := s.collector.Snapshot(); snap.Round != seen {
				seen = snap.Round
				w.take(snap, s.config)
			}
			select {
			case <-w.quit:
				w.take(s.collector.Snapshot(), s.config)
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

func (w *witness) take(s *dedup.Snapshot, config shop.Config) {
	for _, p := range config.Pipelines {
		status, ok := s.Pipeline(p.Name)
		if p.Report || !ok {
			continue
		}
		for _, figures := range status.Windows {
			// An interval that is too wide to judge by is shown all the same, and must be true.
			if r := figures.DuplicateRate; r.N > 0 {
				w.shown = append(w.shown, testimony{p.Name, r})
			}
		}
	}
}

func (w *witness) finish() {
	close(w.quit)
	<-w.ended
}

// follow is by how much the ledger can be late around a time: where a busy machine held up the notes it held up the consumers too.
func (w *witness) follow(at time.Time) time.Duration {
	const around, steps = 5 * time.Second, 5
	follow := acksFollow
	for i := 1; i < len(w.notes); i++ {
		from, to := w.notes[i-1].began, w.notes[i].ended
		if to.After(at.Add(-around)) && from.Before(at.Add(around)) {
			follow = max(follow, steps*to.Sub(from))
		}
	}
	return follow
}

// known returns the duplicates and messages of a pipeline that had certainly, and that had possibly, been counted by a time.
func (w *witness) known(pipeline string, at time.Time) (least, most shop.Truth) {
	most = w.notes[len(w.notes)-1].truth[pipeline]
	follow := w.follow(at)
	for i := len(w.notes) - 1; i >= 0; i-- {
		n := w.notes[i]
		if !n.began.Before(at.Add(follow)) {
			most = n.truth[pipeline]
		}
		if !n.ended.After(at.Add(-follow)) {
			return n.truth[pipeline], most
		}
	}
	return shop.Truth{}, most
}

// bounds returns the least and the largest rate that can be the truth of a span. At rest both are the truth.
func (w *witness) bounds(pipeline string, from, to time.Time) (low, high float64) {
	fromLeast, fromMost := w.known(pipeline, from)
	toLeast, toMost := w.known(pipeline, to)
	least := func(a, b int64) float64 { return math.Max(0, float64(a-b)) }
	low = least(toLeast.Duplicates, fromMost.Duplicates) / math.Max(1, least(toMost.Messages, fromLeast.Messages))
	high = 1
	if n := least(toLeast.Messages, fromMost.Messages); n > 0 {
		high = math.Min(1, least(toMost.Duplicates, fromLeast.Duplicates)/n)
	}
	return low, high
}

// check compares everything that was shown with the truth.
func (w *witness) check(t *testing.T) {
	t.Helper()
	intervals, wrong := map[string]int{}, map[string]int{}
	for _, s := range w.shown {
		low, high := w.bounds(s.pipeline, s.rate.At.Add(-s.rate.Covered), s.rate.At)
		intervals[s.pipeline]++
		const rounding = 1e-9
		if s.rate.Low > high+rounding || s.rate.High < low-rounding {
			if wrong[s.pipeline]++; wrong[s.pipeline] <= 3 {
				t.Errorf("%s: at %s over %s [%v, %v] of %v was shown, the truth is in [%v, %v]", s.pipeline, s.rate.At.Format(time.TimeOnly), s.rate.Covered,
					s.rate.Low, s.rate.High, s.rate.N, low, high)
			}
		}
	}
	if len(w.shown) == 0 {
		t.Error("no interval was shown at all")
	}
	t.Logf("intervals that were shown: %v, wrong: %v", intervals, wrong)
}
