package layout

import (
	"fmt"
	"slices"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
)

// The fields that claim keys.
const (
	fieldMatch = "match"
	fieldRetry = "retry.match"
)

// Claim is a pattern by which a store takes raw keys.
type Claim struct {
	Field string
	Text  string // as it is written, of plain keys
	Raw   codec.Glob
	// exclude are the raw keys that the store leaves.
	exclude []codec.Glob
	// Specific is the length of the literal beginning.
	Specific int
}

// Claims returns the patterns by which a store takes keys: those of its markers and of its retry counters.
func Claims(c markers.Config) []Claim {
	var exclude []codec.Glob
	for _, e := range c.Exclude {
		exclude = append(exclude, rawGlob(c, e))
	}
	var all []Claim
	for _, p := range []struct{ field, text string }{{fieldMatch, c.Match}, {fieldRetry, c.Retry.Match}} {
		if p.text == "" {
			continue
		}
		raw := rawGlob(c, p.text)
		all = append(all, Claim{Field: p.field, Text: p.text, Raw: raw, exclude: exclude, Specific: raw.Literals()})
	}
	return all
}

func rawGlob(c markers.Config, pattern string) codec.Glob {
	return codec.ParseGlob(RawPattern(c, pattern))
}

// Disputes reports whether some key is claimed by both and left by neither.
func (c Claim) Disputes(o Claim) bool {
	leaves := func(c, o Claim) bool {
		return slices.ContainsFunc(c.exclude, func(e codec.Glob) bool { return e.Covers(o.Raw) })
	}
	return c.Raw.Overlaps(o.Raw) && !leaves(c, o) && !leaves(o, c)
}

// Yield is what another store leaves to the one with this claim.
func (c Claim) Yield(field, to string) markers.Yield {
	y := markers.Yield{Field: field, Pattern: c.Raw.Text, To: to, Claim: fmt.Sprintf("%s %q", c.Field, c.Text)}
	for _, e := range c.exclude {
		y.Except = append(y.Except, e.Text)
	}
	return y
}
