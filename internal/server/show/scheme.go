package show

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// SchemeText says in one line what consumers of the scheme do.
func SchemeText(s dedup.Scheme) string {
	text := s.Preset
	if s.Mark != "" {
		text += ", marks " + s.Mark + " the work"
	}
	if s.OnInFlight != "" {
		text += ", on an in-flight hit: " + s.OnInFlight
	}
	if s.OnFail != "" {
		text += ", on failure: " + s.OnFail
	}
	if s.GiveUp > 0 {
		text += fmt.Sprintf(", gives up after %d", s.GiveUp)
	}
	return templates.Sentence(text).Short
}

// UnfitText says that markers are there of which none is known.
func UnfitText(p *dedup.Pass) string {
	return Counted(p.Misfits, "key") + " found by match, but id fits none of them"
}
