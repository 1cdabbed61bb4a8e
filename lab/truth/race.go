package truth

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// The bounds of waiting: a run that exceeds the first fails, and what is shown at the end of the second is judged as it is.
const (
	drainWithin = 5 * time.Minute
	readWithin  = 2 * time.Minute
)

// A race is all cases of a seed, side by side, under one observer.
type race struct {
	lanes   []*lane
	seen    Snapshots
	notes   io.Writer
	options Options
	round   uint64
}

// run starts the traffic once the observer watches, and returns when it has read everything.
func (r *race) run(ctx context.Context) error {
	watching := time.Now()
	if err := r.until(ctx, r.options.Quiet+time.Minute, "the observer watches", func() bool {
		return allTried(r.seen.Snapshot()) && time.Since(watching) > r.options.Quiet
	}); err != nil {
		return err
	}
	began := time.Now()
	for _, l := range r.lanes {
		l.witness.traffic, l.witness.round = time.Now(), r.options.Interval
		l.start(ctx)
	}
	drained := func() bool {
		all := true
		for _, l := range r.lanes {
			if l.rest.IsZero() && l.drained() {
				l.rest, l.witness.traffic = time.Now(), time.Time{}
			}
			all = all && !l.rest.IsZero()
		}
		return all
	}
	if err := r.until(ctx, r.lanes[0].over+drainWithin, "every queue is worked off", drained); err != nil {
		return fmt.Errorf("%w; left over: %s", err, r.left())
	}
	fmt.Fprintf(r.notes, "... all messages were worked off after %s\n", time.Since(began).Round(time.Second))
	waiting, patience := time.Now(), readWithin+r.options.Settle+4*r.options.Interval
	return r.until(ctx, 2*patience, "the observer has read everything", func() bool {
		return r.read() || time.Since(waiting) > patience
	})
}

// until waits for a condition, and writes down meanwhile what happens and what is shown.
func (r *race) until(ctx context.Context, within time.Duration, what string, ok func() bool) error {
	deadline := time.Now().Add(within)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		s := r.seen.Snapshot()
		for _, l := range r.lanes {
			l.witness.look(l.tally)
			if p, there := s.Pipeline(l.c.Name); there && s.Round != r.round {
				l.witness.take(p)
			}
			if err := l.failed(); err != nil {
				return err
			}
		}
		r.round = s.Round
		if ok() {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s it is still not so that %s", within, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (r *race) left() string {
	var names []string
	for _, l := range r.lanes {
		if n := l.tally.read(); l.rest.IsZero() {
			names = append(names, fmt.Sprintf("%s %d", l.c.Name, l.expected.Published-n.Settled()))
		}
	}
	return strings.Join(names, ", ")
}

// read says whether the observer has read everything that happened in every case.
func (r *race) read() bool {
	s := r.seen.Snapshot()
	for _, l := range r.lanes {
		if !l.isRead(s, r.options.Settle) {
			return false
		}
	}
	return true
}

func allTried(s *dedup.Snapshot) bool {
	for _, h := range s.Sources {
		if !h.Tried {
			return false
		}
	}
	return len(s.Sources) > 0
}

// isRead says whether a snapshot holds everything that happened in the case: what the store tells by a complete pass, events and
// inserts, from half the settling time after it; the broker's counters from all of it; and of each source that claims anything
// something later.
func (l *lane) isRead(s *dedup.Snapshot, settle time.Duration) bool {
	p, ok := s.Pipeline(l.c.Name)
	if !ok || len(p.Windows) <= shownWindow || s.At.Before(l.rest.Add(settle+2*s.Interval)) {
		return false
	}
	for _, st := range s.Stores {
		if st.Name == p.Pipeline.Store && !l.storeRead(st.Stats, settle) {
			return false
		}
	}
	figures := p.Windows[shownWindow]
	for _, e := range append(estimates(figures), dedup.Estimate{Rate: figures.DuplicateRate}) {
		if f := e.Rate; claims(f) && f.At.Before(l.rest) {
			return false
		}
	}
	return true
}

func (l *lane) storeRead(s dedup.StoreStats, settle time.Duration) bool {
	if s.Pass == nil || s.Pass.Started.Before(l.rest.Add(settle/2)) {
		return false
	}
	if e := s.Events; e != nil && e.Listening && e.At.Before(l.rest) {
		return false
	}
	return s.Inserts == nil || s.Inserts.Why != "" || !s.Inserts.At.Before(l.rest)
}
