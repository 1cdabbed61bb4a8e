package alert

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// The states by which alerts are listed. They overlap: an alert that was acknowledged fires all the same.
const (
	stateFiring   = "firing"
	statePending  = "pending"
	stateAcked    = "acked"
	stateSilenced = "silenced"
	stateUnknown  = "unknown"
	stateNormal   = "normal"
)

// alertsPerPage is how many alerts a page lists.
const alertsPerPage = 50

// alertStates are the states in the order of the page.
func alertStates() []string {
	return []string{stateFiring, statePending, stateUnknown, stateAcked, stateSilenced, stateNormal}
}

// query is the state of the list of alerts that lives in its address. Without states it lists what fires or is pending.
type query struct {
	tiers    []dedup.Tier
	states   []string
	pipeline string
	rule     string
	page     int
	// attended: without states it lists what was acknowledged or silenced too. A page lists that under its tabs, and to who filters, so
	// that what waits for somebody is seen to become less.
	attended bool
	// choose: the list has boxes, to acknowledge several at once; all: they are ticked.
	choose, all bool
	// order sorts the list of a page by a column; none is the worst first, in groups.
	order list.Order
}

// pageParams are the parameters of the page: it can be sorted too.
func (q *query) pageParams() []list.Param {
	return append(q.params(), list.SortBy(&q.order, list.Order{}, list.Keys(alertColumns())))
}

func (q *query) params() []list.Param {
	word := func(s string) (string, bool) { return s, slices.Contains(alertStates(), s) }
	return []list.Param{
		list.Many("tier", &q.tiers, dedup.ParseTier, dedup.Tier.String, show.TierWords),
		list.Many("state", &q.states, word, strings.Clone, "must be firing, pending, acked, silenced, unknown or normal"),
		list.Text("pipeline", &q.pipeline, web.MaxText), list.Text("rule", &q.rule, web.MaxText),
		list.Func("choose", func(s string) error { q.choose, q.all = s != "", s == "all"; return nil }, func() string {
			switch {
			case q.all:
				return "all"
			case q.choose:
				return "1"
			default:
				return ""
			}
		}),
		list.PageNumber(&q.page),
	}
}

// read reads the query of an address, as far as it can be read. A rule that there is not has no alerts that anybody could wait for.
func (q *query) read(values url.Values, view *alerts.View, params []list.Param) error {
	wrong := list.Read(values, params...)
	if names := ruleNames(view); q.rule != "" && !slices.Contains(names, q.rule) {
		q.rule, wrong = "", cmp.Or(wrong, list.Bad("rule", list.MustBe(names)))
	}
	return wrong
}

// ruleNames are the rules that there are, and those that are gone of which alerts are left.
func ruleNames(view *alerts.View) []string {
	names := map[string]bool{alerts.RuleWatchdog: true}
	for _, a := range view.Alerts {
		names[a.Key.Rule] = true
	}
	for _, r := range view.Rules {
		names[r.Name] = true
	}
	return slices.SortedFunc(maps.Keys(names), show.CompareText)
}

// address is the list of alerts with this query.
func (q query) address(base string) string { return list.Address(base+"/alerts", q.pageParams()...) }

// narrowed reports whether the form of the page has something to clear.
func (q query) narrowed() bool { return len(q.tiers) > 0 || q.pipeline != "" || q.rule != "" }

// admits reports whether an alert passes all but the states.
func (q query) admits(a *alerts.AlertView) bool {
	if a.Key.Rule == alerts.RuleWatchdog && q.rule != alerts.RuleWatchdog {
		return false // it always fires, and says nothing to people
	}
	if q.rule != "" && a.Key.Rule != q.rule || q.pipeline != "" && show.PipelineOf(a) != q.pipeline {
		return false
	}
	return len(q.tiers) == 0 || slices.ContainsFunc(tiersOf(a), func(t dedup.Tier) bool { return slices.Contains(q.tiers, t) })
}

// matches reports whether an alert passes the whole filter.
func (q query) matches(a *alerts.AlertView) bool {
	if !q.admits(a) {
		return false
	}
	if len(q.states) == 0 {
		// What cannot be told and does not fire has a tab of its own: most of it never could be. Who asks for a tier means it all the same.
		if a.Attended() && !q.attended && !q.narrowed() {
			return false
		}
		return show.Fires(a) || a.Pending() >= dedup.Warning || slices.Contains(q.tiers, dedup.Normal) || slices.Contains(q.tiers, dedup.TierUnknown)
	}
	return slices.ContainsFunc(q.states, func(s string) bool { return isState(a, s) })
}

// NeedEyes counts the alerts that the list shows when nothing else is asked for: those that nobody attends to.
func NeedEyes(view *alerts.View) int {
	n := 0
	for _, a := range view.Alerts {
		if (query{}).matches(a) {
			n++
		}
	}
	return n
}

// isState reports whether an alert is in one of the states of the list.
func isState(a *alerts.AlertView, state string) bool {
	switch state {
	case stateFiring:
		return show.Fires(a)
	case statePending:
		return a.Pending() >= dedup.Warning
	case stateAcked:
		return a.Ack != nil
	case stateSilenced:
		return len(a.Silences) > 0 && !isState(a, stateNormal)
	case stateUnknown:
		return a.Stale()
	default:
		return !show.Fires(a) && a.Pending() < dedup.Warning && !a.Stale()
	}
}

// tiersOf are the tiers by which an alert is found: the one that fires, the one that is pending, and unknown while it cannot be told.
func tiersOf(a *alerts.AlertView) []dedup.Tier {
	var tiers []dedup.Tier
	if show.Fires(a) {
		tiers = append(tiers, a.State.Tier)
	}
	if t := a.Pending(); t >= dedup.Warning {
		tiers = append(tiers, t)
	}
	if a.Stale() {
		tiers = append(tiers, dedup.TierUnknown)
	}
	if len(tiers) == 0 {
		tiers = append(tiers, dedup.Normal)
	}
	return tiers
}
