package dedup

// The kinds of stores, as package markers names them. What each can do is said here; nothing else compares them.
const (
	kindString = "redis-string"
	kindTable  = "sql-table"
)

// HasStore reports whether the scheme is that of a store: without one nothing remembers what was done.
func (s Scheme) HasStore() bool { return s.Kind != "" }

// Notifies reports whether the store can tell of each change of a marker as it happens.
func (s Scheme) Notifies() bool { return s.Kind == kindString }

// Expires reports whether the store itself takes a marker away when its time to live ends. A row stays, whatever its column says.
func (s Scheme) Expires() bool { return s.Kind != kindTable }

// DatesByExpiry reports whether the expiry of a done marker tells to the millisecond when it was set, by the clock of the store.
func (s Scheme) DatesByExpiry() bool { return s.Kind == kindString && s.DoneTTL > 0 }

// DatesFailures reports whether a failure leaves a marker that tells when it failed.
func (s Scheme) DatesFailures() bool { return s.Kind == kindTable }

// CountsInserts reports whether each insert takes an id, so that failed ones can be counted.
func (s Scheme) CountsInserts() bool { return s.Kind == kindTable }

// CountsStatements reports whether the server can count the statements on the markers alone.
func (s Scheme) CountsStatements() bool { return s.Kind == kindTable }
