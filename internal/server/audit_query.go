package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/text"
	"dedup-dashboard/web/templates"
)

// The two views of the audit: one row for each action, or every entry of the trail.
const (
	viewOperations = "operations"
	viewEntries    = "entries"
)

// auditActions are the actions that a filter offers, by what they are about. Parts of an action are in the view of every entry alone.
func auditActions(chosen string, whole bool) []templates.ChoiceGroup {
	var groups []templates.ChoiceGroup
	for _, k := range admin.ActionKinds() {
		if k.Step && !whole {
			continue
		}
		if n := len(groups); n == 0 || groups[n-1].Label != string(k.About) {
			groups = append(groups, templates.ChoiceGroup{Label: string(k.About)})
		}
		last := &groups[len(groups)-1]
		last.Choices = append(last.Choices, templates.Choice{Value: k.Name, Label: k.Label, Chosen: k.Name == chosen})
	}
	return groups
}

// auditOutcomes are the outcomes that a filter offers.
func auditOutcomes() []string {
	return []string{admin.Succeeded, admin.Failed, admin.Changed, admin.Uncertain, admin.Intent, admin.Denied, admin.Planned}
}

// parseAuditQuery reads the parameters of the audit. whole is true where every entry is asked for: of one operation, of one
// marker, or by view=entries.
// Days are those of the zone of now.
func parseAuditQuery(values url.Values, now time.Time) (q admin.AuditQuery, whole bool, err error) {
	q = admin.AuditQuery{
		Limit: auditPerPage, Store: values.Get("store"), Key: values.Get("key"), Operation: strings.TrimSpace(values.Get("operation")),
		Queue: strings.TrimSpace(values.Get("queue")), Pipeline: values.Get("pipeline"),
		TrailFilter: admin.TrailFilter{Who: strings.TrimSpace(values.Get("who")), Action: values.Get("action"), Phase: values.Get("outcome")},
	}
	if s := values.Get("before"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 {
			return q, false, badParameter("before", "must be the number of an entry")
		}
		q.Before = n
	}
	switch view := values.Get("view"); {
	case q.Key != "" && q.Store == "":
		return q, false, badParameter("store", "must be given along with key")
	case len(q.Queue) > maxRef:
		return q, false, badParameter("queue", "has at most 255 bytes")
	case q.Pipeline != "" && !validPipeline.MatchString(q.Pipeline):
		return q, false, noPipeline(q.Pipeline)
	case len(q.Operation) > 100 || len(q.Store) > 200 || len(q.Key) > longKey || len(q.Who) > 200 || len(q.Action) > 100:
		return q, false, badParameter("operation, store, key, who or action", "is too long")
	case q.Phase != "" && !slices.Contains(auditOutcomes(), q.Phase):
		return q, false, badParameter("outcome", "must be "+strings.Join(auditOutcomes(), ", "))
	case view != "" && view != viewOperations && view != viewEntries:
		return q, false, badParameter("view", "must be operations or entries")
	}
	if q.From, err = parseDay(values, "from", now, 0); err != nil {
		return q, false, err
	}
	if q.To, err = parseDay(values, "to", now, 1); err != nil {
		return q, false, err
	}
	return q, q.Operation != "" || q.Key != "" || values.Get("view") == viewEntries, nil
}

// parseDay reads a day in the reader's zone as the first moment of the day that comes days later; zero when there is none.
func parseDay(values url.Values, name string, now time.Time, days int) (time.Time, error) {
	s := values.Get(name)
	if s == "" {
		return time.Time{}, nil
	}
	day, err := text.Reader{Now: now}.Day(s)
	first, unread := text.Reader{Now: now}.Read(day.AddDate(0, 0, days).Format(time.DateOnly))
	if err != nil || unread != nil {
		return time.Time{}, badParameter(name, "must be a day such as 2026-11-21, today or yesterday")
	}
	return first.At, nil
}

func auditAddress(base string, q admin.AuditQuery) string { return auditView(base, q, "") }

// auditView is the address of the audit with a view; the default one is left out.
func auditView(base string, q admin.AuditQuery, view string) string {
	v := url.Values{}
	for name, value := range map[string]string{
		"store": q.Store, "key": q.Key, "queue": q.Queue, "pipeline": q.Pipeline, "operation": q.Operation, "who": q.Who, "action": q.Action, "outcome": q.Phase,
		"from": dayOf(q.From, 0), "to": dayOf(q.To, -1), "view": view,
	} {
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

func dayOf(t time.Time, days int) string {
	if t.IsZero() {
		return ""
	}
	return t.AddDate(0, 0, days).Format(time.DateOnly)
}

// auditFilter is the state of the filter form.
func (s *Server) auditFilter(q admin.AuditQuery, view string) templates.AuditFilter {
	f := templates.AuditFilter{
		Store: q.Store, Key: q.Key, Operation: q.Operation, Queue: q.Queue, Who: q.Who, From: dayOf(q.From, 0), To: dayOf(q.To, -1), View: view,
		Clear: auditView(s.cfg.base(), admin.AuditQuery{}, view),
	}
	q.Before, q.Limit = 0, 0
	f.Any = q != admin.AuditQuery{}
	f.Actions = auditActions(q.Action, view == viewEntries)
	for _, o := range auditOutcomes() {
		f.Outcomes = append(f.Outcomes, templates.Choice{Value: o, Label: outcomeWord(o), Chosen: o == q.Phase})
	}
	snap := s.snapshots.Snapshot()
	for i := range snap.Pipelines {
		p := &snap.Pipelines[i]
		name := p.Pipeline.Name
		f.Pipelines = append(f.Pipelines, templates.Choice{Value: name, Label: templates.Plain(name, nameLimit).Short, Chosen: name == q.Pipeline})
		for _, queue := range p.DeadLetterQueues {
			if plain := templates.Plain(queue.Name, maxRef).Short; plain == queue.Name && !slices.Contains(f.Queues, plain) {
				f.Queues = append(f.Queues, queue.Name)
			}
		}
	}
	for i := range snap.Stores {
		name := snap.Stores[i].Name
		f.Stores = append(f.Stores, templates.Choice{Value: name, Label: templates.Plain(name, nameLimit).Short, Chosen: name == q.Store})
	}
	return f
}
