package live

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dedup-dashboard/internal/dedup"
)

// Live reads all nodes, for those who compare the counts with others of the same moment: one that took too long to be of a moment, or lacks
// a node, tells of no queue. Its error is public.
func (r *Reader) Live(ctx context.Context) (dedup.LiveCounts, error) {
	reading, err := r.Read(ctx)
	if err != nil {
		return dedup.LiveCounts{Off: off(err)}, &dedup.Error{Kind: dedup.Unavailable, Public: err.Error(), Err: err}
	}
	c := dedup.LiveCounts{Began: reading.Begun, Ended: reading.Done, Next: reading.Next, Queues: make(map[dedup.QueueRef]dedup.LiveCount, len(reading.queues))}
	switch {
	case reading.Gap != nil:
		c.Why = reading.Gap.Nodes[0].Error()
		return c, nil
	case reading.TooSlow:
		c.Why = fmt.Sprintf("live counts took %d ms to read: of what takes more than %d ms nobody knows the moment well enough", c.Ended.Sub(c.Began).Milliseconds(), slowest.Milliseconds())
		return c, nil
	}
	for queue, of := range reading.queues {
		c.Queues[queue] = of.live()
	}
	return c, nil
}

// off reports whether some node counts nothing so: something else would have to be switched on, or listed.
func off(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Reason == Refused || e.Reason == NotFound || e.Reason == NoFamilies
}

func (c Count) live() dedup.LiveCount {
	low, _ := c.Range()
	return dedup.LiveCount{Since: c.Since, Quiet: c.Quiet, Acked: float64(low[Acked]), Unsure: apart(c.Settled, Acked), Open: apart(c.Open, Acked),
		Delivered: float64(low[Delivered] + low[Got]), DeliveredUnsure: apart(c.Settled, Delivered) + apart(c.Settled, Got), DeliveredOpen: apart(c.Open, Delivered) + apart(c.Open, Got),
		Fetched:     float64(low[Got]),
		Redelivered: float64(low[Redelivered]) + apart(c.Settled, Redelivered), Closed: float64(c.Closed), Unseen: float64(c.Unseen), MayBeClosed: float64(c.MayBeClosed), Automatic: float64(low[DeliveredAuto] + low[GotAuto])}
}

// apart is how far the two ends of a kind are apart, infinitely where the high one is not known.
func apart(l Lost, k Kind) float64 {
	if l.High[k] == Unbounded {
		return math.Inf(1)
	}
	return float64(l.High[k] - l.Low[k])
}
