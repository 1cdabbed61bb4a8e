package audit

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/internal/text"
	"dedup-dashboard/web/templates"
)

// The two views of the audit: one row for each action, or every entry of the trail.
const (
	viewOperations = "operations"
	viewEntries    = "entries"
)

// actions are the actions that a filter offers, by what they are about. Parts of an action are in the view of every entry alone.
func actions(chosen string, whole bool) []templates.ChoiceGroup {
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

// actionNames are the names of all actions that the audit can hold.
func actionNames() []string {
	var names []string
	for _, k := range admin.ActionKinds() {
		names = append(names, k.Name)
	}
	return names
}

// outcomes are the outcomes that a filter offers.
func outcomes() []string {
	return []string{admin.Succeeded, admin.Failed, admin.Changed, admin.Uncertain, admin.Intent, admin.Denied, admin.Planned}
}

// A query is the state of the audit that lives in its address.
type query struct {
	admin.AuditQuery
	view string
	// now reads the words of days, in the zone of the reader.
	now time.Time
}

func (q *query) params() []list.Param {
	trimmed := func(name string, field *string, most int) list.Param {
		return list.Func(name, func(s string) error {
			if s = strings.TrimSpace(s); len(s) > most {
				return list.Bad(name, "is longer than "+strconv.Itoa(most)+" bytes")
			}
			*field = s
			return nil
		}, func() string { return *field })
	}
	return []list.Param{
		list.After("before", &q.Before, 1, "must be the number of an entry"),
		list.Text("store", &q.Store, 200), list.Text("key", &q.Key, web.MaxKey), trimmed("operation", &q.Operation, 100), trimmed("who", &q.Who, 200), list.Choice("action", &q.Action, "", actionNames()),
		trimmed("queue", &q.Queue, web.MaxRef), list.Text("pipeline", &q.Pipeline, web.MaxText),
		list.Choice("outcome", &q.Phase, "", outcomes()),
		list.Choice("view", &q.view, "", []string{viewOperations, viewEntries}),
		q.bound("from", &q.From, 0), q.bound("to", &q.To, 1),
	}
}

// bound is a day in the reader's zone, which stands for the first moment of the day that comes days later; or a moment, as a time or
// as a span that leads back from now.
func (q *query) bound(name string, field *time.Time, days int) list.Param {
	return list.Func(name, func(s string) error {
		if s == "" {
			return nil
		}
		reader := text.Reader{Now: q.now}
		day, err := reader.Day(s)
		if err == nil {
			s = day.AddDate(0, 0, days).Format(time.DateOnly)
		}
		at, unread := reader.Read(s)
		if unread != nil {
			return list.Bad(name, "must be a day such as 2026-11-21, a time such as 2026-11-21T14:00, or a span such as 2h")
		}
		*field = at.At
		if days > 0 { // where the clocks show it twice, both are within
			*field = at.Last()
		}
		return nil
	}, func() string { return boundOf(*field, -days, q.now) })
}

// parseQuery reads the parameters of the audit, as far as they can be read. whole is true where every entry is asked for: of one
// operation, of one marker, or by view=entries. Days are those of the zone of now.
func parseQuery(values url.Values, now time.Time) (q query, whole bool, err error) {
	q = query{AuditQuery: admin.AuditQuery{Limit: perPage}, now: now}
	if err := list.Read(values, q.params()...); err != nil {
		return q, false, err
	}
	if q.Key != "" && q.Store == "" {
		return q, false, list.Bad("store", "must be given along with key")
	}
	return q, q.Operation != "" || q.Key != "" || q.view == viewEntries, nil
}

func (q query) address(base string) string { return list.Address(base+"/audit", q.params()...) }

// in is the first page of the same query in a view.
func (q query) in(view string) query {
	q.view, q.Before = view, 0
	return q
}

// dayOf is the day that is some days after that of a time.
func dayOf(t time.Time, days int) string {
	if t.IsZero() {
		return ""
	}
	return t.AddDate(0, 0, days).Format(time.DateOnly)
}

// boundOf writes a bound as parseQuery reads it: as a day where it is the beginning of one, else as a time.
func boundOf(t time.Time, days int, now time.Time) string {
	if t.IsZero() || beginsDay(t, now) {
		return dayOf(t.In(now.Location()), days)
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func beginsDay(t, now time.Time) bool {
	first, err := text.Reader{Now: now}.Read(t.In(now.Location()).Format(time.DateOnly))
	return err == nil && first.At.Equal(t)
}

// shownDay is a bound in the form, which has days alone: of a time its day.
func shownDay(t time.Time, days int, now time.Time) string {
	if !beginsDay(t, now) {
		days = 0
	}
	return dayOf(t.In(now.Location()), days)
}

// filter is the state of the filter form.
func (s *pages) filter(q admin.AuditQuery, view string, now time.Time) templates.AuditFilter {
	f := templates.AuditFilter{
		Key: q.Key, Operation: q.Operation, Queue: q.Queue, Who: q.Who, From: shownDay(q.From, 0, now), To: shownDay(q.To, -1, now), View: view,
		Clear: query{view: view}.address(s.site.Base),
	}
	q.Before, q.Limit = 0, 0
	f.Any = q != admin.AuditQuery{}
	f.Actions = actions(q.Action, view == viewEntries)
	for _, o := range outcomes() {
		f.Outcomes = append(f.Outcomes, templates.Choice{Value: o, Label: outcomeWord(o), Chosen: o == q.Phase})
	}
	snap := s.deps.Snapshots.Snapshot()
	for i := range snap.Pipelines {
		p := &snap.Pipelines[i]
		name := p.Pipeline.Name
		f.Pipelines = append(f.Pipelines, templates.Choice{Value: name, Label: show.ShortName(name), Chosen: name == q.Pipeline})
		for _, queue := range p.DeadLetterQueues {
			if plain := templates.Plain(queue.Name, web.MaxRef).Short; plain == queue.Name && !slices.Contains(f.Queues, plain) {
				f.Queues = append(f.Queues, queue.Name)
			}
		}
	}
	for i := range snap.Stores {
		name := snap.Stores[i].Name
		f.Stores = append(f.Stores, templates.Choice{Value: name, Label: show.ShortName(name), Chosen: name == q.Store})
	}
	return f
}
