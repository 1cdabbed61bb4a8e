package admin

import (
	"context"

	"dedup-dashboard/internal/dedup"
)

func NewMarkers(deps MarkersDeps) *Markers { return &Markers{deps: deps} }

func (m *Markers) whyNot(string) string { return "" }

var errComing = &dedup.Error{Kind: dedup.Unavailable, Public: "Single markers are not available"}

// Run recovers what an earlier run of the program left unfinished, and then purges old plans and images until ctx ends.
func (m *Markers) Run(ctx context.Context) error { return errComing }

// Close lets the items that are under way end, within the bound of ctx, and leaves the rest of every operation not tried.
func (m *Markers) Close(ctx context.Context) error { return errComing }

// Browse returns a page of a store's markers, read live. Viewers may.
func (m *Markers) Browse(ctx context.Context, who Caller, store string, q dedup.MarkerQuery) (BrowsePage, error) {
	return BrowsePage{}, errComing
}

// Look returns one marker as it is now. When there is none the error is of kind not found, and the Judged still holds the
// history. Viewers may; the history is for operators.
func (m *Markers) Look(ctx context.Context, who Caller, store, key string) (Judged, error) {
	return Judged{}, errComing
}

// Lookup asks every store for a message id or business key at once. A store that does not answer within 2 s says so in its
// own answer and spoils no other. Viewers may.
func (m *Markers) Lookup(ctx context.Context, who Caller, term string) (LookupResult, error) {
	return LookupResult{}, errComing
}

// Plan freezes a selection and says what would happen to each marker. It changes nothing. Admins may.
func (m *Markers) Plan(ctx context.Context, who Caller, req PlanRequest) (Plan, error) {
	return Plan{}, errComing
}

// Planned returns a plan again, and the operation that carried it out or "". A plan that is over is of kind not found.
// Admins may.
func (m *Markers) Planned(ctx context.Context, who Caller, id string) (Plan, string, error) {
	return Plan{}, "", errComing
}

// Execute begins to carry a plan out and returns the operation at once; it goes on when the caller has gone. A plan that
// is being or was carried out returns the operation that has it, and nothing is done twice. Any admin may carry out the
// plan of another; the audit says who did.
func (m *Markers) Execute(ctx context.Context, who Caller, req ExecuteRequest) (string, error) {
	return "", errComing
}

// Operation returns an operation with what became of each item so far. Operators may.
func (m *Markers) Operation(ctx context.Context, who Caller, id string) (Operation, error) {
	return Operation{}, errComing
}

// Operations lists operations, newest first. Operators may.
func (m *Markers) Operations(ctx context.Context, who Caller, limit int) ([]OperationSummary, error) {
	return nil, errComing
}

// Audit returns a page of the audit, newest first. Operators may.
func (m *Markers) Audit(ctx context.Context, who Caller, q AuditQuery) ([]Entry, error) {
	return nil, errComing
}

// VerifyAudit checks the whole chain of the audit. Operators may.
func (m *Markers) VerifyAudit(ctx context.Context, who Caller) (AuditState, error) {
	return AuditState{}, errComing
}
