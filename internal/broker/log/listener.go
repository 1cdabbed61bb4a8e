package log

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/amqp"
	"dedup-dashboard/internal/dedup"
)

const (
	// logExchange is where RabbitMQ publishes its log if log.exchange is set: in the default virtual host, by its level. It is
	// internal, so that no client can publish to it.
	logExchange = "amq.rabbitmq.log"
	logVhost    = "/"
	logLevel    = "warning"
	// The bounds of the queue that the log waits in: when we do not read, its oldest lines go, and the broker is not filled.
	maxLogLines = 1000
	maxLogBytes = 8 << 20
	// logPrefetch is how many lines are on their way to us at once.
	logPrefetch = 100
	// maxLogQueues bounds the queues that are counted by name; those of others count as not named.
	maxLogQueues = 1000
	// maxLogNodes bounds the nodes that are known by name.
	maxLogNodes = 100
	// Between two attempts to listen; each failure doubles it.
	logRetry    = time.Second
	logRetryMax = time.Minute
)

// A Listener follows the log of one broker. Its methods may be called at once.
type Listener struct {
	mover *amqp.Mover
	log   *slog.Logger
	// every is after how many lines the queue is asked how full it is.
	every int

	mu    sync.Mutex
	state dedup.BrokerLog
}

// NewListener returns the listener of the account that is configured for the log; nil where none is.
func NewListener(config broker.Config, log *slog.Logger) (*Listener, error) {
	if config.Log.IsZero() {
		return nil, nil
	}
	account := config
	account.Act = config.Log
	mover, err := amqp.OpenMover(account, log)
	if err != nil {
		return nil, err
	}
	l := &Listener{mover: mover, log: mover.Log, every: logAskEvery}
	l.state = dedup.BrokerLog{Why: "the broker's log has not been listened to yet", Named: make(map[dedup.QueueRef]int64)}
	return l, nil
}

// Run follows the broker's log until ctx ends; it connects anew when it must.
func (l *Listener) Run(ctx context.Context) error {
	wait, said := logRetry, ""
	for {
		began := time.Now()
		err := l.listen(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > logRetryMax {
			wait = logRetry
		}
		if why := l.stop(err); why != said {
			said = why
			l.log.Warn("the broker's log is not followed; ack timeouts are unknown until it is", "broker", l.mover.Name, "err", why)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		wait = min(2*wait, logRetryMax)
	}
}

// listen follows the log over one connection. Its queue is the connection's own, and ends with it.
func (l *Listener) listen(ctx context.Context) error {
	link, done, err := l.mover.OpenBriefly(ctx, logVhost, "log", "listen to the broker's log")
	if err != nil {
		return err
	}
	defer done()
	queue, lines, err := subscribeLog(link.Channel)
	if err != nil {
		return link.Fail(broker.OrEnd(ctx, err))
	}
	l.start()
	fill := fill{every: l.every}
	for line := range lines {
		if fill.received(len(line.Body)) {
			const durable, autoDelete, exclusive, noWait = false, true, true, false
			q, err := link.Channel.QueueDeclarePassive(queue, durable, autoDelete, exclusive, noWait, nil)
			if err != nil {
				return link.Fail(broker.OrEnd(ctx, err))
			}
			if fill.overflowed(q.Messages) {
				l.overflow()
			}
		}
		l.hear(line.Headers)
		if queue, ok := ackTimeout(line.Body); ok {
			l.count(queue)
		}
		if err := line.Ack(false); err != nil {
			return link.Fail(broker.OrEnd(ctx, err))
		}
	}
	return link.Fail(broker.OrEnd(ctx, amqp.ErrEnded))
}

func subscribeLog(channel *amqp091.Channel) (queue string, lines <-chan amqp091.Delivery, err error) {
	const durable, autoDelete, exclusive, noWait = false, true, true, false
	bounds := amqp091.Table{"x-max-length": maxLogLines, "x-max-length-bytes": maxLogBytes, "x-overflow": "drop-head"}
	q, err := channel.QueueDeclare("", durable, autoDelete, exclusive, noWait, bounds)
	if err != nil {
		return "", nil, err
	}
	if err := channel.QueueBind(q.Name, logLevel, logExchange, noWait, nil); err != nil {
		return "", nil, err
	}
	if err := channel.Qos(logPrefetch, 0, false); err != nil {
		return "", nil, err
	}
	const autoAck, noLocal = false, false
	lines, err = channel.Consume(q.Name, "dedup-dashboard-log", autoAck, exclusive, noLocal, noWait, nil)
	return q.Name, lines, err
}

func (l *Listener) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Listening, l.state.Why, l.state.Better = true, "", ""
	l.state.Epoch++
	l.state.Since, l.state.Heard = time.Now(), nil
}

// overflow notes that lines may have been lost.
func (l *Listener) overflow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Overflowed = time.Now()
}

// hear notes the node that a line comes from: RabbitMQ writes it into a header (rabbit_logger_exchange_h.erl, make_headers).
func (l *Listener) hear(headers amqp091.Table) {
	node, ok := headers["node"].(string)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Heard == nil {
		l.state.Heard = make(map[string]bool)
	}
	if len(l.state.Heard) < maxLogNodes {
		l.state.Heard[node] = true
	}
}

// stop notes why the log is not followed any more, and returns it.
func (l *Listener) stop(err error) string {
	why, better := describeFailure(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Listening, l.state.Why, l.state.Better = false, why, better
	return why
}

func (l *Listener) count(queue dedup.QueueRef) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.state.Named[queue]
	if queue == (dedup.QueueRef{}) || !known && len(l.state.Named) >= maxLogQueues {
		l.state.Unnamed++
		return
	}
	l.state.Named[queue]++
}

// Reading returns a copy of what was heard; nil where nobody listens.
func (l *Listener) Reading() *dedup.BrokerLog {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.state
	state.Named, state.Heard = maps.Clone(state.Named), maps.Clone(state.Heard)
	return &state
}

// describeFailure says why the log cannot be followed, and what to do. The words of an account that acts do not fit one that listens.
func describeFailure(err error) (why, better string) {
	var e *broker.Error
	if !errors.As(err, &e) {
		return "the broker's log cannot be followed: " + err.Error(), ""
	}
	var reply *amqp091.Error
	if errors.As(e.Err, &reply) && reply.Code == amqp091.NotFound {
		return "not observable on this broker: it does not publish its log", ExchangeRemedy
	}
	if e.Kind == broker.NoPermission {
		return "the account of the broker's log lacks a permission: " + e.Text, AccountRemedy
	}
	return "the broker's log cannot be followed: " + logBlock.Replace(e.Text), logBlock.Replace(e.Remedy)
}

// logBlock names the block of the configuration that the log's account stands in.
var logBlock = strings.NewReplacer("act.amqp_url", "log.amqp_url", "act.username", "log.username", "act.password", "log.password")

// What makes the log observable.
const (
	ExchangeRemedy = "Set log.exchange = true and log.exchange.level = warning in rabbitmq.conf, and restart the node."
	AccountRemedy  = `Give the account in brokers[].log these permissions in the virtual host /: configure ^amq\.gen-, write ^amq\.gen-, read ^(amq\.gen-.*|amq\.rabbitmq\.log)$`
)
