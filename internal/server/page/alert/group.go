package alert

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// alertColumns are the columns of the list, and what each sorts by.
func alertColumns() []list.Column[*alerts.AlertView] {
	return []list.Column[*alerts.AlertView]{
		{Head: "Tier", Key: "tier", Rank: func(a *alerts.AlertView) list.Rank { return list.ByNumber(gravity(a)) }},
		{Head: "Alert", Key: "alert", Up: true, Rank: func(a *alerts.AlertView) list.Rank {
			return list.ByText(strings.ToLower(show.AlertTitle(a) + " " + a.Key.Subject))
		}},
		{Head: "Value against limit, likely cause, what to do first"},
		{Head: "Since", Key: "since", Rank: func(a *alerts.AlertView) list.Rank { return list.ByTime(sinceOf(a)) }},
	}
}

// gravity orders alerts by their tier: what fires before what is pending, and that before what cannot be told.
func gravity(a *alerts.AlertView) float64 {
	switch {
	case show.Fires(a):
		return 10 * float64(a.State.Tier)
	case a.Pending() >= dedup.Warning:
		return float64(a.Pending())
	case a.Stale():
		return 0.5
	default:
		return 0
	}
}

// sinceOf is since when an alert is as the list shows it.
func sinceOf(a *alerts.AlertView) time.Time {
	if show.Fires(a) {
		return a.State.FiredAt
	}
	return a.State.Since
}

// grouped reports whether the list stands in groups: it does unless it was sorted by a column, or is of one pipeline.
func (q query) grouped() bool { return q.order == list.Order{} && q.pipeline == "" }

// ordered puts alerts, the worst first, in the order of the list: sorted by a column, or those of each pipeline together, the pipeline with
// the worst first.
func (q query) ordered(worstFirst []*alerts.AlertView) []*alerts.AlertView {
	if !q.grouped() {
		return list.Sorted(worstFirst, alertColumns(), q.order, func(_, _ *alerts.AlertView) int { return 0 })
	}
	place := map[rule.Key]int{}
	for _, a := range worstFirst {
		if _, ok := place[groupOf(a)]; !ok {
			place[groupOf(a)] = len(place)
		}
	}
	together := slices.Clone(worstFirst)
	slices.SortStableFunc(together, func(a, b *alerts.AlertView) int { return cmp.Compare(place[groupOf(a)], place[groupOf(b)]) })
	return together
}

// groupOf is what the alerts of a group are about.
func groupOf(a *alerts.AlertView) rule.Key { return rule.Key{Kind: a.Key.Kind, Subject: a.Key.Subject} }

// groups puts the rows of a page under the names of what they are about. All are the alerts of every page: a group may go on.
func groups(shown, all []*alerts.AlertView, rows []templates.AlertRow, late bool, base string) []templates.AlertGroup {
	var out []templates.AlertGroup
	for i, a := range shown {
		if i == 0 || groupOf(a) != groupOf(shown[i-1]) {
			out = append(out, groupHead(groupOf(a), all, late, base))
		}
		last := &out[len(out)-1]
		row := rows[i]
		row.InGroup = true
		last.Rows = append(last.Rows, row)
	}
	return out
}

// groupHead is the heading of a group: what it is about, how bad the worst of it is, and how many alerts it has.
func groupHead(of rule.Key, all []*alerts.AlertView, late bool, base string) templates.AlertGroup {
	n := 0
	var worst *alerts.AlertView
	for _, a := range all {
		if groupOf(a) != of {
			continue
		}
		if n++; worst == nil || gravity(a) > gravity(worst) {
			worst = a
		}
	}
	g := templates.AlertGroup{Name: show.LongName(subjectOf(of)), Href: subjectAddress(base, of), Count: show.Counted(n, "alert")}
	switch {
	case late || !show.Fires(worst) && worst.Stale():
		g.Tier = dedup.TierUnknown.String()
	case show.Fires(worst):
		g.Tier = worst.State.Tier.String()
	case worst.Pending() >= dedup.Warning:
		g.Pending = worst.Pending().String()
	default:
		g.Tier = dedup.Normal.String()
	}
	return g
}
