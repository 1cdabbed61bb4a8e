package requeue_test

import (
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/message"
)

// A modelSource is a channel that gets or consumes.
type modelSource struct {
	conn  *modelConn
	queue *modelQueue
	take  requeue.Taking
	tag   uint64
	held  map[uint64]*modelMessage
	ahead []*modelMessage // handed out, and not asked for yet
}

func (s *modelSource) Next(ctx context.Context) (message.Delivery, error) {
	m := s.conn.m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	for {
		if s.take.Single {
			s.conn.flushAll() // a get is answered after all that was written before it
		} else {
			s.conn.flushSome()
		}
		switch {
		case s.conn.dead:
			return message.Delivery{}, errClosed
		case ctx.Err() != nil:
			return message.Delivery{}, ctx.Err()
		case len(s.held) >= s.take.Held && len(s.conn.wire) > 0:
			s.conn.flushAll()
		case len(s.held) >= s.take.Held:
			if err := m.await(ctx, time.Hour); err != nil {
				return message.Delivery{}, err
			}
		case len(s.ahead)+len(s.queue.ready) == 0:
			return message.Delivery{}, io.EOF
		default:
			return s.deliver(), nil
		}
	}
}

func (s *modelSource) deliver() message.Delivery {
	s.sendAhead()
	msg := s.ahead[0]
	s.ahead = s.ahead[1:]
	s.tag++
	s.held[s.tag] = msg
	return message.Delivery{Message: msg.counted(), Tag: s.tag, Left: -1}
}

// sendAhead hands out as many messages as the prefetch has room for, and one to a get.
func (s *modelSource) sendAhead() {
	room := s.take.Held - len(s.held) - len(s.ahead)
	if s.take.Single {
		room = 1
	}
	n := min(room, len(s.queue.ready))
	s.ahead = append(s.ahead, s.queue.ready[:n]...)
	s.queue.ready = s.queue.ready[n:]
}

func (s *modelSource) Ack(tag uint64) error {
	return s.write(func() {
		if _, ok := s.held[tag]; !ok {
			s.conn.m.violate("acked tag %d, which it does not hold", tag)
			s.conn.end()
			return
		}
		delete(s.held, tag)
	})
}

func (s *modelSource) write(act func()) error {
	m := s.conn.m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	if s.conn.dead {
		return errClosed
	}
	s.conn.wire = append(s.conn.wire, act)
	s.conn.flushSome()
	m.broadcast()
	return nil
}

// returnAll puts back what the source held, or has the broker notice later that its connection has ended.
func (s *modelSource) returnAll() {
	back := append(slices.Collect(maps.Values(s.held)), s.ahead...)
	clear(s.held)
	s.ahead = nil
	if s.conn.m.unnoticed == 0 {
		s.queue.putBack(back...)
		return
	}
	s.conn.m.away += len(back)
	time.AfterFunc(s.conn.m.unnoticed, func() {
		s.conn.m.locked(func() {
			s.conn.m.away -= len(back)
			s.queue.putBack(back...)
		})
	})
}

func (s *modelSource) Close() error { return s.conn.close() }

func (c *modelConn) close() error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.dead {
		return nil
	}
	c.flushAll()
	if c.sink != nil {
		for _, f := range c.sink.flying { // nobody reads the answers any more
			f.lost = true
		}
	}
	if len(c.wire) > 0 { // in an alarm what was written may be read after all, when it is over
		n := c.m.rng.IntN(len(c.wire) + 1)
		for _, act := range c.wire[:n] {
			act()
		}
	}
	c.end()
	return nil
}
