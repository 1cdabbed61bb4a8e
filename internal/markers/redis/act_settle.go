package redis

import (
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/redis/layout"
)

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
