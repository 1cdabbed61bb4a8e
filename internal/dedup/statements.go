package dedup

import "time"

// StatementStats are what a database server counted of the statements on the table of a store, as of At. Counts are cumulative within one
// Epoch and cannot be compared across two.
type StatementStats struct {
	// At is when the answer was there, by our clock; Took is how long before At the counts may be true.
	At    time.Time
	Took  time.Duration
	Epoch int64
	Since time.Time
	// Why says why statements cannot be counted, Better what an operator can do about it; empty when they can.
	Why, Better string
	// Gap is why the epoch before ended; empty for the first.
	Gap string
	// Inserts are statements that insert one row, Met those that met the row of their id.
	Inserts, Met int64
	// Failed are those of Met that are known by an error alone, which may have another cause. Refused are those of Inserts that failed and met
	// nothing: of statements to which a row that is there is no error.
	Failed, Refused int64
	// Same are those of Inserts that leave the row that they meet as it is, SameMet those that are known to have met one: none where
	// connections count rows that they found.
	Same, SameMet int64
	// Unfailed are inserts of which the server counts only those that succeed. They are not among Inserts.
	Unfailed int64
	// Questions are the SELECTs for the row of one id, Found those that found it.
	Questions, Found int64
	// Looks are other SELECTs that may be such questions, of which what they found is not told.
	Looks int64
	// Unclear are statements that may have inserted rows, and met others.
	Unclear int64
	// Writes are the rows that were to be written into the table as the table counts them, those included that met another; nil where it
	// does not count.
	Writes *int64
	// LockWaits are the waits for a row's lock that began on the whole server: an insert that the lock of another fails has waited for it, mostly.
	// It is nil where the server does not count them.
	LockWaits *int64
	// IDs bound the last id of the table's sequence whose insert had ended when the statements were counted: each insert takes one, also one that
	// fails, so that the inserts that met a row are the ids less the inserts that wrote theirs. It is nil where no sequence tells it.
	IDs *[2]int64
	// OwnIDs are inserts that may have given their row an id that is none of the sequence.
	OwnIDs int64
	// Drops is how often the server dropped counts of statements to make room: those of inserts may be among them.
	Drops int64
	// Writes and LockWaits are counted after all others. Writing are those of Writes that came while the others were read, LockWaiting those of
	// LockWaits that had not ended when that began. Both are of this reading alone.
	Writing, LockWaiting int64
}
