package server

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// auditPerPage is how many entries a page of the audit shows.
const auditPerPage = 50

// parseAuditQuery reads the parameters of the audit.
func parseAuditQuery(values url.Values) (admin.AuditQuery, error) {
	q := admin.AuditQuery{Limit: auditPerPage, Store: values.Get("store"), Key: values.Get("key"), Operation: strings.TrimSpace(values.Get("operation"))}
	if s := values.Get("before"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 {
			return q, badParameter("before", "must be the number of an entry")
		}
		q.Before = n
	}
	if q.Key != "" && q.Store == "" {
		return q, badParameter("store", "must be given along with key")
	}
	if len(q.Operation) > 100 || len(q.Store) > 200 || len(q.Key) > longKey {
		return q, badParameter("operation, store or key", "is too long")
	}
	return q, nil
}

func auditAddress(base string, q admin.AuditQuery) string {
	v := url.Values{}
	for name, value := range map[string]string{"store": q.Store, "key": q.Key, "operation": q.Operation} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Before > 0 {
		v.Set("before", strconv.FormatInt(q.Before, 10))
	}
	if len(v) == 0 {
		return base + "/audit"
	}
	return base + "/audit?" + v.Encode()
}

// audit answers the record of every action, newest first. The chain is checked on its first page only: that reads all of it.
func (s *Server) auditPage(r *request) (response, error) {
	q, err := parseAuditQuery(r.URL.Query())
	if err != nil {
		return nil, err
	}
	service, err := s.service()
	if err != nil {
		return nil, err
	}
	entries, err := service.Audit(r.Context(), r.asker(), q)
	if err != nil {
		return nil, err
	}
	now := time.Now().In(zone(r))
	v := templates.AuditView{
		Frame: s.frame(r, "Audit"), Rows: s.auditLines(entries, now, true),
		Filter: templates.AuditFilter{Store: q.Store, Key: q.Key, Operation: q.Operation, Any: q.Store != "" || q.Operation != "", Clear: s.cfg.base() + "/audit"},
		Empty:  templates.Empty{Heading: "Nothing was done yet", Text: "Whatever changes something through this dashboard leaves its entries here."},
	}
	if v.Filter.Any || q.Before > 0 {
		v.Empty = templates.Empty{Heading: "No entry matches", Text: "Nothing of this kind was done.", Href: v.Filter.Clear, Link: "Show all entries"}
	}
	for i := range s.snapshots.Snapshot().Stores {
		name := s.snapshots.Snapshot().Stores[i].Name
		v.Filter.Stores = append(v.Filter.Stores, templates.Choice{Value: name, Label: templates.Plain(name, nameLimit).Short, Chosen: name == q.Store})
	}
	if len(entries) == q.Limit {
		older := q
		older.Before = entries[len(entries)-1].Number
		v.Older = auditAddress(s.cfg.base(), older)
	}
	if q.Before > 0 {
		newest := q
		newest.Before = 0
		v.Newest = auditAddress(s.cfg.base(), newest)
	} else {
		v.Chain = s.chain(r, service)
	}
	return page{component: templates.Audit(v)}, nil
}

// chain says whether the audit is whole.
func (s *Server) chain(r *request, service trail) templates.Problem {
	state, err := service.VerifyAudit(r.Context(), r.asker())
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
		return templates.Problem{Tier: dedup.Normal.String(), Text: templates.Sentence("The chain of hashes is whole: " + entries(state.Entries) + ", head " + head + "…")}
	}
}

// historyLines are the actions on a marker. Viewers do not see from where they came.
func (s *Server) historyLines(r *request, entries []admin.Entry, now time.Time) []templates.AuditLine {
	return s.auditLines(entries, now, r.Who.Can(auth.Operator))
}

func (s *Server) auditLines(entries []admin.Entry, now time.Time, whole bool) []templates.AuditLine {
	lines := make([]templates.AuditLine, 0, len(entries))
	for _, e := range entries {
		l := templates.AuditLine{
			At: moment(e.At, now), Phase: phaseWord(e.Phase), Tier: phaseTier(e.Phase), Who: templates.Plain(e.Who, nameLimit), Role: templates.Plain(e.Role, nameLimit).Short,
			What: actionWord(e.Action), Target: templates.Plain(e.Target, 2*keyLimit), Detail: templates.Sentence(entryText(e)),
		}
		if e.Number > 0 {
			l.Number = templates.Number(float64(e.Number))
		}
		if whole {
			l.From = strings.TrimSuffix(", "+templates.Plain(strings.TrimSpace(e.Method+" "+e.From), keyLimit).Short, ", ")
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
		return templates.Plain(phase, nameLimit).Short
	}
}

func phaseTier(phase string) string {
	switch phase {
	case admin.Succeeded:
		return dedup.Normal.String()
	case admin.Failed, admin.Denied:
		return dedup.Warning.String()
	case admin.Uncertain:
		return dedup.Severe.String()
	default:
		return dedup.TierUnknown.String()
	}
}

// actionWord turns the word for machines into one for people.
func actionWord(action string) string {
	return templates.Plain(strings.ReplaceAll(action, "_", " "), nameLimit).Short
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return templates.Number(float64(n)) + " entries"
}
