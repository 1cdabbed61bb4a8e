package dedup

import "time"

// A MarkerQuery asks a store for a page of its markers, read live.
type MarkerQuery struct {
	// State is the state to show; empty for any.
	State State
	// Match is a part of the id or the business key, compared as it stands; empty for any.
	Match string
	// Cursor is MarkerPage.Next of the page before; empty for the first.
	Cursor string
	// Limit is the most markers of the page: 1 to 200.
	Limit int
}

// A MarkerPage is a page of markers in the order of the store's own walk, with what it cost.
type MarkerPage struct {
	Markers []Marker
	// Next is the cursor of the next page; empty at the end of the store. A page may be short, even empty, and still have
	// a next one: a page examines a bounded part of the store.
	Next string
	// Examined counts the keys or rows that were looked at.
	Examined int64
	At       time.Time
}
