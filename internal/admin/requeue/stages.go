package requeue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// take takes at most limit messages from the source, as the hand has room for them. Messages that have moved already, and come again
// because their ack was lost, are taken above the limit.
func (p *pass) take(ctx context.Context, limit int64, moved map[string]int) {
	defer close(p.taken)
	opened := time.Now()
	for p.end = StopLimit; limit > 0; limit-- {
		d, ok := p.next(ctx, opened)
		if !ok {
			return
		}
		// Such a message is safest elsewhere: it goes on by itself, and the run stops if it cannot.
		if p.DeliveryLimit > 0 && message.Returns(d.Headers) >= p.DeliveryLimit-2 && p.hand.alone(ctx, d.Tag) != nil {
			return
		}
		letter := dedup.KeyedDeadLetter(p.RefKey, p.Queue, d.Message)
		again := d.Redelivered || message.Returns(d.Headers) > 0
		if again && countDown(moved, letter.Ref) {
			limit++
		}
		p.seq++
		select {
		case p.taken <- item{seq: p.seq, tag: d.Tag, bytes: len(d.Body), letter: letter, again: again}:
		case <-ctx.Done():
			return
		}
	}
}

// countDown takes one off a count, and is false when there is none.
func countDown(counts map[string]int, ref string) bool {
	switch counts[ref] {
	case 0:
		return false
	case 1:
		delete(counts, ref)
	default:
		counts[ref]--
	}
	return true
}

// next takes one message in hand. It is false when no more come, after it has said why.
func (p *pass) next(ctx context.Context, opened time.Time) (message.Delivery, bool) {
	for ; p.hand.reach(ctx) == nil; sleep(ctx, lingerEvery) {
		d, err := p.source.Next(ctx)
		switch {
		case err == nil:
			p.hand.take(d.Tag, len(d.Body), time.Now())
			return d, true
		case errors.Is(err, io.EOF):
			if p.losses == 0 || time.Since(opened) >= p.Linger {
				p.end = StopEmpty
				return message.Delivery{}, false
			}
		case ctx.Err() != nil:
			return message.Delivery{}, false
		case dedup.KindOf(err) == dedup.Conflict: // another connection would fare no better
			p.halts <- halt{stop: StopConnection, text: "messages could not be taken out of the queue", err: err}
			return message.Delivery{}, false
		default:
			p.halts <- halt{lost: fmt.Errorf("take a message: %w", err)}
			return message.Delivery{}, false
		}
	}
	return message.Delivery{}, false
}

// lingerEvery is how often an empty queue is looked at again after a lost connection.
const lingerEvery = time.Second

// sleep waits, or until its context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// judge decides on messages in batches of what has arrived, and passes them on in order, those to be sent at their pace.
func (p *pass) judge(ctx context.Context) {
	defer close(p.judged)
	for {
		batch := p.gather(ctx)
		if len(batch) == 0 {
			return
		}
		batch, last := p.screen(batch)
		if !p.passOn(ctx, batch) || last {
			return
		}
	}
}

// freshFor is how long a decision stands that could not be acted on: a marker may end, or be done, while a broker reads nothing.
const freshFor = 10 * time.Second

// passOn has a batch decided when its turn has come, and hands it on. What waits for so long that its decision is not fresh any more is
// decided on again. It is false when no more are to be handed on.
func (p *pass) passOn(ctx context.Context, batch []item) bool {
	for len(batch) > 0 {
		if p.pacer.due(ctx) != nil {
			return false
		}
		if err := p.ask(ctx, batch); err != nil {
			p.halts <- halt{stop: StopDecide, err: err}
			return false
		}
		var ok bool
		if batch, ok = p.handOver(ctx, batch); !ok {
			return false
		}
		p.undecide(batch)
	}
	return true
}

// handOver hands a batch to move in order, and returns what is left of it once its decisions are not fresh any more and the broker reads.
func (p *pass) handOver(ctx context.Context, batch []item) (stale []item, ok bool) {
	fresh := time.NewTimer(freshFor)
	defer fresh.Stop()
	for i, it := range batch {
		if it.outcome == "" && p.pacer.wait(ctx) != nil {
			return nil, false
		}
		select {
		case p.judged <- it:
		case <-fresh.C:
			for p.sink.Blocked() != "" && ctx.Err() == nil {
				sleep(ctx, watchEvery)
			}
			return batch[i:], ctx.Err() == nil
		case <-ctx.Done():
			return nil, false
		}
	}
	return nil, true
}

// undecide takes back the decisions to send what was not sent.
func (p *pass) undecide(batch []item) {
	var letters []dedup.DeadLetter
	var decisions []Decision
	for i := range batch {
		if it := &batch[i]; it.outcome == "" {
			letters, decisions = append(letters, it.letter), append(decisions, it.decision)
			it.decision, it.message = Decision{}, message.Message{}
		}
	}
	if len(letters) > 0 {
		p.decide.Undecide(letters, decisions)
	}
}

// gather waits for one message and adds those that have arrived with it. It is empty when no more come.
func (p *pass) gather(ctx context.Context) []item {
	var batch []item
	select {
	case it, more := <-p.taken:
		if !more || ctx.Err() != nil {
			return nil
		}
		batch = append(batch, it)
	case <-ctx.Done():
		return nil
	}
	for len(batch) < p.batch() {
		select {
		case it, more := <-p.taken:
			if !more {
				return batch
			}
			batch = append(batch, it)
		default:
			return batch
		}
	}
	return batch
}

// screen finds the first message that this run has sent itself, which nobody is to be asked about. The batch ends with that one, and is
// the last: what is behind it in the queue is newer.
func (p *pass) screen(batch []item) (screened []item, last bool) {
	for i := range batch {
		if it := &batch[i]; message.RequeueRun(it.letter.Headers) == p.Run {
			it.outcome, it.text = Bounced, "this run had sent it, and it came back"
			return batch[:i+1], true
		}
	}
	return batch, false
}

// guard keeps a message that was requeued too often, whatever was decided. It comes after the decision: a message that was to stay
// anyway did not fail, and who decides must hear of those that are selected.
func (p *pass) guard(it *item) bool {
	times := message.Requeues(it.letter.Headers)
	if p.MaxRequeues < 0 || it.decision.Foreign || times < int64(p.MaxRequeues) {
		return false
	}
	it.outcome, it.text = Guarded, fmt.Sprintf("it was requeued %d times already", times)
	return true
}

// ask has the rest decided, and rewrites what is to be sent.
func (p *pass) ask(ctx context.Context, batch []item) error {
	var asked []*item
	var letters []dedup.DeadLetter
	for i := range batch {
		if batch[i].outcome == "" {
			asked = append(asked, &batch[i])
			letters = append(letters, batch[i].letter)
		}
	}
	if len(letters) == 0 {
		return nil
	}
	decisions, err := p.decide.Decide(ctx, letters)
	if err != nil {
		return fmt.Errorf("decide on %d messages: %w", len(letters), err)
	}
	if len(decisions) != len(letters) {
		return fmt.Errorf("decide on %d messages: %d decisions were made", len(letters), len(decisions))
	}
	now := time.Now()
	for i, it := range asked {
		it.decision = decisions[i]
		if it.decision.Target == "" {
			it.outcome, it.text = Left, it.decision.Why
			continue
		}
		if p.guard(it) {
			continue
		}
		if it.message, it.text = p.rewriter.rewrite(it.letter, it.decision, now); it.text != "" {
			it.outcome = Left
		}
	}
	return nil
}

// listen waits for the answer to each publish.
func (p *pass) listen(ctx context.Context) {
	for range p.sent {
		answer, err := p.sink.Answer(ctx)
		if err != nil {
			answer = message.Answer{Outcome: message.AnswerLost, Text: err.Error()}
		}
		p.answers <- answer
	}
}
