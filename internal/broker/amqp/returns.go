package amqp

import (
	"bytes"
	"errors"
	"math"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// returns finds out which publishes of a channel came back.
//
// RabbitMQ sends the return of a message before its confirm, and returns in the order of publishing. The AMQP library reads frames
// in order, and puts a return into the channel of returns before it looks at the next frame as long as there is room; the sink
// makes room for every publish that has no answer. So when the confirm of a publish is here, its return is too, with those of some
// later ones perhaps. A return carries no number, only the message itself. Publishes are settled in order, so a return belongs to
// the first unsettled publish that it equals. Two that are equal may stand for one another: one arrived and one did not, and it
// makes no difference which of the two stays at the source.
type returns struct {
	arrived <-chan amqp.Return

	mu sync.Mutex
	// open are the publishes that are not settled, in order.
	open []*sent

	// Of the goroutine that settles: what came back, in order; the publish that the first belongs to, nil when that is not known.
	waiting []amqp.Return
	first   *sent
	// lost is set once a return belongs to no publish; from then on nothing counts as arrived.
	lost error
}

// expect notes a publish before it is sent.
func (r *returns) expect(p *sent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = append(r.open, p)
}

// settle says whether a publish came back, and with which text. It is called for each publish in order, once its confirm is here;
// acked says whether that was an ack.
func (r *returns) settle(p *sent, acked bool) (returned bool, text string, err error) {
	r.drain()
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.forget(p)
	if r.lost != nil || len(r.waiting) == 0 {
		return false, "", r.lost
	}
	if !acked {
		return false, "", nil // what comes back is confirmed all the same, so this did not
	}
	if r.first == nil {
		r.first = r.owner(&r.waiting[0])
	}
	switch r.first {
	case nil:
		r.lost = errors.New("the broker returned a message that was not sent in this form; which one it was cannot be told")
		return false, "", r.lost
	case p:
		text = r.waiting[0].ReplyText
		r.waiting[0] = amqp.Return{}
		r.waiting = r.waiting[1:]
		return true, text, nil
	}
	return false, "", nil
}

// forget drops the publish that is being settled, which is the first that is open.
func (r *returns) forget(p *sent) {
	if len(r.open) > 0 && r.open[0] == p {
		r.open[0] = nil
		r.open = r.open[1:]
	}
	if r.first == p {
		r.first = nil // it was rejected: the return belongs to an equal one behind it
	}
}

// owner returns the first open publish that a return equals, nil when there is none.
func (r *returns) owner(back *amqp.Return) *sent {
	for _, p := range r.open {
		if isReturnOf(back, p) {
			return p
		}
	}
	return nil
}

// drain takes over what has come back so far.
func (r *returns) drain() {
	for {
		select {
		case back, ok := <-r.arrived:
			if !ok {
				return
			}
			r.waiting = append(r.waiting, back)
		default:
			return
		}
	}
}

// isReturnOf reports whether a return equals a publish. Brokers may be set up to add headers and to set the timestamp of what they
// are sent, so neither counts.
func isReturnOf(back *amqp.Return, p *sent) bool {
	m := &p.message
	return back.RoutingKey == p.queue && back.MessageId == m.MessageId && back.CorrelationId == m.CorrelationId &&
		back.Type == m.Type && back.AppId == m.AppId && back.ReplyTo == m.ReplyTo && back.Expiration == m.Expiration &&
		back.ContentType == m.ContentType && back.ContentEncoding == m.ContentEncoding && back.Priority == m.Priority &&
		bytes.Equal(back.Body, m.Body) && holds(back.Headers, m.Headers)
}

// holds reports whether a table holds all fields of another.
func holds(table, fields amqp.Table) bool {
	for k, v := range fields {
		if found, ok := table[k]; !ok || !sameField(found, v) {
			return false
		}
	}
	return true
}

// sameField compares what was read with what was written, which keeps its exact type. Floats are compared by their bits: a NaN
// equals no number, itself included.
func sameField(a, b any) bool {
	switch a := a.(type) {
	case float32:
		b, ok := b.(float32)
		return ok && math.Float32bits(a) == math.Float32bits(b)
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Unix() == b.Unix()
	case amqp.Table:
		b, ok := b.(amqp.Table)
		return ok && len(a) == len(b) && holds(a, b)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameField(a[i], b[i]) {
				return false
			}
		}
		return true
	default: // nil, and types that compare
		return a == b
	}
}
