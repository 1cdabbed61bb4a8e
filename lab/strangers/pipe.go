package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
)

// A pipe is one pipeline of a stranger: what is sent, how it is consumed, and how the dashboard is told of it.
type pipe struct {
	name   string
	queues []string
	args   amqp.Table // of the source queues
	// more declares what else there is, with exchange what the producer publishes to; without it the queues by their names.
	more     func(ch *amqp.Channel) error
	exchange string
	// What is sent: per second, the share sent again, after what time.
	rate      float64
	again     float64
	againIn   func() time.Duration
	burst     int // so many at once each burstEach
	burstEach time.Duration
	twins     bool // copies are sent at once
	silent    bool // another pipe sends
	jsonID    bool
	priority  bool
	// How it is consumed.
	consumers, prefetch, workers int
	autoAck, get                 bool
	batch                        int
	crash                        time.Duration // each connection dies so often
	failover                     time.Duration
	consumeArgs                  amqp.Table
	median                       time.Duration
	sigma                        float64
	failFirst, poison            float64
	onFail, onFlight             string // requeue, reject, ack, park (reject until tries), republish
	failDelay, flightDelay       time.Duration
	flightBlocks                 bool
	tries                        int
	parking                      string
	delayQueue                   string
	scheme                       scheme
	ignored                      float64 // a share that is of no interest: acked without a look at the store
	renewExpire                  bool    // claims are renewed by EXPIRE, not by SET XX EX
	tx                           bool    // acks in transactions of the channel
	keyOf                        func(id string) string
	server                       string // of Redis
	db0                          int
	sql                          string // mysql or pgx
	tables                       []string
	dead                         []string // dead-letter queues whose depth is watched
	drama                        func(ctx context.Context, p *pipe)
	// How the dashboard is told.
	store, config string

	ledger  *ledger
	redis   *redis.Client
	db      *sql.DB
	url     string
	paused  atomic.Bool
	publish *amqp.Channel
	pubMu   sync.Mutex
	trouble atomic.Int64
	last    atomic.Value
	started time.Time
}

var copies atomic.Int64

func (p *pipe) key(id string) string { return p.keyOf(id) }

func (p *pipe) workTime() time.Duration {
	return time.Duration(float64(p.median) * math.Exp(p.sigma*rand.NormFloat64()))
}

// fails says whether an attempt fails: a share of the messages the first time, others always.
func (p *pipe) fails(id string, attempt int) bool {
	h := fnv.New64a()
	h.Write([]byte(id))
	u := float64(h.Sum64()>>11) / (1 << 53)
	return u < p.poison || u < p.poison+p.failFirst && attempt == 1
}

func (p *pipe) declare(ch *amqp.Channel) error {
	if p.more != nil {
		if err := p.more(ch); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	for _, q := range p.queues {
		if _, err := ch.QueueDeclare(q, true, false, false, false, p.args); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (p *pipe) send(exchange, key, id string, headers amqp.Table) error {
	if headers == nil {
		headers = amqp.Table{}
	}
	headers["x-copy"] = copies.Add(1)
	m := amqp.Publishing{Headers: headers, MessageId: id, Timestamp: time.Now(), DeliveryMode: amqp.Persistent, Body: []byte(`{"order": "` + id + `", "amount": 12.5}`), ContentType: "application/json"}
	if p.jsonID {
		m.MessageId = ""
		m.Body = []byte(`{"event": {"id": "` + id + `", "type": "created"}}`)
	}
	if p.priority {
		m.Priority = uint8(rand.IntN(6))
	}
	p.pubMu.Lock()
	defer p.pubMu.Unlock()
	return p.publish.PublishWithContext(background, exchange, key, false, false, m)
}

func (p *pipe) sendNew(id string) {
	key := p.queues[0]
	if len(p.queues) > 1 {
		key = p.queues[int(id[len(id)-1])%len(p.queues)]
	}
	if p.exchange != "" {
		key = "created"
	}
	if err := p.send(p.exchange, key, id, nil); err != nil {
		p.note("publish", err)
	}
}

func (p *pipe) note(what string, err error) {
	p.trouble.Add(1)
	p.last.Store(fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly), what, err))
}

// produce sends until ctx ends.
func (p *pipe) produce(ctx context.Context) {
	if p.silent {
		return
	}
	n := 0
	one := func() {
		n++
		id := fmt.Sprintf("%s-%06d-%04x", p.name, n, rand.IntN(1<<16))
		p.sendNew(id)
		if rand.Float64() >= p.again {
			return
		}
		if p.twins {
			p.sendNew(id)
			return
		}
		time.AfterFunc(p.againIn(), func() {
			if ctx.Err() == nil {
				p.sendNew(id)
			}
		})
	}
	if p.burst > 0 {
		for sleep(ctx, 3*time.Second); ctx.Err() == nil; sleep(ctx, p.burstEach) {
			for range p.burst {
				one()
			}
		}
		return
	}
	for ctx.Err() == nil {
		if !sleep(ctx, time.Duration(rand.ExpFloat64()*float64(time.Second)/p.rate)) {
			return
		}
		one()
	}
}

// ignores says whether a message is of no interest to the consumers.
func (p *pipe) ignores(id string) bool {
	h := fnv.New64a()
	h.Write([]byte("ignored" + id))
	return float64(h.Sum64()>>11)/(1<<53) < p.ignored
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// consume keeps one consumer of a queue going until ctx ends.
func (p *pipe) consume(ctx context.Context, queue string, number int) {
	for ctx.Err() == nil {
		if p.paused.Load() {
			sleep(ctx, 200*time.Millisecond)
			continue
		}
		if err := p.session(ctx, queue, number); err != nil && ctx.Err() == nil {
			p.note("session", err)
			sleep(ctx, 500*time.Millisecond)
		}
	}
}

type arrival struct {
	amqp.Delivery
	at int64
}

func (a arrival) copy() int64 { n, _ := a.Headers["x-copy"].(int64); return n }

func (p *pipe) idOf(a arrival) string {
	if !p.jsonID {
		return a.MessageId
	}
	var body struct {
		Event struct {
			ID string `json:"id"`
		} `json:"event"`
	}
	_ = json.Unmarshal(a.Body, &body)
	return body.Event.ID
}

func (p *pipe) session(parent context.Context, queue string, number int) error {
	var raw net.Conn
	conn, err := amqp.DialConfig(p.url, amqp.Config{Dial: func(network, addr string) (net.Conn, error) {
		c, err := amqp.DefaultDial(30*time.Second)(network, addr)
		raw = c
		return c, err
	}})
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(background) // the consumer's life
	defer cancel()
	if p.get {
		return p.polls(parent, ctx, ch, queue)
	}
	if err := ch.Qos(p.prefetch, 0, false); err != nil {
		return err
	}
	if p.tx {
		if err := ch.Tx(); err != nil {
			return err
		}
	}
	deliveries, err := ch.Consume(queue, fmt.Sprintf("%s-%d", p.name, number), p.autoAck, false, false, false, p.consumeArgs)
	if err != nil {
		return err
	}
	arrivals := make(chan arrival, 100000)
	first := make(chan struct{})
	go func() {
		defer close(arrivals)
		var once sync.Once
		for d := range deliveries {
			a := arrival{d, now()}
			p.ledger.arrived(a.copy())
			once.Do(func() { close(first) })
			arrivals <- a
		}
	}()
	stop := make(chan struct{}) // a graceful end: what is at work is finished
	var stopOnce sync.Once
	end := func() { stopOnce.Do(func() { close(stop) }) }
	go func() {
		var crash, over <-chan time.Time
		if p.crash > 0 {
			crash = time.After(p.crash/2 + time.Duration(rand.Int64N(int64(p.crash))))
		}
		begun := first
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-parent.Done():
				end()
				return
			case <-begun:
				begun = nil
				if p.failover > 0 {
					over = time.After(p.failover)
				}
			case <-tick.C:
				if p.paused.Load() {
					end()
					return
				}
			case <-over:
				end()
				return
			case <-crash:
				cancel()
				if tcp, ok := raw.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
				}
				raw.Close()
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range max(1, p.workers) {
		workers.Go(func() { p.work(ctx, stop, ch, arrivals) })
	}
	workers.Wait()
	died := ctx.Err() != nil
	cancel()
	ch.Close()
	conn.Close()
	for a := range arrivals { // what was prefetched comes back
		p.ledger.add(event{Kind: "died", ID: p.idOf(a), Copy: a.copy(), Came: a.at})
	}
	if died || p.failover > 0 {
		sleep(parent, 2*time.Second)
	}
	return nil
}

func (p *pipe) polls(parent, ctx context.Context, ch *amqp.Channel, queue string) error {
	for parent.Err() == nil && !p.paused.Load() {
		d, ok, err := ch.Get(queue, false)
		if err != nil {
			return err
		}
		if !ok {
			sleep(parent, 50*time.Millisecond)
			continue
		}
		a := arrival{d, now()}
		p.ledger.arrived(a.copy())
		p.handle(ctx, ch, a, nil)
	}
	return nil
}

// pending is acked later, with others.
type pending struct {
	a   arrival
	how string
}

func (p *pipe) work(ctx context.Context, stop chan struct{}, ch *amqp.Channel, arrivals chan arrival) {
	var waiting []pending
	flush := func() {
		if len(waiting) == 0 {
			return
		}
		last := waiting[len(waiting)-1].a
		if err := last.Ack(true); err != nil {
			for _, w := range waiting {
				p.ledger.add(event{Kind: "died", ID: p.idOf(w.a), Copy: w.a.copy(), Came: w.a.at})
			}
		} else {
			at := now()
			for _, w := range waiting {
				p.ledger.ack(event{At: at, How: w.how, ID: p.idOf(w.a), Copy: w.a.copy(), Came: w.a.at})
			}
		}
		waiting = nil
	}
	var batch func(a arrival, how string)
	if p.batch > 0 {
		batch = func(a arrival, how string) {
			waiting = append(waiting, pending{a, how})
			if len(waiting) >= p.batch {
				flush()
			}
		}
	}
	lost := func() {
		for _, w := range waiting {
			p.ledger.add(event{Kind: "died", ID: p.idOf(w.a), Copy: w.a.copy(), Came: w.a.at})
		}
	}
	timer := time.NewTicker(2 * time.Second)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			flush()
			return
		case <-ctx.Done():
			lost()
			return
		default:
		}
		select {
		case <-stop:
			flush()
			return
		case <-ctx.Done():
			lost()
			return
		case <-timer.C:
			flush()
		case a, ok := <-arrivals:
			if !ok {
				lost()
				return
			}
			p.handle(ctx, ch, a, batch)
		}
	}
}

func (p *pipe) handle(ctx context.Context, ch *amqp.Channel, a arrival, batch func(arrival, string)) {
	id := p.idOf(a)
	h := handling{p: p, ctx: ctx, id: id, copy: a.copy(), after: new(func())}
	var v verdict
	var err error
	if p.ignores(id) {
		v = notMine
	} else {
		v, err = p.scheme(h)
	}
	if err != nil {
		p.note("store", err)
		if v == worked { // done, but not marked
			v = worked
		} else {
			v = storeTrouble
		}
	}
	e := event{ID: id, Copy: a.copy(), Came: a.at}
	ack := func(how string) {
		e.How = how
		switch {
		case p.autoAck:
			e.Kind = "auto"
			p.ledger.add(e)
		case batch != nil:
			batch(a, how)
		default:
			if a.Ack(false) != nil || p.tx && ch.TxCommit() != nil {
				e.Kind = "died"
				p.ledger.add(e)
				return
			}
			p.ledger.ack(e)
		}
		if *h.after != nil {
			(*h.after)()
		}
	}
	settle := func(kind string, delay time.Duration, blocks, requeue bool) {
		do := func() {
			if !sleep(ctx, delay) || a.Nack(false, requeue) != nil || p.tx && ch.TxCommit() != nil {
				e.Kind = "died"
			} else {
				e.Kind = kind
			}
			p.ledger.add(e)
		}
		if delay > 0 && !blocks {
			go do()
			return
		}
		do()
	}
	switch v {
	case notMine:
		ack("ignored")
	case worked:
		ack("work")
	case metDone:
		ack(p.ledger.met(id))
	case metFlight:
		p.ledger.add(event{Kind: "hit", ID: id})
		switch p.onFlight {
		case "ack":
			ack(p.ledger.met(id))
		case "reject":
			settle("rej", 0, true, false)
		default:
			settle("req", p.flightDelay, p.flightBlocks, true)
		}
	case diedInWork:
		e.Kind = "died"
		p.ledger.add(e)
	case storeTrouble:
		settle("req", 500*time.Millisecond, true, true)
	case failedWork:
		if p.autoAck {
			ack("failed")
			return
		}
		switch p.onFail {
		case "ack":
			ack("failed")
		case "reject":
			settle("rej", 0, true, false)
		case "park":
			if deaths(a, p.queues[0]) >= p.tries {
				if err := p.send("", p.parking, id, nil); err != nil {
					p.note("park", err)
				}
				ack("parked")
				return
			}
			settle("rej", 0, true, false)
		case "republish":
			n, _ := a.Headers["x-tries"].(int32)
			to := p.delayQueue
			if int(n) >= p.tries {
				to = p.parking
			}
			if err := p.send("", to, id, amqp.Table{"x-tries": n + 1}); err != nil {
				p.note("republish", err)
			}
			ack("failed")
		default:
			settle("req", p.failDelay, false, true)
		}
	}
}

// deaths is how often a message was rejected in a queue.
func deaths(a arrival, queue string) int {
	list, _ := a.Headers["x-death"].([]any)
	for _, d := range list {
		if t, ok := d.(amqp.Table); ok && t["queue"] == queue && t["reason"] == "rejected" {
			n, _ := t["count"].(int64)
			return int(n)
		}
	}
	return 0
}

// run starts producer and consumers; both contexts end one after the other.
func (p *pipe) run(producing, consuming context.Context, all *sync.WaitGroup) {
	p.started = time.Now()
	all.Go(func() { p.produce(producing) })
	for _, q := range p.queues {
		for i := range p.consumers {
			all.Go(func() { p.consume(consuming, q, i) })
		}
	}
	if p.drama != nil {
		all.Go(func() { p.drama(producing, p) })
	}
}

// watchDead writes down the depth of dead-letter queues each second.
func watchDead(ctx context.Context, url string, pipes []*pipe) {
	var ch *amqp.Channel
	for ctx.Err() == nil {
		if ch == nil || ch.IsClosed() {
			conn, err := amqp.Dial(url)
			if err != nil {
				sleep(ctx, time.Second)
				continue
			}
			defer conn.Close()
			if ch, err = conn.Channel(); err != nil {
				continue
			}
		}
		for _, p := range pipes {
			for _, q := range p.dead {
				info, err := ch.QueueDeclarePassive(q, true, false, false, false, nil)
				if err != nil {
					p.note("depth", err)
					break
				}
				p.ledger.add(event{Kind: "depth", Q: q, N: int64(info.Messages)})
			}
		}
		sleep(ctx, time.Second)
	}
}

func between(low, high time.Duration) func() time.Duration {
	return func() time.Duration { return low + time.Duration(rand.Int64N(int64(high-low)+1)) }
}

func prefix(s string) func(string) string { return func(id string) string { return s + id } }

func upper(s string) func(string) string {
	return func(id string) string { return s + strings.ToUpper(id) }
}
