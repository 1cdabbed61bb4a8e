package dedup

import "time"

// An Absence is a time in which the dashboard did not run, so that nobody asked any source.
type Absence struct{ From, Until time.Time }

// Lasted is how long it was.
func (a Absence) Lasted() time.Duration { return a.Until.Sub(a.From) }

// IsZero reports whether there was none.
func (a Absence) IsZero() bool { return a == Absence{} }

// A SourceRecord is what outlives a restart of how a source was; its fields are those of SourceHealth.
type SourceRecord struct {
	Name string
	// Place names the server behind the source: what is known of one says nothing of another. Empty where that is not known.
	Place       string
	OK          bool
	LastSuccess time.Time
	Since       time.Time
	Away        Absence
}

// SourceRecords are those of all sources at one time, by whose clock all of theirs are.
type SourceRecords struct {
	Kept    time.Time
	Sources []SourceRecord
}
