package finding

import (
	"time"
)

// A DeadLetterAge is the age that the oldest dead letter has at least.
type DeadLetterAge struct {
	Known bool
	Age   time.Duration
	Queue string
	// How says how it is known.
	How string
}
