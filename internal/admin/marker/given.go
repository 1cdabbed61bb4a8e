package marker

import (
	"context"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// A Given is a marker to which an operation gave an expiry that has not passed.
type Given struct {
	Store string
	// Seen is the marker as it was planned, Outcome what became of it, with the marker that has the expiry.
	Seen    dedup.Sighting
	Outcome ItemOutcome
}

// givenOperations is how many operations are looked through for expiries that were given.
const givenOperations = 500

// Given returns the markers to which operations gave an expiry that has not passed, as the journal has them, the oldest first: their
// expiry does not tell when they were set, after a restart of the program neither.
func (m *Markers) Given(ctx context.Context) ([]Given, error) {
	list, err := m.deps.Journal.Operations(ctx, givenOperations)
	if err != nil {
		return nil, admin.JournalError("The operations cannot be read", err)
	}
	var all []Given
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Deed != admin.SetExpiry || list[i].Results[dedup.ExpirySet] == 0 {
			continue
		}
		o, ok, err := m.deps.Journal.Operation(ctx, list[i].ID)
		if err != nil {
			return nil, admin.JournalError("The operations cannot be read", err)
		}
		if ok {
			all = append(all, o.given(m.deps.Now().UnixMilli())...)
		}
	}
	return all, nil
}

func (o Operation) given(now int64) []Given {
	var all []Given
	for i, out := range o.Outcomes {
		if out.Outcome.Result != dedup.ExpirySet || out.Outcome.Now == nil || out.Outcome.Now.ExpiresMillis <= now {
			continue
		}
		all = append(all, Given{Store: o.Plan.Request.Store, Seen: o.Plan.Items[i].Seen, Outcome: out})
	}
	return all
}
