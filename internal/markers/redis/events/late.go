package events

import (
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A lateCount is what is known now to have happened at an earlier time.
type lateCount struct {
	at time.Time
	by dedup.EventCounts
}

// backdate notes that what a change counts happened at an earlier time.
func (b *book) backdate(at time.Time, change func()) {
	before := b.totals()
	change()
	if by := b.totals().Minus(before); by != (dedup.EventCounts{}) {
		b.late = append(b.late, lateCount{at, by})
	}
}

// decideLate counts a claim at the time of its birth.
func (b *book) decideLate(c *openClaim) { b.backdate(c.born, func() { b.decide(c) }) }

// undecided is when the oldest set was born of which it is not known what it was; zero where there is none.
func (b *book) undecided() time.Time {
	for len(b.unsure) > 0 && (b.unsure[0].sure || b.unsure[0].over) {
		b.unsure[0], b.unsure = nil, b.unsure[1:]
	}
	oldest := b.prolongs.since()
	if len(b.unsure) == 0 {
		b.unsure = nil
		return oldest
	}
	if born := b.unsure[0].born; oldest.IsZero() || born.Before(oldest) {
		return born
	}
	return oldest
}

const (
	// lingering is how long a claim must be open to be told of, mostLingering how many are told of, and mostScanned among how many they are
	// looked for.
	lingering     = 5 * time.Second
	mostLingering = 1000
	mostScanned   = 20_000
)

// openSince returns the births of the claims that are open for a while, the oldest first; nil where they are too many, or where claims are not
// report from completions.
func (b *book) openSince(now time.Time) []time.Time {
	if b.rules.way != wayTwoSteps || len(b.open) > mostScanned {
		return nil
	}
	births := []time.Time{}
	for _, c := range b.open {
		if c.sure && now.Sub(c.born) >= lingering {
			births = append(births, c.born)
		}
	}
	if len(births) > mostLingering {
		return nil
	}
	slices.SortFunc(births, time.Time.Compare)
	return births
}

// take takes the counts of a book as of a time into the trail, with what it learned of earlier times.
func (t *trail) take(at time.Time, b *book) {
	for _, l := range b.late {
		t.amend(b.epoch, l)
	}
	b.late = b.late[:0]
	t.note(at, b.totals())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.undecided = b.undecided()
}

// amend adds what happened at an earlier time of the same epoch.
func (t *trail) amend(epoch int64, late lateCount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := len(t.steps)
	for i > 0 && t.steps[i-1].Epoch == epoch && !t.steps[i-1].at.Before(late.at) {
		i--
		t.steps[i].EventCounts = t.steps[i].Plus(late.by)
	}
	if i > 0 && t.steps[i-1].Epoch == epoch && (i == len(t.steps) || t.steps[i].at.After(late.at)) {
		step := trailEntry{late.at, t.steps[i-1].Plus(late.by)}
		t.steps = append(t.steps, trailEntry{})
		copy(t.steps[i+1:], t.steps[i:])
		t.steps[i] = step
	}
}
