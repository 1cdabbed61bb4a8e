package amqp

import (
	"context"
	"math"
	"net"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/message"
)

// A Connection is a link that brings no large bodies into memory, for what neither a Source nor a Sink does.
type Connection struct {
	*Link
	filter *bodyFilter
	taken  int
}

// Connect connects to a vhost. The purpose is shown in the broker's list of connections, and errors say what was attempted. Bodies of more than
// so many bytes never come into memory.
func (m *Mover) Connect(ctx context.Context, vhost, purpose, what string, largest int64) (*Connection, error) {
	c := &Connection{}
	var err error
	c.Link, err = m.openThrough(ctx, vhost, purpose, what, func(conn net.Conn) net.Conn {
		c.filter = newBodyFilter(conn, largest, math.MaxInt64)
		return c.filter
	})
	return c, err
}

// Message returns a delivery as the rest of the program knows it. It is called once for each, in their order, by one goroutine.
func (c *Connection) Message(d *amqp.Delivery) message.Message {
	m := fromDelivery(d)
	m.LeftOut = c.filter.forget(c.taken)
	c.taken++
	return m
}
