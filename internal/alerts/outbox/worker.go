package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
)

// A worker delivers the messages of one channel, one after the other.
type worker struct {
	cfg     *Config
	channel string
	sender  Sender
	// deadline is how long one delivery may take.
	deadline time.Duration
	wake     chan struct{}
	// failures counts those since the channel last took a message.
	failures int
	// failing is true while the channel takes nothing, and deaf while the store fails: each is logged once.
	failing, deaf bool
}

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, wake := w.step(ctx)
		if !pause(ctx, wait, wake) {
			return
		}
	}
}

// step delivers one message and returns how long to wait, and what ends the wait early. A channel that fails is left alone for a while,
// whatever else there is for it: most likely it is not the message that is wrong. Then the next one has its turn, in case it is.
func (w *worker) step(ctx context.Context) (time.Duration, <-chan struct{}) {
	out, err := w.cfg.Store.Claim(ctx, w.channel, time.Now())
	if err != nil {
		w.storeFailed(ctx, err)
		return storePatience, nil
	}
	w.deaf = false
	if out.ID == "" {
		return lookAgain, w.wake
	}
	refused, sure := w.send(ctx, out.Notification)
	if !sure {
		return 0, nil // we are stopped: it is found under way at the next start
	}
	if refused == nil {
		w.taken()
		w.finish(ctx, out.ID, Outcome{Result: DeliverySent, At: time.Now()})
		return 0, nil
	}
	w.failures++
	return w.refused(ctx, out, refused), nil
}

// taken notes that the channel works.
func (w *worker) taken() {
	w.failures = 0
	if w.failing {
		w.failing = false
		w.cfg.Log.Info("a channel takes notifications again", "channel", w.channel)
	}
}

// refused keeps that a message was not taken, and returns how long the channel is left alone.
func (w *worker) refused(ctx context.Context, out Outgoing, why *alerts.DeliveryError) time.Duration {
	now := time.Now()
	asked := min(max(why.RetryAfter, 0), longestAsked)
	text := why.Error()
	if !why.Permanent && !w.failing {
		w.failing = true
		w.cfg.Log.Warn("a channel takes no notifications; they are tried again", "channel", w.channel, "why", text)
	}
	if !why.Permanent && now.Before(out.Made.Add(giveUp)) {
		retry := now.Add(max(w.untilNext(out, why.Doubtful), asked))
		w.finish(ctx, out.ID, Outcome{Result: DeliveryRetry, At: now, Retry: retry, Error: text, Doubtful: why.Doubtful})
		return max(w.backoff(w.failures), asked)
	}
	if !why.Permanent {
		text = fmt.Sprintf("Given up after %s. %s", rule.Span(giveUp), text)
	}
	w.finish(ctx, out.ID, Outcome{Result: DeliveryFailed, At: now, Error: text, Doubtful: why.Doubtful})
	w.cfg.Log.Error("a notification was given up", "channel", w.channel, "kind", out.Kind, "tries", out.Tries, "why", text)
	out.Repeated = out.Repeated || why.Doubtful
	w.cfg.Failed(out.Notification, text)
	if why.Permanent {
		w.failures = 0 // the channel answers
		return asked
	}
	return max(w.backoff(w.failures), asked)
}

// untilNext returns how long a message waits until it is tried again.
func (w *worker) untilNext(out Outgoing, doubtful bool) time.Duration {
	switch {
	case !doubtful:
		return w.backoff(out.Tries)
	case out.Repeated:
		return w.shortened(laterDoubt)
	}
	return w.shortened(firstDoubt)
}

// backoff returns the wait after so many failures: twice as long each time, and shortened by up to a half at random, so that channels that
// failed together do not come back together.
func (w *worker) backoff(failures int) time.Duration {
	d := lastRetry
	if doublings := failures - 1; doublings < 10 { // 2¹⁰ s is more than the longest
		d = min(firstRetry<<max(doublings, 0), lastRetry)
	}
	return w.shortened(d)
}

func (w *worker) shortened(d time.Duration) time.Duration {
	return d/2 + time.Duration(w.cfg.Jitter()*float64(d/2))
}

// errPanicked stands for a sender that failed in a way that nobody foresaw.
var errPanicked = errors.New("the sender panicked")

// send delivers a message, and returns false when it was cut off because we are stopped: nobody knows then whether it arrived, unless the
// sender is sure that it had not begun.
func (w *worker) send(ctx context.Context, n alerts.Notification) (failed *alerts.DeliveryError, sure bool) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.deadline)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(sendGrace, cancel) })
	defer stop()
	err := w.guarded(limited, n)
	if err == nil {
		return nil, true
	}
	why := refusal(err, limited, w.deadline)
	if errors.Is(limited.Err(), context.Canceled) && !why.Unsent {
		return nil, false
	}
	return why, true
}

// guarded keeps a sender that panics from ending the program.
func (w *worker) guarded(ctx context.Context, n alerts.Notification) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("a sender panicked", "channel", w.channel, "kind", n.Kind)
			err = errPanicked
		}
	}()
	return w.sender.Send(ctx, n)
}

// finish keeps what became of a message, however long the store takes: a delivered one must not be delivered again. When we are stopped
// first, it is found under way at the next start, and delivered once more.
func (w *worker) finish(ctx context.Context, id string, o Outcome) {
	for wait := firstRetry; ; wait = min(2*wait, storePatience) {
		err := w.keep(ctx, id, o)
		if err == nil {
			w.deaf = false
			return
		}
		w.storeFailed(ctx, err)
		if !pause(ctx, wait, nil) {
			return
		}
	}
}

// keep tells the store once what became of a message, also when we are stopped, for a while.
func (w *worker) keep(ctx context.Context, id string, o Outcome) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(keepGrace, cancel) })
	defer stop()
	return w.cfg.Store.Finish(limited, id, o)
}

func (w *worker) storeFailed(ctx context.Context, err error) {
	if !w.deaf && ctx.Err() == nil {
		w.cfg.Log.Error("the outbox cannot be used, nothing is delivered until it can", "channel", w.channel, "err", err)
	}
	w.deaf = true
}
