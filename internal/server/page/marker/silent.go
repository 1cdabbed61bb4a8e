package marker

import (
	"net/http"
	"net/url"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// silentStore answers a request that needs a store which does not answer. Without a form to send again, the same address is
// loaded again.
func (s *pages) silentStore(r *web.Request, store string, err error, again templates.Resend) web.Response {
	now, snap, base := r.Now(), s.deps.Snapshots.Snapshot(), s.site.Base
	if again.Action == "" {
		again.Action = r.URL.RequestURI()
	}
	v := templates.SilentView{
		Frame: s.site.Frame(r, "Store does not answer"), Crumbs: pipelineCrumbs(base, snap, store), Store: show.Name(store), Again: again,
		Problem: show.Problem(dedup.Severe, show.WholeSentence(show.Within(dedup.PublicText(err))),
			"Look whether its server runs and whether this machine may reach it, then try again."),
		Meanwhile: "Nothing was changed. A marker can be read and changed only while its store answers.",
		Back:      base + "/", BackWord: "Back to the overview",
	}
	if names := snap.PipelinesOf(store); len(names) > 0 {
		v.Back, v.BackWord = web.MarkersAddress(base, url.PathEscape(names[0])), "Back to the list of markers"
	}
	if st, ok := snap.Store(store); ok && st.Stats.Pass != nil {
		v.Meanwhile += " The list shows the last complete pass, which ended " + show.Ago(st.Stats.Pass.Ended, now) + "."
	}
	return web.Page{Status: http.StatusServiceUnavailable, Component: templates.Silent(v)}
}

// resendPlan is the form of a plan with the fields that were sent.
func resendPlan(action string, form url.Values) templates.Resend {
	again := templates.Resend{Action: action}
	for _, name := range []string{"store", "list", "verdict", "match", "do", "sel", "retry", "ttl", "ttl_own", "operation", "item"} {
		for _, value := range form[name] {
			again.Fields = append(again.Fields, templates.Fact{Label: name, Value: value})
		}
	}
	return again
}
