package truth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Options say what is run.
type Options struct {
	Cases []Case
	// Seeds are run one after the other, all cases of a seed side by side.
	Seeds    int
	Messages int
	// Over is the time that the messages of a case are spread over.
	Over time.Duration
	// Interval is the time between two rounds of the observer.
	Interval time.Duration
	// Quiet is how long the observer watches before the first message, 40 s when zero: every counter has been seen at 0, and a
	// window can begin at rest. Settle is how long after the last one figures are judged at the soonest, 40 s when zero: the
	// broker's counters come late.
	Quiet, Settle time.Duration
	// Notes says what is under way; Log is the observer's.
	Notes io.Writer
	Log   *slog.Logger
	// Each, when not nil, is called with every outcome once its seed has ended.
	Each func(Outcome)
	// Falsify, when not nil, changes what is shown before it is judged: to see that the judge can fail.
	Falsify func(*dedup.Snapshot) *dedup.Snapshot
}

// A Result is everything that a run found.
type Result struct {
	Options  Options
	Servers  string
	Began    time.Time
	Took     time.Duration
	Outcomes []Outcome
}

// Run starts private servers, runs every case under every seed, and stops the servers.
func Run(ctx context.Context, o Options) (_ Result, err error) {
	o.Quiet, o.Settle = cmp.Or(o.Quiet, 40*time.Second), cmp.Or(o.Settle, 40*time.Second)
	r := Result{Options: o, Began: time.Now()}
	dir, err := os.MkdirTemp("", "dedup-truth-")
	if err != nil {
		return r, fmt.Errorf("make a folder for the servers: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The account of PostgreSQL passes through.
	if err := os.Chmod(dir, 0o711); err != nil {
		return r, fmt.Errorf("open the folder of the servers: %w", err)
	}
	fmt.Fprintln(o.Notes, "... starting the servers")
	s, err := openSite(ctx, dir, o.Cases)
	if err != nil {
		return r, err
	}
	defer s.close()
	if r.Servers, err = s.versions(ctx); err != nil {
		return r, fmt.Errorf("ask the servers for their versions: %w", err)
	}
	for seed := range o.Seeds {
		outcomes, err := s.round(ctx, o, uint64(seed+1))
		r.Outcomes = append(r.Outcomes, outcomes...)
		for _, done := range outcomes {
			if o.Each != nil {
				o.Each(done)
			}
		}
		r.Took = time.Since(r.Began)
		if err != nil {
			return r, fmt.Errorf("seed %d: %w", seed+1, err)
		}
		fmt.Fprintf(o.Notes, "... seed %d of %d is done after %s\n", seed+1, o.Seeds, r.Took.Round(time.Second))
	}
	return r, nil
}

// staleAfter is after how many intervals the observer calls a source stale.
const staleAfter = 3

// round runs all cases under one seed.
func (s *site) round(ctx context.Context, o Options, seed uint64) (_ []Outcome, err error) {
	var lanes []*lane
	defer func() {
		for _, l := range lanes {
			err = errors.Join(err, l.close())
		}
	}()
	for _, c := range o.Cases {
		l := &lane{c: c, seed: seed, messages: o.Messages, over: o.Over, tally: newTally(), witness: newWitness(staleAfter * o.Interval)}
		lanes = append(lanes, l)
		if l.bed, err = s.openBed(ctx, c, seed); err != nil {
			return nil, err
		}
		if err = l.connect(s.rabbit.AMQPURL(s.rabbit.Admin())); err != nil {
			return nil, err
		}
	}
	observer, err := s.observe(ctx, fmt.Sprint(seed), o.Interval, o.Log, lanes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, observer.close()) }()
	r := &race{lanes: lanes, seen: observer, notes: o.Notes, options: o}
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	last := observer.Snapshot()
	if o.Falsify != nil {
		last = o.Falsify(last)
	}
	var outcomes []Outcome
	for _, l := range lanes {
		outcomes = append(outcomes, l.outcome(last))
	}
	return outcomes, nil
}
