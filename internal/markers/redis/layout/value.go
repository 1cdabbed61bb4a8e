package layout

import (
	"strconv"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
)

// Fetched is the beginning of a value with its expiry. Of a hash it is names and values in turn, and cut when it has
// more. problem says why there is no value.
type Fetched struct {
	Value   string
	Fields  []string
	Cut     bool
	Problem string
	Expiry  int64
}

// Size returns how many bytes were read.
func (f Fetched) Size() int {
	n := len(f.Value)
	for _, field := range f.Fields {
		n += len(field)
	}
	return n
}

// Began returns when a key was written that expires ttl later, zero when that cannot be known. One that lives longer
// than ttl was not written as configured, and its date would lie in the future.
func Began(expiry, now int64, ttl time.Duration) time.Time {
	if expiry < 0 || ttl <= 0 || expiry-now > ttl.Milliseconds()+1000 {
		return time.Time{}
	}
	return time.UnixMilli(expiry).Add(-ttl)
}

// Counter returns a retry counter as a marker of its own.
func (l *Layout) Counter(key, id string, f Fetched, now int64) dedup.Marker {
	m := dedup.Marker{Store: l.Config.Name, Key: key, ID: id, State: dedup.Failed, Since: Began(f.Expiry, now, l.Config.Retry.TTL)}
	if f.Expiry > 0 {
		m.Expires = time.UnixMilli(f.Expiry)
	}
	n, err := strconv.ParseInt(f.Value, 10, 64)
	if err != nil || f.Problem != "" {
		m.State, m.Detail = dedup.StateUnknown, "no count stands in this retry counter"
		return m
	}
	m.Attempts = &n
	return m
}

// HashText writes names and values in turn as a JSON object sorted by name, nil where JSON cannot hold them exactly.
func HashText(fields []string) []byte {
	object := make(map[string]string, len(fields)/2)
	for i := 0; i+1 < len(fields); i += 2 {
		if !utf8.ValidString(fields[i]) || !utf8.ValidString(fields[i+1]) {
			return nil
		}
		object[fields[i]] = fields[i+1]
	}
	return codec.PlainJSON(object)
}

// LongestCounter is the longest value of a retry counter that is one.
const LongestCounter = 64

// ExpiryTolerance is how far two readings of one expiry may be apart on servers that tell only the remaining life:
// theirs is added to the server's clock, which is read a moment later. A marker that was taken again after it had
// expired is a whole time to live away.
const ExpiryTolerance = 100 * time.Millisecond

// Expiries as Redis gives them, where they are not milliseconds since 1970.
const (
	NoExpiry = -1
	Gone     = -2
)
