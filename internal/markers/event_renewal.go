package markers

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

// renewed notes that a done marker was written again.
func (b *eventBook) renewed() {
	b.renewals.shown = true
	b.counts.Unclear += b.renewals.early
	b.renewals.early = 0
}

// foundDone takes a set after which the marker was done, and whose key had no claim that the book saw: it completed one from before, or one
// that had ended, or it renewed the marker of work that was done before.
func (b *eventBook) foundDone(c *openClaim, key, id string) {
	b.close(key)
	if b.ended.has(key) {
		// Another delivery may have done the work meanwhile.
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
	if b.renewals.shown || c.born.Sub(b.began) > max(firstsWithin, 2*b.renewals.longest) {
		b.renewed()
	}
}
