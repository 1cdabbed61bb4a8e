package shop

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A link is one long-lived AMQP connection that is dialled again after it broke. It belongs to one goroutine.
type link struct {
	url        string
	connection *amqp.Connection
}

// channel opens a channel, on a new connection if the old one is gone.
func (l *link) channel() (*amqp.Channel, error) {
	if l.connection == nil || l.connection.IsClosed() {
		connection, err := amqp.DialConfig(l.url, amqp.Config{
			Heartbeat: 10 * time.Second,
			Dial:      amqp.DefaultDial(5 * time.Second),
		})
		if err != nil {
			return nil, fmt.Errorf("connect to RabbitMQ: %w", err)
		}
		l.connection = connection
	}
	channel, err := l.connection.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	return channel, nil
}

// close ends the connection. The broker returns what is unsettled, so there is nothing to do about an error.
func (l *link) close() {
	if l.connection != nil {
		_ = l.connection.Close()
	}
}

// wait returns false if ctx ends before the delay does.
func wait(ctx context.Context, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
