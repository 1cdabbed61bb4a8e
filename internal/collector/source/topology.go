package source

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	// TopologyInterval is the time between two readings of the topology, TopologyRetry that after one that failed.
	TopologyInterval = 3 * time.Minute
	TopologyRetry    = 30 * time.Second
	// newsCost is the share of the time that reading the topology may take while there is news to expect of it: a tenth.
	newsCost = 10
)

// A TopologyReading is the newest topology, or why there is none.
type TopologyReading struct {
	Topology dedup.Topology
	Err      string
}

// WantTopology asks for the topology before its time.
func (b *BrokerReader) WantTopology() {
	select {
	case b.wanted <- struct{}{}:
	default:
	}
}

// hash is the same for the same queues and consumers in any order; never 0, so that the first set counts as a change.
func (b *BrokerReader) hash(queues []dedup.Queue) uint64 {
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
func (b *BrokerReader) replacing(s *dedup.BrokerSample) bool {
	if n := s.ChannelsClosed; n != nil {
		if b.closedRaw != nil && *n > *b.closedRaw {
			b.closedAt = s.At
		}
		b.closedRaw = n
	}
	t, _ := b.Topology.Get()
	return !b.closedAt.IsZero() && !t.Topology.At.After(b.closedAt.Add(sample.DepthLag))
}

// WantNews asks for the topology before its time, unless it was read just before, reading it takes long, or it could not
// be read: that has a timer of its own.
func (b *BrokerReader) WantNews(now time.Time) {
	t, _ := b.Topology.Get()
	if t.Err == "" && now.Sub(t.Topology.At) > max(2*b.Samples.Interval, newsCost*t.Topology.Took) {
		b.WantTopology()
	}
}

// watchTopology reads the topology now and then, and at once when it is wanted, but not twice within an interval,
// until ctx ends.
func (b *BrokerReader) watchTopology(ctx context.Context) {
	timer := time.NewTimer(TopologyInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wanted:
		case <-timer.C:
		}
		next := TopologyInterval
		if err := b.ReadTopology(ctx); err != nil && ctx.Err() == nil {
			next = TopologyRetry
			b.log.Warn("topology of the broker could not be read", "broker", b.broker.Name(), "err", err)
			last, _ := b.Topology.Get()
			last.Err = Words(err, b.timeout)
			b.Topology.Set(last)
		}
		timer.Reset(next)
		if !WaitUntil(ctx, time.Now().Add(b.Samples.Interval)) {
			return
		}
	}
}

// ReadTopology reads the topology once.
func (b *BrokerReader) ReadTopology(ctx context.Context) error {
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
	b.Topology.Set(TopologyReading{Topology: t})
	b.turned() // the newest sample is measured again with new dead-letter queues, before the next one comes
	return nil
}
