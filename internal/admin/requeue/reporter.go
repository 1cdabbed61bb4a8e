package requeue

import (
	"context"
	"fmt"
	"time"
)

const (
	// reportEvery is how many messages are reported together at most; fewer are after watchEvery.
	reportEvery = 256
	// reportTimeout bounds one report.
	reportTimeout = 30 * time.Second
)

// A reporter hands on what became of messages, in their order, without holding up those that follow: one report is being taken down
// while the next fills.
type reporter struct {
	filling []Settled
	reports chan part
	// failed has the error of the first report that failed; none is made after it.
	failed chan error
	done   chan struct{}
}

// A part is what is reported together. taken, if any, is closed once it was taken down, or cannot be.
type part struct {
	settled []Settled
	taken   chan struct{}
}

// startReporter calls report from a goroutine of its own until it is closed. Reports outlive the end of ctx.
func startReporter(ctx context.Context, report func(context.Context, []Settled) error) *reporter {
	r := &reporter{reports: make(chan part, 1), failed: make(chan error, 1), done: make(chan struct{})}
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer close(r.done)
		broken := false
		for p := range r.reports {
			if !broken && len(p.settled) > 0 {
				if err := reportOnce(ctx, report, p.settled); err != nil {
					broken = true
					r.failed <- err
				}
			}
			if p.taken != nil {
				close(p.taken)
			}
		}
	}()
	return r
}

func reportOnce(ctx context.Context, report func(context.Context, []Settled) error, settled []Settled) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	if err := report(ctx, settled); err != nil {
		return fmt.Errorf("report what became of %d messages: %w", len(settled), err)
	}
	return nil
}

// add reports a message, soon. It waits only while two full reports are under way.
func (r *reporter) add(s Settled) {
	r.filling = append(r.filling, s)
	if len(r.filling) >= reportEvery {
		r.reports <- part{settled: r.filling}
		r.filling = nil
	}
}

// catchUp hands on what there is and waits until all is taken down. A report that fails is told by failed.
func (r *reporter) catchUp() {
	taken := make(chan struct{})
	r.reports <- part{r.filling, taken}
	r.filling = nil
	<-taken
}

// flush hands on what there is, unless a report is waiting already.
func (r *reporter) flush() {
	if len(r.filling) == 0 {
		return
	}
	select {
	case r.reports <- part{settled: r.filling}:
		r.filling = nil
	default:
	}
}

// close hands on the rest, waits until all is reported, and returns the error of the report that failed if that is not known yet.
func (r *reporter) close() error {
	if len(r.filling) > 0 {
		r.reports <- part{settled: r.filling}
	}
	close(r.reports)
	<-r.done
	select {
	case err := <-r.failed:
		return err
	default:
		return nil
	}
}
