package collector

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// How often the topology is read.
const (
	topologyInterval = 3 * time.Minute
	topologyRetry    = 30 * time.Second
	// newsCost is the share of the time that reading the topology may take while there is news to expect of it: a tenth.
	newsCost = 10
)

// A topologyReading is the newest topology, or why there is none.
type topologyReading struct {
	topology dedup.Topology
	err      string
}

// wantTopology asks for the topology before its time.
func (b *brokerWatch) wantTopology() {
	select {
	case b.wanted <- struct{}{}:
	default:
	}
}

// hash is the same for the same queues and consumers in any order; never 0, so that the first set counts as a change.
func (b *brokerWatch) hash(queues []dedup.Queue) uint64 {
	sum := uint64(len(queues)) + 1
	for i := range queues {
		var h maphash.Hash
		h.SetSeed(b.seed)
		h.WriteString(queues[i].Vhost)
		h.WriteByte(0)
		h.WriteString(queues[i].Name)
		if n := queues[i].Consumers; n != nil {
			h.Write(binary.LittleEndian.AppendUint64([]byte{0}, uint64(*n)))
		}
		sum += h.Sum64()
	}
	return max(sum, 1)
}

// replacing reports whether consumers may have been replaced by as many others that the newest topology does not show:
// channels were closed, and what followed on them had not settled when it was read.
func (b *brokerWatch) replacing(s *dedup.BrokerSample) bool {
	if n := s.ChannelsClosed; n != nil {
		if b.closedRaw != nil && *n > *b.closedRaw {
			b.closedAt = s.At
		}
		b.closedRaw = n
	}
	t, _ := b.topology.Get()
	return !b.closedAt.IsZero() && !t.topology.At.After(b.closedAt.Add(sample.DepthLag))
}

// wantNews asks for the topology before its time, unless it was read just before, reading it takes long, or it could not
// be read: that has a timer of its own.
func (b *brokerWatch) wantNews(now time.Time) {
	t, _ := b.topology.Get()
	if t.err == "" && now.Sub(t.topology.At) > max(2*b.samples.Interval, newsCost*t.topology.Took) {
		b.wantTopology()
	}
}

// watchTopology reads the topology now and then, and at once when it is wanted, but not twice within an interval,
// until ctx ends.
func (b *brokerWatch) watchTopology(ctx context.Context) {
	timer := time.NewTimer(topologyInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wanted:
		case <-timer.C:
		}
		next := topologyInterval
		if err := b.readTopology(ctx); err != nil && ctx.Err() == nil {
			next = topologyRetry
			b.log.Warn("topology of the broker could not be read", "broker", b.broker.Name(), "err", err)
			last, _ := b.topology.Get()
			last.err = source.Words(err, b.timeout)
			b.topology.Set(last)
		}
		timer.Reset(next)
		if !source.WaitUntil(ctx, time.Now().Add(b.samples.Interval)) {
			return
		}
	}
}

func (b *brokerWatch) readTopology(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	if err := b.acquire(ctx); err != nil {
		return err
	}
	defer b.release()
	t, err := b.broker.Topology(ctx)
	if err != nil {
		return err
	}
	b.topology.Set(topologyReading{topology: t})
	b.turned() // the newest sample is measured again with new dead-letter queues, before the next one comes
	return nil
}
