package server

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// auditPerPage is how many entries a page of the audit shows.
const auditPerPage = 50

// chain says whether the audit is whole.
func (s *Server) chain(r *web.Request, service trail) templates.Problem {
	state, err := service.VerifyAudit(r.Context(), r.Asker())
	now := time.Now().In(web.Zone(r))
	switch {
	case err != nil:
		return templates.Problem{Tier: dedup.TierUnknown.String(), Text: templates.Sentence("The chain of hashes could not be checked: " + dedup.PublicText(err))}
	case state.Broken != "":
		return templates.Problem{
			Tier: dedup.Emergency.String(), Text: templates.Sentence("The chain of hashes is broken: " + state.Broken),
			Mend: templates.Sentence("Keep the file as it is, and find out who could write to it."),
		}
	case state.Entries == 0:
		return templates.Problem{}
	default:
		head := state.Head[:min(16, len(state.Head))]
		return templates.Problem{
			Tier: dedup.Normal.String(), Text: templates.Sentence("The chain of hashes is whole: " + entries(state.Entries) + ", head " + head + "…" + wholeWord(state, now)), Mend: templates.Sentence(chainProves(state)),
			Href: s.cfg.base() + "/docs/accounts#what-the-audit-proves", Link: "What this proves, and what not",
		}
	}
}

// wholeWord says when all of the chain was checked, where that was not just now.
func wholeWord(state admin.AuditState, now time.Time) string {
	if state.Whole.IsZero() || now.Sub(state.Whole) < time.Second {
		return ""
	}
	return "; new entries were checked now, all of them at " + show.Moment(state.Whole, now).Text
}

// chainProves says what a whole chain proves.
func chainProves(state admin.AuditState) string {
	text := "Nobody changed, removed or swapped an entry without the key of this installation."
	switch n := state.Unkeyed; {
	case n == 1:
		text += " The first entry is older than the key: what was changed in it before the next one was written does not show."
	case n > 1:
		first := templates.Number(float64(n))
		text += " The first " + first + " entries are older than the key: what was changed in them before the next one was written does not show."
	}
	return text + " An end that was cut off while the dashboard was stopped shows only against a head from the log."
}

// historyLines are the actions on a marker. Viewers do not see from where they came.
func (s *Server) historyLines(r *web.Request, entries []admin.Entry, now time.Time) []templates.AuditLine {
	return s.auditLines(r, entries, now, r.Who.Can(auth.Operator))
}

func (s *Server) auditLines(r *web.Request, entries []admin.Entry, now time.Time, whole bool) []templates.AuditLine {
	lines := make([]templates.AuditLine, 0, len(entries))
	for _, e := range entries {
		e.Hash = s.masker.hash(r.Who, e.Hash)
		l := templates.AuditLine{
			At: show.Moment(e.At, now), Phase: phaseWord(e.Phase), Tier: phaseTier(e.Phase), Who: templates.Plain(e.Who, show.NameLimit), Role: templates.Plain(e.Role, show.NameLimit).Short,
			What: actionWord(e.Action), Target: templates.Plain(e.Target, 2*show.KeyLimit), Detail: templates.Sentence(show.ReadableTimes(entryText(e), now)),
		}
		if e.Number > 0 {
			l.Number = templates.Number(float64(e.Number))
		}
		if whole {
			l.From = strings.TrimSuffix(", "+templates.Plain(strings.TrimSpace(e.Method+" "+e.From), show.KeyLimit).Short, ", ")
			l.Href, l.Link = s.entryLink(e)
		}
		lines = append(lines, l)
	}
	return lines
}

// entryLink leads from an entry to its operation, or to all entries of what is no operation of its own.
func (s *Server) entryLink(e admin.Entry) (href, link string) {
	deeds := []admin.Deed{admin.ClearMarkers, admin.SetExpiry, admin.RestoreMarkers}
	carriedOut := slices.ContainsFunc(deeds, func(d admin.Deed) bool { return strings.HasPrefix(e.Action, string(d)+"_marker") })
	switch {
	case e.Operation == "":
		return "", ""
	case carriedOut && e.Phase != admin.Planned && e.Phase != admin.Denied:
		return s.operationAddress(e.Operation), "operation"
	default:
		return auditAddress(s.cfg.base(), admin.AuditQuery{Operation: e.Operation}), "its entries"
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

func phaseWord(phase string) string {
	switch phase {
	case admin.Intent:
		return "intent"
	case admin.Uncertain:
		return "outcome unknown"
	default:
		return templates.Plain(phase, show.NameLimit).Short
	}
}

func phaseTier(phase string) string {
	switch phase {
	case admin.Succeeded:
		return dedup.Normal.String()
	case admin.Failed, admin.Denied, noOutcome:
		return dedup.Warning.String()
	case admin.Uncertain:
		return dedup.Severe.String()
	default:
		return dedup.TierUnknown.String()
	}
}

// actionWord turns the word for machines into those for people.
func actionWord(action string) string {
	return templates.Plain(admin.KindOf(action).Label, show.NameLimit).Short
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return templates.Number(float64(n)) + " entries"
}
