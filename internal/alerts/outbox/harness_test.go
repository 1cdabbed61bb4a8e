package outbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts"
)

// A shelf is a store of messages in memory.
type shelf struct {
	mu   sync.Mutex
	rows []*shelfRow
	// failing answers every call with an error, and stuck lets Finish wait until its context ends.
	failing, stuck bool
}

type shelfRow struct {
	n        alerts.Notification
	made     time.Time
	due      time.Time
	state    string
	tries    int
	outcomes []Outcome
}

var errShelf = errors.New("the disk is full")

func (s *shelf) put(id, channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, &shelfRow{n: alerts.Notification{ID: id, Channel: channel}, made: time.Now(), due: time.Now(), state: "due"})
}

func (s *shelf) fail(failing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = failing
}

func (s *shelf) Recover(_ context.Context, _ []string, _ time.Time) (Recovered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
		return Recovered{}, errShelf
	}
	var r Recovered
	for _, row := range s.rows {
		if row.state == "sending" {
			row.state, row.n.Repeated = "due", true
			r.Repeated++
		}
	}
	return r, nil
}

func (s *shelf) Claim(_ context.Context, channel string, at time.Time) (Outgoing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
		return Outgoing{}, errShelf
	}
	var next *shelfRow
	for _, row := range s.rows {
		if row.n.Channel == channel && row.state == "due" && !row.due.After(at) && (next == nil || row.due.Before(next.due)) {
			next = row
		}
	}
	if next == nil {
		return Outgoing{}, nil
	}
	next.state = "sending"
	next.tries++
	return Outgoing{Notification: next.n, Made: next.made, Tries: next.tries}, nil
}

func (s *shelf) Finish(ctx context.Context, id string, o Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.failing {
		return errShelf
	}
	for _, row := range s.rows {
		if row.n.ID == id {
			row.outcomes = append(row.outcomes, o)
			row.state, row.due = string(o.Result), o.Retry
			row.n.Repeated = row.n.Repeated || o.Doubtful
			if o.Result == DeliveryRetry {
				row.state = "due"
			}
		}
	}
	return nil
}

func (s *shelf) ChannelStats(context.Context) (map[string]ChannelStats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
		return nil, errShelf
	}
	return map[string]ChannelStats{"ops": {Channel: "ops", Depth: len(s.rows)}}, nil
}

// row returns the state of a message and what became of its deliveries.
func (s *shelf) row(id string) (string, []Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range s.rows {
		if row.n.ID == id {
			return row.state, slices.Clone(row.outcomes)
		}
	}
	return "", nil
}

// A sending is a delivery as a channel saw it.
type sending struct {
	n  alerts.Notification
	at time.Time
}

// A post is a channel that answers as it is told to.
type post struct {
	mu     sync.Mutex
	got    []sending
	answer func(ctx context.Context, n alerts.Notification) error
}

func (p *post) Send(ctx context.Context, n alerts.Notification) error {
	p.mu.Lock()
	p.got = append(p.got, sending{n, time.Now()})
	p.mu.Unlock()
	if p.answer == nil {
		return nil
	}
	return p.answer(ctx, n)
}

func (p *post) sendings() []sending {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

// A postOffice is an outbox at work in a bubble of time of its own.
type postOffice struct {
	*Outbox
	shelf  *shelf
	failed []string
	// repeated says of the messages that were given up which may have arrived.
	repeated []bool
	stop     func()
}

// openOffice runs an outbox until the test ends.
func openOffice(t *testing.T, s *shelf, senders map[string]Sender, log *slog.Logger) *postOffice {
	t.Helper()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	o := &postOffice{shelf: s}
	o.Outbox = New(Config{
		Store: s, Reader: s, Senders: senders, Log: log, Jitter: func() float64 { return 1 },
		Failed: func(n alerts.Notification, why string) {
			o.failed, o.repeated = append(o.failed, n.ID+": "+why), append(o.repeated, n.Repeated)
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		o.Run(ctx)
		close(done)
	}()
	o.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(o.stop)
	return o
}

// letPass lets time pass in the bubble.
func letPass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func sentIDs(got []sending) string {
	var list []string
	for _, s := range got {
		list = append(list, s.n.ID)
	}
	return strings.Join(list, " ")
}
