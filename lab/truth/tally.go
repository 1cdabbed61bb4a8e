package truth

import (
	"sync"
	"time"
)

// Counts are what the producer and the consumers of one case counted themselves.
type Counts struct {
	Published  int64
	Resent     int64
	Deliveries int64
	// Acked, Requeued and Rejected are settlements that were sent; Died are deliveries whose channel was closed on purpose.
	Acked, Requeued, Rejected, Died int64
	// Completions are messages whose work was done, each once; DoubleEffects are further times that it was.
	Completions, DoubleEffects int64
	// Duplicates were acked without work because the work was done. Early ones were acked while it was under way, and it was done
	// later. Swallowed ones were acked although the work was not done.
	Duplicates, Early, Swallowed int64
	// Redelivered are the duplicates that were the same message of the broker once more; the others were sent by the producer.
	Redelivered int64
	// Looping are deliveries that met a marker in flight and were returned.
	Looping int64
	// Failures are failed attempts; GaveUp those after which the message was acked because of their number. Lost are the messages
	// that were acked after a failure, each once.
	Failures, GaveUp, Lost int64
	LostAcks, Crashes      int64
	// Ended are the deliveries that are no longer held, and HeldFor how long they were, all together.
	Ended   int64
	HeldFor time.Duration
}

// Settled are the copies of messages that have left the queue.
func (c Counts) Settled() int64 { return c.Acked + c.Rejected }

// Rate returns the bounds of the true duplicate rate. They differ by what is a matter of words: whether a completion whose ack was
// lost counts among the messages that were acked, and whether an early hit was a duplicate.
func (c Counts) Rate() (low, high float64) {
	if c.Acked == 0 {
		return 0, 0
	}
	low = float64(c.Duplicates) / float64(c.Acked+c.LostAcks)
	high = float64(c.Duplicates+c.Early) / float64(c.Acked)
	return low, high
}

// A tally is the truth of one case, under construction.
type tally struct {
	mu       sync.Mutex
	counts   Counts
	messages map[string]*history
	least    durations // what the work took at least, between what the store sees of it
	most     durations // and at most
	held     durations // from arrival to the end of the delivery, of all deliveries
	acks     durations // the same of acked ones
	ways     durations // from the consumers to the queue and back
}

// history is what happened to one message.
type history struct {
	died     bool
	failures int
	done     bool
	ackLost  bool
	lost     bool
	// doneBy is the copy at whose delivery the work was done; -1 while that is not known.
	doneBy int64
	// early counts the hits that were acked while nobody had done the work yet.
	early int64
}

func newTally() *tally { return &tally{messages: map[string]*history{}} }

func (t *tally) of(id string) *history {
	h := t.messages[id]
	if h == nil {
		h = &history{doneBy: -1}
		t.messages[id] = h
	}
	return h
}

func (t *tally) update(change func(*Counts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.counts)
}

// read returns the counts as they are. Hits on work that has not been done count as swallowed until it is.
func (t *tally) read() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts
}

// dies decides once whether the attempt at a message is cut short.
func (t *tally) dies(id string, wanted bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(id)
	if !wanted || h.died {
		return false
	}
	h.died = true
	t.counts.Crashes++
	return true
}

// fails decides whether an attempt fails, of a message of which so many do.
func (t *tally) fails(id string, wanted int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(id)
	if h.failures >= wanted {
		return false
	}
	h.failures++
	t.counts.Failures++
	return true
}

// completed counts work that was done.
func (t *tally) completed(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(id)
	if h.done {
		t.counts.DoubleEffects++
		return
	}
	h.done = true
	t.counts.Completions++
	t.counts.Swallowed -= h.early
	t.counts.Early += h.early
}

// worked says whether the work of a message was done, when a delivery of a copy has been handled and did it, and notes how long
// that took at least and at most. Work that was not done was lost: its failure is acked.
func (t *tally) worked(id string, copy int64, least, most time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(id)
	if h.done && h.doneBy < 0 {
		h.doneBy = copy
	}
	if h.done {
		t.least.add(least)
		t.most.add(most)
	}
	if !h.done && !h.lost {
		h.lost = true
		t.counts.Lost++
	}
	return h.done
}

// losesAck decides once whether the ack of a completed message is lost.
func (t *tally) losesAck(id string, wanted bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(id)
	if !wanted || h.ackLost {
		return false
	}
	h.ackLost = true
	t.counts.LostAcks++
	return true
}

// hit counts a delivery of a copy that was acked without work.
func (t *tally) hit(id string, copy int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(id)
	if h.done {
		t.counts.Duplicates++
		if h.doneBy == copy {
			t.counts.Redelivered++
		}
		return
	}
	h.early++
	t.counts.Swallowed++
}

// way notes how long a question to the queue and its answer took.
func (t *tally) way(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ways.add(took)
}

// ended notes how long a delivery was held, and whether it was acked.
func (t *tally) ended(held time.Duration, acked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held.add(held)
	t.counts.Ended++
	t.counts.HeldFor += held
	if acked {
		t.acks.add(held)
	}
}

// Latencies are the exact distributions of one case.
type Latencies struct {
	// WorkLeast and WorkMost bound the time that completed work took, from the claim to the mark. Held is the time from arrival to
	// settlement of all deliveries, Acked the same of those that were acked.
	WorkLeast, WorkMost, Held, Acked Distribution
	// Ways is the time of a question to the queue and its answer.
	Ways Distribution
}

func (t *tally) latencies() Latencies {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Latencies{t.least.distribution(), t.most.distribution(), t.held.distribution(), t.acks.distribution(),
		t.ways.distribution()}
}
