package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
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

// alertsQuery is the state of the list of alerts that lives in its address. Without states it lists what fires or is pending.
type alertsQuery struct {
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
}

// parseAlertsQuery reads the parameters of the list. Unknown parameters are ignored; a bad value is an error that names its parameter.
func parseAlertsQuery(values url.Values) (alertsQuery, error) {
	q := alertsQuery{page: 1, pipeline: values.Get("pipeline"), rule: values.Get("rule")}
	for _, word := range splitAll(values["tier"]) {
		tier, ok := dedup.ParseTier(word)
		if !ok {
			return q, badParameter("tier", "must be normal, warning, severe, emergency or unknown")
		}
		if !slices.Contains(q.tiers, tier) {
			q.tiers = append(q.tiers, tier)
		}
	}
	for _, word := range splitAll(values["state"]) {
		if !slices.Contains(alertStates(), word) {
			return q, badParameter("state", "must be firing, pending, acked, silenced, unknown or normal")
		}
		if !slices.Contains(q.states, word) {
			q.states = append(q.states, word)
		}
	}
	if len(q.pipeline) > textLimit {
		return q, badParameter("pipeline", "is longer than 200 bytes")
	}
	if len(q.rule) > textLimit {
		return q, badParameter("rule", "is longer than 200 bytes")
	}
	switch values.Get("choose") {
	case "":
	case "all":
		q.choose, q.all = true, true
	default:
		q.choose = true
	}
	if s := values.Get("page"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1_000_000 {
			return q, badParameter("page", "must be a whole number from 1")
		}
		q.page = n
	}
	return q, nil
}

// splitAll takes a parameter that was given several times, or with commas.
func splitAll(values []string) []string {
	var all []string
	for _, v := range values {
		for _, word := range strings.Split(v, ",") {
			if word != "" {
				all = append(all, word)
			}
		}
	}
	return all
}

// address writes the query back; defaults are left out.
func (q alertsQuery) address(base string) string {
	v := url.Values{}
	for _, t := range q.tiers {
		v.Add("tier", t.String())
	}
	for _, s := range q.states {
		v.Add("state", s)
	}
	if q.pipeline != "" {
		v.Set("pipeline", q.pipeline)
	}
	if q.rule != "" {
		v.Set("rule", q.rule)
	}
	if q.page > 1 {
		v.Set("page", strconv.Itoa(q.page))
	}
	switch {
	case q.all:
		v.Set("choose", "all")
	case q.choose:
		v.Set("choose", "1")
	}
	if len(v) == 0 {
		return base + "/alerts"
	}
	return base + "/alerts?" + v.Encode()
}

// beside leads to the pages before and after this one; empty where there is none.
func (q alertsQuery) beside(pages int, base string) (newer, older string) {
	at := func(n int) string {
		q := q
		q.page = n
		return q.address(base)
	}
	if q.page > 1 {
		newer = at(q.page - 1)
	}
	if q.page < pages {
		older = at(q.page + 1)
	}
	return newer, older
}

// narrowed reports whether the form of the page has something to clear.
func (q alertsQuery) narrowed() bool { return len(q.tiers) > 0 || q.pipeline != "" || q.rule != "" }

// admits reports whether an alert passes all but the states.
func (q alertsQuery) admits(a *alerts.AlertView) bool {
	if a.Key.Rule == alerts.RuleWatchdog && q.rule != alerts.RuleWatchdog {
		return false // it always fires, and says nothing to people
	}
	if q.rule != "" && a.Key.Rule != q.rule || q.pipeline != "" && pipelineOfAlert(a) != q.pipeline {
		return false
	}
	return len(q.tiers) == 0 || slices.ContainsFunc(tiersOf(a), func(t dedup.Tier) bool { return slices.Contains(q.tiers, t) })
}

// matches reports whether an alert passes the whole filter.
func (q alertsQuery) matches(a *alerts.AlertView) bool {
	if !q.admits(a) {
		return false
	}
	if len(q.states) == 0 {
		// What cannot be told and does not fire has a tab of its own: most of it never could be. Who asks for a tier means it all the same.
		if a.Attended() && !q.attended && !q.narrowed() {
			return false
		}
		return fires(a) || a.Pending() >= dedup.Warning || slices.Contains(q.tiers, dedup.Normal) || slices.Contains(q.tiers, dedup.TierUnknown)
	}
	return slices.ContainsFunc(q.states, func(s string) bool { return isState(a, s) })
}

// isState reports whether an alert is in one of the states of the list.
func isState(a *alerts.AlertView, state string) bool {
	switch state {
	case stateFiring:
		return fires(a)
	case statePending:
		return a.Pending() >= dedup.Warning
	case stateAcked:
		return a.Ack != nil
	case stateSilenced:
		return len(a.Silences) > 0 && !isState(a, stateNormal)
	case stateUnknown:
		return a.Stale()
	default:
		return !fires(a) && a.Pending() < dedup.Warning && !a.Stale()
	}
}

// fires reports whether an alert fires, recovering or not.
func fires(a *alerts.AlertView) bool {
	return a.State.Phase == alerts.PhaseFiring || a.State.Phase == alerts.PhaseRecovering
}

// tiersOf are the tiers by which an alert is found: the one that fires, the one that is pending, and unknown while it cannot be told.
func tiersOf(a *alerts.AlertView) []dedup.Tier {
	var tiers []dedup.Tier
	if fires(a) {
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

// pipelineOfAlert is the pipeline that an alert is about; empty for one of a broker, a store or the dashboard.
func pipelineOfAlert(a *alerts.AlertView) string {
	if a.Key.Kind == alerts.OfPipeline {
		return a.Key.Subject
	}
	return ""
}

// alertAddress is the page of one alert.
func alertAddress(base string, k alerts.Key) string {
	return base + "/alerts/one?key=" + url.QueryEscape(k.String())
}
