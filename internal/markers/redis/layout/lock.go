package layout

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
)

// Decode returns what a fetched value says.
func (l *Layout) Decode(f Fetched) codec.Decoded {
	switch {
	case f.Problem != "":
		return codec.Decoded{State: dedup.StateUnknown, Detail: f.Problem}
	case l.Reads == ReadType:
		return codec.Decoded{State: dedup.Present}
	case l.Reads == ReadHash:
		return redissonLockOf(f)
	case l.Config.Kind == markers.RedisLock:
		return tokenLockOf(f.Value)
	}
	return l.codec.Decode(f.Value)
}

// holder matches the field of a holder: the client's UUID and the thread (getLockName in org.redisson.RedissonBaseLock).
var holder = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:\d+$`)

// redissonLockOf reads a lock of Redisson: a hash whose fields are holders and whose values count how often each has
// entered. A plain lock has one holder; readers of a read-write lock can be several, beside the field mode.
func redissonLockOf(f Fetched) codec.Decoded {
	if f.Cut {
		return codec.Unknown("a hash of many fields, which no lock has")
	}
	var owners []string
	entries := map[string]string{}
	for i := 0; i+1 < len(f.Fields); i += 2 {
		name, count := f.Fields[i], f.Fields[i+1]
		if n, err := strconv.Atoi(count); err == nil && n > 0 && holder.MatchString(name) {
			owners = append(owners, name)
			entries[name] = count
		}
	}
	if len(owners) == 0 {
		return codec.Unknown("a hash without a holder: a lock of Redisson has a field client:thread with a count")
	}
	slices.Sort(owners)
	return codec.Decoded{State: dedup.Processing, Owner: strings.Join(owners, ", "), Status: entries[owners[0]]}
}

// tokenLockOf reads a lock whose value is the token of its owner.
func tokenLockOf(token string) codec.Decoded {
	if token == "" {
		return codec.Unknown("an empty value names no owner")
	}
	return codec.Decoded{State: dedup.Processing, Owner: shownToken(token)}
}

// shownToken returns a token as it stands where it can be shown, else quoted.
func shownToken(token string) string {
	if quoted := codec.Printable(token); quoted != `"`+token+`"` {
		return quoted
	}
	return token
}
