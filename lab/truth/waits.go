package truth

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
)

// takeAck writes down a mean ack latency that is shown. One that consumers report is judged at rest only: it is that of acked
// deliveries, and as old as its reading.
func (w *witness) takeAck(figures dedup.WindowFigures) {
	f := figures.AckMean
	f.Window, f.Why, f.Better = 0, "", ""
	if f.Known() && !reportsAcks(figures) && !slices.Contains(w.acks[max(0, len(w.acks)-8):], f) {
		w.acks = append(w.acks, f)
	}
}

// heldIn is how long deliveries were held on average that ended in the span of a figure; zero when there were none.
func (w *witness) heldIn(f dedup.Figure) time.Duration {
	from, to := w.at(f.At.Add(-f.Covered)), w.at(f.At)
	if to.Ended <= from.Ended {
		return 0
	}
	return (to.HeldFor - from.HeldFor) / time.Duration(to.Ended-from.Ended)
}

// holds holds the mean ack latencies of disjoint windows against the truth of their spans.
func (w *witness) holds(windows disjoint, ways time.Duration) Coverage {
	var c Coverage
	for _, f := range windows.all {
		held := w.heldIn(f)
		if held == 0 {
			continue
		}
		t := timed("ack mean", held, held+ways, f, ackTolerance)
		c.Windows++
		if t.OK {
			c.Held++
		}
		if f.InBand() {
			c.Usable++
		}
	}
	return c
}

// at returns the last counts that were noted by a time.
func (w *witness) at(t time.Time) Counts {
	i, _ := slices.BinarySearchFunc(w.notes, t, func(n note, t time.Time) int { return n.began.Compare(t) })
	if i == 0 {
		return Counts{}
	}
	return w.notes[i-1].counts
}

// acksInMidRun is the worst of the mean ack latencies that were shown while the case was under way and after it, each held
// against the truth of its own span. A delivery is unacked on its two ways too, which took so long on average.
func (w *witness) acksInMidRun(ways time.Duration) Timing {
	worst := Timing{Name: ackInMidRun, Figure: dedup.Unknown(dedup.Seconds, "none was shown")}
	missed := 0
	for _, f := range w.acks {
		held := w.heldIn(f)
		if held == 0 { // nothing ended in its span
			continue
		}
		t := timed(worst.Name, held, held+ways, f, ackTolerance)
		if !t.OK {
			missed++
		}
		if !worst.Figure.Known() || worst.OK && !t.OK || worst.OK == t.OK && math.Abs(t.Error) > math.Abs(worst.Error) {
			worst = t
		}
	}
	if n := len(w.acks); n > 0 {
		worst.Figure.Source = fmt.Sprintf("the worst of %d, of which %d off by more than their limit, over %s", n, missed, worst.Figure.Covered.Round(time.Second))
	}
	return worst
}

// askEach is the time between two measurements of the ways to the broker and back.
const askEach = 500 * time.Millisecond

// ways measures until ctx ends how long a question to a queue and its answer are under way: as long as a delivery and its ack.
func ways(ctx context.Context, connection *amqp.Connection, queue string, t *tally) error {
	channel, err := connection.Channel()
	if err != nil {
		return fmt.Errorf("measure the ways to %s: open a channel: %w", queue, err)
	}
	defer channel.Close()
	for wait(ctx, askEach) {
		asked := time.Now()
		if _, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil); err != nil {
			return fmt.Errorf("measure the ways to %s: %w", queue, err)
		}
		t.way(time.Since(asked))
	}
	return ctx.Err()
}
