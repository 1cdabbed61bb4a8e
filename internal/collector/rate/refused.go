package rate

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// Refused is a rate that a source refuses before it looks at its samples. Without advice on how to get it, the source is
// none for this pipeline at all, and its refusal is told in the list of the sources alone.
func Refused(window time.Duration, source, formula, why, better string) dedup.Figure {
	f := dedup.Unknown(dedup.Ratio, why)
	f.Window, f.Source, f.Formula, f.Better = window, source, formula, better
	return f
}
