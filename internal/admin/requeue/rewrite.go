package requeue

import (
	"fmt"
	"maps"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// A rewriter makes what is sent in place of a dead letter: the same message, without what would let the broker treat it as
// something else, and with the headers by which it is known again. docs/requeue.md gives the reason for each.
type rewriter struct {
	run       string
	uncounted bool
}

// rewrite returns what is sent, or says why the message cannot be sent. An edited message takes the place of the letter's own, but not
// of its identity. The letter is not changed.
func (r rewriter) rewrite(letter dedup.DeadLetter, d Decision, now time.Time) (m message.Message, refused string) {
	m = letter.Message
	if d.Message != nil {
		m = *d.Message
	}
	headers := maps.Clone(m.Headers)
	if headers == nil {
		headers = map[string]any{}
	}
	maps.DeleteFunc(headers, func(name string, _ any) bool {
		return message.IsBrokerHeader(name) || d.Foreign && message.IsOwnHeader(name)
	})
	if d.Foreign {
		letter.Headers = nil
	}
	r.sign(headers, letter, now)
	if m.UserID != "" {
		headers[message.HeaderOriginalUserID] = m.UserID
	}
	m.UserID = ""
	m.Expiration = ""
	m.DeliveryMode = 2
	m.Redelivered = false
	m.Exchange, m.RoutingKey = "", d.Target
	m.Headers = headers
	return m, unsendable(m)
}

// sign writes our headers. What identifies the message is taken from the letter, so that no edit can change it.
func (r rewriter) sign(headers map[string]any, letter dedup.DeadLetter, now time.Time) {
	id := message.RequeueID(letter.Headers)
	from, known := letter.Headers[message.HeaderOriginalQueue].(string)
	if id == "" {
		id, known = letter.Ref, false
	}
	if !known {
		from = letter.Queue.Name
	}
	headers[message.HeaderRequeueID] = id
	headers[message.HeaderOriginalQueue] = from
	headers[message.HeaderRequeueRun] = r.run
	headers[message.HeaderRequeuedAt] = now.UTC().Truncate(time.Second)
	count := message.Requeues(letter.Headers)
	if !r.uncounted && count+1 > count {
		count++
	}
	headers[message.HeaderRequeueCount] = count
	signDeaths(headers, letter)
}

// signDeaths keeps the deaths of a letter: the broker's, and behind them those from before it was last requeued.
func signDeaths(headers map[string]any, letter dedup.DeadLetter) {
	delete(headers, message.HeaderOriginalDeath)
	if text := message.EncodeDeaths(letter.Deaths); text != "" {
		headers[message.HeaderOriginalDeath] = text
	}
}

// unsendable says why a message must not be sent; empty when it may. Each of these would not fail alone: it would end the channel or
// the connection, and with it what is in motion for every other message.
func unsendable(m message.Message) string {
	if len(m.RoutingKey) > maxShortString {
		return fmt.Sprintf("the name of its target has %d bytes, more than AMQP allows", len(m.RoutingKey))
	}
	size := 0
	for name, text := range map[string]string{
		"content type": m.ContentType, "content encoding": m.ContentEncoding, "correlation id": m.CorrelationID,
		"reply-to": m.ReplyTo, "message id": m.MessageID, "type": m.Type, "app id": m.AppID,
	} {
		if len(text) > maxShortString {
			return fmt.Sprintf("its %s has %d bytes, more than AMQP allows", name, len(text))
		}
		size += 1 + len(text)
	}
	table, err := tableSize(m.Headers)
	if err != nil {
		return err.Error()
	}
	if size += table; size > maxHeaderFrame {
		return fmt.Sprintf("its headers have %d bytes with ours, more than fit in a frame", size)
	}
	return ""
}
