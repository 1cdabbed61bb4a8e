package markers

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

// fetched is the beginning of a value with its expiry. Of a hash it is names and values in turn, and cut when it has
// more. problem says why there is no value.
type fetched struct {
	value   string
	fields  []string
	cut     bool
	problem string
	expiry  int64
}

func (f fetched) size() int {
	n := len(f.value)
	for _, field := range f.fields {
		n += len(field)
	}
	return n
}

// began returns when a key was written that expires ttl later, zero when that cannot be known. One that lives longer
// than ttl was not written as configured, and its date would lie in the future.
func began(expiry, now int64, ttl time.Duration) time.Time {
	if expiry < 0 || ttl <= 0 || expiry-now > ttl.Milliseconds()+1000 {
		return time.Time{}
	}
	return time.UnixMilli(expiry).Add(-ttl)
}

// counter returns a retry counter as a marker of its own.
func (l *layout) counter(key, id string, f fetched, now int64) dedup.Marker {
	m := dedup.Marker{Store: l.cfg.Name, Key: key, ID: id, State: dedup.Failed, Since: began(f.expiry, now, l.cfg.Retry.TTL)}
	if f.expiry > 0 {
		m.Expires = time.UnixMilli(f.expiry)
	}
	n, err := strconv.ParseInt(f.value, 10, 64)
	if err != nil || f.problem != "" {
		m.State, m.Detail = dedup.StateUnknown, "no count stands in this retry counter"
		return m
	}
	m.Attempts = &n
	return m
}

// hashText writes names and values in turn as a JSON object sorted by name, nil where JSON cannot hold them exactly.
func hashText(fields []string) []byte {
	object := make(map[string]string, len(fields)/2)
	for i := 0; i+1 < len(fields); i += 2 {
		if !utf8.ValidString(fields[i]) || !utf8.ValidString(fields[i+1]) {
			return nil
		}
		object[fields[i]] = fields[i+1]
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(object)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// longestCounter is the longest value of a retry counter that is one.
const longestCounter = 64

// expiryTolerance is how far two readings of one expiry may be apart on servers that tell only the remaining life:
// theirs is added to the server's clock, which is read a moment later. A marker that was taken again after it had
// expired is a whole time to live away.
const expiryTolerance = 100 * time.Millisecond

// Expiries as Redis gives them, where they are not milliseconds since 1970.
const (
	noExpiry = -1
	gone     = -2
)
