package markers

import (
	"fmt"
	"slices"
)

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
func Resolve(stores []Config) ([]Config, []error) {
	settled := slices.Clone(stores)
	var open []error
	for i := range settled {
		settled[i].Yields = nil
	}
	for i := range stores {
		for j := i + 1; j < len(stores); j++ {
			if a := stores[i].sqlPlace(); a != "" && a == stores[j].sqlPlace() {
				open = append(open, sqlOverlap(stores, i, j))
			}
			if a, b := database(stores[i]), database(stores[j]); a == "" || a != b {
				continue
			}
			for _, a := range claimsOf(stores[i]) {
				for _, b := range claimsOf(stores[j]) {
					switch {
					case !a.disputes(b):
					case a.specific < b.specific:
						settled[i].Yields = append(settled[i].Yields, b.yield(a.field, stores[j].Name))
					case b.specific < a.specific:
						settled[j].Yields = append(settled[j].Yields, a.yield(b.field, stores[i].Name))
					default:
						open = append(open, &Overlap{Stores: [2]int{i, j}, Fields: [2]string{a.field, b.field},
							Patterns: [2]string{a.text, b.text}, names: [2]string{stores[i].Name, stores[j].Name}})
					}
				}
			}
		}
	}
	return settled, open
}

// sqlOverlap is the error of two stores that read the same table.
func sqlOverlap(stores []Config, i, j int) *Overlap {
	a, b := stores[i], stores[j]
	return &Overlap{Stores: [2]int{i, j}, Fields: [2]string{"table", "table"}, Patterns: [2]string{a.Table, b.Table}, names: [2]string{a.Name, b.Name}}
}
