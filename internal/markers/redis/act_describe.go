package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

// actExplainer words errors of the acting account.
type actExplainer struct{ client.Explainer }

// settings are named in words as those of the watching account; these are what the acting one's are called.
var actSettings = strings.NewReplacer(" redis.url", " act.redis.url", " redis.ca_file", " act.redis.ca_file", " redis.server_name", " act.redis.server_name", " redis.cluster", " act.redis.cluster")

// outcome words an error before which nothing was done.
func (e actExplainer) outcome(err error) dedup.Outcome {
	result := dedup.NotDone
	if client.IsAnswer(err, "") && !passing(err) && dedup.KindOf(err) != dedup.Unavailable {
		result = dedup.Refused
	}
	return dedup.Outcome{Result: result, Text: e.describe(err)}
}

// passing reports whether the server is only not ready: it does not refuse us.
func passing(err error) bool {
	for _, code := range []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "MOVED", "ASK", "TRYAGAIN", "ERR max number of clients"} {
		if client.IsAnswer(err, code) {
			return true
		}
	}
	return false
}

func (e actExplainer) describe(err error) string {
	e.Explainer = e.Located(err)
	server := "Redis at " + e.Addr
	var known *dedup.Error
	switch {
	case errors.As(err, &known):
		return known.Public
	case client.IsAnswer(err, "READONLY"):
		return server + " is a replica and cannot be written to (READONLY): point act.redis.url at its primary"
	case client.IsAnswer(err, "OOM"):
		return server + " has no memory left and takes no transactions (OOM): raise maxmemory or free some first; consumers cannot write markers either"
	case client.IsAnswer(err, "NOREPLICAS"):
		return server + " has too few replicas to accept writes (NOREPLICAS): bring them back, or lower min-replicas-to-write"
	case client.IsAnswer(err, "MISCONF"):
		return server + " refuses writes because it cannot save to its disk (MISCONF): look into its log, free disk space"
	case client.IsAnswer(err, "NOPERM"):
		return e.permission(err.Error())
	case client.IsAnswer(err, "EXECABORT"):
		if _, cause, ok := strings.Cut(err.Error(), "because of: "); ok {
			return e.describe(nestedAnswer(cause))
		}
	}
	return actSettings.Replace(e.Explainer.Describe(err))
}

// nestedAnswer is an error answer of Redis that stood within another.
type nestedAnswer string

// Error returns the answer.
func (a nestedAnswer) Error() string { return string(a) }

// RedisError marks it as an answer of the server.
func (nestedAnswer) RedisError() {}

// permission names the ACL rule that is missing.
func (e actExplainer) permission(answer string) string {
	if client.DeniedCommand.MatchString(answer) {
		return e.DescribePermission(answer)
	}
	user := e.User
	if user == "" {
		user = "default"
	}
	what, grant := "change the keys of this store", strings.Join(e.Patterns, " ")
	if strings.Contains(answer, "channel") {
		what, grant = "wake those who wait for a lock", "&redisson_lock__channel:*"
	}
	return "Redis at " + e.Addr + " does not let user " + user + " " + what + " (NOPERM): grant it with ACL SETUSER " + user + " " + grant
}

// different words a marker that is not what was seen.
func (s *session) different(now reading) dedup.Outcome {
	if now.kind == typeNone {
		return dedup.Outcome{Result: dedup.Gone}
	}
	return dedup.Outcome{Result: dedup.Changed, Text: s.describe(now), Now: s.sighting(now)}
}

// touched words a marker that somebody touched between the comparison and the act. It may look as before again.
func (s *session) touched(ctx context.Context) dedup.Outcome {
	now, err := s.read(context.WithoutCancel(ctx), s.seen.Key)
	if err != nil {
		return dedup.Outcome{Result: dedup.Changed, Text: "touched at this moment"}
	}
	return s.different(now)
}

// describe say what is there now: "now done since 03:12:07 UTC", "now taken again: expires 03:17:07 UTC".
func (s *session) describe(r reading) string {
	if r.kind == typeNone {
		return "gone"
	}
	now := s.sighting(r)
	switch {
	case s.same(r):
		return "touched at this moment, and looks as before"
	case now.State == dedup.StateUnknown:
		return "now unreadable (" + s.outline(r) + ")" + describeExpiry(r)
	case s.layout.Classify(s.seen.Key) == layout.Retry && now.Attempts != nil:
		return "now a count of " + strconv.FormatInt(*now.Attempts, 10) + describeExpiry(r)
	case now.State != s.seen.State && !now.Since.IsZero():
		return "now " + string(now.State) + " since " + describeClock(now.Since, r.clock)
	case now.State != s.seen.State:
		return "now " + string(now.State) + describeExpiry(r)
	case s.layout.Config.Kind == markers.RedisLock:
		return s.describeLock(r, now.Marker)
	case r.matches(s.seen.Type, string(s.seen.Value), s.fields) && r.expires != layout.NoExpiry && s.seen.ExpiresMillis == dedup.NoExpiry:
		return "now taken again, or given an expiry" + describeExpiry(r)
	case s.sameExpiry(r.expires, s.seen.ExpiresMillis):
		return "now " + string(now.State) + " with another value" + describeExpiry(r)
	}
	return "now taken again" + describeExpiry(r)
}

// outline describes a value without a byte of it: what is said of an action is kept for good, and values may be payload.
func (s *session) outline(r reading) string {
	switch {
	case r.kind == typeHash && r.fields == nil:
		return fmt.Sprintf("a hash of more than %d fields", maxFields)
	case r.kind == typeHash:
		return fmt.Sprintf("a hash of %s, sha256:%s", counted(len(r.fields), "field"), shortHash(layout.HashText(flat(r.fields))))
	case r.kind != typeString:
		return "of type " + codec.Printable(r.kind)
	case int64(len(r.value)) > s.longest():
		return fmt.Sprintf("more than %d bytes", s.longest())
	}
	return counted(len(r.value), "byte") + ", sha256:" + shortHash([]byte(r.value))
}

// shortHash is the beginning of a SHA-256 in hex: enough to tell two values apart, too little to find a value by.
func shortHash(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:4])
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func describeExpiry(r reading) string {
	if r.expires == layout.NoExpiry {
		return ": never expires"
	}
	return ": expires " + describeClock(time.UnixMilli(r.expires), r.clock)
}

// describeClock writes a time of day, with its date if that is not the day of now.
func describeClock(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04:05 UTC")
	}
	return at.Format("2006-01-02 15:04:05 UTC")
}

// passed reports whether an expiry lies in the past by the server's clock.
func passed(expires int64, clock time.Time) bool {
	return expires != layout.NoExpiry && expires <= clock.UnixMilli()
}

// wake returns the command that wakes those who wait for a Redisson lock, as its own forced unlock does, and nil for all
// other markers: who waits for a token lock asks again by itself. Source: RedissonBaseLock.getChannelName and
// RedissonObject.prefixName, which puts the name in braces unless it has some, and LockPubSub.UNLOCK_MESSAGE, 0.
func (s *session) wake() []any {
	if s.layout.Config.Kind != markers.RedisLock || s.seen.Type != typeHash {
		return nil
	}
	return []any{"publish", redissonChannel(s.seen.Key), "0"}
}

func redissonChannel(name string) string {
	if strings.Contains(name, "{") {
		return "redisson_lock__channel:" + name
	}
	return "redisson_lock__channel:{" + name + "}"
}

// describeLock say what a lock is now that is not what was seen.
func (s *session) describeLock(r reading, now dedup.Marker) string {
	before := s.marker(reading{kind: s.seen.Type, value: string(s.seen.Value), fields: s.fields, expires: s.seen.ExpiresMillis, clock: r.clock})
	switch {
	case now.Owner != before.Owner && r.kind == typeString: // the token is the value, and who knows it can end the lock
		return "now held by another token (" + s.outline(r) + ")" + describeExpiry(r)
	case now.Owner != before.Owner:
		return "now held by " + codec.Printable(now.Owner) + describeExpiry(r)
	}
	return "now taken again or prolonged by its owner" + describeExpiry(r)
}

// alreadyExpired refuses a restore whose expiry has passed by the server's clock.
const alreadyExpired = "already expired, nothing restored"

// settleClear says what a clear whose answer was lost has done. A marker that is gone proves nothing: its consumer may
// have deleted it at the same moment, and a marker without expiry that is there may have been taken again since.
func settleClear(s *session, now reading) dedup.Outcome {
	switch {
	case now.kind == typeNone && passed(s.seen.ExpiresMillis, now.clock):
		return unsure("the marker is gone now: it was cleared, or it expired")
	case now.kind == typeNone:
		return unsure("the marker is gone now: it was cleared, or a consumer deleted it")
	case s.same(now) && now.expires != layout.NoExpiry:
		return dedup.Outcome{Result: dedup.NotDone, Text: "the connection was lost, and the marker is there as it was seen"}
	case s.same(now):
		return unsure("a marker like it is there: it was not cleared, or taken again since")
	}
	return unsure("it is " + s.describe(now))
}

// settleExpire says whether the marker has the expiry that was set. Nobody else sets the same millisecond.
func settleExpire(s *session, now reading) dedup.Outcome {
	if now.matches(s.seen.Type, string(s.seen.Value), s.fields) && s.sameExpiry(now.expires, s.at) {
		return dedup.Outcome{Result: dedup.ExpirySet, Text: strings.TrimPrefix(describeExpiry(now), ": ")}
	}
	if s.same(now) {
		return unsure("a marker like it is there that never expires")
	}
	return unsure("it is " + s.describe(now))
}

// settleRestore says whether the marker is there as the image has it. One without expiry may be a consumer's.
func settleRestore(s *session, now reading) dedup.Outcome {
	switch {
	case s.same(now) && (!s.lost || now.expires != layout.NoExpiry):
		return dedup.Outcome{Result: dedup.Restored}
	case s.same(now):
		return unsure("a marker like it is there: it was restored, or a consumer took it")
	case now.kind == typeNone && passed(s.seen.ExpiresMillis, now.clock) && !s.lost:
		return refused(alreadyExpired)
	case now.kind == typeNone && passed(s.seen.ExpiresMillis, now.clock):
		return unsure("it has expired meanwhile")
	case now.kind == typeNone:
		return unsure("there is no marker now")
	}
	return unsure("it is " + s.describe(now))
}

func unsure(text string) dedup.Outcome {
	return dedup.Outcome{Result: dedup.UnknownOutcome, Text: text}
}
