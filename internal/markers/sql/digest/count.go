package digest

import "time"

// A Row is what the server counted of the statements of one text, since it began to.
type Row struct {
	// Key tells the row from all others, Born when it was made where the server says so.
	Key, Born    string
	Schema, Text string
	// Calls are the executions, Errors those of them that failed, Rows the rows that they wrote, Sent those that they sent back. PostgreSQL
	// counts no execution that fails, and tells rows written and sent as one number.
	Calls, Errors, Rows, Sent int64
}

// A Reading is all that a server counted of statements that name the table.
type Reading struct {
	// At is when the answer was there, Took how long before that it was asked for.
	At   time.Time
	Took time.Duration
	// Place changes when the counts have nothing to do with those before: another server, process or table. Reset changes when somebody reset them.
	Place, Reset string
	Rows         []Row
	// Writes are the rows that were to be written into the table, as the table itself counts, those whose id was there included; nil where it
	// does not.
	Writes *int64
	// LockWaits are the waits for a row's lock that began on the whole server; nil where it does not count them.
	LockWaits *int64
	// Both are counted after the statements. Writing are those of Writes that came while the statements were read, LockWaiting those of LockWaits
	// that had not ended when that began.
	Writing, LockWaiting int64
	// IDs bound the last id of the table's sequence whose insert had ended when the statements were read; nil where no sequence tells it.
	IDs *[2]int64
	// Drops is how often the server dropped counts of statements to make room for others.
	Drops int64
}

// Counts are what statements did to the table, cumulative within an epoch of the book.
type Counts struct {
	// Tries are the inserts of one row, Hits those that met the row of their id.
	Tries, Hits int64
	// Same are those of Tries that leave a row as it is, SameHits their hits: none where connections count rows that they found.
	Same, SameHits int64
	// Failed are those of Hits that are known by an error alone, which may have another cause. Refused are those of Tries that failed and are no
	// hits, since a row that is there is no error to them.
	Failed, Refused int64
	// Blind are inserts that the server counts only where they succeed; they are in no other count.
	Blind int64
	// Own are inserts that may give their row an id that is none of the sequence. They are in other counts, too.
	Own int64
	// Asks are the questions for one id, Found those that found its row.
	Asks, Found int64
	// Looks may be such questions, too: what they found is not told.
	Looks int64
	// Unclear are statements that may have inserted rows, or not.
	Unclear int64
	// Writes and LockWaits are those of a Reading.
	Writes, LockWaits int64
}

func (c *Counts) add(o Counts) {
	c.Tries, c.Hits, c.Same, c.SameHits = c.Tries+o.Tries, c.Hits+o.Hits, c.Same+o.Same, c.SameHits+o.SameHits
	c.Blind, c.Own = c.Blind+o.Blind, c.Own+o.Own
	c.Failed, c.Refused = c.Failed+o.Failed, c.Refused+o.Refused
	c.Asks, c.Found, c.Looks, c.Unclear = c.Asks+o.Asks, c.Found+o.Found, c.Looks+o.Looks, c.Unclear+o.Unclear
}

// A Book turns readings into counts. A gap of any kind begins an epoch: counts of two are never compared. It does no I/O; its zero value is ready.
type Book struct {
	Epoch  int64
	Counts Counts
	// Since is when the epoch began, Gap why the one before ended.
	Since time.Time
	Gap   string

	begun bool
	last  Reading
	rows  map[string]Row
	forms map[formKey]form
}

type formKey struct{ schema, text string }

// mostForms bounds the texts whose forms are remembered.
const mostForms = 4096

// Take adds a reading of a table.
func (b *Book) Take(t Table, r Reading) {
	rows := make(map[string]Row, len(r.Rows))
	for _, row := range r.Rows {
		rows[row.Key] = row
	}
	if gap := b.gap(t, &r, rows); gap != "" || !b.begun {
		b.Epoch, b.Since, b.Gap, b.begun, b.forms = b.Epoch+1, r.At, gap, true, nil
		b.last, b.rows = r, rows
		return
	}
	for key, now := range rows {
		b.Counts.add(b.step(t, b.rows[key], now))
	}
	if r.Writes != nil {
		b.Counts.Writes += *r.Writes - *b.last.Writes
	}
	if r.LockWaits != nil {
		b.Counts.LockWaits += *r.LockWaits - *b.last.LockWaits
	}
	b.last, b.rows = r, rows
}

// Break ends the epoch: what follows the next reading cannot be compared with what was before.
func (b *Book) Break() { b.begun = false }

// gap says why a reading does not follow the one before; empty where it does.
func (b *Book) gap(t Table, r *Reading, rows map[string]Row) string {
	switch {
	case !b.begun:
		return ""
	case r.Place != b.last.Place:
		return "the server or the table is another one"
	case r.Reset != b.last.Reset:
		return "the server's counts of statements were reset"
	case broke(b.last.Writes, r.Writes):
		return "the server's counts of the table were reset"
	case broke(b.last.LockWaits, r.LockWaits):
		return "the server's count of waits was reset"
	case (b.last.IDs == nil) != (r.IDs == nil) || r.IDs != nil && r.IDs[1] < b.last.IDs[1]:
		return "the ids of the table are those of another sequence, or were set back"
	}
	for key, before := range b.rows {
		if form := b.form(t, before).Form; form == Foreign || form == Look {
			continue
		}
		now, there := rows[key]
		if !there || now.Born != before.Born || now.Calls < before.Calls || now.Errors < before.Errors || now.Rows < before.Rows || now.Sent < before.Sent {
			return "the server dropped counts of statements"
		}
	}
	return ""
}

// broke reports whether a count does not go on from what it was.
func broke(before, now *int64) bool {
	return (before == nil) != (now == nil) || now != nil && *now < *before
}

// step is what a row gained. One that is new counts whole: it was made since.
func (b *Book) step(t Table, before, now Row) Counts {
	var c Counts
	calls, errs := now.Calls-before.Calls, now.Errors-before.Errors
	if calls == 0 {
		return c
	}
	f := b.form(t, now)
	written := now.Rows - before.Rows
	if f.sent {
		written = now.Sent - before.Sent
	}
	missed := max(0, calls-errs-written)
	if f.own {
		c.Own = calls
	}
	switch f.Form {
	case Insert:
		if t.Server == Postgres { // what a trigger or a rule turned aside is not told
			c.Blind, c.Unclear = calls, missed
			return c
		}
		c.Tries, c.Hits, c.Failed = calls, errs, errs
	case InsertIgnore:
		c.Tries, c.Hits, c.Refused = calls, missed, errs
	case InsertSame:
		c.Tries, c.Hits, c.Refused, c.Same, c.SameHits = calls, missed, errs, calls, missed
	case Ask:
		c.Asks, c.Found = calls, min(calls, now.Sent-before.Sent)
	case Look:
		c.Looks = max(0, calls)
	case Unclear:
		c.Unclear = calls
	}
	return c
}

func (b *Book) form(t Table, r Row) form {
	key := formKey{r.Schema, r.Text}
	f, known := b.forms[key]
	if !known {
		if b.forms == nil || len(b.forms) >= mostForms {
			b.forms = map[formKey]form{}
		}
		f = classify(t, r.Schema, r.Text)
		b.forms[key] = f
	}
	return f
}
