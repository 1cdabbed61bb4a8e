package shop

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// copyHeader numbers the copies of one message, so that the ledger can tell them apart.
const copyHeader = "x-sample-copy"

// requeueHeader counts how often the dashboard has requeued a message.
const requeueHeader = "dedup-requeue-count"

// A producer publishes the messages of one pipeline on one long-lived channel with publisher confirms. It sends a
// message again when its confirm does not come, and sometimes, as its configuration says, although it did.
type producer struct {
	pipeline PipelineConfig
	fate     fate
	entry    *entry
	link     link
	log      *slog.Logger
	// resend holds the bits of the share of messages that are sent twice; it may be changed at any time.
	resend atomic.Uint64

	random *rand.Rand
	began  time.Time // of the first burst
	number int       // of the next message
	copies int32
	next   time.Time // when the next new message is due
	due    []resend  // sorted by time
	lost   chan string
}

// A resend is a further copy of a message that is due at a time.
type resend struct {
	id string
	at time.Time
}

func newProducer(config Config, pipeline PipelineConfig, entry *entry, url string, log *slog.Logger) *producer {
	p := &producer{
		pipeline: pipeline, fate: fate{config.Seed, pipeline}, entry: entry, link: link{url: url}, log: log,
		random: rand.New(rand.NewPCG(config.Seed, uint64(len(pipeline.Name)))), lost: make(chan string, 4096),
	}
	p.setResend(pipeline.Resend)
	return p
}

func (p *producer) setResend(share float64) { p.resend.Store(math.Float64bits(share)) }

// run publishes until ctx ends and then waits for the last confirms.
func (p *producer) run(ctx context.Context) {
	defer p.link.close()
	p.began = time.Now().Add(p.pipeline.Delay)
	for ctx.Err() == nil {
		err := p.session(ctx)
		if err != nil && ctx.Err() == nil {
			p.log.Warn("producer lost its channel", "pipeline", p.pipeline.Name, "err", err)
			wait(ctx, 500*time.Millisecond)
		}
	}
}

// An unconfirmed copy waits for the broker's confirm.
type unconfirmed struct {
	confirmation *amqp.DeferredConfirmation
	copy         copyID
}

func (p *producer) session(ctx context.Context) error {
	channel, err := p.link.channel()
	if err != nil {
		return err
	}
	defer channel.Close()
	if err := channel.Confirm(false); err != nil {
		return fmt.Errorf("ask for confirms: %w", err)
	}
	pending := make(chan unconfirmed, 1000)
	confirmed := make(chan struct{})
	go func() {
		defer close(confirmed)
		p.confirm(pending)
	}()
	// The confirmer must end before the channel closes, or the last confirms would pass for lost.
	defer func() { close(pending); <-confirmed }()
	// Messages that were due while the broker was away are not made up for.
	p.next = p.afterRest(time.Now().Add(p.gap()))
	for {
		which, ok := p.await(ctx)
		if !ok {
			return nil
		}
		p.entry.published(which)
		confirmation, err := channel.PublishWithDeferredConfirm("", p.pipeline.Name, true, false, p.message(which))
		if err != nil {
			p.miss(which)
			return fmt.Errorf("publish: %w", err)
		}
		pending <- unconfirmed{confirmation, which}
	}
}

// await returns the copy that is due next, and false when ctx ended first.
func (p *producer) await(ctx context.Context) (copyID, bool) {
	at := p.next
	if len(p.due) > 0 && p.due[0].at.Before(at) {
		at = p.due[0].at
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return copyID{}, false
	case id := <-p.lost:
		return p.nextCopy(id), true
	case <-timer.C:
	}
	if len(p.due) > 0 && !p.due[0].at.After(at) {
		id := p.due[0].id
		p.due = p.due[1:]
		return p.nextCopy(id), true
	}
	id := messageID(p.pipeline.Name, p.fate.seed, p.number)
	p.number++
	p.next = p.afterRest(p.next.Add(p.gap()))
	if delay, again := p.fate.resend(math.Float64frombits(p.resend.Load()), id); again {
		p.due = append(p.due, resend{id, time.Now().Add(delay)})
		slices.SortFunc(p.due, func(a, b resend) int { return a.at.Compare(b.at) })
	}
	return copyID{id: id}, true
}

func (p *producer) nextCopy(id string) copyID {
	p.copies++
	return copyID{id: id, copy: p.copies}
}

// gap is exponential: arrivals of independent customers.
func (p *producer) gap() time.Duration {
	if p.pipeline.Rate <= 0 {
		return 24 * time.Hour
	}
	return time.Duration(p.random.ExpFloat64() / p.pipeline.Rate * float64(time.Second))
}

// afterRest moves a time that falls into a rest, or before the first burst, to the start of the next one.
func (p *producer) afterRest(t time.Time) time.Time {
	if t.Before(p.began) {
		return p.began
	}
	if p.pipeline.Rest <= 0 {
		return t
	}
	cycle := p.pipeline.Burst + p.pipeline.Rest
	into := t.Sub(p.began) % cycle
	if into < p.pipeline.Burst {
		return t
	}
	return t.Add(cycle - into)
}

func (p *producer) message(which copyID) amqp.Publishing {
	return amqp.Publishing{
		MessageId: which.id, DeliveryMode: amqp.Persistent, Timestamp: time.Now(), ContentType: "application/json",
		AppId: "sample-shop", Type: eventOf(p.pipeline.Name), Headers: amqp.Table{copyHeader: which.copy}, Body: p.fate.body(which.id),
	}
}

// confirm waits for the confirms in the order of publishing.
func (p *producer) confirm(pending <-chan unconfirmed) {
	for copy := range pending {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		acked, err := copy.confirmation.WaitContext(ctx)
		cancel()
		if !acked || err != nil {
			p.miss(copy.copy)
		}
	}
}

// miss plans a further copy of a message whose confirm did not come: that is how duplicates begin.
func (p *producer) miss(which copyID) {
	p.entry.unconfirmed(which)
	select {
	case p.lost <- which.id:
	default:
		p.log.Warn("producer gives a message up", "pipeline", p.pipeline.Name, "id", which.id)
	}
}

// messageID is the id of the n-th message of a pipeline.
func messageID(pipeline string, seed uint64, n int) string {
	return fmt.Sprintf("%s-%x-%07d", pipeline, seed, n)
}
