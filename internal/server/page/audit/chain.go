package audit

import (
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// perPage is how many entries a page of the audit shows.
const perPage = 50

// chain says whether the audit is whole.
func (s *pages) chain(r *web.Request, service trail) templates.Problem {
	state, err := service.VerifyAudit(r.Context(), r.Asker())
	now := r.Now()
	switch {
	case err != nil:
		return show.Problem(dedup.TierUnknown, "The chain of hashes could not be checked: "+dedup.PublicText(err), "")
	case state.Broken != "":
		return show.Problem(dedup.Emergency, "The chain of hashes is broken: "+state.Broken,
			"Keep the file as it is, and find out who could write to it.")
	case state.Entries == 0:
		return templates.Problem{}
	default:
		head := state.Head[:min(16, len(state.Head))]
		return templates.Problem{
			Tier: dedup.Normal.String(), Text: templates.Sentence("The chain of hashes is whole: " + entries(state.Entries) + ", head " + head + "…" + wholeWord(state, now)), Remedy: templates.Sentence(chainProves(state)),
			Href: s.site.Base + "/docs/accounts#what-the-audit-proves", Link: "What this proves, and what not",
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
		first := templates.Number(n)
		text += " The first " + first + " entries are older than the key: what was changed in them before the next one was written does not show."
	}
	return text + " An end that was cut off while the dashboard was stopped shows only against a head from the log."
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return templates.Number(n) + " entries"
}
