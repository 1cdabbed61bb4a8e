package source

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A lateBroker answers for the totals alone: each time after the next of some waits, or with an error for a negative one.
type lateBroker struct {
	Broker
	waits []time.Duration
	asked int
}

func (b *lateBroker) Name() string { return "main" }

func (b *lateBroker) Totals(ctx context.Context) (dedup.QueueTotals, error) {
	if b.asked == len(b.waits) {
		<-ctx.Done()
		return dedup.QueueTotals{}, ctx.Err()
	}
	began, wait := time.Now(), b.waits[b.asked]
	b.asked++
	if wait < 0 {
		return dedup.QueueTotals{}, errors.New("it is down")
	}
	time.Sleep(wait)
	n := int64(3)
	return dedup.QueueTotals{At: began, Queues: []dedup.Queue{{QueueRef: dedup.QueueRef{Vhost: "/", Name: "orders"}, Type: "classic", Messages: &n, Unacked: &n}}}, nil
}

// TestSamplesThatComeLateSayHowLate: they met less of what was held when the machine was busy.
func TestSamplesThatComeLateSayHowLate(t *testing.T) {
	const usual = 5 * time.Millisecond
	for name, tt := range map[string]struct {
		waits []time.Duration
		late  float64
	}{
		"as usual":                             {[]time.Duration{usual, usual, 2 * usual, usual}, 0},
		"one answer took long":                 {[]time.Duration{usual, usual, 400 * time.Millisecond, usual}, 0.37},
		"one was not answered":                 {[]time.Duration{usual, usual, -1, usual}, 0.98},
		"one took long, and turns were missed": {[]time.Duration{usual, usual, 2500 * time.Millisecond, usual}, 4.45},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				from := &lateBroker{waits: tt.waits}
				b := NewBrokerReader(from, time.Minute, time.Minute, slog.New(slog.DiscardHandler), func() {})
				b.Totals.Sway, b.Totals.Pace = 0, nil
				b.Live.Follow("orders", []dedup.QueueRef{{Vhost: "/", Name: "orders"}})
				go b.Totals.Run(ctx)
				time.Sleep(20 * time.Second)
				late := b.Live.Of("orders").Slipped
				stop()
				synctest.Wait()
				if math.Abs(late-tt.late) > 0.001 {
					t.Errorf("late by %v s, want %v", late, tt.late)
				}
			})
		})
	}
}
