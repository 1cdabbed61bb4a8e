package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// NoOutcome stands for the outcome of an action that has none: it is under way, or the program ended in between.
const NoOutcome = "no outcome"

// HistoryLines are the actions on a marker. Viewers do not see from where they came.
func (s Site) HistoryLines(r *Request, entries []admin.Entry, now time.Time) []templates.AuditLine {
	lines := s.EntryLines(r, entries, now, r.Who.Can(auth.Operator))
	for i := range lines {
		lines[i].TargetHref = "" // they stand on its page
	}
	return lines
}

// EntryLines are entries of the audit as a reader may see them; whole ones say from where they came and lead on.
func (s Site) EntryLines(r *Request, entries []admin.Entry, now time.Time, whole bool) []templates.AuditLine {
	lines := make([]templates.AuditLine, 0, len(entries))
	for _, e := range entries {
		e.Hash = s.Masker.Hash(r.Who, e.Hash)
		l := templates.AuditLine{
			At: show.Moment(e.At, now), Phase: PhaseWord(e.Phase), Tier: PhaseTier(e.Phase), Who: show.Name(e.Who), Role: show.ShortName(e.Role),
			What: actionWord(e.Action), Target: show.LongKey(e.Target), Detail: templates.Sentence(show.ReadableTimes(entryText(e), now)),
		}
		if e.Number > 0 {
			l.Number = templates.Number(e.Number)
		}
		if store, key, ok := admin.MarkerOf(e.Target); ok && whole && admin.KindOf(e.Action).Step {
			l.TargetHref = MarkerAddress(s.Base, store, key)
		}
		if whole {
			l.From = strings.TrimSuffix(", "+show.Key(strings.TrimSpace(e.Method+" "+e.From)).Short, ", ")
			l.Href, l.Link = s.entryLink(e)
		}
		lines = append(lines, l)
	}
	return lines
}

// entryLink leads from an entry to its operation, or to all entries of what is no operation of its own.
func (s Site) entryLink(e admin.Entry) (href, link string) {
	deeds := []admin.Deed{admin.ClearMarkers, admin.SetExpiry, admin.RestoreMarkers}
	carriedOut := slices.ContainsFunc(deeds, func(d admin.Deed) bool { return strings.HasPrefix(e.Action, string(d)+"_marker") })
	switch {
	case e.Operation == "":
		return "", ""
	case carriedOut && e.Phase != admin.Planned && e.Phase != admin.Denied:
		return OperationAddress(s.Base, e.Operation), "operation"
	default:
		return AuditAddress(s.Base, e.Operation), "its entries"
	}
}

// entryText is what an entry says: the reason, what was there before and after, and the detail.
func entryText(e admin.Entry) string {
	var parts []string
	if e.Reason != "" {
		parts = append(parts, "“"+e.Reason+"”")
	}
	switch {
	case e.After != "":
		parts = append(parts, cmp.Or(e.Before, "nothing")+" → "+e.After)
	case e.Before != "":
		parts = append(parts, e.Before)
	}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	if e.Hash != "" {
		parts = append(parts, "value "+e.Hash[:min(12, len(e.Hash))]+"…")
	}
	return strings.Join(parts, " · ")
}

// PhaseWord is what pages call the phase of an action.
func PhaseWord(phase string) string {
	switch phase {
	case admin.Intent:
		return "intent"
	case admin.Uncertain:
		return "outcome unknown"
	default:
		return show.ShortName(phase)
	}
}

// PhaseTier is how grave the phase of an action is.
func PhaseTier(phase string) string {
	switch phase {
	case admin.Succeeded:
		return dedup.Normal.String()
	case admin.Failed, admin.Denied, NoOutcome:
		return dedup.Warning.String()
	case admin.Uncertain:
		return dedup.Severe.String()
	default:
		return dedup.TierUnknown.String()
	}
}

// actionWord turns the word for machines into those for people.
func actionWord(action string) string {
	return show.ShortName(admin.KindOf(action).Label)
}
