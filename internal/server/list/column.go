package list

import (
	"cmp"
	"math"
	"slices"
	"time"

	"dedup-dashboard/web/templates"
)

// A Column describes one column of a list: its head, how rows are sorted by it, and its cell in a table for spreadsheets.
type Column[T any] struct {
	// Head stands over the column; Number aligns it to the right.
	Head   string
	Number bool
	// Key names the column in an address, and Rank sorts by it; both are empty where it cannot be sorted by.
	Key  string
	Rank func(T) Rank
	// Up: the first click on its head sorts ascending.
	Up bool
	// Offered is the order that a form offers, and Words says it.
	Offered Order
	Words   string
	// Cell is what a spreadsheet shows.
	Cell func(T) string
}

// An Order is the column by which rows are sorted, and the direction. The zero value is the order that a list has by itself.
type Order struct {
	By         string
	Descending bool
}

// String writes an order as an address does: a minus reverses it.
func (o Order) String() string {
	if o.Descending {
		return "-" + o.By
	}
	return o.By
}

// A Rank is what a row is sorted by. The zero value is unknown: it comes last, whatever the direction.
type Rank struct {
	known  bool
	number float64
	text   string
	at     time.Time
}

// ByNumber ranks by a number; NaN is unknown.
func ByNumber(v float64) Rank { return Rank{known: !math.IsNaN(v), number: v} }

// ByText ranks by a text.
func ByText(s string) Rank { return Rank{known: true, text: s} }

// ByTime ranks by a time; the zero time is unknown.
func ByTime(t time.Time) Rank { return Rank{known: !t.IsZero(), at: t} }

func (r Rank) compare(o Rank) int {
	return cmp.Or(cmp.Compare(r.number, o.number), cmp.Compare(r.text, o.text), r.at.Compare(o.at))
}

// Unknown puts what is unknown behind what is known.
func Unknown(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// Sorted returns the items in an order of the columns; tie decides among equals. It ranks each item once and sorts the ranks: items may be
// large to move and ranks dear to find.
func Sorted[T any](items []T, columns []Column[T], o Order, tie func(a, b T) int) []T {
	at := slices.IndexFunc(columns, func(c Column[T]) bool { return c.Key == o.By && c.Rank != nil })
	if at < 0 {
		return items
	}
	type ranked struct {
		Rank
		index int
	}
	ranks := make([]ranked, len(items))
	for i, item := range items {
		ranks[i] = ranked{columns[at].Rank(item), i}
	}
	slices.SortStableFunc(ranks, func(a, b ranked) int {
		c := a.compare(b.Rank)
		if o.Descending {
			c = -c
		}
		return cmp.Or(Unknown(!a.known, !b.known), c, tie(items[a.index], items[b.index]))
	})
	sorted := make([]T, len(items))
	for i, r := range ranks {
		sorted[i] = items[r.index]
	}
	return sorted
}

// Keys are the keys of the columns that can be sorted by.
func Keys[T any](columns []Column[T]) []string {
	var keys []string
	for _, c := range columns {
		if c.Key != "" {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// Heads are the heads of a table whose rows are in an order, each with the link that sorts by it; a second click reverses.
func Heads[T any](columns []Column[T], o Order, address func(Order) string) []templates.Column {
	var heads []templates.Column
	for _, c := range columns {
		head := templates.Column{Label: c.Head, Number: c.Number}
		next := Order{c.Key, !c.Up}
		if c.Key == o.By && c.Key != "" {
			next.Descending = !o.Descending
			head.Sorted = "ascending"
			if o.Descending {
				head.Sorted = "descending"
			}
		}
		if c.Key != "" {
			head.Href = address(next)
		}
		heads = append(heads, head)
	}
	return heads
}

// Sorts are the orders that a form offers, and the one that holds if it is another.
func Sorts[T any](columns []Column[T], o Order) []templates.Choice {
	var sorts []templates.Choice
	found := false
	for _, c := range columns {
		if c.Words == "" {
			continue
		}
		found = found || c.Offered == o
		sorts = append(sorts, templates.Choice{Value: c.Offered.String(), Label: c.Words, Chosen: c.Offered == o})
	}
	if !found {
		sorts = append(sorts, templates.Choice{Value: o.String(), Label: o.By + ", reversed", Chosen: true})
	}
	return sorts
}
