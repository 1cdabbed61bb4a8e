package admin

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// A MarkerReader reads single markers of one store live, with the watching credentials. Its errors are *dedup.Error.
type MarkerReader interface {
	// Look returns the markers with these raw keys in the same order; nil where there is none.
	Look(ctx context.Context, keys []string) ([]*dedup.Sighting, error)
	// Lookup returns every marker whose message id or business key is the term.
	Lookup(ctx context.Context, term string) ([]dedup.Sighting, error)
	// Browse returns a page of markers.
	Browse(ctx context.Context, q dedup.MarkerQuery) (dedup.MarkerPage, error)
}

// A MarkerActor changes single markers of one store, with the acting credentials. It never changes a marker that is not
// exactly as it was seen, and never tries twice.
type MarkerActor interface {
	// Clear deletes the marker, and with alsoRetry its retry counter. It calls keep with the whole marker before it is
	// deleted; an error of keep stops the clear.
	Clear(ctx context.Context, seen dedup.Sighting, alsoRetry bool, keep func(image dedup.Sighting) error) dedup.Outcome
	// Expire gives a marker that never expires a time to live.
	Expire(ctx context.Context, seen dedup.Sighting, ttl time.Duration) dedup.Outcome
	// Restore writes an image back with its original expiry, unless that has passed or the id has a marker again.
	Restore(ctx context.Context, image dedup.Sighting) dedup.Outcome
}

// A MarkerStore is one store as the acting side sees it.
type MarkerStore struct {
	Name   string
	Scheme dedup.Scheme
	// Reader is nil where the kind of store cannot read single markers.
	Reader MarkerReader
	// Actor is nil without acting credentials: then markers are shown and never changed.
	Actor MarkerActor
}

// snapshots gives what the newest round knows; nil before the first one.
type snapshots interface {
	Snapshot() *dedup.Snapshot
}

// MarkersDeps is what Markers works with.
type MarkersDeps struct {
	Gate *Gate
	// Trail is the audit, for reading.
	Trail auditTrail
	// Journal keeps plans, operations, their outcomes and the images of cleared markers.
	Journal   MarkerJournal
	Snapshots snapshots
	// Stores are in the order of the configuration.
	Stores []MarkerStore
	// Judge gives the verdict on a processing marker with its reasons. Without it every verdict is "cannot tell".
	Judge func(dedup.Marker, dedup.Evidence, dedup.Scheme) (dedup.Verdict, []string)
	// ReadOnly refuses every plan and every operation.
	ReadOnly bool
	// Changed is told "operation:ID" when an operation moves on. It must not block; nil tells nobody.
	Changed func(topic string)
	Log     *slog.Logger
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Markers shows single markers and changes them: it reads live, plans, carries out and undoes. Every change passes the
// gate. It is safe for concurrent use. Viewers may browse, look and look up; operators may read operations and the audit;
// admins plan and execute. Every error is a *dedup.Error.
type Markers struct {
	deps   MarkersDeps
	stores map[string]*MarkerStore
	// slots bound the items that are under way in each store, over all operations.
	slots map[string]chan struct{}

	// life is the context of operations, which outlive the request that began them; end ends it.
	life context.Context
	end  context.CancelFunc
	// stopping is closed when no further item may begin.
	stopping chan struct{}
	mu       sync.Mutex // guards closed against running.Go
	closed   bool
	running  sync.WaitGroup
}

// A BrowsePage is a page of markers; Verdicts[i] and Reasons[i] speak of Markers[i], and are empty unless it is
// processing.
type BrowsePage struct {
	dedup.MarkerPage
	Verdicts []dedup.Verdict
	Reasons  [][]string
}

// An ExecuteRequest asks to carry out a plan.
type ExecuteRequest struct {
	PlanID string
	// Reason is why, for the audit: 3 to 500 characters.
	Reason string
	// Confirm is what was typed where Plan.Confirm asks for it.
	Confirm string
	// Token makes a repeated request harmless: the same token of the same person returns the operation that it started.
	// Empty for none; a plan is never carried out twice either way.
	Token string
}

// An OperationSummary is an operation in a list.
type OperationSummary struct {
	ID          string
	Deed        Deed
	Store       string
	By          string
	Reason      string
	Started     time.Time
	Ended       time.Time // zero while it runs
	Interrupted bool
	Undone      string
	Items       int
	// Results counts outcomes; items that were not tried are in none of them.
	Results map[dedup.Result]int
}

// An AuditQuery asks for a page of the audit, newest first.
type AuditQuery struct {
	// Before is the Number from which to go back, exclusive; 0 begins at the newest.
	Before int64
	// Limit is the most entries: 1 to 500.
	Limit int
	// Store keeps entries on this store and its markers; Key, with Store, those on one marker. Empty keeps all.
	Store string
	Key   string
	// Operation keeps the entries of one operation or plan; empty keeps all.
	Operation string
}

// An AuditState is the result of checking the whole chain.
type AuditState struct {
	Entries int64
	// Head is the hash of the newest entry in hex.
	Head string
	// Broken names the first entry that does not fit; empty when the chain is whole.
	Broken string
}

// WhyNot returns why markers of a store cannot be changed, in words for a page, and "" when they can.
func (m *Markers) WhyNot(store string) string { return m.whyNot(store) }

// allow refuses and records whoever lacks the role.
func (m *Markers) allow(ctx context.Context, who Caller, needs auth.Role, name, target string) error {
	return m.deps.Gate.allow(ctx, who, action{name: name, target: target, needs: needs})
}
