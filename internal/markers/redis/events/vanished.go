package events

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/redis/layout"
)

const (
	// mostNewest is how many markers are remembered to be looked for on another server.
	mostNewest = 500
	// vanishSlack is how long before its end a marker is no longer looked for.
	vanishSlack = time.Minute
)

// newest remembers the markers of work that was done last. They show what a server has lost that takes the place of another one: the replica of a
// fail-over that had not got all writes, or the server itself that was started again without a save. It knows of no marker that may have ended unheard.
type newest struct {
	life   time.Duration // of a marker; zero where it does not end
	at     map[string]time.Time
	order  []written
	server string // the run id of the server that was listened to last
	// wanted are the markers that are looked for, until there is an answer. Unasked are those of them that this session has not asked for yet.
	wanted  map[string]bool
	unasked []string
	// found is what the answers came to since the server last became another one, told the last such result, or one before that had lost some.
	found, told dedup.Vanished
}

type written struct {
	key string
	at  time.Time
}

func newNewest(life time.Duration) *newest {
	return &newest{life: life, at: map[string]time.Time{}, wanted: map[string]bool{}}
}

// note takes a marker that was written.
func (n *newest) note(key string, at time.Time) {
	if len(key) > layout.LongestNamed {
		return
	}
	n.at[key] = at
	n.order = append(n.order, written{key, at})
	for len(n.at) > mostNewest || len(n.order) > 4*mostNewest {
		oldest := n.order[0]
		n.order = n.order[1:]
		if n.at[oldest.key].Equal(oldest.at) {
			delete(n.at, oldest.key)
		}
	}
}

// drop takes a marker that ended.
func (n *newest) drop(key string) { delete(n.at, key) }

// forget drops all: markers may have ended unheard.
func (n *newest) forget() {
	clear(n.at)
	n.order = nil
}

// opened takes which server a new session is with. Where it is another one, the markers that it must have are to be looked for.
func (n *newest) opened(runID string, now time.Time) {
	if n.server != "" && n.server != runID {
		n.found = dedup.Vanished{At: now}
		for key, at := range n.at {
			if n.life == 0 || now.Sub(at) < n.life-vanishSlack {
				n.wanted[key] = true
			}
		}
	}
	n.forget()
	n.server, n.unasked = runID, slices.Collect(maps.Keys(n.wanted))
}

// next are the markers that this session is to ask for.
func (n *newest) next() []string {
	all := n.unasked
	n.unasked = nil
	return all
}

// answered takes whether a marker is there.
func (n *newest) answered(key string, there bool) {
	if !n.wanted[key] {
		return
	}
	delete(n.wanted, key)
	n.found.Asked++
	if !there {
		n.found.Gone++
	}
	if n.found.Gone > 0 || n.told.Gone == 0 {
		n.told = n.found
	}
}

// remember takes what a notification tells of a marker whose work is done.
func (s *session) remember(key, event string, at time.Time) {
	switch event {
	case "set":
		if s.book.isDone(key) || s.l.rules.way == wayBefore && !s.l.rules.deletes {
			s.l.newest.note(key, at)
		}
	case "del", "expired", "evicted", "rename_from", "move_from":
		s.l.newest.drop(key)
	}
}

// lookedFor takes the life of a marker that the server before had.
func (s *session) lookedFor(key string) func(wireValue, time.Time) error {
	return func(v wireValue, _ time.Time) error {
		if err := v.failed(); err != nil {
			return err
		}
		gone := v.text == strconv.Itoa(layout.Gone)
		s.l.newest.answered(key, !gone)
		if gone {
			s.book.misses.own++
		}
		return nil
	}
}
