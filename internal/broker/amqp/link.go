package amqp

import (
	"context"
	"crypto/tls"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/outbound"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// closeTimeout bounds the handshake at the end of a connection; a broker in alarm does not answer it.
const closeTimeout = 3 * time.Second

// A Link is one AMQP connection of the acting account with one channel. It is never recovered: delivery tags and confirms mean nothing on the next one.
type Link struct {
	mover   *Mover
	node    node
	what    string // for errors: what the link was opened for
	socket  net.Conn
	wire    *wire
	conn    *amqp.Connection
	Channel *amqp.Channel
	// connClosed and channelClosed hold why the broker or the network ended it, once it did.
	connClosed, channelClosed chan *amqp.Error
	blocked                   chan amqp.Blocking

	mu    sync.Mutex
	ended *amqp.Error
}

// open connects to a vhost. The purpose is shown in the broker's list of connections.
func (m *Mover) open(ctx context.Context, vhost, purpose, what string) (*Link, error) {
	return m.openThrough(ctx, vhost, purpose, what, func(conn net.Conn) net.Conn { return conn })
}

// openThrough is open with something between the AMQP library and the network, which reads what comes. Where a node takes no connection the next
// one is tried.
func (m *Mover) openThrough(ctx context.Context, vhost, purpose, what string, through func(net.Conn) net.Conn) (*Link, error) {
	first := int(m.last.Load())
	for tried := 0; ; tried++ {
		at := (first + tried) % len(m.nodes)
		l := &Link{mover: m, node: m.nodes[at], what: what}
		err := l.connect(ctx, vhost, purpose, through)
		if err == nil {
			m.last.Store(int64(at))
			return l, nil
		}
		if !broker.IsAway(err) || len(m.nodes) == 1 {
			return nil, err
		}
		m.last.Store(int64((at + 1) % len(m.nodes))) // who comes after us, perhaps with little time, begins behind it
		if tried == len(m.nodes)-1 || ctx.Err() != nil {
			return nil, err
		}
		m.Log.Info("the next node is tried", "broker", m.Name, "err", err)
	}
}

// connect connects to the link's node.
func (l *Link) connect(ctx context.Context, vhost, purpose string, through func(net.Conn) net.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	raw, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", l.node.address)
	if err != nil {
		return l.dialError(broker.OrEnd(ctx, err))
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	l.socket = raw
	if l.node.tls != nil {
		secured := tls.Client(raw, l.node.tls.Clone())
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return l.dialError(broker.OrEnd(ctx, err))
		}
		l.socket = secured
	}
	if err := l.handshake(vhost, purpose, through(l.socket)); err != nil {
		_ = raw.Close()
		return l.explain(broker.OrEnd(ctx, err))
	}
	if !stop() { // the connection is being closed under us
		l.Abort()
		return l.explain(ctx.Err())
	}
	return nil
}

// OpenBriefly connects for requests that end with their context: the AMQP library waits for an answer for as long as the connection
// lives. The caller calls done at the end, which closes the link.
func (m *Mover) OpenBriefly(ctx context.Context, vhost, purpose, what string) (l *Link, done func(), err error) {
	if l, err = m.open(ctx, vhost, purpose, what); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, l.Abort)
	return l, func() {
		stop()
		_ = l.Close()
	}, nil
}

func (l *Link) handshake(vhost, purpose string, conn net.Conn) error {
	if err := l.socket.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(fmt.Sprintf("%s (%s)", outbound.UserAgent, purpose))
	act := l.mover.act
	l.wire = newWire(conn, writeTimeout)
	var err error
	l.conn, err = amqp.Open(l.wire, amqp.Config{
		SASL:       []amqp.Authentication{&amqp.PlainAuth{Username: act.Username, Password: act.Password.Reveal()}},
		Vhost:      vhost,
		Heartbeat:  heartbeat,
		Locale:     "en_US",
		Properties: properties,
	})
	if err != nil {
		return l.wire.reason(err)
	}
	// All are registered before anything can happen, and have room for it: the library drops what finds no room within 5 s.
	l.connClosed = l.conn.NotifyClose(make(chan *amqp.Error, 1))
	l.blocked = l.conn.NotifyBlocked(make(chan amqp.Blocking, 16))
	if l.Channel, err = l.conn.Channel(); err != nil {
		return err
	}
	l.channelClosed = l.Channel.NotifyClose(make(chan *amqp.Error, 1))
	return nil
}

// Another opens one more channel.
func (l *Link) Another() (*amqp.Channel, error) { return l.conn.Channel() }

// reopen opens another channel, after the broker has ended the first.
func (l *Link) reopen() error {
	channel, err := l.Another()
	if err != nil {
		return err
	}
	l.Channel, l.channelClosed = channel, channel.NotifyClose(make(chan *amqp.Error, 1))
	return nil
}

// ErrEnded stands for an end that nobody explained.
var ErrEnded = errors.New("the connection has ended")

// reason returns why the link has ended: what the broker or the network said of it if either did, else err.
func (l *Link) reason(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, closed := range []chan *amqp.Error{l.channelClosed, l.connClosed} {
		select {
		case e := <-closed: // nil once the library has closed it
			if e != nil && l.ended == nil {
				l.ended = e
			}
		default:
		}
	}
	if l.ended != nil && l.ended.Server {
		return l.ended
	}
	if failed := l.wire.failure(); failed != nil {
		return failed // of which the library has seen the consequence alone
	}
	if l.ended != nil {
		return l.ended
	}
	return err
}

// Fail explains a failure of the link, or of a request that it carried.
func (l *Link) Fail(err error) error { return l.explain(l.reason(err)) }

// Close ends the link in order, or at once if the broker does not answer.
func (l *Link) Close() error {
	err := l.conn.CloseDeadline(time.Now().Add(closeTimeout))
	if errors.Is(err, amqp.ErrClosed) {
		return nil
	}
	return err
}

// Abort ends the link without a word.
func (l *Link) Abort() { _ = l.socket.Close() }
