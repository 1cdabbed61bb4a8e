package requeue

import (
	"context"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Run moves messages from a queue to where the decider sends them, until it has taken as many as Config.Limit says or has to stop.
// What becomes of each is reported in order, soon after it is known. Whatever happens, a message that was not confirmed at its target
// is in its queue when Run returns, or returns to it with the connection.
//
// When ctx ends, Run takes no more messages, waits for the answers to what it has published, and puts the rest back. So a caller
// pauses a run by ending its context and resumes it by another call with the same name and what is left of the limit.
//
// The error says more of the stops StopDecide, StopReport and StopConnection, and what is wrong with a configuration.
func Run(ctx context.Context, ends Ends, cfg Config, decide Decider, report func(ctx context.Context, settled []Settled) error) (Result, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Result{}, fmt.Errorf("run a requeue: %w", err)
	}
	r := &runner{
		Config:   cfg,
		ends:     ends,
		decide:   decide,
		rewriter: rewriter{run: cfg.Run, uncounted: cfg.Uncounted},
		pacer:    newPacer(cfg.Rate),
		reporter: startReporter(ctx, report),
		failing:  map[string]int{},
		doubtful: map[string]int{},
		window:   firstWindow,
	}
	r.doubt(cfg.Doubtful)
	r.run(ctx)
	if err := r.reporter.close(); err != nil && r.err == nil {
		r.result.Stop, r.result.Text, r.err = StopReport, StopReport.Text(), err
	}
	return r.result, r.err
}

// firstWindow is the window that a run begins with; see hand.
const firstWindow = 16

// A runner is what of a run lasts from one connection to the next.
type runner struct {
	Config
	ends     Ends
	decide   Decider
	rewriter rewriter
	pacer    pacer
	reporter *reporter

	result Result
	err    error
	seq    int64
	// window is how many messages the next connection may have in motion at first.
	window int
	// failing counts the failures in a row of each target.
	failing map[string]int
	// losses counts the connections that were lost, fruitless those of them in a row that ended without a message moved.
	losses    int
	fruitless int
	// doubtful counts, by reference, the messages that moved and whose ack may have been lost with a connection.
	doubtful map[string]int
	// forgotten are those whose acks a broker has read, and may have forgotten if it was killed.
	forgotten []string
}

// run makes one pass after the other, each with connections of its own, until one ends by itself.
func (r *runner) run(ctx context.Context) {
	if r.Limit <= 0 {
		r.stop(StopLimit, "", nil)
	}
	for r.result.Stop == "" {
		source, sink := r.open(ctx)
		if source == nil {
			return
		}
		r.result.Counts = Counts{Moved: r.result.Moved, Repeated: r.result.Repeated} // what else was counted has gone back, and is taken again
		p := newPass(r, source, sink)
		p.run(ctx)
		if p.hand.oneFragile() {
			r.fragile(p)
		}
		switch {
		case r.result.Stop != "":
		case p.lost != nil:
			r.afterLoss(p)
		default:
			r.stop(p.end, "", nil)
		}
		if r.result.Stop != "" && p.ackLost && len(p.acked) > 0 {
			r.result.Uncertain = true
			r.result.Text += fmt.Sprintf("; the connection ended with the run: up to %d of the messages that moved may be in the queue as well", min(len(p.acked), p.Window))
		}
	}
}

// stop ends the run for a reason; the first one counts. An empty text stands for the usual one.
func (r *runner) stop(why Stop, text string, err error) {
	if r.result.Stop != "" {
		return
	}
	if text == "" {
		text = why.Text()
	}
	r.result.Stop, r.result.Text, r.err = why, text, err
}

// fragile stops the run whatever else it ended by, because a message is back that its queue would soon destroy: nobody may take it
// again for the asking.
func (r *runner) fragile(p *pass) {
	text := StopFragile.Text()
	switch {
	case r.result.Stop != "" && r.result.Stop != StopFragile:
		text += "; and " + r.result.Text
	case p.lost != nil:
		text += "; and the connection has ended: " + p.lost.Error()
	}
	r.result.Stop, r.result.Text = StopFragile, text
}

// doubt notes that acks may have been lost.
func (r *runner) doubt(refs []string) {
	for _, ref := range refs {
		r.doubtful[ref]++
	}
}

// afterLoss gets ready for the next connection, or stops the run when none lasts.
func (r *runner) afterLoss(p *pass) {
	r.reporter.catchUp() // before anybody forgets, when the connection is replaced, what was known of these messages
	r.result.Uncertain = true
	r.losses++
	r.window = 1
	// A broker that lives has read all acks but those of a window, or would not have handed out more.
	unread := max(0, len(p.acked)-p.Window)
	r.forgotten = p.acked[:unread]
	r.doubt(p.acked[unread:])
	r.fruitless++
	if p.moved > 0 {
		r.fruitless = 0
	}
	if r.fruitless >= r.MaxFruitless {
		r.stop(StopConnection, fmt.Sprintf("%d connections in a row ended before anything was moved%s", r.fruitless, p.suspect()),
			fmt.Errorf("move messages: %w", p.lost))
		return
	}
	r.Waiting("the connection to the broker has ended: " + p.lost.Error())
}

// open opens both ends, and tries again for as long as the broker may be away. Without ends the run has stopped.
func (r *runner) open(ctx context.Context) (Source, Sink) {
	since := time.Now()
	waited := r.losses > 0
	for attempt := r.fruitless; ; attempt++ {
		if waited && !r.pause(ctx, attempt) {
			return nil, nil
		}
		source, sink, err := r.openOnce(ctx)
		switch {
		case err == nil:
			if waited {
				r.Waiting("")
			}
			if r.losses > 0 {
				r.result.Reconnects++
				r.result.Uncertain = false
				r.Reconnected()
			}
			return source, sink
		case ctx.Err() != nil:
			r.stop(StopCancelled, "", nil)
			return nil, nil
		case !waited && final(err):
			r.stop(StopConnection, "the run could not begin", err)
			return nil, nil
		case time.Since(since) >= r.MaxAway:
			r.stop(StopConnection, "no connection could be opened for too long", err)
			return nil, nil
		}
		if r.losses > 0 { // the broker is not there at once: it may have been killed
			r.doubt(r.forgotten)
			r.forgotten = nil
		}
		waited = true
		r.Waiting("no connection can be opened; it is tried again: " + err.Error())
	}
}

// openOnce opens both ends or none.
func (r *runner) openOnce(ctx context.Context) (Source, Sink, error) {
	source, err := r.ends.Source(ctx, r.Queue, r.taking())
	if err != nil {
		return nil, nil, fmt.Errorf("take messages from queue %q: %w", r.Queue.Name, err)
	}
	sink, err := r.ends.Sink(ctx, r.Queue.Vhost, r.Window)
	if err != nil {
		_ = source.Close() // nothing was taken
		return nil, nil, fmt.Errorf("publish to vhost %q: %w", r.Queue.Vhost, err)
	}
	return source, sink, nil
}

// final reports whether it is of no use to try again. It is asked before anything was taken alone: a broker that is starting denies
// that it has queues, and one that has not noticed the end of a connection says that its queue is in use.
func final(err error) bool {
	switch dedup.KindOf(err) {
	case dedup.Invalid, dedup.NotFound, dedup.Forbidden, dedup.Conflict:
		return true
	}
	return false
}

// pause waits before the next attempt, twice as long each time; it is false when the run has ended meanwhile.
func (r *runner) pause(ctx context.Context, attempt int) bool {
	pause := r.Backoff
	for range attempt {
		pause = min(2*pause, r.MaxBackoff)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case err := <-r.reporter.failed:
		r.stop(StopReport, "", err)
	case <-ctx.Done():
		r.stop(StopCancelled, "", nil)
	}
	return false
}
