package preflight

import (
	"fmt"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// ofAnother corrects the prediction for a message that finds the marker of another one, because the store takes both ids for one. What
// that marker says of work is said of the other message's, and clearing it would have that done again.
func ofAnother(p Prediction, s dedup.Scheme, m *dedup.Sighting) Prediction {
	p.ClearFirst, p.ClearDone, p.MayRepeat = false, false, false
	p.Reasons = append([]string{OtherWords(m)}, p.Reasons...)
	acked := p.Class == ClassSkipped || p.Class == ClassSwallowed || p.Class == ClassPerhapsSwallowed
	if !acked && !finished(s, m) {
		return p // consumers return it, or take the work up, whose ever the marker is
	}
	p.Class = ClassSwallowed
	if m.Other.MayBeOwn {
		p.Class = ClassPerhapsSwallowed
	}
	return p
}

// finished reports whether a marker says that work was done. Where its row expires, consumers skip the message until it is purged.
func finished(s dedup.Scheme, m *dedup.Sighting) bool {
	return m.State == dedup.Done || m.State == dedup.Present && s.Mark == "after"
}

// OtherWords says in words whose marker a message finds that is not its own, or may not be.
func OtherWords(m *dedup.Sighting) string {
	row := "another id"
	if m.ID != "" {
		row = "id " + admin.Printable(m.ID, admin.MaxTarget)
	}
	if m.Other.MayBeOwn {
		return fmt.Sprintf("the store cannot keep its id as it is, and consumers find the marker of %s, which may be its own or that of another message", row)
	}
	return fmt.Sprintf("consumers find the marker of another message, %s, because the store takes both ids for one: what that marker says is not said of this message", row)
}
