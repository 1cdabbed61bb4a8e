package events

import (
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/client"
)

// setting takes the setting of notifications, where the account may read it.
func (s *session) setting(v wireValue, _ time.Time) error {
	s.flagsKnown, s.flagsDenied = false, v.failed() != nil
	if flags, ok := v.field("notify-keyspace-events"); ok && v.failed() == nil {
		s.flags, s.flagsKnown = flags.text, true
	}
	return nil
}

// sync takes the server's counts, to which the book's belong at this moment, and publishes both.
func (s *session) sync(v wireValue, at time.Time) error {
	s.asking = false
	s.l.Own.answered()
	s.l.trail.answered(s.synced, at)
	if err := v.failed(); err != nil {
		return err
	}
	now := commandsOf(client.ParseInfo(v.text), s.l.layout.Config.Ask, s.l.rdb.Options().DB)
	if why := now.refuses(); why != "" {
		return &dedup.Error{Kind: dedup.Unavailable, Public: why}
	}
	if s.before.identity.RunID != "" {
		// What was set in between may have been lost by the flush; a marker that the book holds for alive is one that it knows of.
		heard := s.book.events != s.eventsBefore || !s.book.bare()
		if why := s.before.emptyFlush(now, heard).breaks(now); why != "" {
			s.before = now
			s.anew(why, at)
		}
	} else {
		s.quietSince = now.writes
		s.l.newest.opened(now.identity.RunID, at)
	}
	why := s.deaf(now, at)
	s.before, s.eventsBefore = now, s.book.events
	if s.unsure {
		s.unsure = false
		s.anew(ownUnsure, at)
	}
	f := s.book.figures()
	f.At, f.Took, f.Listening, f.Why = at, at.Sub(s.synced), why == "", why
	f.OpenSince, f.Vanished = s.book.openSince(at), s.l.newest.told
	f.TellsEvicted = f.Listening && s.flagsKnown && strings.ContainsAny(s.flags, "Ae")
	if s.l.layout.Config.Ask != "" && now.known {
		f.Asked = &now.asked
	}
	if s.flagsKnown && reportsMisses(s.flags) || !s.flagsKnown && s.book.misses.all > 0 {
		m := s.book.misses
		least, most := s.l.Missed.bounds()
		f.Missed, f.OwnMissed = &m.all, [2]int64{m.own + least, m.own + m.perhapsOwn + most}
	}
	stir := s.book.changed
	if stir || s.listedOf != s.book {
		s.listed, s.listedOf = s.endless(), s.book
	}
	f.NoExpiry = s.listed
	s.book.changed = false
	s.l.publish(f, stir)
	return nil
}

// deaf says why nothing can be counted although the subscription stands. When it can be again, an epoch begins.
func (s *session) deaf(now commandStats, at time.Time) string {
	if s.flagsKnown {
		off := !notifies(s.flags)
		if !off && s.off {
			s.anew("notifications were switched on", at)
		}
		if s.off = off; off {
			return describeOff(s.flags)
		}
		return ""
	}
	if s.received > 0 {
		if s.quiet {
			s.anew("notifications came again", at)
			s.received++
		}
		s.quietSince = now.writes
	}
	// What came before the first reading may have been followed by a CONFIG SET that no two readings show.
	if s.received > 0 && now.known && len(s.info) > 2 && s.before.identity.RunID != "" {
		s.proved = true
	}
	heard := s.received
	s.received = 0
	switch {
	case s.proved:
		return ""
	case now.writes-s.quietSince >= manyWrites:
		s.quiet = true
		return "the server runs commands that write and sends no notification: they are off, or all of them are for keys of others. Set notify-keyspace-events to K$gxe, and grant +config|get to let the dashboard see it"
	case heard == 0 && s.book.events == 0:
		return "whether notifications are on cannot be told until one arrives: grant +config|get to let the dashboard see it"
	}
	return ""
}

// describeOff says that a setting does not suffice, and what to do.
func describeOff(flags string) string {
	return "notifications are off on the server (notify-keyspace-events is " + codec.Printable(flags) + "): CONFIG SET notify-keyspace-events K$gxe, and write it into redis.conf"
}

// endless returns the claims without an expiry, the oldest first.
func (s *session) endless() []dedup.Marker {
	list := make([]dedup.Marker, 0, len(s.book.endless))
	for key, born := range s.book.endless {
		m := s.l.layout.Named(dedup.Marker{Store: s.l.layout.Config.Name, State: s.l.rules.claimed(), FirstSeen: born}, key)
		m.Detail = "born without an expiry"
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b dedup.Marker) int { return a.FirstSeen.Compare(b.FirstSeen) })
	return list[:min(len(list), dedup.MaxListed)]
}

// claimed is the state of a marker that was just claimed.
func (r rules) claimed() dedup.State {
	if r.way == wayBefore {
		return dedup.Present
	}
	return dedup.Processing
}
