package admin

// A Move is what a job does with messages.
type Move string

// The moves.
const (
	// Requeue sends dead letters to the queues that they came from.
	Requeue Move = "requeue"
	// Discard sends dead letters to a parking queue; RestoreLetters sends them back from there to their dead-letter queue.
	Discard        Move = "discard"
	RestoreLetters Move = "restore_letters"
)

// A Deed is what a plan does to markers.
type Deed string

// The deeds. Restoring undoes a clear.
const (
	ClearMarkers   Deed = "clear"
	SetExpiry      Deed = "set_expiry"
	RestoreMarkers Deed = "restore"
)
