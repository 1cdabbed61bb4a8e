package marker

import (
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// rules say which markers a plan may touch, and what happens to their messages afterwards.
type rules struct {
	scheme  dedup.Scheme
	view    view
	request PlanRequest
	now     time.Time
}

// leaveOut returns why a marker is not touched, and "" when it is.
func (r rules) leaveOut(it PlanItem) string {
	if why := r.changed(it); why != "" {
		return why
	}
	switch {
	case it.Seen.State == dedup.StateUnknown:
		return "cannot be decoded: such markers are never changed"
	case it.Verdict == dedup.StillWorking:
		return "refused, owner alive: " + reasons(it)
	case r.request.Deed == admin.SetExpiry:
		return r.leaveUnexpiring(it)
	case it.Seen.State == dedup.Done && !r.request.single():
		return "the work was done: such markers are cleared one by one, with typed confirmation"
	case it.Seen.State == dedup.Present && !r.request.single():
		return "whether the work was done cannot be told: such markers are cleared one by one, with typed confirmation"
	case it.Verdict.OwnerUnknown() && !r.request.single():
		return "cannot tell whether its owner is alive: such markers are cleared one by one, with typed confirmation: " + reasons(it)
	}
	return ""
}

// changed returns how a marker no longer fits the filter that selected it.
func (r rules) changed(it PlanItem) string {
	f := r.request.Filter
	if f == nil {
		return ""
	}
	want := map[List]dedup.State{ProcessingList: dedup.Processing, FailedList: dedup.Failed, GaveUpList: dedup.Failed}[f.List]
	switch {
	case want != "" && it.Seen.State != want:
		return "changed state meanwhile: " + admin.Describe(&it.Seen)
	case f.List == PermanentList && it.Seen.ExpiresMillis != dedup.NoExpiry:
		return "has an expiry now: " + admin.Describe(&it.Seen)
	case f.Verdict != "" && it.Verdict != f.Verdict && it.Verdict != dedup.StillWorking:
		return "its verdict is now " + string(it.Verdict) + ": " + reasons(it)
	}
	return ""
}

// leaveUnexpiring says which markers get no expiry: an expiry must not cut short work under way, nor the time for which
// done work is remembered.
func (r rules) leaveUnexpiring(it PlanItem) string {
	memory, patience, ttl := memory(r.scheme), 2*r.view.evidence.MaxProcessing, r.ttl(it.Seen.State)
	switch {
	case it.Seen.Type == admin.TypeRow:
		return "rows of a table have no expiry"
	case it.Seen.ExpiresMillis != dedup.NoExpiry:
		return "expires by itself: " + admin.Describe(&it.Seen)
	case it.Seen.State != dedup.Processing && it.Seen.State != dedup.Failed && ttl < memory:
		return "the time to live is shorter than the " + admin.Span(memory) + " for which done work is remembered"
	case it.Verdict.OwnerUnknown() && (patience == 0 || ttl < patience):
		return "its owner may be alive, and the time to live is not known to be longer than its work: " + reasons(it)
	}
	return ""
}

// confirms reports whether a marker is touched only with typed confirmation.
func (r rules) confirms(it PlanItem) bool {
	if r.request.Deed != admin.ClearMarkers {
		return false
	}
	return it.Seen.State == dedup.Done || it.Seen.State == dedup.Present || it.Verdict.OwnerUnknown()
}

func reasons(it PlanItem) string {
	if len(it.Reasons) == 0 {
		return "no reason is known"
	}
	return strings.Join(it.Reasons, "; ")
}
