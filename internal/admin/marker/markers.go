// Package marker shows single markers and changes them: it plans, carries out, recovers and undoes operations on them.
package marker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/operation"
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

// keyer is a MarkerReader that knows the raw keys that a message's marker and its retry counter would have. Of others the key is taken
// to be the id.
type keyer interface {
	KeysOf(id string) []string
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

// A Store is one store as the acting side sees it.
type Store struct {
	Name   string
	Scheme dedup.Scheme
	// Reader is nil where the kind of store cannot read single markers.
	Reader MarkerReader
	// Actor is nil without acting credentials: then markers are shown and never changed.
	Actor MarkerActor

	// pages and items bound the live readings; New makes them.
	pages, items admin.Turnstile
}

// Deps is what Markers works with.
type Deps struct {
	Gate *admin.Gate
	// Trail is the audit, for reading.
	Trail admin.AuditTrail
	// Journal keeps plans, operations, their outcomes and the images of cleared markers.
	Journal   MarkerJournal
	Snapshots admin.Snapshots
	// Stores are in the order of the configuration.
	Stores []Store
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
//
// The order of an operation: the plan is claimed, each item is noted as tried, its intent audited, the marker read and
// judged again, its image kept, the marker changed, and the outcome kept and audited. A crash between any two steps leaves
// the item not tried, with its outcome, or with an unknown outcome; no item is ever begun twice.
type Markers struct {
	deps   Deps
	stores stores
	// slots bound the items that are under way in each store, over all operations.
	slots map[string]chan struct{}

	// life is the context of operations, which outlive the request that began them; end ends it.
	life  context.Context
	end   context.CancelFunc
	plans operation.Plans[Plan]
	// operations are those that this process carries out, and those that it could not end.
	operations *operation.Set[run]
}

// A BrowsePage is a page of markers; Verdicts[i] and Reasons[i] speak of Markers[i], and are empty unless it is
// processing.
type BrowsePage struct {
	dedup.MarkerPage
	Verdicts []dedup.Verdict
	Reasons  [][]string
}

// An ExecuteRequest asks to carry out a plan.
type ExecuteRequest = operation.Start

// An OperationSummary is an operation in a list.
type OperationSummary struct {
	ID          string
	Deed        admin.Deed
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

// New returns Markers. It reads and writes nothing yet: Run recovers what an earlier run left unfinished.
func New(deps Deps) *Markers {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Changed == nil {
		deps.Changed = func(string) {}
	}
	if deps.Judge == nil {
		deps.Judge = func(dedup.Marker, dedup.Evidence, dedup.Scheme) (dedup.Verdict, []string) {
			return dedup.CannotTell, []string{"there is no rule to judge by"}
		}
	}
	deps.Stores = slices.Clone(deps.Stores)
	m := &Markers{deps: deps, slots: map[string]chan struct{}{}, operations: operation.NewSet[run]("operation")}
	m.plans = operation.Plans[Plan]{
		Gate: deps.Gate, Journal: deps.Journal, Now: deps.Now,
		Terms: func(p Plan) (time.Time, string) { return p.Made, p.Confirm },
	}
	m.stores = stores{known: map[string]*Store{}, snapshots: deps.Snapshots, judgeBy: deps.Judge, readOnly: deps.ReadOnly, now: deps.Now}
	m.life, m.end = context.WithCancel(context.Background())
	for i := range deps.Stores {
		st := &deps.Stores[i]
		m.stores.known[st.Name] = st
		st.pages, st.items = make(admin.Turnstile, admin.LiveReads), make(admin.Turnstile, admin.LiveReads)
		m.slots[st.Name] = make(chan struct{}, atOnce)
	}
	return m
}

// stopGrace is how long Close waits for items that are under way before it ends their contexts.
const stopGrace = 3 * time.Second

// Close lets the items that are under way end, within the bound of ctx, and leaves the rest of every operation not tried.
// It may be called once.
func (m *Markers) Close(ctx context.Context) error {
	m.operations.Close()
	defer m.end()
	grace, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	if m.operations.Wait(grace) == nil {
		return nil
	}
	m.end()
	if err := m.operations.Wait(ctx); err != nil {
		return fmt.Errorf("wait for markers that are being changed: %w", err)
	}
	return nil
}

// allow refuses and records whoever lacks the role.
func (m *Markers) allow(ctx context.Context, who admin.Caller, needs auth.Role, name, target string) error {
	return m.deps.Gate.Allow(ctx, who, admin.Action{Name: name, Target: admin.Printable(target, admin.MaxTarget), Needs: needs})
}

// WhyNot returns why markers of a store cannot be changed, in words for a page, and "" when they can.
func (m *Markers) WhyNot(store string) string { return m.stores.WhyNot(store) }
