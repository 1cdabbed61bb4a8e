package server

import (
	"cmp"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// noOutcome stands for the outcome of an action that has none: it is under way, or the program ended in between.
const noOutcome = "no outcome"

// audit answers the record of every action, newest first, one row for each; or every entry of the trail. The chain is checked on
// its first page only: that reads all of it.
func (s *Server) auditPage(r *web.Request) (web.Response, error) {
	q, whole, err := parseAuditQuery(r.URL.Query(), time.Now().In(web.Zone(r)))
	if err != nil {
		return nil, err
	}
	service, err := s.service()
	if err != nil {
		return nil, err
	}
	now, base := time.Now().In(web.Zone(r)), s.cfg.base()
	q.view = ""
	if whole && q.Operation == "" && q.Key == "" {
		q.view = viewEntries
	}
	v := templates.AuditView{
		Frame: s.frame(r, "Audit"), Filter: s.auditFilter(q.AuditQuery, q.view), Whole: whole,
		Empty: templates.Empty{Heading: "Nothing was done yet", Text: "Whatever changes something through this dashboard leaves its entries here."},
	}
	v.Acts, v.Other = q.in("").address(base), q.in(viewEntries).address(base)
	if v.Filter.Any || q.Before > 0 {
		v.Empty = templates.Empty{Heading: "No entry matches", Text: "Nothing of this kind was done.", Href: v.Filter.Clear, Link: "Show all entries"}
	}
	var last int64
	if v.Rows, last, err = s.auditRows(r, service, q.AuditQuery, whole, now); err != nil {
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
		v.Chain, v.Proxy = s.chain(r, service), s.proxyNote(r.Who)
	}
	return web.Page{Component: templates.Audit(v)}, nil
}

// auditRows reads a page of entries or actions, and returns the number from which the next page goes on; 0 at the end.
func (s *Server) auditRows(r *web.Request, service trail, q admin.AuditQuery, whole bool, now time.Time) ([]templates.AuditLine, int64, error) {
	if whole {
		entries, err := service.Audit(r.Context(), r.Asker(), q)
		if err != nil {
			return nil, 0, err
		}
		if len(entries) < q.Limit {
			return s.auditLines(r, entries, now, true), 0, nil
		}
		return s.auditLines(r, entries, now, true), entries[len(entries)-1].Number, nil
	}
	acts, err := service.Acts(r.Context(), r.Asker(), q)
	if err != nil {
		return nil, 0, err
	}
	var lines []templates.AuditLine
	for _, a := range acts {
		lines = append(lines, s.actLine(r, a, now))
	}
	if len(acts) < q.Limit {
		return lines, 0, nil
	}
	return lines, acts[len(acts)-1].Entry.Number, nil
}

// actLine is one action in one row: what was done and why, and what came of it with the counts.
func (s *Server) actLine(r *web.Request, a admin.Act, now time.Time) templates.AuditLine {
	l := s.auditLines(r, []admin.Entry{a.Entry}, now, true)[0]
	phase := actOutcome(a)
	l.Phase, l.Tier = outcomeWord(phase), phaseTier(phase)
	if phase == admin.Intent {
		l.Tier = phaseTier(noOutcome)
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
		l.Trail = auditAddress(s.cfg.base(), admin.AuditQuery{Operation: a.Entry.Operation})
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
		return noOutcome
	case admin.Changed:
		return "nothing changed"
	default:
		return phaseWord(phase)
	}
}

// actsJSON is the answer of /api/v1/audit?view=operations.
type actsJSON struct {
	Operations []actJSON `json:"operations"`
	// Before is the number to give as ?before= for older ones; null at the end.
	Before *int64 `json:"before"`
}

// actJSON is one action: the entry that began it, its outcome, and when and with which counts it ended.
type actJSON struct {
	entryJSON
	// Outcome is succeeded, failed, changed, unknown, denied, planned, or intent for one without an outcome yet.
	Outcome string     `json:"outcome"`
	Ended   *time.Time `json:"ended"`
	Result  string     `json:"result"`
}

// apiActs gives a page of what was done, newest first.
func (s *Server) apiActs(r *web.Request, q admin.AuditQuery) (web.Response, error) {
	service, err := s.service()
	if err != nil {
		return nil, err
	}
	acts, err := service.Acts(r.Context(), r.Asker(), q)
	if err != nil {
		return nil, err
	}
	body := actsJSON{Operations: []actJSON{}}
	for _, a := range acts {
		body.Operations = append(body.Operations, actJSON{s.auditEntryOf(r, a.Entry), actOutcome(a), api.Time(a.Outcome.At), a.Outcome.Detail})
	}
	if len(acts) == q.Limit {
		body.Before = &acts[len(acts)-1].Entry.Number
	}
	return web.JSON{Value: body}, nil
}
