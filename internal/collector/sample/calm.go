package sample

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// The ages at which remembered calms thin out: every one for two minutes, one in ten seconds for two hours. A pass over a
// large store takes long, and only what was read before its start may speak of its markers.
const (
	calmFull  = 2 * time.Minute
	calmStep  = 10 * time.Second
	calmTotal = 2 * time.Hour
)

// A calm is a reading in which no delivery was out in any source queue that shares a store. All times are without the
// monotonic clock, because they are compared with those of stores.
type calm struct {
	// Spoke is the earliest time that the reading can speak of, Ended when it had come.
	Spoke time.Time
	Ended time.Time
	// Empty is true when the source queues held no message at all.
	Empty bool
	// Dead is the depth of the dead-letter queues, nil when not known, and DeadSpoke the earliest time it can speak of.
	Dead      *int64
	DeadSpoke time.Time
}

// Depths are what is known of the depths of the source queues, and of the dead-letter queues, in the newest reading; nil is
// not known.
type Depths struct{ Ready, Unacked, Dead *int64 }

// Calms are the queues on one broker whose messages have their markers in one store, and the readings of them.
type Calms struct {
	Sources []dedup.QueueRef
	// Dead are the dead-letter queues; nil when they are not known to be all.
	Dead  []dedup.QueueRef
	Last  Depths
	calms []calm
	// fewest are the readings with the fewest deliveries out, of each calmStep one, oldest first.
	fewest []outReading
}

// An outReading is how many deliveries were out in a reading.
type outReading struct {
	dedup.OutReading
	ended time.Time
}

// noteOut keeps a reading when it has the fewest deliveries out of its step.
func (s *Calms) noteOut(r outReading) {
	n := len(s.fewest)
	switch {
	case n > 0 && !r.ended.After(s.fewest[n-1].ended):
		s.fewest = nil // the clock was set back
	case n > 0 && r.ended.Truncate(calmStep).Equal(s.fewest[n-1].ended.Truncate(calmStep)):
		if r.Unacked <= s.fewest[n-1].Unacked {
			s.fewest[n-1] = r
		}
		return
	case n > 0 && r.ended.Sub(s.fewest[0].ended) > calmTotal:
		s.fewest = append(s.fewest[:0], s.fewest[1:]...)
	}
	s.fewest = append(s.fewest, r)
}

// OutUntil returns the readings of deliveries out that had ended by a time.
func (s *Calms) OutUntil(at time.Time) []dedup.OutReading {
	var all []dedup.OutReading
	for _, r := range s.fewest {
		if !r.ended.After(at) {
			all = append(all, r.OutReading)
		}
	}
	return all
}

// Take takes one reading. The queues are those of the whole broker; what a lagging one says can be DepthLag old.
func (s *Calms) Take(queues map[dedup.QueueRef]*dedup.Queue, began, ended time.Time, lagging bool) {
	began, ended = began.Round(0), ended.Round(0)
	if n := len(s.calms); n > 0 && !ended.After(s.calms[n-1].Ended) {
		s.calms = nil // the clock was set back
	}
	unacked, okUnacked := SumOver(queues, s.Sources, func(q *dedup.Queue) *int64 { return q.Unacked })
	ready, okReady := SumOver(queues, s.Sources, func(q *dedup.Queue) *int64 { return q.Ready })
	messages, okMessages := SumOver(queues, s.Sources, func(q *dedup.Queue) *int64 { return q.Messages })
	dead, okDead := SumOver(queues, s.Dead, func(q *dedup.Queue) *int64 { return q.Messages })
	s.Last = Depths{}
	if okReady {
		s.Last.Ready = &ready
	}
	if okDead {
		s.Last.Dead = &dead
	}
	if !okUnacked {
		return
	}
	s.Last.Unacked = &unacked
	s.noteOut(outReading{dedup.OutReading{At: spoken(queues, s.Sources, began, lagging), Unacked: unacked}, ended})
	if unacked > 0 {
		return
	}
	c := calm{Spoke: spoken(queues, s.Sources, began, lagging), Ended: ended, Empty: okMessages && messages == 0}
	if okDead {
		c.Dead, c.DeadSpoke = &dead, spoken(queues, s.Dead, began, lagging)
	}
	s.calms = append(s.calms, c)
	s.thin(ended)
}

// spoken is the earliest time that a reading of these queues can speak of: only classic queues answer as of the request.
func spoken(queues map[dedup.QueueRef]*dedup.Queue, refs []dedup.QueueRef, began time.Time, lagging bool) time.Time {
	for _, ref := range refs {
		lagging = lagging || queues[ref].Type != "classic"
	}
	if lagging {
		return began.Add(-DepthLag)
	}
	return began
}

// SumOver adds a number of each queue; false when one of them is not listed or does not say.
func SumOver(queues map[dedup.QueueRef]*dedup.Queue, refs []dedup.QueueRef, field func(*dedup.Queue) *int64) (int64, bool) {
	var sum int64
	for _, ref := range refs {
		q := queues[ref]
		if q == nil || field(q) == nil {
			return 0, false
		}
		sum += *field(q)
	}
	return sum, len(refs) > 0
}

func (s *Calms) thin(now time.Time) {
	if n := len(s.calms); n < 64 || n%64 != 0 {
		return
	}
	kept := s.calms[:0]
	var last time.Time
	for _, c := range s.calms {
		age := now.Sub(c.Ended)
		if age > calmTotal || (age > calmFull && c.Ended.Sub(last) < calmStep) {
			continue
		}
		kept = append(kept, c)
		last = c.Ended
	}
	s.calms = kept
}

// A Stillness is what the readings that had ended by some time say together.
type Stillness struct {
	NothingOut, Empty [2]time.Time
	Dead              *int64
}

// Until returns the two newest moments of calm, and of emptiness, among the readings that had ended by a time. The older
// of two had ended before the earliest time that the newer can speak of, so that they are of different moments. The
// dead-letter queues were read after the source queues were empty: a message cannot have been on its way between them.
func (s *Calms) Until(at time.Time) Stillness {
	var out Stillness
	out.NothingOut = s.two(at, func(calm) bool { return true })
	for i := len(s.calms) - 1; i >= 0; i-- {
		if c := s.calms[i]; c.Dead != nil && !c.Ended.After(at) {
			out.Dead = c.Dead
			out.Empty = s.two(c.DeadSpoke, func(c calm) bool { return c.Empty })
			break
		}
	}
	return out
}

// two returns what the two newest calms that had ended by a time and meet a condition can speak of, newest first.
func (s *Calms) two(at time.Time, meets func(calm) bool) [2]time.Time {
	var found [2]time.Time
	n := 0
	for i := len(s.calms) - 1; i >= 0 && n < len(found); i-- {
		if c := s.calms[i]; !c.Ended.After(at) && meets(c) {
			found[n], at = c.Spoke, c.Spoke
			n++
		}
	}
	return found
}
