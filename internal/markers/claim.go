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

func claimsOf(c Config) []claim {
	var exclude []codec.Glob
	for _, e := range c.Exclude {
		exclude = append(exclude, rawGlob(c, e))
	}
	var all []claim
	for _, p := range []struct{ field, text string }{{fieldMatch, c.Match}, {fieldRetry, c.Retry.Match}} {
		if p.text == "" {
			continue
		}
		raw := rawGlob(c, p.text)
		all = append(all, claim{field: p.field, text: p.text, raw: raw, exclude: exclude, specific: raw.Literals()})
	}
	return all
}

func rawGlob(c Config, pattern string) codec.Glob { return codec.ParseGlob(rawPattern(c, pattern)) }

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
