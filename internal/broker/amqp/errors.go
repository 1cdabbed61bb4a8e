package amqp

import (
	"cmp"
	"context"
	"dedup-dashboard/internal/broker"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"syscall"

	amqp "github.com/rabbitmq/amqp091-go"
)

// dialError explains why no AMQP connection came about.
func (l *Link) dialError(err error) error {
	e := broker.Error{Broker: l.mover.Name, Request: l.what, Err: err}
	address := l.node.address
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Text = broker.Canceled, "given up"
	case errors.As(err, &dns) && !dns.IsTimeout:
		e.Kind, e.Text = broker.Unresolved, "the host of "+address+" cannot be resolved"
		e.Remedy = "check act.amqp_url and the name service"
	case broker.IsTimeout(err):
		e.Kind, e.Text = broker.Timeout, address+" does not answer"
		e.Remedy = "check act.amqp_url; a firewall may drop packets"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Kind, e.Text = broker.Refused, "connection refused by "+address
		e.Remedy = "start RabbitMQ or correct act.amqp_url, which needs the AMQP port, usually 5672, or 5671 with TLS"
	case broker.IsTLS(err):
		e.Kind, e.Text, e.Remedy = broker.TLS, "TLS: "+broker.Quote(err.Error()), amqpTLSRemedy(err)
	case broker.IsCut(err):
		e.Kind, e.Text = broker.Interrupted, address+" ended the connection before it was set up"
		e.Remedy = "RabbitMQ may be restarting; if this stays, check act.amqp_url: the port of AMQP with TLS needs amqps://"
	default:
		e.Kind, e.Text = broker.Unreachable, address+" cannot be reached: "+broker.Quote(err.Error())
		e.Remedy = "check act.amqp_url, the route and the firewall"
	}
	return &e
}

func amqpTLSRemedy(err error) string {
	return strings.NewReplacer("management_url", "act.amqp_url", "http://", "amqp://", "15671", "5671").Replace(broker.TLSRemedy(err))
}

// explain explains an error of the AMQP library: a reply of the broker, the end of a connection, or a failed write.
func (l *Link) explain(err error) error {
	e, m, address := broker.Error{Broker: l.mover.Name, Request: l.what, Err: err}, l.mover, l.node.address
	var reply *amqp.Error
	switch {
	case err == nil:
		e.Kind, e.Text = broker.Interrupted, "the connection has ended"
	case errors.Is(err, context.Canceled):
		e.Kind, e.Text = broker.Canceled, "given up"
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Text = broker.Timeout, address+" does not answer in time"
		e.Remedy = "the broker may be in alarm or overloaded"
	case errors.Is(err, amqp.ErrCredentials):
		e.Kind, e.Text = broker.WrongPassword, "the login of "+broker.Quote(m.act.Username)+" failed"
		e.Remedy = "check act.username and act.password; the account guest may log in from the broker's own machine alone"
	case errors.As(err, &reply):
		l.explainReply(&e, reply)
	case broker.IsTimeout(err):
		e.Kind, e.Text = broker.Timeout, "the broker has read nothing for "+writeTimeout.String()
		e.Remedy = "it may be in alarm (memory or disk): see rabbitmqctl status"
	default:
		e.Kind, e.Text = broker.Interrupted, "the connection to "+address+" ended: "+broker.Quote(err.Error())
		e.Remedy = "RabbitMQ may be restarting"
	}
	return &e
}

// explainReply turns a reply code of AMQP 0-9-1 into words. What the broker wrote is quoted: it may repeat foreign names.
func (l *Link) explainReply(e *broker.Error, reply *amqp.Error) {
	said := broker.Quote(reply.Reason)
	switch {
	case reply.Code == amqp.NotFound && strings.Contains(reply.Reason, "no queue"):
		e.Kind, e.Text, e.Remedy = broker.NoQueue, "there is no such queue: "+said, "it was deleted, or its node is down"
	case reply.Code == amqp.AccessRefused && strings.Contains(reply.Reason, "exclusive use"):
		e.Kind, e.Text = broker.InUse, "the queue has another consumer, or another run has it for itself: "+said
		e.Remedy = "wait until the other run has ended, or stop the consumers of this queue"
	case reply.Code == amqp.ResourceLocked:
		e.Kind, e.Text = broker.InUse, "the queue is locked by another connection: "+said
		e.Remedy = "it is exclusive or has a single active consumer, which must end first"
	case reply.Code == amqp.NotAllowed && strings.Contains(reply.Reason, "not found"):
		e.Kind, e.Text, e.Remedy = broker.NoVhost, "there is no such vhost: "+said, "check the vhost of the pipeline"
	case reply.Code == amqp.AccessRefused || reply.Code == amqp.NotAllowed:
		e.Kind, e.Text = broker.NoPermission, "the account "+broker.Quote(l.mover.act.Username)+" lacks a permission: "+said
		e.Remedy = "it needs " + neededPermission(reply.Reason)
	case reply.Code == amqp.NotImplemented:
		e.Kind, e.Text = broker.NotPossible, "this kind of queue cannot do it: "+said
	case reply.Code == amqp.PreconditionFailed && strings.Contains(reply.Reason, "timed out"):
		e.Kind, e.Text = broker.Timeout, "messages were held for longer than the broker allows (consumer_timeout): "+said
	case reply.Code == amqp.PreconditionFailed && strings.Contains(reply.Reason, "message size"):
		e.Kind, e.Text = broker.Declined, "a message is larger than the broker takes (max_message_size): "+said
		e.Remedy = "raise max_message_size, or leave the message where it is"
	case !reply.Server && strings.Contains(reply.Reason, "tls: "): // it took our side of the handshake, and refused afterwards
		e.Kind, e.Text, e.Remedy = broker.TLS, "TLS: "+said, amqpTLSRemedy(reply)
	case reply.Server:
		e.Kind, e.Text = broker.Declined, fmt.Sprintf("the broker ended it with code %d: %s", reply.Code, said)
	case errors.Is(reply, amqp.ErrSyntax) || reply.Reason == amqp.ErrSyntax.Error() || reply.Reason == amqp.ErrFrameTooLarge.Error():
		e.Kind, e.Text = broker.Malformed, "a message has headers that cannot be read: more than 8,192 in one table, or nested deeper than 32"
		e.Remedy = "take it out of the queue by other means; nothing behind it can be read"
	case strings.Contains(reply.Reason, "i/o timeout"):
		e.Kind, e.Text = broker.Timeout, "the broker was silent, or read nothing, for too long"
		e.Remedy = "it may be in alarm (memory or disk) or overloaded, or the network lost the connection"
	default:
		e.Kind, e.Text = broker.Interrupted, "the connection to "+l.node.address+" ended: "+said
		e.Remedy = "RabbitMQ may be restarting"
	}
}

// refusedAccess reads what was refused; newer brokers say with it which permission is lacking.
var refusedAccess = regexp.MustCompile(`^ACCESS_REFUSED - (?:(configure|write|read) )?access to (queue|exchange) '(dedup\.parking\.)?`)

// neededPermission names the permission that the acting account lacks, and no other where the refusal tells.
func neededPermission(reason string) string {
	m := refusedAccess.FindStringSubmatch(reason)
	switch {
	case m == nil:
		return `read on the dead-letter queues, write on amq.default, configure and read on ^dedup\.parking\.`
	case m[2] == "exchange":
		return "write on amq.default"
	case m[3] == "":
		return "read on the dead-letter queues"
	}
	return cmp.Or(m[1], "configure and read") + ` on ^dedup\.parking\.`
}
