// Package effect runs the check of a pipeline for work that was done twice, and remembers what it found.
package effect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// figureSource is the source of the figures.
const figureSource = "effect check"

// A Checker looks for double effects of one pipeline. Check is called one at a time; an error that wraps
// context.DeadlineExceeded says that the query was too slow.
type Checker interface {
	Pipeline() string
	// Query identifies what is asked: a memory of something else says nothing.
	Query() string
	Every() time.Duration
	Timeout() time.Duration
	Check(ctx context.Context) (dedup.EffectReading, error)
}

// Records keeps what effect checks remember, by pipeline.
type Records interface {
	EffectRecord(ctx context.Context, pipeline string) (dedup.EffectRecord, error)
	KeepEffectRecord(ctx context.Context, pipeline string, r dedup.EffectRecord) error
}

// A Watch runs the check of one pipeline on its own timer: it is no source of the pipeline, whose other figures hold without it.
// It is safe for concurrent use. A nil one is that of a pipeline without a check.
type Watch struct {
	check   Checker
	records Records // nil where nothing outlives a restart
	log     *slog.Logger
	turned  func()

	mu       sync.Mutex
	book     *book // nil until the record was read
	lastTry  time.Time
	next     time.Time
	err      string
	failures int
	events   event.Log
}

// NewWatch returns one that does not run yet; turned is called after each run.
func NewWatch(check Checker, records Records, log *slog.Logger, turned func()) *Watch {
	w := &Watch{check: check, records: records, log: log.With("pipeline", check.Pipeline()), turned: turned}
	if records == nil {
		w.book = newBook(check.Query())
	}
	return w
}

// Bounds of the waits between two runs.
const (
	// retry is the wait after a first failure that is none of time, spread the time in which first runs begin.
	retry  = time.Minute
	spread = time.Minute
	// slower is by how much a check that is too slow is stretched at most, longest how far.
	slower  = 8
	longest = 24 * time.Hour
	// recordPatience bounds a reading or writing of a record, which is kept on this machine.
	recordPatience = 5 * time.Second
)

// Run checks until ctx ends. A restart does not make a check run before it is due.
func (w *Watch) Run(ctx context.Context) {
	next := time.Now().Add(source.Phase("effects "+w.check.Pipeline(), min(w.check.Every()/4, spread)))
	w.restore(ctx)
	if due, wait := w.due(); due.After(next) && due.Before(next.Add(wait)) {
		next = due
	}
	w.plan(next)
	for source.WaitUntil(ctx, next) {
		w.plan(time.Time{})
		gap := w.attempt(ctx)
		next = time.Now().Add(gap)
		w.plan(next)
		w.turned()
	}
}

func (w *Watch) plan(next time.Time) {
	w.mu.Lock()
	w.next = next
	w.mu.Unlock()
}

// due is when the next run is due by what is on record, and the wait that leads to it.
func (w *Watch) due() (time.Time, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failures > 0 {
		wait := slowWait(w.check.Every(), w.failures)
		return w.lastTry.Add(wait), wait
	}
	if w.book == nil || w.book.last().IsZero() {
		return time.Time{}, 0
	}
	return w.book.last().Add(w.check.Every()), w.check.Every()
}

// restore reads the record, once.
func (w *Watch) restore(ctx context.Context) error {
	w.mu.Lock()
	known := w.book != nil
	w.mu.Unlock()
	if known {
		return nil
	}
	bound, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	r, err := w.records.EffectRecord(bound, w.check.Pipeline())
	if err != nil {
		// Without it, new double effects would pass for old ones, and its place would be taken.
		return fmt.Errorf("read what the effect check knows: %w", err)
	}
	w.mu.Lock()
	w.book = restoreBook(w.check.Query(), r)
	if r.Query == w.check.Query() && r.Slow > 0 {
		w.lastTry, w.failures, w.err = r.LastTry, r.Slow, r.SlowWhy
	}
	w.mu.Unlock()
	return nil
}

// attempt runs the check once and returns the wait until the next run.
func (w *Watch) attempt(ctx context.Context) time.Duration {
	started := time.Now()
	err := w.restore(ctx)
	var reading dedup.EffectReading
	if err == nil {
		// The check has its own bound, which leaves it time to word what happened; this one is for one that hangs.
		bound, cancel := context.WithTimeout(ctx, w.check.Timeout()+time.Minute)
		reading, err = w.check.Check(bound)
		cancel()
	}
	if ctx.Err() != nil {
		return 0
	}
	if err == nil {
		w.succeeded(ctx, started, reading)
		return w.check.Every()
	}
	wait := w.failed(started, err)
	if errors.Is(err, context.DeadlineExceeded) {
		w.keepSlow(ctx)
	}
	return wait
}

// keepSlow records that the newest run was too slow: a restart must not run it sooner than it is due.
func (w *Watch) keepSlow(ctx context.Context) {
	w.mu.Lock()
	if w.book == nil || w.records == nil {
		w.mu.Unlock()
		return
	}
	record := w.book.record()
	record.LastTry, record.Slow, record.SlowWhy = w.lastTry, w.failures, w.err
	w.mu.Unlock()
	w.keep(ctx, record, "that the effect check is slow cannot be kept; a restart would run it at once")
}

func (w *Watch) keep(ctx context.Context, record dedup.EffectRecord, otherwise string) {
	bound, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	if err := w.records.KeepEffectRecord(bound, w.check.Pipeline(), record); err != nil {
		w.log.Warn(otherwise, "err", err)
	}
}

func (w *Watch) succeeded(ctx context.Context, started time.Time, r dedup.EffectReading) {
	w.mu.Lock()
	fresh := w.book.take(r)
	record := w.book.record()
	w.lastTry, w.err, w.failures = started, "", 0
	if fresh > 0 {
		w.events.AddCounted(r.At, "double_effect", fresh, fmt.Sprintf("The effect check found %s whose work was done again", text.Counted(fresh, "business key")))
	}
	w.mu.Unlock()
	if w.records == nil {
		return
	}
	w.keep(ctx, record, "what the effect check found cannot be kept; a restart would take new double effects for old ones")
}

// failed notes a failure and returns the wait: twice as long after each run that was too slow, because it may hurt the
// database; soon after another failure, which is over when the server answers again.
func (w *Watch) failed(started time.Time, err error) time.Duration {
	why := source.Words(err, w.check.Timeout())
	w.mu.Lock()
	defer w.mu.Unlock()
	if why != w.err {
		w.log.Warn("the effect check failed", "err", err)
	}
	w.lastTry, w.err, w.failures = started, why, w.failures+1
	if errors.Is(err, context.DeadlineExceeded) {
		return slowWait(w.check.Every(), w.failures)
	}
	return min(w.check.Every(), retry*(time.Duration(1)<<min(w.failures, 10))/2)
}

// slowWait is the wait after so many failures, the newest of which was too slow.
func slowWait(every time.Duration, failures int) time.Duration {
	double := time.Duration(1) << min(failures, 10)
	return max(every, min(every*min(double, slower), longest))
}

// status is what is known of the double effects at a time.
func (w *Watch) status(now time.Time) *dedup.EffectCheck {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := dedup.EffectCheck{}
	if w.book != nil {
		s = w.book.status(now)
	}
	s.Every, s.Timeout, s.LastTry, s.Next, s.Err = w.check.Every(), w.check.Timeout(), w.lastTry, w.next, w.err
	return &s
}

// figure counts the double effects of a window.
func (w *Watch) figure(span time.Duration, now time.Time) dedup.Figure {
	w.mu.Lock()
	defer w.mu.Unlock()
	book := w.book
	if book == nil {
		book = newBook("")
	}
	f := book.figure(span, w.check.Every(), now)
	if !f.Known() && w.err != "" {
		f.Why = "the effect check failed: " + w.err
	}
	return f
}

// Events returns those so far; nil without a check.
func (w *Watch) Events() *event.Log {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events.Copy()
}

// Since counts the keys that were found new after a time; none without a check.
func (w *Watch) Since(from time.Time) float64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.book == nil {
		return 0
	}
	n, _ := w.book.since(from)
	return float64(n)
}

// Figures adds the double effects to the figures of a window. Another source of them keeps its place.
func (w *Watch) Figures(out dedup.WindowFigures, now time.Time) dedup.WindowFigures {
	if w == nil {
		if !out.DoubleEffects.Known() && out.DoubleEffects.Better == "" {
			out.DoubleEffects.Better = "Add an effect_check to the pipeline: a query on the business data, as docs/figures.md shows."
		}
		return out
	}
	out.DoubleEffects = larger(out.DoubleEffects, w.figure(out.Window, now))
	return out
}

// Show adds what is known of the double effects, and what is wrong.
func (w *Watch) Show(st *dedup.PipelineStatus, now time.Time) {
	if w == nil {
		return
	}
	st.Effects = w.status(now)
	st.Findings = append(st.Findings, finding.DoubleEffects(st.Effects, now)...)
	st.Findings = append(st.Findings, finding.EffectCheckFails(st.Effects, now)...)
}

// larger joins two sources of double effects: each sees what the other cannot, so that the larger number is nearer.
func larger(other, check dedup.Figure) dedup.Figure {
	switch {
	case !check.Known() && other.Known():
		other.Why = text.Reasons(other.Why, check.Why)
		return other
	case !other.Known():
		return check
	}
	most, least := other, check
	if check.Value > other.Value {
		most, least = check, other
	}
	most.Why = text.Reasons(most.Why, fmt.Sprintf("%s: %s", least.Source, text.Grouped(text.Whole(least.Value))))
	most.Source += " and " + least.Source
	most.AtLeast = most.AtLeast || least.AtLeast
	return most
}
