package amqp

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/broker"
)

// A toxic is what a bad network does to each connection. The zero toxic is a good one.
type toxic struct {
	// latency is added to each piece in each direction.
	latency time.Duration
	// rate is bytes per second from the client to the broker; 0 for no limit.
	rate int
	// cutAfter resets a connection once so many bytes have gone from the client to the broker, in the midst of a frame; 0 never.
	cutAfter int
	// stallAfter swallows everything after so many bytes, in both directions, and leaves the connection open; 0 never.
	stallAfter int
}

// A chaosProxy stands between a client and a broker and harms what passes.
type chaosProxy struct {
	listener net.Listener
	upstream string
	toxic    atomic.Pointer[toxic]
	// harms is how many more connections are harmed; those after them are left alone. Negative harms all.
	harms atomic.Int64
	done  chan struct{}
	group sync.WaitGroup

	mu    sync.Mutex
	conns map[*net.TCPConn]struct{}
}

func startChaos(t *testing.T, upstream string, harm toxic, harms int64) *chaosProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &chaosProxy{listener: listener, upstream: upstream, done: make(chan struct{}), conns: map[*net.TCPConn]struct{}{}}
	p.toxic.Store(&harm)
	p.harms.Store(harms)
	p.group.Go(p.serve)
	t.Cleanup(func() {
		close(p.done)
		_ = listener.Close()
		p.reset()
		p.group.Wait()
	})
	return p
}

func (p *chaosProxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.upstream)
		if err != nil {
			_ = client.Close()
			continue
		}
		harm := toxic{}
		if p.harms.Add(-1) != -1 { // the counter stays below zero once it has run out, and for ever when it began there
			harm = *p.toxic.Load()
		} else {
			p.harms.Store(0)
		}
		a, b := client.(*net.TCPConn), server.(*net.TCPConn)
		p.mu.Lock()
		p.conns[a], p.conns[b] = struct{}{}, struct{}{}
		p.mu.Unlock()
		stalled := &atomic.Bool{}
		p.group.Go(func() { p.pump(a, b, harm, stalled, true) })
		p.group.Go(func() { p.pump(b, a, harm, stalled, false) })
	}
}

// pump copies one direction until either end closes.
func (p *chaosProxy) pump(from, to *net.TCPConn, harm toxic, stalled *atomic.Bool, upstream bool) {
	defer p.cut(from, to, false)
	buffer := make([]byte, 16<<10)
	if harm.rate > 0 && upstream {
		buffer = buffer[:max(1, harm.rate/10)]
	}
	passed := 0
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		wait := harm.latency
		if harm.rate > 0 && upstream {
			wait += time.Duration(n) * time.Second / time.Duration(harm.rate)
		}
		if !p.pause(wait) {
			return
		}
		piece := buffer[:n]
		passed += n
		switch {
		case upstream && harm.cutAfter > 0 && passed > harm.cutAfter:
			_, _ = to.Write(piece[:n/2])
			p.cut(from, to, true)
			return
		case upstream && harm.stallAfter > 0 && passed > harm.stallAfter:
			stalled.Store(true)
		}
		if stalled.Load() {
			continue
		}
		if _, err := to.Write(piece); err != nil {
			return
		}
	}
}

// pause waits, and is false when the proxy ends.
func (p *chaosProxy) pause(d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.done:
		return false
	}
}

// cut closes both sides, by a reset if asked.
func (p *chaosProxy) cut(a, b *net.TCPConn, reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []*net.TCPConn{a, b} {
		if reset {
			_ = c.SetLinger(0)
		}
		_ = c.Close()
		delete(p.conns, c)
	}
}

// reset resets every connection.
func (p *chaosProxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	clear(p.conns)
}

func (b *movingBroker) badNetwork(t *testing.T) {
	for name, test := range map[string]struct {
		harm  toxic
		harms int64 // connections
		n     int
		loses bool // connections are lost, and copies may be made
	}{
		"latency of 100 ms":                        {toxic{latency: 100 * time.Millisecond}, -1, 300, false},
		"1 KB/s":                                   {toxic{rate: 1024}, -1, 20, false},
		"each connection cut in the midst":         {toxic{cutAfter: 20_000}, 12, 2000, true},
		"each of the first connections cut early":  {toxic{cutAfter: 700}, 4, 500, true},
		"a connection that goes silent, half-open": {toxic{stallAfter: 30_000}, 2, 500, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := startChaos(t, b.rabbit.AMQPAddr(), test.harm, test.harms)
			b.movesThrough(t, proxy, test.n, test.loses, func() {})
		})
	}
	t.Run("all connections reset again and again", func(t *testing.T) {
		t.Parallel()
		proxy := startChaos(t, b.rabbit.AMQPAddr(), toxic{}, 0)
		b.movesThrough(t, proxy, 2000, true, proxy.reset)
	})
}

// movesThrough runs the engine through a proxy; harm is called four times on the way.
func (b *movingBroker) movesThrough(t *testing.T, proxy *chaosProxy, n int, loses bool, harm func()) {
	channel := b.admin(t)
	dead, target := t.Name()+".dead", t.Name()
	queue := declare(t, channel, dead, nil)
	declare(t, channel, target, nil)
	fill(t, channel, dead, "m", n)
	m := b.open(t, func(c *broker.Config) { c.Act.AMQPURL = "amqp://" + proxy.listener.Addr().String() + "/" })
	const times = 4
	to := &counted{next: func(i int) string {
		if i > 0 && i%(n/(times+1)) == 0 && i/(n/(times+1)) <= times {
			harm()
		}
		return target
	}}
	result := b.run(t, m, queue, n, to, func(c *requeue.Config) { c.MaxFruitless = 20 })
	if result.Stop != requeue.StopLimit && result.Stop != requeue.StopEmpty {
		t.Errorf("it stopped: %+v", result)
	}
	if loses != (result.Reconnects > 0) {
		t.Errorf("%d connections were lost", result.Reconnects)
	}
	eventually(t, "the queue is empty", func() bool { return depth(t, channel, dead) == 0 })
	if extra := conserved(t, channel, "m", n, dead, target); extra > 256*result.Reconnects {
		t.Errorf("%d copies after %d lost connections", extra, result.Reconnects)
	}
}
