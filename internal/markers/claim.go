package markers

import (
	"fmt"
	"slices"

	"dedup-dashboard/internal/markers/codec"
)

// The fields that claim keys.
const (
	fieldMatch = "match"
	fieldRetry = "retry.match"
	fieldTable = "table"
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
			if a, b := stores[i].server(), stores[j].server(); a == "" || a != b {
				continue
			}
			for _, a := range stores[i].claims() {
				for _, b := range stores[j].claims() {
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

// claim is a pattern by which a store takes raw keys.
type claim struct {
	field string
	text  string // as it is written, of plain keys
	raw   codec.Glob
	// exclude are the raw keys that the store leaves.
	exclude []codec.Glob
	// specific is the length of the literal beginning.
	specific int
}

func (c Config) claims() []claim {
	var exclude []codec.Glob
	for _, e := range c.Exclude {
		exclude = append(exclude, c.rawGlob(e))
	}
	var all []claim
	for _, p := range []struct{ field, text string }{{fieldMatch, c.Match}, {fieldRetry, c.Retry.Match}} {
		if p.text == "" {
			continue
		}
		raw := c.rawGlob(p.text)
		all = append(all, claim{field: p.field, text: p.text, raw: raw, exclude: exclude, specific: raw.Literals()})
	}
	return all
}

func (c Config) rawGlob(pattern string) codec.Glob { return codec.ParseGlob(c.raw(pattern)) }

// disputes reports whether some key is claimed by both and left by neither.
func (c claim) disputes(o claim) bool {
	leaves := func(c, o claim) bool {
		return slices.ContainsFunc(c.exclude, func(e codec.Glob) bool { return e.Covers(o.raw) })
	}
	return c.raw.Overlaps(o.raw) && !leaves(c, o) && !leaves(o, c)
}

// yield is what another store leaves to the one with this claim.
func (c claim) yield(field, to string) Yield {
	y := Yield{Field: field, Pattern: c.raw.Text, To: to, Claim: fmt.Sprintf("%s %q", c.field, c.text)}
	for _, e := range c.exclude {
		y.Except = append(y.Except, e.Text)
	}
	return y
}
