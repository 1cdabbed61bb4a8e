package events

import "time"

// firstsWithin is the least time after a book began in which a completion whose claim it did not see is taken for the first one.
const firstsWithin = 10 * time.Second

// renewals tells of a scheme whose duplicates write a done marker again, so that it lives on. In it a completion whose claim nobody saw may be
// of a claim from before the book, or a duplicate.
type renewals struct {
	// longest is the longest work that was seen. A claim from before is not likely to be completed later than twice that.
	longest time.Duration
	// early are the completions that are taken for first ones for that reason, until it shows that markers are renewed.
	early int64
	// shown: markers are renewed.
	shown bool
}

func (r *renewals) worked(work time.Duration) { r.longest = max(r.longest, work) }

// Who may have worked on a key: one consumer alone, two at once as a claim ended by itself and another one was made, or that is not known.
const (
	byOne int64 = iota
	byTwo
	byWhom
)

// writtenAgain takes another completion of a key that was complete. Of work that was claimed twice it proves that it was done twice, unless
// duplicates renew markers; of work that was claimed once it is such a duplicate.
func (b *book) writtenAgain(key string, by int64) {
	switch {
	case b.rules.way != wayTwoSteps:
	case by == byOne:
		b.renewed()
	case by == byTwo && !b.renewals.shown:
		b.counts.Twice++
		b.done.put(key, byWhom)
	}
}

// workedAnew counts work that is completed now and was completed before its marker ended. What the memory has forgotten is not counted.
func (b *book) workedAnew(key string) {
	if b.past.drop(key) {
		b.counts.Anew++
	}
}

// renewed notes that a done marker was written again.
func (b *book) renewed() {
	b.renewals.shown = true
	b.counts.Unclear += b.renewals.early
	b.renewals.early = 0
}

// foundDone takes a set after which the marker was done, and whose key had no claim that the book saw: it completed one from before, or one
// that had ended, or it renewed the marker of work that was done before.
func (b *book) foundDone(c *openClaim, key, id string) {
	b.close(key)
	if b.ended.has(key) {
		// Another delivery may have done the work meanwhile.
		b.ended.put(key, byWhom)
		b.complete(key, id)
		b.again(id)
		return
	}
	if c.sure { // no claim from before can be open any more
		b.counts.Claims--
		b.retries.completed(id)
		b.done.put(key, 0)
		b.again(id)
		b.renewed()
		return
	}
	b.complete(key, id)
	b.renewals.early++
	switch {
	case b.renewals.shown:
		b.renewed()
	case c.born.Sub(b.began) > max(firstsWithin, 2*b.renewals.longest): // a doubt, and no proof: the first work that is seen may take long
		b.counts.Unclear += b.renewals.early
		b.renewals.early = 0
	}
}
