package consumer

import (
	"slices"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A List is the consumers of some queues, as the newest topology told them.
type List []dedup.Consumer

// Of are the consumers of some queues.
func Of(refs []dedup.QueueRef, byQueue map[dedup.QueueRef][]dedup.Consumer) List {
	var all List
	for _, ref := range refs {
		all = append(all, byQueue[ref]...)
	}
	return all
}

// AutoAcks reports whether any of them gets its deliveries with automatic acks.
func (l List) AutoAcks() bool {
	return slices.ContainsFunc(l, func(c dedup.Consumer) bool { return !c.AckRequired })
}

// ChannelBound is the most unacked deliveries that one channel may hold: the sum of its consumers' prefetch. It is 0
// when no consumer is known.
func (l List) ChannelBound() int64 {
	sums := make(map[string]int64)
	var most int64
	for _, c := range l {
		if !c.AckRequired {
			continue
		}
		if c.Prefetch <= 0 {
			return sample.Unbounded
		}
		sums[c.Channel] += c.Prefetch
		most = max(most, sums[c.Channel])
	}
	return most
}

// Capacity is the most deliveries that the consumers can hold; 0 when it is not known, as where the queues count others than were listed, or
// when one of them has no bound.
func (l List) Capacity(refs []dedup.QueueRef, queues map[dedup.QueueRef]*dedup.Queue) int64 {
	n, known := sample.SumOver(queues, refs, func(q *dedup.Queue) *int64 { return q.Consumers })
	if !known || n != int64(len(l)) {
		return 0
	}
	var sum int64
	for _, c := range l {
		if !c.AckRequired || c.Prefetch <= 0 {
			return 0
		}
		sum += c.Prefetch
	}
	return sum
}
