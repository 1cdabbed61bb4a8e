package deadletter

import (
	"strings"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// A Keeping says whether every message that leaves the source queues other than by an ack is still to be seen in the
// dead-letter queues: they are known for sure, belong to this pipeline alone, nobody consumes them and nothing removes
// messages from them.
type Keeping uint8

// What a Keeping says.
const (
	KeepsNot Keeping = iota
	// KeepsPerhaps: the broker has not said yet whether anybody consumes them, as in the first seconds of a queue.
	KeepsPerhaps
	KeepsAll
)

// Kept says whether the dead letters are kept; users are how many pipelines have each dead-letter queue.
func (w *Watch) Kept(b Broker, users map[dedup.QueueRef]int) Keeping {
	if !w.Found.Complete || len(w.Found.Targets) == 0 || w.refusesOrIsFed(b) {
		return KeepsNot
	}
	kept := KeepsAll
	known := make(map[dedup.QueueRef]bool)
	for _, t := range w.Targets {
		known[t.QueueRef] = true
		q := b.Queues[t.QueueRef]
		switch {
		case q == nil || users[t.QueueRef] > 1 || topology.LosesMessages(q):
			return KeepsNot
		case q.Consumers == nil:
			kept = KeepsPerhaps
		case *q.Consumers > 0:
			return KeepsNot
		}
	}
	for _, t := range w.Found.Targets {
		if !known[t.QueueRef] {
			return KeepsNot
		}
	}
	return kept
}

// refusesOrIsFed reports whether what is published to the source queues is not what enters them: a full queue refuses messages that
// were counted already, and what dies elsewhere enters without being counted.
func (w *Watch) refusesOrIsFed(b Broker) bool {
	for _, ref := range w.sources {
		if q := b.Queues[ref]; q != nil && topology.Bounded(q) && strings.HasPrefix(topology.Overflow(q), "reject-publish") {
			return true
		}
		if b.Index != nil && len(b.Index.Feeders(ref)) > 0 {
			return true
		}
	}
	return false
}

// Settle takes what is now known of the dead letters, and decides with it about the frames so far. It reports whether the newest one is
// worth to be measured again.
func (w *Watch) Settle(now Keeping, frames sample.Frames, born map[dedup.QueueRef]time.Time) (again bool) {
	was := w.keeps
	w.keeps = now
	if now != KeepsPerhaps {
		frames.SettlePresumed(now == KeepsAll)
	}
	if now == KeepsAll && was != KeepsAll {
		w.settleUnborn(frames, born)
	}
	return now != KeepsNot && was == KeepsNot
}

// settleUnborn completes the frames from before the queues of the pipeline were declared.
func (w *Watch) settleUnborn(frames sample.Frames, born map[dedup.QueueRef]time.Time) {
	var first time.Time
	for _, t := range w.Targets {
		at, ok := born[t.QueueRef]
		if !ok {
			return
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	frames.SettleUnborn(first)
}
