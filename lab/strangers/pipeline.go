package main

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
)

// A spec says what one pipeline of a stranger is: what is sent, how it is consumed, and how the dashboard is told of it.
type spec struct {
	name string
	topology
	traffic
	consumer
	job
	reaction
	store
	// meanwhile is what people do to the pipeline by hand.
	meanwhile func(ctx context.Context, p *pipeline)
	// maxProcessing is a setting of the dashboard, 30s if empty.
	maxProcessing string
}

// topology is what the broker has.
type topology struct {
	queues    []string // of the source; one with the name of the pipeline if there are none
	args      amqp.Table
	more      declaration // what else there is
	exchange  string      // what the producer publishes to; without it the queues by their names
	dead      []string    // dead-letter queues whose depth is watched; messages are parked in the first
	deadNamed bool        // the dashboard is told of them, and does not find them itself
	delay     string      // the queue of what is published again
}

// traffic is what is sent: so many per second, of them a share again, some time later.
type traffic struct {
	rate, again      float64
	after            span // from 1 to 4 seconds if it is empty
	burst            int  // so many at once each burstEach
	burstEach        time.Duration
	twins            bool // copies are sent at once
	silent           bool // another pipeline sends
	jsonID, priority bool
}

// consumer is how deliveries come and are acked.
type consumer struct {
	instances, prefetch, workers int
	autoAck, get                 bool
	tx                           bool          // acks in transactions of the channel
	batch                        int           // so many are acked at once
	crash                        time.Duration // each connection dies so often
	failover                     time.Duration // each consumer ends so long after its first delivery
	ignored                      float64       // a share that is of no interest: acked without a look at the store
}

// job is the work: its log-normal times, the share that fails at first, and the one that always fails.
type job struct {
	median            time.Duration
	sigma             float64
	failFirst, poison float64
}

// reaction is what becomes of a message whose work fails, or is in flight elsewhere.
type reaction struct {
	onFail, onFlight       outcome
	failDelay, flightDelay time.Duration
	flightBlocks           bool // the worker waits for flightDelay
	tries                  int
}

// An outcome is one way to settle a message.
type outcome int

const (
	requeue outcome = iota
	reject
	ack
	park      // reject until there were enough tries, then publish to the parking queue
	republish // to a delay queue, then to the parking queue
)

// A span is a time that differs: from low to high.
type span struct{ low, high time.Duration }

func (s span) pick() time.Duration { return s.low + time.Duration(rand.Int64N(int64(s.high-s.low)+1)) }

// A pipeline is a spec that runs.
type pipeline struct {
	spec
	ledger *ledger
	url    string // of the broker
	redis  *redis.Client
	db     *sql.DB
	paused atomic.Bool // no consumer takes anything

	publishing sync.Mutex
	publisher  *amqp.Channel
	copies     atomic.Int64
	orders     int // the producer's count of new messages

	troubles atomic.Int64
	trouble  atomic.Value // the latest
}

func newPipeline(s spec) *pipeline {
	if len(s.queues) == 0 {
		s.queues = []string{s.name}
	}
	if s.after == (span{}) {
		s.after = span{1 * sec, 4 * sec}
	}
	return &pipeline{spec: s, ledger: newLedger()}
}

// note keeps an error that ends nothing.
func (p *pipeline) note(what string, err error) {
	if err != nil {
		p.troubles.Add(1)
		p.trouble.Store(fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly), what, err))
	}
}

// storeLine is how the configuration describes the store that is at an address.
func (p *pipeline) storeLine(address string) string {
	where := fmt.Sprintf("redis: {url: %q}", address)
	if p.driver != "" {
		where = fmt.Sprintf("sql: {driver: %s, dsn: %q}", p.driver, address)
	}
	return fmt.Sprintf("{name: %s, preset: %s, %s, %s}", p.name, p.preset, where, p.settings)
}

// pipelineLine is how the configuration describes the pipeline.
func (p *pipeline) pipelineLine() string {
	dead, processing := "auto", "30s"
	if p.deadNamed {
		dead = "[" + strings.Join(p.dead, ", ") + "]"
	}
	if p.maxProcessing != "" {
		processing = p.maxProcessing
	}
	id := "message_id"
	if p.jsonID {
		id = `"json:$.event.id"`
	}
	return fmt.Sprintf("{name: %s, queues: [%s], store: %s, dead_letter_queues: %s, id: {from: %s}, max_processing: %s}",
		p.name, strings.Join(p.queues, ", "), p.name, dead, id, processing)
}

// run starts producer and consumers; both contexts end one after the other.
func (p *pipeline) run(producing, consuming context.Context, all *sync.WaitGroup) {
	all.Go(func() { p.produce(producing) })
	for _, q := range p.queues {
		for i := range p.instances {
			all.Go(func() { p.consume(consuming, q, i) })
		}
	}
	if p.meanwhile != nil {
		all.Go(func() { p.meanwhile(producing, p) })
	}
}

// draw is a number in [0, 1) that stays the same for a text.
func draw(text string) float64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return float64(h.Sum64()>>11) / (1 << 53)
}

// ignores says whether a message is of no interest to the consumers.
func (p *pipeline) ignores(id string) bool { return draw("ignored"+id) < p.ignored }

// fails says whether an attempt fails: a share of the messages the first time, others always.
func (p *pipeline) fails(id string, attempt int) bool {
	u := draw(id)
	return u < p.poison || u < p.poison+p.failFirst && attempt == 1
}

// sleep is false if the context ended before the time was over.
func sleep(ctx context.Context, d time.Duration) bool { return wait(ctx.Done(), d) }

func wait(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return false
	case <-t.C:
		return true
	}
}
