package events

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/layout"
)

// infoCommand asks for all that a reading needs in one command, and so at one instant. Servers before 7.0 take one section at
// a time.
func infoCommand(hello wireValue) []string {
	version, _ := hello.field("version")
	major, _, _ := strings.Cut(version.text, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return []string{"INFO", "all"}
	}
	return []string{"INFO", "server", "replication", "cluster", "stats", "commandstats", "keyspace"}
}

// told hands an answer to the book, and what it shows of a write of before to those who follow the events of single markers.
func (s *session) told(d doubt, what found, at time.Time) error {
	id := s.l.layout.IdOf(d.key)
	c, open := s.book.stillOpen(d)
	if !open || c.rewritten.IsZero() || !s.l.followers.any() {
		return s.book.answer(d, id, what, at)
	}
	before, when := s.book.totals(), c.rewritten
	err := s.book.answer(d, id, what, at)
	s.l.followers.report(id, when, before, s.book.totals())
	return err
}

// lifeOf judges a claim by what is left of its life, which tells a completion without its value being read. Asking for it is
// no use in the eyes of eviction.
func (s *session) lifeOf(d doubt) func(wireValue, time.Time) error {
	return func(v wireValue, at time.Time) error {
		c, open := s.book.stillOpen(d)
		if err := v.failed(); err != nil || !open {
			return err
		}
		left, err := strconv.ParseInt(v.text, 10, 64)
		if err != nil {
			return fmt.Errorf("%w: a life of %q", errWire, codec.Printable(v.text))
		}
		switch {
		case left == layout.Gone:
			s.book.misses.own++
			s.gone = append(s.gone, d)
			return nil
		case s.l.rules.way == wayBefore && left == layout.NoExpiry:
			return s.told(d, foundEndless, at)
		case s.l.rules.way == wayBefore:
			return s.told(d, foundClaim, at)
		case s.l.layout.IsLongLived(left, 0):
			return s.told(d, foundDone, at)
		case left >= 0 && s.l.layout.LongLived != "":
			return s.told(d, foundClaim, at)
		}
		c.expires = left != layout.NoExpiry
		s.values = append(s.values, d)
		return nil
	}
}

// valueOf judges a claim by its value.
func (s *session) valueOf(d doubt) func(wireValue, time.Time) error {
	return func(v wireValue, at time.Time) error {
		c, open := s.book.stillOpen(d)
		err := v.failed()
		if err != nil && !strings.HasPrefix(err.Error(), "WRONGTYPE") || !open {
			return err
		}
		state := s.l.layout.Decode(layout.Fetched{Value: v.text}).State
		switch {
		case err != nil:
			return s.told(d, foundOdd, at)
		case v.text == "":
			s.book.misses.perhapsOwn++
			s.empty = append(s.empty, d)
			return nil
		case state == dedup.Done:
			return s.told(d, foundDone, at)
		case state != dedup.Processing:
			return s.told(d, foundOdd, at)
		case c.expires:
			return s.told(d, foundClaim, at)
		}
		return s.told(d, foundEndless, at)
	}
}

// lifeOfEmpty tells a marker whose value is empty from one that is not there, which read the same.
func (s *session) lifeOfEmpty(d doubt) func(wireValue, time.Time) error {
	return func(v wireValue, at time.Time) error {
		if _, open := s.book.stillOpen(d); v.failed() != nil || !open {
			return v.failed()
		}
		if v.text == strconv.Itoa(layout.Gone) {
			s.book.misses.own++
			s.gone = append(s.gone, d)
			return nil
		}
		return s.told(d, foundOdd, at)
	}
}

// stillGone judges a claim whose key was not there. The question itself may have made the server notice that the key had
// expired: Redis tells of that before its answer, and from 7.2 on behind it, but before its answer to any later command, as
// this one. A claim that is open even now ended without a notification.
func (s *session) stillGone(d doubt) func(wireValue, time.Time) error {
	return func(v wireValue, at time.Time) error {
		if err := v.failed(); err != nil {
			return err
		}
		if v.text == strconv.Itoa(layout.Gone) {
			s.book.misses.own++
		}
		return s.told(d, foundGone, at)
	}
}

// counted takes the value of a retry counter.
func (s *session) counted(key string, book *book) func(wireValue, time.Time) error {
	return func(v wireValue, _ time.Time) error {
		if err := v.failed(); err != nil && !strings.HasPrefix(err.Error(), "WRONGTYPE") {
			return err
		}
		n, err := strconv.ParseInt(v.text, 10, 64)
		book.retries.read(key, n, err == nil && v.failed() == nil)
		return nil
	}
}

// lookedAt judges what was counted as a completion by what is left of its life.
func (s *session) lookedAt(key string) func(wireValue, time.Time) error {
	return func(v wireValue, _ time.Time) error {
		left, err := strconv.ParseInt(v.text, 10, 64)
		switch {
		case v.failed() != nil || err != nil:
			return v.failed()
		case left == layout.Gone:
			s.book.misses.own++
		case s.book.isDone(key) && !s.l.layout.IsLongLived(left, 0):
			s.looks = append(s.looks, key)
		}
		return nil
	}
}

// valueLookedAt judges it by its value.
func (s *session) valueLookedAt(key string) func(wireValue, time.Time) error {
	return func(v wireValue, _ time.Time) error {
		if err := v.failed(); err != nil {
			if strings.HasPrefix(err.Error(), "WRONGTYPE") {
				return nil
			}
			return err
		}
		if v.text == "" {
			s.book.misses.perhapsOwn++
			return nil
		}
		if s.book.isDone(key) && s.l.layout.Decode(layout.Fetched{Value: v.text}).State == dedup.Processing {
			s.l.prolonged()
			s.book.renewals.shown = false // what looked like a done marker that is written again may have been this
			return errProlonged
		}
		return nil
	}
}
