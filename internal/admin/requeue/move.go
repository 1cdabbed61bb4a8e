package requeue

import (
	"context"
	"fmt"
	"time"

	"dedup-dashboard/internal/message"
)

// move is the heart of a run. It handles one event at a time until nothing more is to come, or a connection is lost.
func (p *pass) move(ctx context.Context) {
	cancelled := ctx.Done()
	ctx = context.WithoutCancel(ctx) // what has begun is brought to its end
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for !p.finished() {
		select {
		case it, more := <-p.nextItem():
			p.handle(ctx, it, more)
		case answer := <-p.answers:
			p.settle(answer)
		case h := <-p.halts:
			p.halt(h)
		case err := <-p.reporter.failed:
			p.drain(StopReport, "", err)
		case <-cancelled:
			cancelled = nil
			p.drain(StopCancelled, "", nil)
		case <-tick.C:
			p.watch(time.Now())
		}
	}
}

// finished reports whether there is nothing to wait for.
func (p *pass) finished() bool {
	return p.phase == over || p.phase > taking && len(p.flying) == 0
}

// nextItem is where the next message comes from: nowhere while the broker reads nothing, and when no more are wanted.
func (p *pass) nextItem() <-chan item {
	if p.phase != taking || p.sink.Blocked() != "" {
		return nil
	}
	return p.judged
}

// handle publishes a message, or keeps it when it is to stay.
func (p *pass) handle(ctx context.Context, it item, more bool) {
	switch {
	case !more:
		p.phase = dry
		select { // a stage that ended for a reason said so before
		case h := <-p.halts:
			p.halt(h)
		default:
		}
	case it.outcome != "":
		p.keep(it)
	default:
		p.publish(ctx, it)
	}
}

// publish sends a message. From here on it may be at its target, whatever is answered.
func (p *pass) publish(ctx context.Context, it item) {
	err := p.sink.Publish(ctx, it.decision.Target, it.message)
	it.message, it.letter.Body = message.Message{}, nil // the broker has them
	p.flying = append(p.flying, it)
	if err != nil {
		p.lose(fmt.Errorf("publish to queue %q: %w", it.decision.Target, err))
		return
	}
	p.sent <- struct{}{}
}

// settle does what the answer to the oldest publish asks for: it acks the message that was confirmed, and no other.
func (p *pass) settle(answer message.Answer) {
	it := p.flying[0]
	switch answer.Outcome {
	case message.Confirmed:
		if err := p.source.Ack(it.tag); err != nil {
			p.flying = p.flying[1:]
			p.record(it, Unknown, "it is at its target, and its ack could not be sent: it is in its queue as well")
			p.sourceLost = true
			p.lose(fmt.Errorf("ack a message: %w", err))
			return
		}
		p.flying = p.flying[1:]
		p.confirmed(it)
	case message.Returned:
		p.flying = p.flying[1:]
		p.failed(it, Returned, answer.Text)
	case message.Rejected:
		p.flying = p.flying[1:]
		p.failed(it, Rejected, answer.Text)
	default:
		p.lose(lostAnswer(answer.Text))
	}
}

// maxForgotten is the most acks that a broker which is killed may not have written to disk: the entries that the journal of a classic
// queue holds before it is flushed (https://www.rabbitmq.com/docs/configure, queue_index_max_journal_entries).
const maxForgotten = 32_768

// confirmed counts a message that has moved.
func (p *pass) confirmed(it item) {
	p.hand.drop(it.tag)
	p.moved++
	delete(p.failing, it.decision.Target)
	p.acked = append(p.acked, it.letter.Ref)
	if len(p.acked) > maxForgotten {
		p.acked = p.acked[1:]
	}
	if !it.again || !countDown(p.doubtful, it.letter.Ref) {
		p.record(it, Moved, "")
		return
	}
	p.result.Repeated++
	p.report(it, Moved, "it had moved before, or one exactly like it, and the ack may have been lost with the connection: there may be two copies")
}

// failed keeps a message that its target did not take, and stops the run when that is not the fault of the message.
func (p *pass) failed(it item, outcome Outcome, text string) {
	p.hand.fail(it.tag)
	p.record(it, outcome, text)
	target := it.decision.Target
	p.failing[target]++
	switch {
	case p.hand.isFragile(it.tag):
		p.drain(StopFragile, "", nil)
	case p.failing[target] >= p.MaxFailures:
		p.drain(StopTarget, fmt.Sprintf("queue %q took none of the last %d messages: %s", target, p.failing[target], text), nil)
	case p.result.failed() >= int64(p.maxFailed()):
		p.drain(StopTarget, fmt.Sprintf("%d messages could not be sent to their target, the last to queue %q: %s", p.result.failed(), target, text), nil)
	}
}

// keep holds on to a message that is to stay, so that it is not taken again before the end.
func (p *pass) keep(it item) {
	p.hand.keep(it.tag)
	p.leftBytes += int64(it.bytes)
	p.record(it, it.outcome, it.text)
	switch {
	case p.hand.isFragile(it.tag):
		p.drain(StopFragile, "", nil)
	case it.outcome == Bounced:
		p.drain(StopBounced, "", nil)
	case p.result.kept() >= int64(p.maxLeft()), p.leftBytes >= p.MaxHeldBytes:
		p.drain(StopHeld, "", nil)
	}
}

// record counts a message and reports it.
func (p *pass) record(it item, outcome Outcome, text string) {
	p.result.add(outcome)
	p.report(it, outcome, text)
}

func (p *pass) report(it item, outcome Outcome, text string) {
	p.reporter.add(Settled{
		Seq:       it.seq,
		Ref:       it.letter.Ref,
		MessageID: it.letter.MessageID,
		Bytes:     it.bytes,
		Decision:  it.decision,
		Outcome:   outcome,
		Text:      text,
		At:        time.Now(),
		Counts:    p.result.Counts,
	})
}

// halt ends the pass at the wish of one of its stages.
func (p *pass) halt(h halt) {
	if h.lost != nil {
		p.sourceLost = true
		p.lose(h.lost)
		return
	}
	p.drain(h.stop, h.text, h.err)
}

// drain stops the run: no more is taken or published, and answers have a last while to come.
func (p *pass) drain(why Stop, text string, err error) {
	if p.phase >= draining {
		return
	}
	p.phase = draining
	p.drainBy = time.Now().Add(p.Drain)
	p.stop(why, text, err)
	p.cancel()
}

// lose gives both ends up: what the one says is worth nothing without the other.
func (p *pass) lose(err error) {
	p.lost = err
	p.phase = over
}

// watch does what only the passing of time asks for.
func (p *pass) watch(now time.Time) {
	p.reporter.flush()
	p.watchBlocked(now)
	if oldest, ok := p.hand.oldest(); ok && now.Sub(oldest) >= p.MaxAge {
		p.drain(StopAge, "", nil)
	}
	if p.phase == draining && !now.Before(p.drainBy) {
		p.phase = over
	}
}

// watchBlocked stops the run when the broker has read nothing for too long. It reads acks all the same: they have a connection of their own.
func (p *pass) watchBlocked(now time.Time) {
	why := p.sink.Blocked()
	switch {
	case why == "" && p.blockedSince.IsZero():
	case why == "":
		p.blockedSince = time.Time{}
		p.Waiting("")
	case p.blockedSince.IsZero():
		p.blockedSince = now
		p.Waiting("the broker does not read what is published: " + why)
	case now.Sub(p.blockedSince) >= p.MaxBlocked:
		p.drain(StopBlocked, "the broker did not read what was published to it for too long: "+why, nil)
	}
}
