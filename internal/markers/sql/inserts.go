package sql

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
)

const (
	// leastInsertSettle is the shortest that may be configured.
	leastInsertSettle = time.Second
	// recountFor is how far back counted rows are counted again to see whether something deletes them, recountEvery how often,
	// recountIDs the most ids of that.
	recountFor   = 10 * time.Minute
	recountEvery = time.Minute
	recountIDs   = 50_000
	// mostNewIDs is how many ids may be new at one reading. More are no inserts: a row was inserted with a large id of its own,
	// or the sequence was set.
	mostNewIDs = 10_000_000
)

// insertMark says that the next insert was to get the id next from the one time until the other.
type insertMark struct {
	next        int64
	from, until time.Time
	// seen is how many rows there were, as soon as the mark was set, of the ids since the mark before.
	seen int64
}

// insertTally is what the rows of a range of ids tell.
type insertTally struct {
	rows, done, failed int64
	// work is the sum of the times from beginning to end of timed done rows, in seconds.
	work  float64
	timed int64
}

func (t *insertTally) add(o insertTally) {
	t.rows, t.done, t.failed = t.rows+o.rows, t.done+o.done, t.failed+o.failed
	t.work, t.timed = t.work+o.work, t.timed+o.timed
}

// insertRange is the ids from low up to, but without, high.
type insertRange struct{ low, high int64 }

// countedRange is a range that was counted once, with the time at which its last id had been given.
type countedRange struct {
	insertRange
	rows int64
	at   time.Time
}

// insertCounter turns readings of the next id into cumulative counts of inserts. It does no I/O.
//
// A range of ids is counted once every insert of it is older than the settling time, and never by the largest id of a row:
// inserts that failed at the end of the table leave no row.
type insertCounter struct {
	settle time.Duration
	stats  dedup.InsertStats
	// place names server process, table and sequence; counts of two places have nothing to do with one another.
	place string
	// marks are in the order of time; up to the first one everything is counted.
	marks []insertMark
	// part is the tally of the first ids of the range that is due, from the first mark up to partEnd.
	part        insertTally
	partEnd     int64
	counted     []countedRange
	recountedAt time.Time
	// spoiled is when rows were last seen to come or go after they were counted, and spoiledWhy what that means.
	spoiled    time.Time
	spoiledWhy string
}

// refuse says why nothing can be counted. Once that is past the count begins anew.
func (c *insertCounter) refuse(why string) {
	c.marks, c.counted, c.stats.Why = nil, nil, why
}

// begin starts an epoch: what is counted from here on cannot be compared with what was counted before.
func (c *insertCounter) begin(now time.Time, next int64, place string) {
	c.place, c.marks, c.counted, c.recountedAt = place, []insertMark{{next: next, from: now, until: now}}, nil, now
	c.part, c.partEnd = insertTally{}, next
	c.stats = dedup.InsertStats{At: now, Last: now, Since: now, Epoch: c.stats.Epoch + 1, Next: next, Lower: c.stats.Lower, Resolution: c.stats.Resolution}
}

// observe takes a reading of the next id. It returns the ids that were given since the reading before, if any.
func (c *insertCounter) observe(now time.Time, next int64, place string) (insertRange, bool) {
	if n := len(c.marks); n == 0 || place != c.place || next < c.marks[n-1].next || now.Before(c.marks[n-1].until) {
		c.begin(now, next, place)
	} else if ids := uint64(next) - uint64(c.marks[n-1].next); ids > mostNewIDs { // the distance may be beyond int64
		c.begin(now, next, place)
		c.spoiled, c.spoiledWhy = now, describeJump(ids)
	}
	c.stats.Why = ""
	if now.Sub(c.spoiled) < recountFor {
		c.stats.Why = c.spoiledWhy
	}
	last := &c.marks[len(c.marks)-1]
	if next == last.next {
		last.until = now
		c.stats.At = c.marks[0].until
		return insertRange{}, false
	}
	c.marks = append(c.marks, insertMark{next: next, from: now, until: now})
	return insertRange{last.next, next}, true
}

// saw notes how many rows of the newest ids are there already, or of as many of these ids as there was time for.
func (c *insertCounter) saw(rows int64) { c.marks[len(c.marks)-1].seen = rows }

// due returns the next ids that can be counted.
func (c *insertCounter) due(now time.Time) (insertRange, bool) {
	if len(c.marks) < 2 || now.Sub(c.marks[1].from) < c.settle {
		return insertRange{}, false
	}
	return insertRange{c.partEnd, c.marks[1].next}, true
}

// settled takes the count of the range that was due, up to an end: what is beyond it is due next.
func (c *insertCounter) settled(now time.Time, t insertTally, end int64) {
	before, mark := c.marks[0], c.marks[1]
	c.part.add(t)
	c.partEnd = end
	if end < mark.next {
		return
	}
	t, c.part = c.part, insertTally{}
	c.marks = c.marks[1:]
	if t.rows < mark.seen && !c.stats.Lower {
		c.spoil(now, describeDeleted(mark.seen-t.rows))
		return
	}
	s := &c.stats
	s.IDs += mark.next - before.next
	s.Next = mark.next
	s.Rows += t.rows
	s.Done += t.done
	s.Failed += t.failed
	s.Undone += t.rows - t.done
	s.WorkSum += time.Duration(t.work * float64(time.Second))
	s.Timed += t.timed
	s.At, s.Last = mark.until, mark.from
	c.counted = append(c.counted, countedRange{insertRange{before.next, mark.next}, t.rows, mark.from})
}

// recount returns recently counted ids whose rows should be counted again, with the number that there should be.
func (c *insertCounter) recount(now time.Time) (insertRange, int64, bool) {
	for len(c.counted) > 0 && now.Sub(c.counted[0].at) > recountFor {
		c.counted = c.counted[1:]
	}
	if len(c.counted) == 0 || now.Sub(c.recountedAt) < min(recountEvery, c.settle) {
		return insertRange{}, 0, false
	}
	c.recountedAt = now
	last := c.counted[len(c.counted)-1]
	span, rows := insertRange{last.high, last.high}, int64(0)
	for i := len(c.counted) - 1; i >= 0 && last.high-c.counted[i].low <= recountIDs; i-- {
		span.low, rows = c.counted[i].low, rows+c.counted[i].rows
	}
	return span, rows, span.low < span.high
}

// recounted compares a second count with the first one.
func (c *insertCounter) recounted(now time.Time, first, second int64) {
	switch {
	case second < first && !c.stats.Lower: // else work that failed late has taken its row back
		c.spoil(now, describeDeleted(first-second))
	case second > first:
		c.spoil(now, fmt.Sprintf("%s of the last 10 min came only after %s, when they had been counted as failed inserts: transactions last longer than insert_settle. "+
			"Raise it to twice the longest transaction.", countRows(second-first), c.settle))
	}
}

// spoil begins anew because rows did not stay as they were counted.
func (c *insertCounter) spoil(now time.Time, why string) {
	last := c.marks[len(c.marks)-1]
	c.begin(now, last.next, c.place)
	c.spoiled, c.spoiledWhy, c.stats.Why = now, why, why
}

func describeDeleted(n int64) string {
	return fmt.Sprintf("rows were deleted in the window: %s of the last 10 min gone, by the application, a purge or a clear, so that an id without a row need not be a duplicate. "+
		"Keep rows for longer than an hour; counting goes on 10 min after the last deletion.", rowsAre(n))
}

func describeJump(n uint64) string {
	return fmt.Sprintf("%d ids are new at once, more than can have been inserted and counted since the reading before: a row was inserted with a large id of its own, "+
		"or the next id was set. Counting goes on 10 min after.", n)
}

func countRows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

func rowsAre(n int64) string {
	if n == 1 {
		return "1 row is"
	}
	return fmt.Sprintf("%d rows are", n)
}

// insertRefusal says why the configuration lets no inserts be counted; empty where it does.
func insertRefusal(c markers.Config) string {
	switch {
	case c.Columns.AutoIncrement == "":
		return "no column with an automatic id is configured: name it as columns.auto_increment, if the table has one"
	case !c.InsertFirst:
		return "it is not said that consumers begin each delivery with one INSERT: where they look for the row first, a duplicate burns no id. Set insert_first: true if they do"
	case c.Machine():
		return "business rows are not inserted by each delivery"
	}
	return ""
}

// insertProblems tells of settings with which inserts cannot be counted.
func insertProblems(p *markers.Problems, c markers.Config) {
	if c.InsertSettle < leastInsertSettle {
		p.Add("insert_settle", "is %s: write %s or more, at least twice the longest that processing takes", c.InsertSettle, leastInsertSettle)
	}
	if c.InsertFirst && (c.Machine() || c.Preset == markers.PresetStateMachine) {
		p.Add("insert_first", "is set for business rows: a delivery there moves a row on, it inserts none")
	}
}
