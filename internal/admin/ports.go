package admin

import (
	"context"
	"errors"
	"time"
)

// The errors by which callers tell what the journal found. Others mean that it could not be read or written.
var (
	// ErrTokenUsed means that a request with this idempotency token has started another plan.
	ErrTokenUsed = errors.New("the token was used for another plan")
	// ErrBroken means that the audit was changed: an entry is missing, does not fit, or the file is no sound database any more.
	// The text of an error that wraps it names the file and the entry, and nothing of what the entry holds.
	ErrBroken = errors.New("the audit was changed")
)

// AuditTrail reads the audit. It is safe for concurrent use.
type AuditTrail interface {
	// Entries returns a page, newest first.
	Entries(ctx context.Context, q TrailQuery) ([]Entry, error)
	// Acts returns a page of what was done, newest first: each action once.
	Acts(ctx context.Context, q TrailQuery) ([]Act, error)
	// Check checks the chain for a page: the entries that came since the last check at each call, all of it now and then, as Whole
	// of its answer says. Its error wraps ErrBroken when an entry does not fit; every other error says that the audit could not be read
	// to its end.
	Check(ctx context.Context) (AuditState, error)
}

// A TrailQuery asks the audit for entries, newest first.
type TrailQuery struct {
	Before int64 // exclusive; 0 for the newest
	Limit  int
	// Target keeps entries with exactly this target; with Below also those whose target begins with Target and a slash.
	Target string
	Below  bool
	// Operation keeps the entries of one operation; empty keeps all.
	Operation string
	// Within keeps the entries that are about any of these; empty keeps all.
	Within []TrailScope
	TrailFilter
}

// A TrailScope is what entries are about; one of its fields is set.
type TrailScope struct {
	// Queue is a queue of this name, whatever its broker and vhost, with its parking queue, its messages and its jobs.
	Queue string
	// Store is a store with its markers.
	Store string
	// Pipeline is the acknowledgement of the dead letters of a pipeline.
	Pipeline string
}

// A TrailFilter narrows the audit down; what is empty keeps all.
type TrailFilter struct {
	// Who and Action are exact.
	Who    string
	Action string
	// Phase is the phase of an entry, and the outcome of an action: of one without an outcome yet it is the intent.
	Phase string
	// From is the first moment, To the first one after the last, to the second.
	From time.Time
	To   time.Time
}

// An Act is one action in the audit: the entry that began it, and the one with its outcome. A plan and a refusal have no other
// entry; of an action that was begun and has no outcome the program ended in between. Outcome.Number is 0 then.
type Act struct {
	Entry   Entry
	Outcome Entry
}
