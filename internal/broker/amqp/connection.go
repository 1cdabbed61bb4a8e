package amqp

import (
	"context"
	"math"
	"net"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/message"
)

// A Connection is an AMQP connection of the acting account with one channel, for what neither a Source nor a Sink does. It is never recovered.
type Connection struct {
	link   *Link
	filter *bodyFilter
	taken  int
}

// Connect connects to a vhost. The purpose is shown in the broker's list of connections, and errors say what was attempted. Bodies of more than
// so many bytes never come into memory.
func (m *Mover) Connect(ctx context.Context, vhost, purpose, what string, largest int64) (*Connection, error) {
	c := &Connection{}
	var err error
	c.link, err = m.openThrough(ctx, vhost, purpose, what, func(conn net.Conn) net.Conn {
		c.filter = newBodyFilter(conn, largest, math.MaxInt64)
		return c.filter
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Channel returns the channel.
func (c *Connection) Channel() *amqp.Channel { return c.link.Channel }

// Another opens one more channel.
func (c *Connection) Another() (*amqp.Channel, error) { return c.link.conn.Channel() }

// Message returns a delivery as the rest of the program knows it. It is called once for each, in their order, by one goroutine.
func (c *Connection) Message(d *amqp.Delivery) message.Message {
	m := fromDelivery(d)
	m.LeftOut = c.filter.forget(c.taken)
	c.taken++
	return m
}

// Fail explains an error of the connection.
func (c *Connection) Fail(err error) error { return c.link.Fail(err) }

// Close ends the connection, in order if the broker answers. Abort ends it at once.
func (c *Connection) Close() error { return c.link.close() }

// Abort ends the connection without a word.
func (c *Connection) Abort() { c.link.abort() }
