package broker

import (
	"net"
	"time"
)

const (
	// writeTimeout bounds one write: a broker in alarm reads nothing, and whoever publishes would wait for as long as the alarm lasts.
	writeTimeout = 10 * time.Second
	// dialTimeout bounds the TCP connection, the TLS and the AMQP handshake each.
	dialTimeout = 10 * time.Second
	// heartbeat is what is asked of the broker; amqp091 gives a silent peer up after one and a half of them.
	heartbeat = 10 * time.Second
)

// A wire is a connection each write of which ends in time. The AMQP library writes without a deadline of its own.
type wire struct {
	net.Conn
	timeout time.Duration
}

// Write implements io.Writer.
func (w *wire) Write(p []byte) (int, error) {
	if err := w.Conn.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}
