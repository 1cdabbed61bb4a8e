package amqp

import (
	"cmp"
	"errors"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// writeTimeout is how long the broker may read nothing of what is written to it: one in alarm reads nothing for as long as the
	// alarm lasts, and whoever publishes would wait.
	writeTimeout = 10 * time.Second
	// dialTimeout bounds the TCP connection, and the TLS and AMQP handshakes.
	dialTimeout = 10 * time.Second
	// heartbeat is what is asked of the broker; amqp091 gives a silent peer up after one and a half of them.
	heartbeat = 10 * time.Second
	// maxUnwritten is how many bytes wait for the network before a write waits too.
	maxUnwritten = 64 << 10
)

// A wire is a connection whose writes end in time, and that gathers small writes while the network is busy: the AMQP library writes
// each ack and each publish by itself, has no deadline for it, and a system call each would cost a requeue much of its speed.
//
// As with TCP itself, a write that returns no error may still fail; the next one, and the next read, then do.
type wire struct {
	net.Conn
	timeout time.Duration

	mu      sync.Mutex
	change  sync.Cond // of what follows
	waiting []byte
	spare   []byte
	err     error
	cut     error // why a read failed
	closed  bool
	ended   chan struct{} // closed when the writer has ended
}

func newWire(conn net.Conn, timeout time.Duration) *wire {
	w := &wire{Conn: conn, timeout: timeout, ended: make(chan struct{})}
	w.change.L = &w.mu
	go w.write()
	return w
}

// Read implements io.Reader, and remembers why reading ended.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil {
		w.mu.Lock()
		w.cut = cmp.Or(w.cut, err)
		w.mu.Unlock()
	}
	return n, err
}

// reason returns why a handshake failed. The library says only that the connection is closed where it wrote after reading had failed: a node
// that takes no client without a certificate says so after its own side of TLS is done.
func (w *wire) reason(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut == nil || !errors.Is(err, amqp.ErrClosed) {
		return err
	}
	return &amqp.Error{Code: amqp.FrameError, Reason: w.cut.Error()} // as it says it of a later read
}

// Write implements io.Writer. It waits while more than 64 KiB are unwritten: for as long as it takes to write those, of which each
// piece of 64 KiB may take the timeout.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && !w.closed && len(w.waiting) > maxUnwritten {
		w.change.Wait()
	}
	switch {
	case w.err != nil:
		return 0, w.err
	case w.closed:
		return 0, net.ErrClosed
	}
	w.waiting = append(w.waiting, p...)
	w.change.Broadcast()
	return len(p), nil
}

// write passes on what waits, as much at once as there is, until the wire is closed or a write fails.
func (w *wire) write() {
	defer close(w.ended)
	for {
		batch := w.next()
		if batch == nil {
			return
		}
		err := w.send(batch)
		w.mu.Lock()
		w.spare = batch[:0]
		if err != nil {
			w.err = err
			w.change.Broadcast()
			w.mu.Unlock()
			_ = w.Conn.Close() // the reader ends the connection
			return
		}
		w.mu.Unlock()
	}
}

// failure returns why a write failed; nil when none did.
func (w *wire) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// next waits for something to write; nil when there will be nothing more.
func (w *wire) next() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) == 0 && !w.closed {
		w.change.Wait()
	}
	if len(w.waiting) == 0 {
		return nil
	}
	batch := w.waiting
	w.waiting, w.spare = w.spare, nil
	w.change.Broadcast()
	return batch
}

// send writes in pieces, each of which must make its way in time.
func (w *wire) send(batch []byte) error {
	for len(batch) > 0 {
		piece := batch[:min(len(batch), maxUnwritten)]
		if err := w.Conn.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
			return err
		}
		n, err := w.Conn.Write(piece)
		if err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

// Close writes what waits, for as long as that takes within the timeout of a close, and closes the connection.
func (w *wire) Close() error {
	w.mu.Lock()
	w.closed = true
	w.change.Broadcast()
	w.mu.Unlock()
	select {
	case <-w.ended:
		return w.Conn.Close()
	default:
	}
	guard := time.AfterFunc(closeTimeout, func() { _ = w.Conn.Close() })
	defer guard.Stop()
	<-w.ended
	return w.Conn.Close()
}
