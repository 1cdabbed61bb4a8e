package markers

import "time"

// HoldFor lets an actor of Redis markers hold a marker without expiry for another time than five seconds.
func HoldFor(a Actor, d time.Duration) { a.(*redisActor).watchFor = d }

// WatchFor is the time that an actor holds a marker without expiry.
const WatchFor = watchFor
