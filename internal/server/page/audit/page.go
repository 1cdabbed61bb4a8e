package audit

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// audit answers the record of every action, newest first, one row for each; or every entry of the trail. The chain is checked on
// its first page only: that reads all of it.
func (s *pages) page(r *web.Request) (web.Response, error) {
	q, whole, wrong := parseQuery(r.URL.Query(), r.Now())
	service, err := s.trail()
	if err != nil {
		return nil, err
	}
	now, base := r.Now(), s.site.Base
	q.view = ""
	if whole && q.Operation == "" && q.Key == "" {
		q.view = viewEntries
	}
	v := templates.AuditView{
		Frame: s.site.Frame(r, "Audit"), Filter: s.filter(q.AuditQuery, q.view, now), Whole: whole,
		Empty: templates.Empty{Heading: "Nothing was done yet", Text: "Whatever changes something through this dashboard leaves its entries here."},
	}
	v.Acts, v.Other = q.in("").address(base), q.in(viewEntries).address(base)
	if wrong != nil {
		v.Empty = web.BadFilter(wrong, v.Filter.Clear)
		return web.Page{Status: http.StatusBadRequest, Component: templates.Audit(v)}, nil
	}
	if v.Filter.Any || q.Before > 0 {
		none := cmp.Or(web.NotConfigured(s.deps.Snapshots.Snapshot(), q.Pipeline, q.Store), "Nothing of this kind was done.")
		v.Empty = templates.Empty{Heading: "No entry matches", Text: none, Href: v.Filter.Clear, Link: "Show all entries"}
	}
	var last int64
	if v.Rows, last, err = s.rows(r, service, q.AuditQuery, whole, now); err != nil {
		return nil, err
	}
	if last > 0 {
		older := q
		older.Before = last
		v.Older = older.address(base)
	}
	if q.Before > 0 {
		v.Newest = q.in(q.view).address(base)
	} else {
		v.Chain, v.Proxy = s.chain(r, service), s.site.ProxyNote(r.Who)
	}
	return web.Page{Component: templates.Audit(v)}, nil
}

// rows reads a page of entries or actions, and returns the number from which the next page goes on; 0 at the end.
func (s *pages) rows(r *web.Request, service trail, q admin.AuditQuery, whole bool, now time.Time) ([]templates.AuditLine, int64, error) {
	if whole {
		entries, err := service.Audit(r.Context(), r.Asker(), q)
		if err != nil {
			return nil, 0, err
		}
		if len(entries) < q.Limit {
			return s.site.EntryLines(r, entries, now, true), 0, nil
		}
		return s.site.EntryLines(r, entries, now, true), entries[len(entries)-1].Number, nil
	}
	acts, err := service.Acts(r.Context(), r.Asker(), q)
	if err != nil {
		return nil, 0, err
	}
	var lines []templates.AuditLine
	for _, a := range acts {
		line := s.actLine(r, a, now)
		if line.Markers, line.MoreMarkers, err = s.markersOf(r, service, a.Entry); err != nil {
			return nil, 0, err
		}
		lines = append(lines, line)
	}
	if len(acts) < q.Limit {
		return lines, 0, nil
	}
	return lines, acts[len(acts)-1].Entry.Number, nil
}

// markersNamed is how many markers the row of an operation names; its page has all.
const markersNamed = 3

// markersOf are the last markers that an operation has tried to change, and whether there are more: the entry of the operation names their
// store alone.
func (s *pages) markersOf(r *web.Request, service trail, e admin.Entry) ([]templates.Crumb, bool, error) {
	step := strings.TrimSuffix(e.Action, "s")
	if e.Operation == "" || e.Phase != admin.Intent || step == e.Action || !admin.KindOf(step).Step {
		return nil, false, nil
	}
	steps, err := service.Audit(r.Context(), r.Asker(), admin.AuditQuery{Limit: markersNamed + 1, Operation: e.Operation, TrailFilter: admin.TrailFilter{Action: step, Phase: admin.Intent}})
	if err != nil {
		return nil, false, err
	}
	var named []templates.Crumb
	for _, tried := range steps[:min(len(steps), markersNamed)] {
		store, key, whole := admin.MarkerOf(tried.Target)
		if !whole {
			named = append(named, templates.Crumb{Label: show.Key(strings.TrimPrefix(tried.Target, e.Target+"/"))})
			continue
		}
		named = append(named, templates.Crumb{Label: show.Key(key), Href: web.MarkerAddress(s.site.Base, store, key)})
	}
	slices.Reverse(named) // in the order in which they were tried
	return named, len(steps) > markersNamed, nil
}

// actLine is one action in one row: what was done and why, and what came of it with the counts.
func (s *pages) actLine(r *web.Request, a admin.Act, now time.Time) templates.AuditLine {
	l := s.site.EntryLines(r, []admin.Entry{a.Entry}, now, true)[0]
	phase := actOutcome(a)
	l.Phase, l.Tier = outcomeWord(phase), web.PhaseTier(phase)
	if phase == admin.Intent {
		l.Tier = web.PhaseTier(web.NoOutcome)
	}
	var parts []string
	if a.Entry.Reason != "" {
		parts = append(parts, "“"+a.Entry.Reason+"”")
	}
	if detail := cmp.Or(a.Outcome.Detail, a.Entry.Detail); detail != "" {
		parts = append(parts, detail)
	}
	l.Detail = templates.Sentence(show.ReadableTimes(strings.Join(parts, " · "), now))
	l.Trail = ""
	if a.Entry.Operation != "" {
		l.Trail = web.AuditAddress(s.site.Base, a.Entry.Operation)
	}
	if l.Link != "operation" {
		l.Href, l.Link = "", ""
	}
	return l
}

// actOutcome is the phase that says what came of an action.
func actOutcome(a admin.Act) string {
	if a.Outcome.Number > 0 {
		return a.Outcome.Phase
	}
	return a.Entry.Phase
}

// outcomeWord words the outcome of an action.
func outcomeWord(phase string) string {
	switch phase {
	case admin.Intent:
		return web.NoOutcome
	case admin.Changed:
		return "nothing changed"
	default:
		return web.PhaseWord(phase)
	}
}
