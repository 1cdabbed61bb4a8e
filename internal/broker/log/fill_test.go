package log

import (
	"log/slog"
	"net"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// TestNoLineOfTheLogIsDroppedUnseen plays a queue that drops its oldest line when it is full, to a reader that is slower or quicker.
func TestNoLineOfTheLogIsDroppedUnseen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fill := fill{every: logAskEvery}
		waiting, ahead, dropped, told := 0, 0, false, false
		hear := func() {
			ahead--
			if fill.received(100) {
				told = told || fill.overflowed(waiting)
			}
		}
		send := func() { // what a prefetch lets through
			n := min(waiting, logPrefetch-ahead)
			waiting, ahead = waiting-n, ahead+n
		}
		for range rapid.IntRange(1, 30).Draw(t, "bursts") {
			for range rapid.IntRange(0, 1500).Draw(t, "published") {
				if waiting++; waiting > maxLogLines {
					waiting, dropped = waiting-1, true
				}
			}
			for range rapid.IntRange(0, 1500).Draw(t, "heard") {
				if send(); ahead == 0 {
					break
				}
				hear()
			}
		}
		for send(); ahead > 0; send() {
			hear()
		}
		if dropped && !told {
			t.Fatal("lines were dropped, and nothing was said")
		}
	})
}

func TestAQueueThatIsKeptUpWithLosesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		size, waiting int
		lost          bool
	}{
		"an empty queue":                       {300, 0, false},
		"some lines wait":                      {300, 499, false},
		"as many that others may be gone":      {300, 500, true},
		"lines so long that bytes bound first": {maxLogBytes/maxLogLines + 1, 0, true},
	} {
		fill := fill{every: logAskEvery}
		for i := 1; i < logAskEvery; i++ {
			if fill.received(tt.size) {
				t.Fatalf("%s: asked after %d lines", name, i)
			}
		}
		if !fill.received(300) || fill.overflowed(tt.waiting) != tt.lost {
			t.Errorf("%s: want lost %v", name, tt.lost)
		}
		if fill.received(300) || fill.overflowed(0) {
			t.Errorf("%s: it does not begin anew", name)
		}
	}
}

// TestARealLogIsAskedHowFullItsQueueIs with the permissions that the documentation asks for.
func TestARealLogIsAskedHowFullItsQueueIs(t *testing.T) {
	t.Parallel()
	rabbit, config := startLogBroker(t, "log.exchange = true", "log.exchange.level = warning")
	listener, err := NewListener(config, slog.New(slog.DiscardHandler))
	must(t, err)
	listener.every = 2
	until := follow(t, listener.Reading, listener.Run, func() {})
	first := until("never listened", func(l dedup.BrokerLog) bool { return l.Listening })
	drop := func(n int) {
		for range n { // a client that goes without a word is a warning in the log
			var conn net.Conn
			_, err := amqp091.DialConfig(rabbit.AMQPURL(rabbit.Admin()), amqp091.Config{Dial: func(network, addr string) (c net.Conn, err error) {
				conn, err = net.Dial(network, addr)
				return conn, err
			}})
			must(t, err)
			must(t, conn.Close())
		}
	}
	drop(6)
	if !logsTimeouts(t, rabbit) {
		return
	}
	holdOne(t, rabbit)
	heard := until("the timeout was not heard", heardOne)
	if heard.Epoch != first.Epoch || !heard.Overflowed.IsZero() {
		t.Errorf("%+v", heard)
	}
}
