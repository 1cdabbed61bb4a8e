package kinds

import (
	"fmt"
	"slices"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis"
	"dedup-dashboard/internal/markers/redis/layout"
	"dedup-dashboard/internal/markers/sql"
)

// fieldTable is the field that claims the rows of a table.
const fieldTable = "table"

// An Overlap is a pair of stores that would take the same keys of the same database for theirs, with patterns of which
// none is more specific.
type Overlap struct {
	// Stores are the positions of the two stores, Fields what claims the keys, Patterns what is written there.
	Stores   [2]int
	Fields   [2]string
	Patterns [2]string
	names    [2]string
}

// Error names both stores and what to do.
func (o *Overlap) Error() string {
	if o.Fields[0] == fieldTable {
		return fmt.Sprintf("stores %s and %s: both read table %q of the same database: keep one of them", o.names[0], o.names[1], o.Patterns[0])
	}
	return fmt.Sprintf("stores %s and %s: %s %q and %s %q find the same keys of the same database, and neither is more specific: "+
		"change one, or exclude from one store what belongs to the other",
		o.names[0], o.names[1], o.Fields[0], o.Patterns[0], o.Fields[1], o.Patterns[1])
}

// Resolve settles which store has a key that the patterns of several stores of one database match: the one with the
// longest literal beginning. It returns the stores with what each yields to others, and the pairs that cannot be settled, each an *Overlap.
func Resolve(stores []markers.Config) ([]markers.Config, []error) {
	settled, databases := slices.Clone(stores), redis.Databases(stores)
	var open []error
	for i := range settled {
		settled[i].Yields = nil
	}
	for i := range stores {
		for j := i + 1; j < len(stores); j++ {
			if a := sql.Place(stores[i]); a != "" && a == sql.Place(stores[j]) {
				open = append(open, overlap(stores, i, j, [2]string{fieldTable, fieldTable}, [2]string{stores[i].Table, stores[j].Table}))
			}
			if databases[i] == "" || databases[i] != databases[j] {
				continue
			}
			for _, a := range layout.Claims(stores[i]) {
				for _, b := range layout.Claims(stores[j]) {
					switch {
					case !a.Disputes(b):
					case a.Specific < b.Specific:
						settled[i].Yields = append(settled[i].Yields, b.Yield(a.Field, stores[j].Name))
					case b.Specific < a.Specific:
						settled[j].Yields = append(settled[j].Yields, a.Yield(b.Field, stores[i].Name))
					default:
						open = append(open, overlap(stores, i, j, [2]string{a.Field, b.Field}, [2]string{a.Text, b.Text}))
					}
				}
			}
		}
	}
	return settled, open
}

func overlap(stores []markers.Config, i, j int, fields, patterns [2]string) *Overlap {
	return &Overlap{Stores: [2]int{i, j}, Fields: fields, Patterns: patterns, names: [2]string{stores[i].Name, stores[j].Name}}
}
