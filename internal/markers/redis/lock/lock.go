// Package lock describes stores that hold locks in Redis: a hash of Redisson, or a string with a token, while a message is being worked on.
package lock

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/layout"
)

// Form is a hash of holders, or a string that names the owner.
func Form(c markers.Config) (layout.Form, error) {
	if c.Value.Codec == codec.Redisson {
		return layout.Form{Hash: true, Ask: layout.FewFields, Decode: redissonLockOf}, nil
	}
	return layout.Form{Ask: layout.Beginning, Decode: tokenLockOf}, nil
}

// Problems checks what is different in a lock: its value is an owner and its one state is to be held.
func Problems(p *markers.Problems, c markers.Config) {
	p.OneOf("value.codec", c.Value.Codec, codec.Redisson, codec.Token)
	if c.Value.Path != "" || c.Value.Time != "" {
		p.Add("value", "path and time are of no use to a lock: leave them out")
	}
	if len(c.States) > 0 {
		p.Add("states", "are of no use to a lock, which is processing while it is held: leave them out")
	}
	if c.TTL.Done != 0 {
		p.Add("ttl.done", "is of no use to a lock: write its lease in ttl.processing")
	}
	p.Positive("ttl.processing", c.TTL.Processing)
	p.OnlyFor(markers.RedisString, "ask", c.Ask != "")
	if c.Events {
		p.Add("events", "say nothing of a lock: one that ends after its work and one that ends after a crash give the same notifications; leave it out")
	}
}

// holder matches the field of a holder: the client's UUID and the thread (getLockName in org.redisson.RedissonBaseLock).
var holder = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:\d+$`)

// redissonLockOf reads a lock of Redisson: a hash whose fields are holders and whose values count how often each has
// entered. A plain lock has one holder; readers of a read-write lock can be several, beside the field mode.
func redissonLockOf(f layout.Fetched) codec.Decoded {
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
func tokenLockOf(f layout.Fetched) codec.Decoded {
	if f.Value == "" {
		return codec.Unknown("an empty value names no owner")
	}
	return codec.Decoded{State: dedup.Processing, Owner: shownToken(f.Value)}
}

// shownToken returns a token as it stands where it can be shown, else quoted.
func shownToken(token string) string {
	if quoted := codec.Printable(token); quoted != `"`+token+`"` {
		return quoted
	}
	return token
}
