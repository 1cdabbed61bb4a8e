package marker

import (
	"context"
	"errors"
	"time"

	"dedup-dashboard/internal/admin/operation"
	"dedup-dashboard/internal/dedup"
)

// The errors by which callers tell what the journal found. Others mean that it could not be read or written.
var (
	// ErrTried means that an item was begun before.
	ErrTried = errors.New("the item was tried before")
	// ErrUnderWay means that an item was begun and has no outcome yet.
	ErrUnderWay = errors.New("an item is under way")
	// ErrNoImage means that there is no image to restore, or that another restore has it.
	ErrNoImage = errors.New("there is no image to restore")
)

// MarkerJournal keeps what Markers must not forget. Every method that writes returns after the change is on disk, and is
// safe for concurrent use. Errors are plain: whoever calls puts them in words.
type MarkerJournal interface {
	operation.Journal[Plan]
	operationJournal
	itemJournal
	imageJournal
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
