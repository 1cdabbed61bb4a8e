package requeue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// A phase is how far a pass has come. It goes forward only.
type phase int

const (
	// taking: messages are taken, decided on and published.
	taking phase = iota
	// dry: no more will come; the answers to what was published are waited for.
	dry
	// draining: the run must stop; answers are waited for, but not for long.
	draining
	// over: both ends are given up.
	over
)

// watchEvery is how often a pass looks at the clock.
const watchEvery = 250 * time.Millisecond

// A pass is the part of a run between the opening and the end of one pair of connections.
//
// Three goroutines wait for others: take for the source, judge for the decider and the pacer, listen for answers. All that changes
// anything happens in the fourth, move: it publishes, acks, counts, and judges whether to go on, one event after the other.
type pass struct {
	*runner
	source Source
	sink   Sink
	hand   *hand

	taken   chan item           // from take to judge, in the order of the queue
	judged  chan item           // from judge to move, in the same order
	sent    chan struct{}       // from move to listen: one for each publish
	answers chan message.Answer // from listen to move, in the order of publishing
	halts   chan halt           // from take and judge to move
	end     Stop                // why take ended; to be read once judged is closed
	cancel  context.CancelFunc
	stages  sync.WaitGroup // take and judge
	ear     sync.WaitGroup // listen

	phase        phase
	drainBy      time.Time
	blockedSince time.Time
	flying       []item // published without an answer, oldest first
	moved        int64
	acked        []string // the references of the last acked messages, as many as a broker that is killed may forget
	leftBytes    int64
	// lost is why a connection ended; nil while both live. A lost source cannot be given anything back.
	lost       error
	sourceLost bool
	// ackLost is true when the last acks may not have been read by the broker.
	ackLost bool
}

// An item is a message on its way through a pass.
type item struct {
	seq    int64
	tag    uint64
	bytes  int
	letter dedup.DeadLetter
	// again is true when it was delivered before.
	again bool
	// outcome is set when the message is to stay, and text says why.
	outcome  Outcome
	text     string
	decision Decision
	// message is what is sent; only of items that are not to stay.
	message message.Message
}

// A halt is the wish of a stage to end: a lost source, or a stop.
type halt struct {
	lost error
	stop Stop
	text string
	err  error
}

func newPass(r *runner, source Source, sink Sink) *pass {
	return &pass{
		runner: r, source: source, sink: sink,
		hand:    newHand(r.window, r.inMotion()),
		taken:   make(chan item, maxBatch),
		judged:  make(chan item),
		sent:    make(chan struct{}, r.Window),
		answers: make(chan message.Answer, r.Window),
		halts:   make(chan halt, 2),
	}
}

// run takes and moves messages until the run stops or an end is lost, and puts back what has not moved.
func (p *pass) run(ctx context.Context) {
	stageCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	limit, moved := p.Limit-p.result.Moved, maps.Clone(p.doubtful)
	p.stages.Go(func() { p.take(stageCtx, limit, moved) })
	p.stages.Go(func() { p.judge(stageCtx) })
	p.ear.Go(func() { p.listen(context.WithoutCancel(ctx)) })
	p.move(ctx)
	p.putBack()
}

// putBack ends the pass: what has no answer is not known, and all that has not moved goes back.
func (p *pass) putBack() {
	for _, it := range p.flying {
		p.record(it, Unknown, "it was published, and no answer came: it may be at its target as well")
	}
	p.cancel()
	close(p.sent)
	if p.sourceLost {
		p.ackLost = true
		_ = p.source.Close() // who waits for it wakes up; whatever it held is in the queue again
	}
	if overdue := p.endStages(); overdue {
		p.ackLost = true
	} else if !p.sourceLost {
		// All at once, and after the consumer has ended: what is put back one by one comes straight back to it, and counts as
		// returned again. Only a close in order says that the broker has read the last acks.
		p.ackLost = p.source.Close() != nil
	}
	_ = p.sink.Close()
	p.ear.Wait()
}

// endStages waits for the stages, which have been told to end. A source that still waits for its broker is given up after a while: what
// a broker does not answer knows of no context.
func (p *pass) endStages() (overdue bool) {
	closed := make(chan struct{})
	guard := time.AfterFunc(p.Drain, func() {
		defer close(closed)
		_ = p.source.Close()
	})
	p.stages.Wait()
	if guard.Stop() {
		return false
	}
	<-closed
	return true
}

// suspect names the message that a lost connection may be due to, when there was but one on its way.
func (p *pass) suspect() string {
	if len(p.flying) != 1 {
		return ""
	}
	return fmt.Sprintf("; the last one while message %s was on its way to queue %q", p.flying[0].letter.Ref, p.flying[0].decision.Target)
}

// errNoAnswer stands for the end of a connection that nobody explained.
var errNoAnswer = errors.New("the broker ended the connection without an answer to what was published")

func lostAnswer(text string) error {
	if text == "" {
		return errNoAnswer
	}
	return errors.New(text)
}
