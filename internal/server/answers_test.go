package server

import (
	"dedup-dashboard/internal/server/page/marker"
)

// A keeper is what the pages of markers ask, which a test can exchange.
type keeper struct{ marker.Service }

// markersJSON is what tests read of a list of markers.
type markersJSON struct {
	Listed, Matching *int
	Actable          bool
	Markers          []struct {
		Key, Verdict string
		Changed      *struct{ Result, By string }
	}
}

// planJSON is what tests read of a plan.
type planJSON struct {
	ID    string
	Items []struct {
		Effect string
		Hash   string `json:"value_sha256"`
	}
}

// operationJSON is what tests read of an operation.
type operationJSON struct {
	ID, Reason string
	Totals     map[string]int
	Items      []struct {
		Restorable any `json:"restorable_until"`
	}
}

// lookupJSON is what tests read of a look-up.
type lookupJSON struct {
	Stores []struct {
		Error string
		Found []any
	}
}
