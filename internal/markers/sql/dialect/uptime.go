package dialect

import "time"

// uptimeSlack is how far two readings of a server's uptime may disagree: it is told in whole seconds.
const uptimeSlack = 2 * time.Second

// Uptime is how long a server says that its process has been running.
type Uptime struct {
	Lasted time.Duration
	// Asked and told are when we asked and had the answer, by our clock: the server read its own at some moment between.
	Asked, answered time.Time
}

// RestartedSince reports whether the process cannot be the one of an earlier reading, however long either answer took.
func (u Uptime) RestartedSince(before Uptime) bool {
	return u.Lasted+uptimeSlack < before.Lasted+u.Asked.Sub(before.answered)
}
