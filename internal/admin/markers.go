package admin

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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

	// pages and items bound the live readings; NewMarkers makes them.
	pages, items turnstile
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
//
// The order of an operation: the plan is claimed, each item is noted as tried, its intent audited, the marker read and
// judged again, its image kept, the marker changed, and the outcome kept and audited. A crash between any two steps leaves
// the item not tried, with its outcome, or with an unknown outcome; no item is ever begun twice.
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
	mu       sync.Mutex
	// Under mu: whether Close was called, and the operations that this process is carrying out.
	closed bool
	live   map[string]bool
	// left are operations of this process that could not be ended, and why they were stopped.
	left    map[string]string
	running sync.WaitGroup
	// untidy wakes Run when an operation was left.
	untidy chan struct{}
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
	// Token makes a repeated request harmless: the same token of the same person with the same plan returns the operation that
	// it started, with another plan it is a conflict. Empty for none; a plan is never carried out twice either way.
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

// NewMarkers returns Markers. It reads and writes nothing yet: Run recovers what an earlier run left unfinished.
func NewMarkers(deps MarkersDeps) *Markers {
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
	m := &Markers{
		deps: deps, stores: map[string]*MarkerStore{}, slots: map[string]chan struct{}{},
		stopping: make(chan struct{}), live: map[string]bool{},
		left: map[string]string{}, untidy: make(chan struct{}, 1),
	}
	m.life, m.end = context.WithCancel(context.Background())
	for i := range deps.Stores {
		st := &deps.Stores[i]
		m.stores[st.Name] = st
		st.pages, st.items = make(turnstile, liveReads), make(turnstile, liveReads)
		m.slots[st.Name] = make(chan struct{}, atOnce)
	}
	return m
}

// stopGrace is how long Close waits for items that are under way before it ends their contexts.
const stopGrace = 3 * time.Second

// Close lets the items that are under way end, within the bound of ctx, and leaves the rest of every operation not tried.
// It may be called once.
func (m *Markers) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	close(m.stopping)
	m.mu.Unlock()
	defer m.end()
	done := make(chan struct{})
	go func() { m.running.Wait(); close(done) }()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-done:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	m.end()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for markers that are being changed: %w", ctx.Err())
	}
}

// enlist makes an operation live, so that recovery leaves it alone and Close waits for it, and reports whether it may run:
// not when Markers is closed. Each success is given back by one retire.
func (m *Markers) enlist(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.live[id] = true
	m.running.Add(1)
	return true
}

func (m *Markers) retire(id string) {
	m.mu.Lock()
	delete(m.live, id)
	_, left := m.left[id]
	m.mu.Unlock()
	m.running.Done()
	if !left {
		return
	}
	select {
	case m.untidy <- struct{}{}:
	default: // Run is about to look anyway
	}
}

// leave notes that an operation could not be ended, and why it was stopped.
func (m *Markers) leave(id, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left[id] = why
}

// whyLeft says why an operation that has not ended was stopped, and whether that was the end of an earlier run.
func (m *Markers) whyLeft(id string) (why string, interrupted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if why, ours := m.left[id]; ours {
		return why, why == stoppedByEnd
	}
	return "the program ended in the middle", true
}

func (m *Markers) completed(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.left, id)
}

func (m *Markers) isLive(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live[id]
}

// WhyNot returns why markers of a store cannot be changed, in words for a page, and "" when they can.
func (m *Markers) WhyNot(store string) string {
	st, ok := m.stores[store]
	switch {
	case !ok:
		return "there is no store " + printable(store, 64)
	case m.deps.ReadOnly:
		return "the dashboard is read-only (server.read_only)"
	case st.Reader == nil:
		return "store " + store + " cannot be read marker by marker"
	case st.Actor == nil:
		return "store " + store + " has no act credentials in the configuration"
	}
	return ""
}

// acting returns a store whose markers can be changed.
func (m *Markers) acting(store string) (*MarkerStore, error) {
	if why := m.WhyNot(store); why != "" {
		kind := dedup.Forbidden
		if m.stores[store] == nil {
			kind = dedup.NotFound
		}
		return nil, &dedup.Error{Kind: kind, Public: "Markers cannot be changed: " + why}
	}
	return m.stores[store], nil
}

// reading returns a store whose markers can be read.
func (m *Markers) reading(store string) (*MarkerStore, error) {
	st, ok := m.stores[store]
	if !ok {
		return nil, &dedup.Error{Kind: dedup.NotFound, Public: "There is no store " + printable(store, 64)}
	}
	if st.Reader == nil {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "Store " + store + " cannot be read marker by marker"}
	}
	return st, nil
}

// allow refuses and records whoever lacks the role.
func (m *Markers) allow(ctx context.Context, who Caller, needs auth.Role, name, target string) error {
	return m.deps.Gate.allow(ctx, who, action{name: name, target: printable(target, maxTarget), needs: needs})
}
