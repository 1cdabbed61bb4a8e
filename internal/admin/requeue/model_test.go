package requeue_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// writeTimeout is how long a write waits for a broker that does not read.
const writeTimeout = 10 * time.Second

// A model is a broker in memory. It runs in a synctest bubble, and does what RabbitMQ does to whoever moves messages: it reads each
// connection in order but late, so that what was written may be lost with the connection; it confirms late; it returns what it held for
// a connection to its place; it stops reading publishers in an alarm; it routes CC headers.
type model struct {
	mu      sync.Mutex
	rng     *rand.Rand
	queues  map[string]*modelQueue
	ops     int
	faults  []fault
	conns   []*modelConn
	alarm   bool
	down    bool
	killed  bool
	kill    func() // ends the process that runs the engine
	changed chan struct{}

	published  map[string]int // by message id: how often one was put into a queue
	sideCopies int
	confirmed  map[string]bool // by message id: a publish of it was answered as confirmed
	// unnoticed is how long the broker takes to notice that a connection has been cut; away is how many messages it holds meanwhile.
	unnoticed  time.Duration
	away       int
	mostFlying int
	late       int
	stolen     []string // ids that another consumer took
	violations []string
}

// A modelQueue is a queue with what lives behind it.
type modelQueue struct {
	name     string
	ready    []*modelMessage
	capacity int // 0 for none; else a publish beyond it is nacked
	next     int64
	// consumed are the ids that a consumer acked; a queue with a consumer has nothing ready. bounces is where its consumer
	// dead-letters everything to.
	consumes bool
	consumed []string
	bounces  string
	arrived  []string // ids in the order of their arrival
	// limit is the delivery limit of a quorum queue: what is returned more often is destroyed; 0 for none.
	limit     int64
	destroyed []string
	returns   int // how many were returned in all
}

type modelMessage struct {
	id       string
	position int64
	message  message.Message
	returns  int64
	again    bool // it was delivered before
}

// counted is the message as it is delivered, with how often it was returned.
func (msg *modelMessage) counted() message.Message {
	m := msg.message
	m.Redelivered = msg.again
	if msg.returns == 0 {
		return m
	}
	m.Headers = maps.Clone(m.Headers)
	m.Headers["x-delivery-count"] = msg.returns
	return m
}

// A fault happens when the broker has been called as often as at says.
type fault struct {
	at    int
	kind  string // cut source, cut sink, cut both, half open, restart, alarm, kill, delete, steal, grow
	lasts time.Duration
	queue string
	n     int
}

// cuts reports whether a fault may make copies.
func (f fault) cuts() bool {
	switch f.kind {
	case "cut source", "cut sink", "cut both", "half open", "restart", "kill":
		return true
	}
	return false
}

func newModel(seed uint64, faults []fault) *model {
	return &model{
		rng: rand.New(rand.NewPCG(seed, 1)), queues: map[string]*modelQueue{}, faults: faults,
		published: map[string]int{}, confirmed: map[string]bool{}, changed: make(chan struct{}),
	}
}

func (m *model) addQueue(q *modelQueue) { m.queues[q.name] = q }

// depth is how many messages a queue has ready.
func (m *model) depth(queue string) (n int) {
	m.locked(func() { n = len(m.queues[queue].ready) })
	return n
}

func (q *modelQueue) push(id string, msg message.Message) {
	q.next++
	q.arrived = append(q.arrived, id)
	q.ready = append(q.ready, &modelMessage{id: id, position: q.next, message: msg})
}

// putBack returns messages to their places, unless their queue counts that and has had enough.
func (q *modelQueue) putBack(messages ...*modelMessage) {
	for _, msg := range messages {
		q.returns++
		msg.again = true
		if q.limit > 0 {
			msg.returns++
		}
		if q.limit > 0 && msg.returns > q.limit {
			q.destroyed = append(q.destroyed, msg.id)
			continue
		}
		q.ready = append(q.ready, msg)
	}
	slices.SortFunc(q.ready, func(a, b *modelMessage) int { return cmp.Compare(a.position, b.position) })
}

func (q *modelQueue) ids() []string {
	var ids []string
	for _, msg := range q.ready {
		ids = append(ids, msg.id)
	}
	return ids
}

// violate notes something that no honest engine does. Callers hold the lock.
func (m *model) violate(format string, args ...any) {
	m.violations = append(m.violations, fmt.Sprintf(format, args...))
}

// broadcast wakes whoever waits for the broker. Callers hold the lock.
func (m *model) broadcast() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// await releases the lock until something has changed, the context has ended or the time is up.
func (m *model) await(ctx context.Context, limit time.Duration) error {
	changed := m.changed
	m.mu.Unlock()
	defer m.mu.Lock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errTimeout
	}
}

// lowOnMemory is why the broker does not read.
const lowOnMemory = "low on memory"

var errTimeout = errors.New("i/o timeout")

// step counts a call and lets happen what is due. Callers hold the lock.
func (m *model) step() {
	m.ops++
	for len(m.faults) > 0 && m.faults[0].at <= m.ops {
		f := m.faults[0]
		m.faults = m.faults[1:]
		m.happen(f)
	}
}

func (m *model) happen(f fault) {
	switch f.kind {
	case "half open":
		m.unnoticed = 30 * time.Second
		m.cut(func(*modelConn) bool { return true })
		m.unnoticed = 0
	case "cut source":
		m.cut(func(c *modelConn) bool { return c.source != nil })
	case "cut sink":
		m.cut(func(c *modelConn) bool { return c.sink != nil })
	case "cut both":
		m.cut(func(*modelConn) bool { return true })
	case "restart":
		m.cut(func(*modelConn) bool { return true })
		m.down = true
		time.AfterFunc(f.lasts, func() { m.locked(func() { m.down = false }) })
	case "kill":
		m.cut(func(*modelConn) bool { return true })
		m.killed = true
		m.kill()
	case "alarm":
		m.alarm = true
		for _, c := range m.conns {
			if c.sink != nil && len(c.wire) > 0 { // it says so to who is publishing
				c.sink.blocked = lowOnMemory
			}
		}
		time.AfterFunc(f.lasts, func() { m.locked(func() { m.alarm = false }) })
	case "delete":
		delete(m.queues, f.queue)
	case "steal":
		dead := m.queues["dead"]
		for n := min(f.n, len(dead.ready)); n > 0; n-- {
			m.stolen = append(m.stolen, dead.ready[0].id)
			dead.ready = dead.ready[1:]
		}
	case "grow":
		for range f.n {
			m.late++
			id := fmt.Sprintf("late-%d", m.late)
			m.queues["dead"].push(id, seedMessage(id, "a"))
		}
	}
	m.broadcast()
}

func (m *model) locked(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
	m.broadcast()
}

func (m *model) cut(which func(*modelConn) bool) {
	for _, c := range m.conns {
		if which(c) && !c.dead {
			c.flush(m.rng.IntN(len(c.wire) + 1))
			c.end()
		}
	}
}

// A modelConn is a connection: what was written to it and not read yet, and what it holds.
type modelConn struct {
	m      *model
	dead   bool
	wire   []func()
	source *modelSource
	sink   *modelSink
}

// flush lets the broker read the first n writes.
func (c *modelConn) flush(n int) {
	for range n {
		if c.dead || len(c.wire) == 0 || c.blocked() {
			return
		}
		act := c.wire[0]
		c.wire = c.wire[1:]
		act()
	}
}

func (c *modelConn) flushAll()     { c.flush(len(c.wire)) }
func (c *modelConn) blocked() bool { return c.m.alarm && c.sink != nil }

// flushSome lets the broker read some of what was written, and often nothing.
func (c *modelConn) flushSome() {
	if c.m.rng.IntN(3) == 0 {
		c.flush(c.m.rng.IntN(len(c.wire) + 1))
	}
}

// end closes the connection: the broker returns what it held, and some of the answers under way are lost.
func (c *modelConn) end() {
	c.dead = true
	if c.source != nil {
		c.source.returnAll()
	}
	if c.sink != nil {
		c.sink.loseAnswers()
	}
	c.m.broadcast()
}

// errClosed is what every call on a connection that has ended returns.
var errClosed = errors.New("connection closed")

// modelEnds open the model's connections.
type modelEnds struct{ m *model }

func (e modelEnds) Source(_ context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	if err := e.m.reachable(); err != nil {
		return nil, err
	}
	q, ok := e.m.queues[queue.Name]
	if !ok {
		return nil, &dedup.Error{Kind: dedup.NotFound, Public: "no queue " + queue.Name}
	}
	s := &modelSource{conn: &modelConn{m: e.m}, queue: q, take: take, held: map[uint64]*modelMessage{}}
	s.conn.source = s
	e.m.conns = append(e.m.conns, s.conn)
	return s, nil
}

func (e modelEnds) Sink(_ context.Context, _ string, window int) (requeue.Sink, error) {
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	if err := e.m.reachable(); err != nil {
		return nil, err
	}
	s := &modelSink{conn: &modelConn{m: e.m}, window: window}
	s.conn.sink = s
	e.m.conns = append(e.m.conns, s.conn)
	return s, nil
}

func (m *model) reachable() error {
	m.step()
	if m.down || m.killed {
		return errors.New("connection refused")
	}
	return nil
}
