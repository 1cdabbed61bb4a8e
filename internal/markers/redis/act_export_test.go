package redis

import (
	"time"

	"dedup-dashboard/internal/markers"
)

// HoldFor lets an actor of Redis markers hold a marker without expiry for another time than five seconds.
func HoldFor(a markers.Actor, d time.Duration) { a.(*actor).watchFor = d }

// WatchFor is the time that an actor holds a marker without expiry.
const WatchFor = watchFor
