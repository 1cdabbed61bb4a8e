package templates

// Deaths are the dead letters of a whole broker by reason; empty where the broker is not asked for them.
type Deaths struct {
	Reasons []DeathRow
	// Note says what they are beside what came into dead-letter queues.
	Note string
	// Why says why they are unknown; empty when they are known.
	Why string
}

// A DeathRow is one reason, or what was discarded.
type DeathRow struct {
	Label  string
	Figure Figure
}
