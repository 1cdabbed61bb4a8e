package deadletter

import (
	"cmp"
	"slices"
	"time"

	"dedup-dashboard/internal/admin/preflight"
)

// GroupLetters groups letters by what they share, the largest group first. Each letter is in exactly one group, and the
// group's filter meets exactly its letters.
func GroupLetters(letters []Letter, key GroupKey) []Group {
	found := map[string]*Group{}
	for i := range letters {
		l := &letters[i]
		filter := groupFilter(l, key).String()
		g := found[filter]
		if g == nil {
			g = &Group{Value: groupValue(l, key), Filter: filter, Classes: preflight.Tally{}}
			found[filter] = g
		}
		g.add(l)
	}
	groups := make([]Group, 0, len(found))
	for _, g := range found {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Filter, b.Filter))
	})
	return groups
}

func (g *Group) add(l *Letter) {
	g.Count++
	g.Bytes += int64(l.Size)
	g.Classes[l.Prediction.Class]++
	died := l.LastDied()
	if died.IsZero() {
		return
	}
	if g.First.IsZero() || died.Before(g.First) {
		g.First = died
	}
	if died.After(g.Last) {
		g.Last = died
	}
}

// groupFields are the fields of a filter that a key groups by.
func groupFields(key GroupKey) []string {
	switch key {
	case ByReason:
		return []string{fieldReason}
	case BySource:
		return []string{fieldSource}
	case ByRoute:
		return []string{fieldExchange, fieldRoute}
	case ByException:
		return []string{FieldException}
	case ByType:
		return []string{FieldType}
	}
	return nil
}

// groupFilter selects the letters that share the value of this one.
func groupFilter(l *Letter, key GroupKey) Filter {
	var f Filter
	for _, field := range groupFields(key) {
		f.terms = append(f.terms, term{field: field, value: wordOf(l, field)})
	}
	if key != ByHour {
		return f
	}
	died := l.LastDied()
	if died.IsZero() {
		// Every time that is known is at or after the first one.
		return Filter{terms: []term{{not: true, field: fieldAfter}}}
	}
	hour := died.UTC().Truncate(time.Hour)
	return Filter{terms: []term{{field: fieldAfter, at: hour}, {field: fieldBefore, at: hour.Add(time.Hour)}}}
}

// groupValue is what pages call the group.
func groupValue(l *Letter, key GroupKey) string {
	switch key {
	case ByHour:
		if died := l.LastDied(); !died.IsZero() {
			return died.UTC().Format("2006-01-02T15:00Z")
		}
		return ""
	case ByRoute:
		return wordOf(l, fieldExchange) + " → " + wordOf(l, fieldRoute)
	}
	for _, field := range groupFields(key) {
		return wordOf(l, field)
	}
	return ""
}
