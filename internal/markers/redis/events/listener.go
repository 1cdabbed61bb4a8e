package events

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

const (
	// leastRelisten and mostRelisten bound the wait after a lost subscription.
	leastRelisten = 250 * time.Millisecond
	mostRelisten  = 10 * time.Second
	// stirApart is the least time between two calls for a reading out of turn.
	stirApart = time.Second
	// gapsApart is the least time between two lines of the log about gaps of one reason; mostGaps bounds the reasons.
	gapsApart = time.Minute
	mostGaps  = 32
)

// neverListened is why there are no events before the first subscription.
const neverListened = "the subscription to the store's notifications does not stand yet"

// Listener follows the notifications of one store over a connection of its own, again and again. What it knows it publishes
// once a second; a gap of any kind begins a new epoch.
type Listener struct {
	layout  *layout.Layout
	rules   rules
	rdb     *redis.Client
	log     *slog.Logger
	explain client.Explainer
	// Stir asks for a reading out of turn: something new needs to be seen.
	Stir chan struct{}
	Own  *OwnActs
	// Missed are the misses of our other connections.
	Missed *ownMisses
	trail  trail
	meter  meter
	// followers want the events of single markers.
	followers followers
	// newest are of all sessions, each of which has it for itself.
	newest *newest

	mu        sync.Mutex
	published dedup.StoreEvents
	epoch     int64
	// prolongs is true once claims were seen to be prolonged.
	prolongs bool
	// stirring is true while a reading out of turn is due, stirred when the last one was asked for.
	stirring bool
	stirred  time.Time
	// gaps are the last gaps that were logged, by their reason.
	gaps map[string]time.Time
}

// NewListener returns a listener that does not connect before Run.
func NewListener(l *layout.Layout, rdb *redis.Client, log *slog.Logger, e client.Explainer) *Listener {
	return &Listener{layout: l, rules: rulesOf(l.Config), rdb: rdb, log: log, explain: e, Stir: make(chan struct{}, 1), Own: &OwnActs{}, Missed: &ownMisses{layout: l},
		published: dedup.StoreEvents{Why: neverListened}, newest: newNewest(l.Config.TTL.Done)}
}

// Figures returns what is known; its slices and its sketch must not be changed.
func (l *Listener) Figures() *dedup.StoreEvents {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.published
	return &f
}

// Run listens until ctx ends.
func (l *Listener) Run(ctx context.Context) {
	wait := leastRelisten
	for ctx.Err() == nil {
		started := time.Now()
		err := l.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > mostRelisten {
			wait = leastRelisten
		}
		l.lost(err)
		_ = pace.Sleep(ctx, wait)
		wait = min(2*wait, mostRelisten)
	}
}

// listen opens a session and follows it to its end, which has a reason.
func (l *Listener) listen(ctx context.Context) error {
	s, err := openSession(ctx, l)
	if err != nil {
		return err
	}
	return s.follow(ctx)
}

// begin starts an epoch and returns an empty book for it.
func (l *Listener) begin(at time.Time, number uint64) *book {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers.gap()
	l.epoch++
	b := newBook(l.rules, at, number)
	b.epoch, b.meter, b.prolongs.shown = l.epoch, &l.meter, l.prolongs
	l.meter.begin(l.epoch)
	return b
}

// prolonged notes that claims are prolonged, from the next book on.
func (l *Listener) prolonged() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prolongs = true
}

// lost ends an epoch because the subscription is gone.
func (l *Listener) lost(err error) {
	why := dedup.PublicText(l.explain.Explain(err))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.published.Listening || l.published.Why != why {
		l.log.Warn("store events are interrupted", "err", err)
	}
	l.followers.gap()
	l.epoch++
	l.meter.begin(l.epoch)
	now := time.Now()
	l.published = dedup.StoreEvents{At: now, Since: now, Epoch: l.epoch, Why: why, Command: l.layout.Config.Ask, Vanished: l.published.Vanished}
}

// publish makes figures those that are shown.
func (l *Listener) publish(f dedup.StoreEvents, stir bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.Epoch, f.Command = l.epoch, l.layout.Config.Ask
	if f.Listening != l.published.Listening {
		if f.Listening {
			l.log.Info("store events are counted", "epoch", f.Epoch)
		} else if f.Why != l.published.Why {
			l.log.Warn("store events cannot be counted", "because", f.Why)
		}
	}
	l.published = f
	if l.stirring = l.stirring || stir; l.stirring && time.Since(l.stirred) >= stirApart {
		l.stirring, l.stirred = false, time.Now()
		select {
		case l.Stir <- struct{}{}:
		default:
		}
	}
}

// gap notes why counts begin anew, once per reason and gapsApart.
func (l *Listener) gap(why string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, told := l.gaps[why]; told && at.Sub(last) < gapsApart {
		return
	}
	if l.gaps == nil || len(l.gaps) >= mostGaps {
		l.gaps = map[string]time.Time{}
	}
	l.gaps[why] = at
	l.log.Warn("store events have a gap: they are counted anew", "because", why)
}

// channels returns the patterns to subscribe to and the beginning that all their channels have.
func (l *Listener) channels() (prefix string, patterns []string) {
	c := l.layout.Config
	prefix = fmt.Sprintf("__keyspace@%d__:", l.rdb.Options().DB)
	patterns = []string{prefix + layout.RawPattern(c, c.Match)}
	if l.rules.giveUp > 0 {
		patterns = append(patterns, prefix+layout.RawPattern(c, c.Retry.Match))
	}
	return prefix, patterns
}
