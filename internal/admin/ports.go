package admin

import (
	"context"
	"errors"
	"time"

	"dedup-dashboard/internal/dedup"
)

// The errors by which callers tell what the journal found. Others mean that it could not be read or written.
var (
	// ErrTried means that an item was begun before.
	ErrTried = errors.New("the item was tried before")
	// ErrUnderWay means that an item was begun and has no outcome yet.
	ErrUnderWay = errors.New("an item is under way")
	// ErrTokenUsed means that a request with this idempotency token has started another plan.
	ErrTokenUsed = errors.New("the token was used for another plan")
	// ErrBroken means that the audit was changed: an entry is missing, does not fit, or the file is no sound database any more.
	// The text of an error that wraps it names the file and the entry, and nothing of what the entry holds.
	ErrBroken = errors.New("the audit was changed")
	// ErrNoImage means that there is no image to restore, or that another restore has it.
	ErrNoImage = errors.New("there is no image to restore")
)

// auditTrail reads the audit. It is safe for concurrent use.
type auditTrail interface {
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

// MarkerJournal keeps what Markers must not forget. Every method that writes returns after the change is on disk, and is
// safe for concurrent use. Errors are plain: whoever calls puts them in words.
type MarkerJournal interface {
	planJournal
	operationJournal
	itemJournal
	imageJournal
}

type planJournal interface {
	// SavePlan keeps a plan.
	SavePlan(ctx context.Context, p Plan) error
	// Plan returns a plan, the operation that carried it out or "", and whether there is such a plan.
	Plan(ctx context.Context, id string) (p Plan, operation string, ok bool, err error)
}

type operationJournal interface {
	// Begin claims the plan for the operation and keeps the operation, both or neither. If the plan was claimed before, it
	// returns the ID of the operation that has it; else o.ID. It fails with ErrTokenUsed when this person started another plan
	// with the token.
	Begin(ctx context.Context, o Operation, token string) (string, error)
	// End marks an operation as ended. stopped says why items were left; interrupted that the program ended. It fails with
	// ErrUnderWay while an item is begun and has no outcome.
	End(ctx context.Context, id string, at time.Time, interrupted bool, stopped string) error
	// Operation returns an operation with its plan and every outcome, and whether there is one.
	Operation(ctx context.Context, id string) (Operation, bool, error)
	// Operations returns summaries, newest first.
	Operations(ctx context.Context, limit int) ([]OperationSummary, error)
	// ByToken returns the plan that this person started with the token, or "".
	ByToken(ctx context.Context, by, token string) (plan string, err error)
	// Unfinished returns the operations that have not ended, and those with an item that was begun and has no outcome.
	Unfinished(ctx context.Context) ([]string, error)
}

type itemJournal interface {
	// Try notes that an item is about to be acted on. It fails with ErrTried when the item was begun before.
	Try(ctx context.Context, operation string, item int, at time.Time) error
	// Done notes the outcome of an item.
	Done(ctx context.Context, operation string, o ItemOutcome) error
}

type imageJournal interface {
	// Keep keeps the image of a marker until the given time.
	Keep(ctx context.Context, operation string, item int, image dedup.Sighting, until time.Time) error
	// Claim reserves an image for a restore, so that none is restored twice, and returns it. It takes over the claim of an
	// interrupted restore, "" for none. It fails with ErrNoImage when another restore has the image, or it is not kept.
	Claim(ctx context.Context, operation string, item int, restore, interrupted string) (dedup.Sighting, error)
	// Release gives a claimed image back, after a restore that did not happen.
	Release(ctx context.Context, operation string, item int, restore string) error
	// Images returns what is kept of an operation by item, without the values.
	Images(ctx context.Context, operation string) (map[int]KeptImage, error)
	// Purge deletes images that were kept until now, plans and operations too old to be asked for.
	Purge(ctx context.Context, now time.Time) error
}

// A KeptImage is what the journal says of an image without its value.
type KeptImage struct {
	Seen dedup.Sighting
	// Hash is the SHA-256 of the whole value in hex, Size its length in bytes.
	Hash  string
	Size  int64
	Until time.Time
	// RestoredBy is the operation that claimed it: it restored it, is doing so, or was interrupted; empty when none did.
	RestoredBy string
}
