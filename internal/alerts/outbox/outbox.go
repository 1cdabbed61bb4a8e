// Package outbox delivers notifications that the journal keeps, each until its channel took it or it is given up.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/alerts"
)

// The times of deliveries.
const (
	// sendDeadline is how long one delivery may take where the sender does not say, longestSend the most that it may say, and sendGrace how
	// long one that is under way may go on when we are stopped. Then keepGrace is how long the store may take to keep what became of it:
	// both together are less than the 5 s that stopping may take.
	sendDeadline = 15 * time.Second
	longestSend  = 5 * time.Minute
	sendGrace    = 2 * time.Second
	keepGrace    = 2 * time.Second
	// The waits after a failure begin with firstRetry and double up to lastRetry.
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
	// What may have arrived is tried again after firstDoubt, and from then on every laterDoubt: each time may be one more copy.
	firstDoubt = time.Minute
	laterDoubt = 10 * time.Minute
	// longestAsked caps the wait that a receiver asks for.
	longestAsked = time.Hour
	// giveUp is after which time a message is given up when it fails once more.
	giveUp = 24 * time.Hour
	// lookAgain is how often a worker looks for messages when nobody wakes it, storePatience how long it waits for a store that fails.
	lookAgain     = time.Second
	storePatience = 5 * time.Second
)

// A Sender hands a notification to a channel. It honours the context, and may be asked for one notification at a time. An error that is no
// DeliveryError counts as one that may pass. One that may need more than 15 s for a delivery says so by a method Patience.
type Sender interface {
	Send(ctx context.Context, n alerts.Notification) error
}

// A patientSender says how long one delivery may take, with all that it waits for.
type patientSender interface {
	Patience() time.Duration
}

// An Store keeps messages until they are delivered. What it was told is on disk when it returns.
type Store interface {
	// Recover marks what was under way when we were stopped: for one more delivery, as repeated, or as unknown when it was a repeated one
	// already. Messages for channels that are not among the given ones fail, and what those were told is forgotten.
	Recover(ctx context.Context, channels []string, at time.Time) (Recovered, error)
	// Claim marks the message of a channel that has been due for longest as under way and returns it; without an ID when there is none. A
	// message waits for those of its group that were made before it, and for one that is not taken for a while only. What later ones told
	// is left out of that one then.
	Claim(ctx context.Context, channel string, at time.Time) (Outgoing, error)
	// Finish keeps what became of a message that was claimed; of one that failed also that its channel may not know what it told.
	Finish(ctx context.Context, id string, o Outcome) error
}

// An Reader tells how channels fare.
type Reader interface {
	// ChannelStats returns those of every channel that has had a message lately.
	ChannelStats(ctx context.Context) (map[string]ChannelStats, error)
}

// An Outgoing is a message with its history.
type Outgoing struct {
	alerts.Notification
	// Made is when it was put into the outbox, Tries how often its delivery was begun, this time included.
	Made  time.Time
	Tries int
}

// Recovered counts what was found when the outbox was opened.
type Recovered struct {
	// Repeated messages are delivered once more, Unknown ones may have been delivered and are not tried again, Orphans were for channels
	// that are configured no more.
	Repeated, Unknown, Orphans int
}

// A DeliveryResult is what became of a delivery.
type DeliveryResult string

// The results of deliveries.
const (
	DeliverySent   DeliveryResult = "sent"
	DeliveryRetry  DeliveryResult = "retry"
	DeliveryFailed DeliveryResult = "failed"
)

// An Outcome is the result of a delivery.
type Outcome struct {
	Result DeliveryResult
	At     time.Time
	// Retry is when it is tried again; zero unless it is.
	Retry time.Time
	// Error is why it was not taken, in words that may be shown; empty when it was.
	Error string
	// Doubtful: it may have arrived all the same, so that from now on it is a repetition.
	Doubtful bool
}

// ChannelStats tell how a channel fares.
type ChannelStats struct {
	Channel string
	// Depth counts the messages that are not delivered yet, Oldest is when the oldest of them was made; zero without any.
	Depth  int
	Oldest time.Time
	// LastSuccess is when a message was last delivered, LastError why one last was not, and LastErrorAt when.
	LastSuccess, LastErrorAt time.Time
	LastError                string
}

// An Config is what an outbox needs.
type Config struct {
	Store  Store
	Reader Reader
	// Senders are the channels by name.
	Senders map[string]Sender
	// Jitter returns a random number of [0,1); nil for one that does.
	Jitter func() float64
	// Failed is told of every message that was given up, as repeated where it may have arrived, and why. It must not block; nil when
	// nobody is. The dispatcher has to hear of it, by GaveUp, so that what still fires is told again.
	Failed func(n alerts.Notification, why string)
	Log    *slog.Logger
}

// An Outbox delivers messages with one worker for each channel, so that none waits for another. It is safe for concurrent use.
type Outbox struct {
	cfg     Config
	workers []*worker // by channel
}

// New returns an outbox that delivers nothing before it is run.
func New(cfg Config) *Outbox {
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	if cfg.Failed == nil {
		cfg.Failed = func(alerts.Notification, string) {}
	}
	o := &Outbox{cfg: cfg}
	for _, name := range slices.Sorted(maps.Keys(cfg.Senders)) {
		sender := cfg.Senders[name]
		o.workers = append(o.workers, &worker{cfg: &o.cfg, channel: name, sender: sender, deadline: deadlineOf(sender), wake: make(chan struct{}, 1)})
	}
	return o
}

// deadlineOf returns how long one delivery of a sender may take.
func deadlineOf(s Sender) time.Duration {
	if p, ok := s.(patientSender); ok && p.Patience() > 0 {
		return min(p.Patience(), longestSend)
	}
	return sendDeadline
}

// Run delivers until the context ends, and returns when every worker has: a delivery that is under way may go on for a few seconds.
func (o *Outbox) Run(ctx context.Context) {
	if !o.recover(ctx) {
		return
	}
	var all sync.WaitGroup
	for _, w := range o.workers {
		all.Go(func() { w.run(ctx) })
	}
	all.Wait()
}

// Wake makes the workers look for messages now: some were committed.
func (o *Outbox) Wake() {
	for _, w := range o.workers {
		select {
		case w.wake <- struct{}{}:
		default: // it is about to look
		}
	}
}

// Stats returns how each channel fares, by name.
func (o *Outbox) Stats(ctx context.Context) ([]ChannelStats, error) {
	known, err := o.cfg.Reader.ChannelStats(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	var all []ChannelStats
	for _, w := range o.workers {
		s := known[w.channel]
		s.Channel = w.channel
		all = append(all, s)
	}
	return all, nil
}

// Recover settles what was under way when we were stopped. Whoever reads what channels were told calls it first; Run does it again,
// which changes nothing then.
func (o *Outbox) Recover(ctx context.Context) error {
	var channels []string
	for _, w := range o.workers {
		channels = append(channels, w.channel)
	}
	found, err := o.cfg.Store.Recover(ctx, channels, time.Now())
	if err != nil {
		return fmt.Errorf("recover the outbox: %w", err)
	}
	if found != (Recovered{}) {
		o.cfg.Log.Warn("notifications were under way when the dashboard stopped, or have no channel any more",
			"sent_once_more", found.Repeated, "unknown", found.Unknown, "without_channel", found.Orphans)
	}
	return nil
}

// recover settles what was under way when we were stopped, however long the store takes, and returns false when the context ends first.
// Before it is settled nothing may be claimed: what is under way then could not be told from what was.
func (o *Outbox) recover(ctx context.Context) bool {
	for {
		err := o.Recover(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			o.cfg.Log.Error("the outbox cannot be read, nothing is delivered until it can", "err", err)
		}
		if !pause(ctx, storePatience, nil) {
			return false
		}
	}
}

// pause waits, or until it is woken, and returns false when the context has ended.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-wake:
	}
	return ctx.Err() == nil
}

// refusal returns an error of a sender as one that says what to do about it. The text of an error that is no DeliveryError is not shown: it
// may hold what a channel is called by, which can be a secret.
func refusal(err error, limited context.Context, deadline time.Duration) *alerts.DeliveryError {
	var known *alerts.DeliveryError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return &alerts.DeliveryError{Public: fmt.Sprintf("The channel did not answer within %s.", deadline), Doubtful: true}
	case errors.Is(err, errPanicked):
		return &alerts.DeliveryError{Public: "The channel failed in a way that nobody foresaw; see the log.", Doubtful: true}
	default:
		return &alerts.DeliveryError{Public: "The channel could not be reached; see that its address is right and can be reached from here."}
	}
}
