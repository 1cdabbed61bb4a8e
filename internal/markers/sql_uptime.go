package markers

import "time"

// uptimeSlack is how far two readings of a server's uptime may disagree: it is told in whole seconds.
const uptimeSlack = 2 * time.Second

// uptime is how long a server says that its process has been running.
type uptime struct {
	lasted time.Duration
	// asked and told are when we asked and had the answer, by our clock: the server read its own at some moment between.
	asked, told time.Time
}

// restartedSince reports whether the process cannot be the one of an earlier reading, however long either answer took.
func (u uptime) restartedSince(before uptime) bool {
	return u.lasted+uptimeSlack < before.lasted+u.asked.Sub(before.told)
}
