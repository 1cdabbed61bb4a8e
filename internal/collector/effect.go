package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

const effectSource = "effect check"

// EffectChecker looks for double effects of one pipeline. Check is called one at a time; an error that wraps
// context.DeadlineExceeded says that the query was too slow.
type EffectChecker interface {
	Pipeline() string
	// Query identifies what is asked: a memory of something else says nothing.
	Query() string
	Every() time.Duration
	Timeout() time.Duration
	Check(ctx context.Context) (dedup.EffectReading, error)
}

// EffectRecords keeps what effect checks remember, by pipeline.
type EffectRecords interface {
	EffectRecord(ctx context.Context, pipeline string) (dedup.EffectRecord, error)
	KeepEffectRecord(ctx context.Context, pipeline string, r dedup.EffectRecord) error
}

// An effectWatch runs the check of one pipeline on its own timer: it is no source of the pipeline, whose other figures
// hold without it.
type effectWatch struct {
	check   EffectChecker
	records EffectRecords // nil where nothing outlives a restart
	log     *slog.Logger
	turned  func()

	mu       sync.Mutex
	book     *effectBook // nil until the record was read
	lastTry  time.Time
	next     time.Time
	err      string
	failures int
	events   eventLog
}

func newEffectWatch(check EffectChecker, records EffectRecords, log *slog.Logger, turned func()) *effectWatch {
	w := &effectWatch{check: check, records: records, log: log.With("pipeline", check.Pipeline()), turned: turned}
	if records == nil {
		w.book = newEffectBook(check.Query())
	}
	return w
}

// Bounds of the waits between two runs.
const (
	// effectRetry is the wait after a first failure that is none of time, effectSpread the time in which first runs begin.
	effectRetry  = time.Minute
	effectSpread = time.Minute
	// effectSlower is by how much a check that is too slow is stretched at most, effectLongest how far.
	effectSlower  = 8
	effectLongest = 24 * time.Hour
	// recordPatience bounds a reading or writing of a record, which is kept on this machine.
	recordPatience = 5 * time.Second
)

// run checks until ctx ends. A restart does not make a check run before it is due.
func (w *effectWatch) run(ctx context.Context) {
	phase := (&source{name: "effects " + w.check.Pipeline()}).phase(min(w.check.Every()/4, effectSpread))
	next := time.Now().Add(phase)
	w.restore(ctx)
	if due, wait := w.due(); due.After(next) && due.Before(next.Add(wait)) {
		next = due
	}
	w.plan(next)
	for waitUntil(ctx, next) {
		w.plan(time.Time{})
		gap := w.attempt(ctx)
		next = time.Now().Add(gap)
		w.plan(next)
		w.turned()
	}
}

func (w *effectWatch) plan(next time.Time) {
	w.mu.Lock()
	w.next = next
	w.mu.Unlock()
}

// due is when the next run is due by what is on record, and the wait that leads to it.
func (w *effectWatch) due() (time.Time, time.Duration) {
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
func (w *effectWatch) restore(ctx context.Context) error {
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
	w.book = restoreEffects(w.check.Query(), r)
	if r.Query == w.check.Query() && r.Slow > 0 {
		w.lastTry, w.failures, w.err = r.LastTry, r.Slow, r.SlowWhy
	}
	w.mu.Unlock()
	return nil
}

// attempt runs the check once and returns the wait until the next run.
func (w *effectWatch) attempt(ctx context.Context) time.Duration {
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
func (w *effectWatch) keepSlow(ctx context.Context) {
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

func (w *effectWatch) keep(ctx context.Context, record dedup.EffectRecord, otherwise string) {
	bound, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	if err := w.records.KeepEffectRecord(bound, w.check.Pipeline(), record); err != nil {
		w.log.Warn(otherwise, "err", err)
	}
}

func (w *effectWatch) succeeded(ctx context.Context, started time.Time, r dedup.EffectReading) {
	w.mu.Lock()
	fresh := w.book.take(r)
	record := w.book.record()
	w.lastTry, w.err, w.failures = started, "", 0
	if fresh > 0 {
		w.events.addCounted(r.At, "double_effect", fresh, fmt.Sprintf("The effect check found %s whose work was done again", counted(fresh, "business key")))
	}
	w.mu.Unlock()
	if w.records == nil {
		return
	}
	w.keep(ctx, record, "what the effect check found cannot be kept; a restart would take new double effects for old ones")
}

// failed notes a failure and returns the wait: twice as long after each run that was too slow, because it may hurt the
// database; soon after another failure, which is over when the server answers again.
func (w *effectWatch) failed(started time.Time, err error) time.Duration {
	text := words(err, w.check.Timeout())
	w.mu.Lock()
	defer w.mu.Unlock()
	if text != w.err {
		w.log.Warn("the effect check failed", "err", err)
	}
	w.lastTry, w.err, w.failures = started, text, w.failures+1
	if errors.Is(err, context.DeadlineExceeded) {
		return slowWait(w.check.Every(), w.failures)
	}
	return min(w.check.Every(), effectRetry*(time.Duration(1)<<min(w.failures, 10))/2)
}

// slowWait is the wait after so many failures, the newest of which was too slow.
func slowWait(every time.Duration, failures int) time.Duration {
	double := time.Duration(1) << min(failures, 10)
	return max(every, min(every*min(double, effectSlower), effectLongest))
}

// status is what is known of the double effects at a time.
func (w *effectWatch) status(now time.Time) *dedup.EffectCheck {
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
func (w *effectWatch) figure(span time.Duration, now time.Time) dedup.Figure {
	w.mu.Lock()
	defer w.mu.Unlock()
	book := w.book
	if book == nil {
		book = newEffectBook("")
	}
	f := book.figure(span, w.check.Every(), now)
	if !f.Known() && w.err != "" {
		f.Why = "the effect check failed: " + w.err
	}
	return f
}

// told returns the events so far.
func (w *effectWatch) told() *eventLog {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &eventLog{events: append([]dedup.Event(nil), w.events.events...)}
}

// since counts the keys that were found new after a time.
func (w *effectWatch) since(from time.Time) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.book == nil {
		return 0
	}
	n, _ := w.book.since(from)
	return float64(n)
}

// withEffects adds the double effects to the figures of a window. Another source of them keeps its place.
func (p *pipeline) withEffects(out dedup.WindowFigures, now time.Time) dedup.WindowFigures {
	if p.effects == nil {
		if !out.DoubleEffects.Known() && out.DoubleEffects.Better == "" {
			out.DoubleEffects.Better = "Add an effect_check to the pipeline: a query on the business data, as docs/figures.md shows."
		}
		return out
	}
	out.DoubleEffects = largerEffects(out.DoubleEffects, p.effects.figure(out.Window, now))
	return out
}

// largerEffects joins two sources of double effects: each sees what the other cannot, so that the larger number is nearer.
func largerEffects(other, check dedup.Figure) dedup.Figure {
	switch {
	case !check.Known() && other.Known():
		other.Why = joinReasons(other.Why, check.Why)
		return other
	case !other.Known():
		return check
	}
	larger, smaller := other, check
	if check.Value > other.Value {
		larger, smaller = check, other
	}
	larger.Why = joinReasons(larger.Why, fmt.Sprintf("%s: %s", smaller.Source, grouped(whole(smaller.Value))))
	larger.Source += " and " + smaller.Source
	larger.AtLeast = larger.AtLeast || smaller.AtLeast
	return larger
}

// status of effects adds what is known of them, and what is wrong.
func (p *pipeline) showEffects(st *dedup.PipelineStatus, now time.Time) {
	if p.effects == nil {
		return
	}
	st.Effects = p.effects.status(now)
	st.Findings = append(st.Findings, finding.DoubleEffects(st.Effects, now)...)
	st.Findings = append(st.Findings, finding.EffectCheckFails(st.Effects, now)...)
}
