package shoptest

import (
	"slices"
	"time"
)

// A delivery is a message on its way to a consumer.
type delivery struct {
	msg   int
	again bool
}

// A channelLife holds what was delivered to it, the oldest first, and works on the first of it. A channel that was closed begins
// another life, which knows nothing of the work of the one before.
type channelLife struct {
	held   []int
	worked int // of held
	life   int
}

// A line is the messages that wait for a channel with room.
type line struct {
	waiting  []delivery
	channels []channelLife
}

func (s *Shop) wait(d delivery) {
	if s.line.channels == nil {
		s.line.channels = make([]channelLife, s.Channels)
	}
	s.line.waiting = append(s.line.waiting, d)
	s.serve()
}

// serve fills the channels in turn and begins what they have hands for.
func (s *Shop) serve() {
	for progress := true; progress; {
		progress = false
		for i := range s.line.channels {
			c := &s.line.channels[i]
			if len(s.line.waiting) == 0 || len(c.held) >= s.Prefetch {
				continue
			}
			d := s.line.waiting[0]
			s.line.waiting = s.line.waiting[1:]
			c.held = append(c.held, d.msg)
			s.hand(d, i)
			progress = true
		}
	}
	for i := range s.line.channels {
		for c := &s.line.channels[i]; c.worked < min(len(c.held), max(1, s.AtOnce)); {
			msg := c.held[c.worked]
			c.worked++
			s.work(i, 0, func() { s.take(msg, i) })
		}
	}
}

// work does something later, unless the channel is closed until then.
func (s *Shop) work(channel int, d time.Duration, do func()) {
	if s.Prefetch == 0 {
		s.later(d, do)
		return
	}
	life := s.line.channels[channel].life
	s.later(d, func() {
		if s.line.channels[channel].life == life {
			do()
		}
	})
}

// free ends a delivery of a channel, which takes up the next one.
func (s *Shop) free(msg, channel int) {
	if s.Prefetch == 0 {
		return
	}
	c := &s.line.channels[channel]
	i := slices.Index(c.held, msg)
	c.held = slices.Delete(c.held, i, i+1)
	c.worked--
	s.later(0, s.serve)
}

// drop empties a channel that is closed, and returns what comes back of it.
func (s *Shop) drop(msg, channel int) []int {
	if s.Prefetch == 0 {
		return []int{msg}
	}
	c := &s.line.channels[channel]
	held := c.held
	*c = channelLife{life: c.life + 1}
	s.later(0, s.serve)
	return held
}
