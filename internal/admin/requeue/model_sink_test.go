package requeue_test

import (
	"context"
	"math"
	"time"

	"dedup-dashboard/internal/message"
)

// A modelSink is a channel with confirms.
type modelSink struct {
	conn    *modelConn
	window  int
	flying  []*modelFlight
	blocked string
	late    int // publishes since it was said that it is blocked
}

type modelFlight struct {
	id     string
	answer *message.Answer // nil until the broker has answered
	lost   bool
}

func (s *modelSink) Publish(ctx context.Context, queue string, msg message.Message) error {
	m := s.conn.m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	for s.late >= 2 && s.conn.blocked() && !s.conn.dead { // the buffers between here and there are full
		if err := m.await(ctx, writeTimeout); err != nil {
			s.conn.end()
		}
	}
	if s.conn.dead {
		return errClosed
	}
	s.late++
	if !m.alarm {
		s.late = 0
	} else if s.blocked == "" {
		s.blocked, s.late = lowOnMemory, 0
	}
	f := &modelFlight{id: msg.MessageID}
	s.flying = append(s.flying, f)
	m.mostFlying = max(m.mostFlying, len(s.flying))
	s.conn.wire = append(s.conn.wire, func() { f.answer = m.route(s.conn, queue, msg) })
	s.conn.flushSome()
	m.broadcast()
	return nil
}

// route does with a message what the default exchange does; nil when it ends the connection.
func (m *model) route(c *modelConn, queue string, msg message.Message) *message.Answer {
	f, isFloat := msg.Headers["float"].(float64)
	if msg.UserID != "" || isFloat && math.IsNaN(f) || len(queue) > 255 {
		m.violate("a message ended the connection: user_id %q", msg.UserID)
		c.end()
		return nil
	}
	for _, header := range []string{"CC", "BCC"} {
		keys, _ := msg.Headers[header].([]any)
		for _, key := range keys {
			if side, ok := m.queues[key.(string)]; ok && key != queue {
				m.sideCopies++
				side.push(msg.MessageID, msg)
			}
		}
	}
	q, ok := m.queues[queue]
	switch {
	case !ok:
		return &message.Answer{Outcome: message.Returned, Text: "NO_ROUTE"}
	case q.capacity > 0 && len(q.ready) >= q.capacity:
		return &message.Answer{Outcome: message.Rejected, Text: "the queue refused it"}
	}
	m.published[msg.MessageID]++
	m.arrive(q, msg)
	return &message.Answer{Outcome: message.Confirmed}
}

func (m *model) arrive(q *modelQueue, msg message.Message) {
	switch {
	case q.bounces != "":
		q.arrived = append(q.arrived, msg.MessageID)
		m.queues[q.bounces].push(msg.MessageID, msg)
	case q.consumes:
		q.arrived = append(q.arrived, msg.MessageID)
		q.consumed = append(q.consumed, msg.MessageID)
	default:
		q.push(msg.MessageID, msg)
	}
	m.broadcast()
}

func (s *modelSink) Answer(ctx context.Context) (message.Answer, error) {
	m := s.conn.m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	if pause := m.rng.IntN(4); pause > 1 {
		_ = m.await(ctx, time.Duration(pause)*time.Millisecond)
	}
	f := s.flying[0]
	for {
		if f.answer == nil && !f.lost {
			s.conn.flush(1)
		}
		switch {
		case f.lost || s.conn.dead && f.answer == nil:
			s.flying = s.flying[1:]
			return message.Answer{Outcome: message.AnswerLost, Text: "connection closed"}, nil
		case f.answer != nil:
			s.flying = s.flying[1:]
			if f.answer.Outcome == message.Confirmed {
				m.confirmed[f.id] = true
			}
			return *f.answer, nil
		case len(s.conn.wire) > 0 && !s.conn.blocked():
		default:
			if err := m.await(ctx, time.Hour); err != nil {
				return message.Answer{}, err
			}
		}
	}
}

// loseAnswers loses the answers that were under way from a random one on.
func (s *modelSink) loseAnswers() {
	for _, f := range s.flying[s.conn.m.rng.IntN(len(s.flying)+1):] {
		f.lost = true
	}
}

func (s *modelSink) Blocked() string {
	s.conn.m.mu.Lock()
	defer s.conn.m.mu.Unlock()
	if !s.conn.m.alarm || s.conn.dead {
		s.blocked = ""
	}
	return s.blocked
}

func (s *modelSink) Close() error { return s.conn.close() }
