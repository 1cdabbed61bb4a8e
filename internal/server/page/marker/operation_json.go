package marker

import (
	"time"

	"dedup-dashboard/internal/server/web"
)

// operationSummaryJSON is an operation in a list.
type operationSummaryJSON struct {
	ID          string     `json:"id"`
	Deed        string     `json:"deed"`
	Store       string     `json:"store"`
	By          string     `json:"by"`
	Reason      string     `json:"reason"`
	Started     *time.Time `json:"started"`
	Ended       *time.Time `json:"ended"`
	Interrupted bool       `json:"interrupted"`
	Undone      string     `json:"undone_by"`
	// Markers is how many it is about; those that were not tried are in none of the totals.
	Markers int            `json:"markers"`
	Totals  map[string]int `json:"totals"`
}

// apiOperations gives the newest operations.
func (s *pages) apiOperations(r *web.Request) (web.Response, error) {
	operations, err := s.deps.Markers.Operations(r.Context(), r.Asker(), operationsListed)
	if err != nil {
		return nil, err
	}
	out := []operationSummaryJSON{}
	for _, o := range operations {
		j := operationSummaryJSON{
			ID: o.ID, Deed: string(o.Deed), Store: o.Store, By: o.By, Reason: o.Reason, Started: web.Time(o.Started), Ended: web.Time(o.Ended),
			Interrupted: o.Interrupted, Undone: o.Undone, Markers: o.Items, Totals: map[string]int{},
		}
		for result, n := range o.Results {
			j.Totals[string(result)] = n
		}
		out = append(out, j)
	}
	return web.JSON{Value: map[string]any{"operations": out}}, nil
}
