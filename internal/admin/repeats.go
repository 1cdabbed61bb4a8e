package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// The bounds of what is recorded of things that anybody can repeat at will: in each list at most some 500 first entries a day and 2,000 sums,
// about a megabyte, whatever is tried and from how many addresses.
const (
	// firstSum is after how long the repeats of an entry are summed up for the first time; each further sum takes twice as long, up to longestSum.
	firstSum   = 10 * time.Minute
	longestSum = 24 * time.Hour
	restSum    = time.Hour
	// maxRepeats is how many kinds of entries are told apart at a time, roomAtOnce how many first entries a quiet time saves up, at one for each roomEvery.
	maxRepeats = 256
	roomAtOnce = 200
	roomEvery  = 5 * time.Minute
	// peopleAtOnce is how many people who use up their room at the same time fill a list: each has a share of its room.
	peopleAtOnce = 4
	// maxNamed is how many targets a sum names.
	maxNamed = 5
	// sumTick is how often it is looked whether a sum is due.
	sumTick = 30 * time.Second
)

// repeats writes the first of what repeats at once and sums up the others, so that nobody can fill the disk, and nobody can hide one
// thing among many. Where even the first ones are too many they are counted together. It is safe for concurrent use.
type repeats struct {
	what   string // for the sum of all that were too many: "refused requests"
	action string
	phase  string
	write  func(ctx context.Context, e Entry, phase string) error
	log    *slog.Logger
	// each also tells entries apart by what was acted on and why it was refused, so that only the very same is summed up. One person could
	// use up the whole list so: everybody has a share of it.
	each bool

	mu     sync.Mutex
	open   map[repeatKey]*repeat
	rest   repeat
	room   room
	shares map[string]*room // by person; there are no more of them than accounts
}

// A room is for how many first entries there is room, at a time.
type room struct {
	left   float64
	filled time.Time
}

// fill adds what time has saved up, one for each span, to at most so many.
func (m *room) fill(now time.Time, most float64, every time.Duration) {
	if m.filled.IsZero() {
		m.left, m.filled = most, now
	}
	m.left = min(most, m.left+float64(max(0, now.Sub(m.filled)))/float64(every))
	m.filled = now
}

// A repeatKey tells kinds of entries apart. Of strangers the target is not in it: whether an entry is written must not depend on whether an
// account exists.
type repeatKey struct{ who, method, from, action, phase, target, detail string }

// A repeat is what was counted since the entry that was written last.
type repeat struct {
	since   time.Time
	lasts   time.Duration
	count   int
	targets []string
	last    Entry
}

// note writes an entry, or counts it.
func (r *repeats) note(ctx context.Context, e Entry, phase string) error {
	now := time.Now()
	r.sum(ctx, now, false)
	if !r.first(e, phase, now) {
		return nil
	}
	return r.write(ctx, e, phase)
}

// first counts an entry, and reports whether it is the first of its kind and there is room for it.
func (r *repeats) first(e Entry, phase string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := repeatKey{who: e.Who, method: e.Method, from: e.From, action: e.Action, phase: phase}
	if r.each {
		key.target, key.detail = e.Target, e.Detail
	}
	if known := r.open[key]; known != nil {
		known.add(e)
		return false
	}
	if r.open == nil {
		r.open, r.shares = map[repeatKey]*repeat{}, map[string]*room{}
	}
	r.room.fill(now, roomAtOnce, roomEvery)
	share := r.share(e.Who, now)
	if r.room.left < 1 || share.left < 1 || len(r.open) >= maxRepeats {
		if r.rest.count == 0 {
			r.rest = repeat{since: now, lasts: restSum}
		}
		r.rest.add(e)
		return false
	}
	r.room.left--
	share.left--
	r.open[key] = &repeat{since: now, lasts: firstSum}
	return true
}

// share is the room of one person; r.mu is held. In lists that do not give everybody a share it is as large as the list.
func (r *repeats) share(who string, now time.Time) *room {
	if !r.each {
		return &room{left: roomAtOnce}
	}
	share := r.shares[who]
	if share == nil {
		share = &room{}
		r.shares[who] = share
	}
	share.fill(now, roomAtOnce/peopleAtOnce, peopleAtOnce*roomEvery)
	return share
}

func (r *repeat) add(e Entry) {
	r.count++
	r.last = e
	if e.Target != "" && len(r.targets) <= maxNamed && !slices.Contains(r.targets, e.Target) {
		r.targets = append(r.targets, e.Target) // one more than is named, to know that there are more
	}
}

// sum writes what was counted, of what is due or of all.
func (r *repeats) sum(ctx context.Context, now time.Time, all bool) {
	type sum struct {
		entry Entry
		phase string
	}
	var due []sum
	r.mu.Lock()
	for key, k := range r.open {
		switch {
		case !all && now.Sub(k.since) < k.lasts:
		case k.count == 0:
			delete(r.open, key)
		default:
			due = append(due, sum{k.entry(now), key.phase})
			r.open[key] = &repeat{since: now, lasts: min(2*k.lasts, longestSum)}
		}
	}
	if r.rest.count > 0 && (all || now.Sub(r.rest.since) >= r.rest.lasts) {
		e := Entry{Operation: rand.Text(), Who: "dashboard", Action: r.action, Detail: fmt.Sprintf("%d %s, too many to be told one by one, from %s to %s, were only counted", r.rest.count, r.what, utc(r.rest.since), utc(now))}
		due = append(due, sum{e, r.phase})
		r.rest = repeat{}
	}
	r.mu.Unlock()
	for _, s := range due {
		if err := r.write(ctx, s.entry, s.phase); err != nil {
			r.log.Error("a sum of repeats could not be recorded", "action", s.entry.Action, "from", s.entry.From, "detail", s.entry.Detail, "err", err)
		}
	}
}

// entry is the sum of what was counted.
func (k *repeat) entry(now time.Time) Entry {
	e := k.last
	e.Operation = rand.Text()
	e.Detail = fmt.Sprintf("%d more from %s to %s; of the last: %s", k.count, utc(k.since), utc(now), e.Detail)
	if e.Detail = strings.TrimSuffix(e.Detail, "; of the last: "); len(k.targets) > 1 {
		named := k.targets[:min(maxNamed, len(k.targets))]
		e.Detail += "; targets: " + strings.Join(named, ", ")
		if len(k.targets) > maxNamed {
			e.Detail += " and others"
		}
	}
	return e
}

func utc(at time.Time) string { return at.UTC().Format(time.RFC3339) }
