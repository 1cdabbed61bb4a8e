package marker

import (
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// A LookupResult is everything that the stores hold of one message id or business key.
type LookupResult struct {
	Term string
	At   time.Time
	// Stores holds one answer per store, in the order of the configuration, those without a hit included.
	Stores []LookupAnswer
}

// A LookupAnswer is what one store holds of the term, or why it could not say.
type LookupAnswer struct {
	Store string
	Found []Judged
	// Gone are markers that the term would have, were done something to and were not found: they were cleared, or ended since.
	Gone   []Gone
	Err    string
	Took   time.Duration
	Scheme dedup.Scheme
}

// A Judged marker is one with its verdict, which is empty unless it is processing.
type Judged struct {
	dedup.Sighting
	Verdict dedup.Verdict
	Reasons []string
	// UnderWay is the operation that is about to change the marker, or does so at the moment; empty when there is none, and
	// for who may not see operations. Look alone fills it.
	UnderWay string
	// History are the actions of ours on this marker, newest first.
	History []admin.Entry
}

// A Gone marker is one that is known by what was done to it alone.
type Gone struct {
	Key string
	// History are the actions of ours on it, newest first; never empty.
	History []admin.Entry
}
