package show

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// SourceWord says in one word whether a source answers, with the tier that colours it: a source that does not answer hides
// what may be wrong, so it is severe and not only unknown.
func SourceWord(h dedup.SourceHealth) (word, tier string) {
	switch {
	case !h.Tried:
		return "not tried yet", dedup.TierUnknown.String()
	case h.OK && h.Note != "":
		return ShortName(h.Note), dedup.TierUnknown.String()
	case h.OK:
		return "reachable", dedup.Normal.String()
	default:
		return "unreachable", dedup.Severe.String()
	}
}

// PassText says when a store was last walked over as a whole.
func PassText(s dedup.StoreStats, now time.Time) string {
	if s.Pass == nil {
		return "none complete yet"
	}
	if s.Pass.Unfit() {
		return Ago(s.Pass.Ended, now) + ", " + UnfitText(s.Pass)
	}
	return Ago(s.Pass.Ended, now) + ", " + Counted(s.Pass.Matched, "marker")
}

// UnderWay reports whether a pass has begun and has not seen everything yet.
func UnderWay(p dedup.Progress) bool { return !p.Started.IsZero() && p.Coverage < 0.995 }

// CoverageText says how much of a store the pass under way has seen.
func CoverageText(p dedup.Progress) string {
	text := templates.Number(p.Coverage*100) + " %"
	if p.Waiting != "" {
		text += ", " + templates.Sentence(p.Waiting).Short
	}
	return text
}
