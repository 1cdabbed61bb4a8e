package marker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/operation"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

const (
	// atOnce is how many items are under way in one store, over all operations.
	atOnce = 16
)

// Execute begins to carry a plan out and returns the operation at once; it goes on when the caller has gone. A plan that
// is being or was carried out returns the operation that has it, and nothing is done twice. Any admin may carry out the
// plan of another; the audit says who did.
func (m *Markers) Execute(ctx context.Context, who admin.Caller, req ExecuteRequest) (string, error) {
	act := admin.Action{Name: "execute_plan", Target: admin.Printable(req.PlanID, admin.MaxTarget), Needs: auth.Admin}
	o, st, err := m.prepare(ctx, who, req, &act)
	switch {
	case err != nil:
		return "", m.deps.Gate.Refuse(ctx, who, act, err)
	case st == nil:
		return o.ID, nil
	}
	return m.begin(ctx, who, st, o, req.Token)
}

// prepare checks who carries which plan out, and completes the action. Without a store the operation has the plan already.
func (m *Markers) prepare(ctx context.Context, who admin.Caller, req ExecuteRequest, act *admin.Action) (Operation, *Store, error) {
	p, holder, err := m.plans.Review(ctx, who, req, act)
	if p.ID != "" {
		act.Target = admin.Printable(p.Request.Store, admin.MaxTarget) + "/plan/" + p.ID
	}
	if err != nil || holder != "" {
		return Operation{ID: holder}, nil, err
	}
	st, err := m.mayCarryOut(p, req.Confirm)
	return Operation{Plan: p, By: who.Name, Reason: act.Reason, Started: m.deps.Now()}, st, err
}

// mayCarryOut checks a plan right before it is carried out.
func (m *Markers) mayCarryOut(p Plan, typed string) (*Store, error) {
	st, err := m.stores.acting(p.Request.Store)
	if err != nil {
		return nil, err
	}
	if err := m.plans.InForce(p, typed); err != nil {
		return nil, err
	}
	if len(p.Items) == 0 {
		return nil, admin.Conflict("The plan touches no marker")
	}
	return st, nil
}

// begin audits the intent, claims the plan and starts the operation, also when the caller has gone.
func (m *Markers) begin(ctx context.Context, who admin.Caller, st *Store, o Operation, token string) (string, error) {
	r, id, err := m.claimPlan(ctx, who, st, o, token)
	if r == nil {
		return id, err
	}
	go func() {
		defer m.retire(id)
		m.carryOut(r)
	}()
	return id, nil
}

// claimPlan audits the intent and claims the plan. The run is nil when another operation has the plan, or on an error; else it is
// live, and whoever carries it out retires it.
func (m *Markers) claimPlan(ctx context.Context, who admin.Caller, st *Store, o Operation, token string) (*run, string, error) {
	e := admin.NewEntry(who, admin.Action{Name: string(o.Plan.Request.Deed) + "_markers", Target: st.Name})
	e.Reason, e.Hash = o.Reason, planHash(o.Plan)
	e.Detail = fmt.Sprintf("%s of plan %s", admin.Plural(len(o.Plan.Items), "marker"), o.Plan.ID)
	o.ID = e.Operation
	r := &run{markers: m, gate: m.deps.Gate, store: st, operation: o, entry: e}
	holder, err := m.operations.Claim(ctx, m.deps.Gate, e, r, func(ctx context.Context) (string, error) {
		holder, err := m.deps.Journal.Begin(ctx, o, token)
		return holder, operation.NotBegun(err)
	})
	if holder != o.ID {
		r = nil
	}
	return r, holder, err
}

// retire lets an operation go. One that could not be ended is completed by the recovery.
func (m *Markers) retire(id string) {
	if m.operations.Owed(id) != nil {
		m.operations.Retire(id)
		return
	}
	m.operations.LetGo(id)
}

// A run is an operation under way in this process.
type run struct {
	markers   *Markers
	gate      *admin.Gate
	store     *Store
	operation Operation
	// entry is the audited intent of the whole operation.
	entry admin.Entry

	mu sync.Mutex
	// Under mu: why no further item may begin, what came of those that were, and what of it is still to be written.
	stopped      string
	results      map[dedup.Result]int
	owedOutcomes []ItemOutcome
	owedEntries  []owedEntry
}

// An owedEntry is an outcome that the audit could not take.
type owedEntry struct {
	entry admin.Entry
	phase string
}

// owe notes what could not be written.
func (r *run) owe(note func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	note()
}

// halt lets no further item begin. The first cause is kept.
func (r *run) halt(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped == "" {
		r.stopped = why
	}
}

func (r *run) halted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped != ""
}

func (r *run) count(result dedup.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results == nil {
		r.results = map[dedup.Result]int{}
	}
	r.results[result]++
}

// carryOut works through the items, then marks the operation as ended and audits its result.
func (m *Markers) carryOut(r *run) {
	items := make(chan int)
	var workers sync.WaitGroup
	for range min(atOnce, len(r.operation.Plan.Items)) {
		workers.Go(func() {
			for i := range items {
				m.takeSlot(r, i)
			}
		})
	}
	for i := range r.operation.Plan.Items {
		items <- i
	}
	close(items)
	workers.Wait()
	m.finish(r)
}

// takeSlot carries an item out as soon as the store has a slot for it, unless the operation was halted.
func (m *Markers) takeSlot(r *run, item int) {
	select {
	case <-m.operations.Stopping():
		r.halt(stoppedByEnd)
		return
	default:
	}
	select {
	case <-m.operations.Stopping():
		r.halt(stoppedByEnd)
		return
	case m.slots[r.store.Name] <- struct{}{}:
	}
	defer func() { <-m.slots[r.store.Name] }()
	if r.halted() {
		return
	}
	r.item(m.life, item)
	m.deps.Changed("operation:" + r.operation.ID)
}

// finish marks the operation as ended and audits its result. All of it has happened: an operation whose outcomes are not
// all in journal and audit is left open, and recovery completes it.
func (m *Markers) finish(r *run) {
	ctx, cancel := admin.Writing(context.Background())
	defer cancel()
	err := r.settle(ctx)
	if err == nil {
		err = m.deps.Journal.End(ctx, r.operation.ID, m.deps.Now(), r.stopped == stoppedByEnd, r.stopped)
	}
	if err != nil {
		m.operations.Owe(r.operation.ID, r)
		m.deps.Log.Error("the end of an operation could not be kept; it is tried again", "operation", r.operation.ID, "err", err)
	}
	e, phase := r.entry, admin.Succeeded
	e.Detail = r.tally()
	switch {
	case r.stopped != "":
		e.Detail, phase = e.Detail+"; the rest was not tried: "+r.stopped, admin.Failed
	case r.untouched():
		phase = admin.Changed
	}
	m.deps.Gate.Close(ctx, e, phase)
	m.deps.Changed("operation:" + r.operation.ID)
}

// settle writes what could not be written before. Whether every item has its outcome in the journal is for End to say.
func (r *run) settle(ctx context.Context) error {
	for _, out := range r.owedOutcomes {
		if err := r.markers.deps.Journal.Done(ctx, r.operation.ID, out); err != nil {
			r.markers.deps.Log.Error("the outcome of an item could not be kept at the end either", "operation", r.operation.ID, "item", out.Item, "err", err)
		}
	}
	for _, owed := range r.owedEntries {
		if err := r.gate.Record(ctx, owed.entry, owed.phase); err != nil {
			return fmt.Errorf("record the outcome of %s: %w", owed.entry.Target, err)
		}
	}
	return nil
}

// tally counts the results in words: "12 cleared, 1 gone".
func (r *run) tally() string {
	var words []string
	for _, result := range slices.Sorted(maps.Keys(r.results)) {
		words = append(words, fmt.Sprintf("%d %s", r.results[result], result))
	}
	if len(words) == 0 {
		return "no marker was tried"
	}
	return strings.Join(words, ", ")
}

// untouched reports whether every marker was found changed or gone, so that nothing was done.
func (r *run) untouched() bool {
	return r.results[dedup.Changed]+r.results[dedup.Gone] == len(r.operation.Plan.Items)
}

// Operation returns an operation with what became of each item so far. Operators may.
func (m *Markers) Operation(ctx context.Context, who admin.Caller, id string) (Operation, error) {
	if err := m.allow(ctx, who, auth.Operator, "read_operation", id); err != nil {
		return Operation{}, err
	}
	live := m.operations.Live(id) != nil
	o, ok, err := m.deps.Journal.Operation(ctx, id)
	if err != nil {
		return Operation{}, admin.JournalError("The operation cannot be read", err)
	}
	if !ok {
		return Operation{}, admin.NotFound("There is no such operation")
	}
	if o.Ended.IsZero() && !live {
		o.Stopped = toBeCompleted
	}
	return o, nil
}

const maxOperations = 200

// Operations lists operations, newest first. Operators may.
func (m *Markers) Operations(ctx context.Context, who admin.Caller, limit int) ([]OperationSummary, error) {
	if err := m.allow(ctx, who, auth.Operator, "read_operations", ""); err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxOperations {
		return nil, admin.Invalid(fmt.Sprintf("A list has 1 to %d operations", maxOperations))
	}
	list, err := m.deps.Journal.Operations(ctx, limit)
	if err != nil {
		return nil, admin.JournalError("The operations cannot be read", err)
	}
	return list, nil
}
