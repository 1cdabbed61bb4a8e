package dedup

import "time"

// An EffectKey is a business key whose work was done more than once, as an effect check found it.
type EffectKey struct {
	// Key is the beginning of the key, valid UTF-8 of at most 256 bytes. It is hostile, as every string from a database.
	Key string
	// ID tells keys apart that begin alike: a hash of the whole key.
	ID string
	// Count is how often the work was done; 2 where the check does not say.
	Count int64
	// Found is when a check first found the key, or found it with a higher count, by our clock. It is zero for a key that was
	// there at the first check, or of which nobody can tell whether it was.
	Found time.Time
}

// An EffectReading is what one run of an effect check found.
type EffectReading struct {
	// At is when the run began, by our clock.
	At   time.Time
	Took time.Duration
	// Keys are in the order of the answer, each at most once; More says that the answer had more rows than are read.
	Keys []EffectKey
	More bool
	// NullRows counts rows whose key is NULL, SingleRows those whose count is below 2: neither is a double effect.
	NullRows   int64
	SingleRows int64
}

// An EffectCheck is what is known of the double effects of a pipeline.
type EffectCheck struct {
	Every   time.Duration
	Timeout time.Duration
	// LastTry is when the newest run began, well or badly ended, At when the newest run began that succeeded, and Took how
	// long that one took. Each is zero while there was none.
	LastTry time.Time
	At      time.Time
	Took    time.Duration
	// Next is when the next run is due; zero while one is under way.
	Next time.Time
	// Err says why the newest run failed, in words that say what to do; empty when it succeeded.
	Err string
	// Since is when the first run succeeded: what it found is the baseline.
	Since time.Time
	// Keys are those of the newest run that succeeded, the newest found first. Total counts them; AtLeast says that the
	// answer was longer than the rows that are read.
	Keys    []EffectKey
	Total   int64
	AtLeast bool
	// Baseline counts those of Keys that were there at the first run, or may have been.
	Baseline int64
	// Fresh counts the keys that were found new in the last 24 hours, those that are gone again included; FreshKeys names some.
	// FreshAtLeast says that there were more than are remembered.
	Fresh        int64
	FreshKeys    []string
	FreshAtLeast bool
	NullRows     int64
	// SingleRows counts rows whose count is below 2: the query lists what is no double effect.
	SingleRows int64
}

// An EffectRecord is what an effect check remembers beyond a restart: without it, each restart would take new double
// effects for old ones.
type EffectRecord struct {
	// Query identifies the query: what another one found says nothing.
	Query string
	First time.Time
	// Checks are the times of the runs of the last day that succeeded, CutAt that of the last whose answer was cut.
	Checks []time.Time
	CutAt  time.Time
	Took   time.Duration
	// Known are the keys that were found, the Listed first of them by the newest run, in its order. Gone are those, by ID, that
	// a whole answer lacked; the others may be behind a cut.
	Known      []EffectKey
	Listed     int
	Gone       []string
	NullRows   int64
	SingleRows int64
	// Dropped is when the newest of those keys was found that had to make room for others; zero when none had to.
	Dropped time.Time
	// Slow is how many runs in a row failed where the newest was too slow, LastTry when that began, and SlowWhy its words;
	// zero where the newest run on record succeeded.
	Slow    int
	LastTry time.Time
	SlowWhy string
}
