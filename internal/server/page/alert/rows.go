package alert

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// alertsView builds the list of alerts, the worst first, filtered as its address says. Times are shown in the zone of now.
func alertsView(view *alerts.View, snap *dedup.Snapshot, q query, now time.Time, frame templates.Frame) templates.AlertsView {
	base := frame.Base
	v := templates.AlertsView{
		LivePage: livePage(frame, q.address(base), view, now), Summary: alertSummary(view), Tabs: alertTabs(view, q, base), Filter: alertFilter(view, snap, q, base),
		Watched: watched(view, snap),
	}
	for _, why := range view.Errors {
		v.Errors = append(v.Errors, show.Problem(dedup.Severe, show.WholeSentence(why), ""))
	}
	var matching []*alerts.AlertView
	admitted := 0
	for _, a := range view.Alerts {
		if q.admits(a) {
			admitted++
		}
		if q.matches(a) {
			matching = append(matching, a)
		}
	}
	all := len(matching)
	matching, folds := foldDependents(matching, q)
	matching = q.ordered(matching)
	shown, at := list.Cut(matching, alertsPerPage, q.page)
	v.PageNote = at.Note
	for _, a := range shown {
		row := alertRow(view, a, now, base)
		row.Key, row.Shown, row.Ticked = tickOf(a, q)
		row.Folded, row.FoldedHref = foldedWords(a, folds[a.Key], base)
		v.Rows = append(v.Rows, row)
	}
	if q.grouped() {
		v.Groups = groups(shown, matching, v.Rows, v.Late != "", base)
	} else if q.pipeline == "" {
		inGroups := q
		inGroups.order, inGroups.page = list.Order{}, 1
		v.Regroup = inGroups.address(base)
	}
	v.Columns = list.Heads(alertColumns(), q.order, func(o list.Order) string {
		sorted := q
		sorted.order, sorted.page = o, 1
		return sorted.address(base)
	})
	v.Count = templates.Number(all) + " of " + show.Counted(admitted, "alert")
	if at.Of > 1 {
		v.Count += ", page " + templates.Number(at.Number) + " of " + templates.Number(at.Of)
	}
	v.Newer, v.Older = at.Beside(func(n int) string {
		link := q
		link.page = n
		return link.address(base)
	})
	v.Empty = emptyAlerts(view, snap, q, v, admitted)
	return v
}

// alertTabs are the states with how many alerts of the filter are in each.
func alertTabs(view *alerts.View, q query, base string) []templates.AlertTab {
	tab := func(label string, states []string) templates.AlertTab {
		link := q
		link.page, link.states = 1, states
		n := 0
		for _, a := range view.Alerts {
			if link.matches(a) {
				n++
			}
		}
		return templates.AlertTab{Label: label, Count: templates.Number(n), Href: link.address(base), Current: slices.Equal(q.states, states)}
	}
	labels := map[string]string{stateAcked: "acknowledged", stateUnknown: "cannot tell"}
	first := "need eyes"
	if q.narrowed() {
		first = "firing or pending" // those that somebody attends to are among them
	}
	tabs := []templates.AlertTab{tab(first, nil)}
	for _, s := range alertStates() {
		tabs = append(tabs, tab(cmp.Or(labels[s], s), []string{s}))
	}
	return tabs
}

// alertFilter is the form, with the pipelines and rules that there are.
func alertFilter(view *alerts.View, snap *dedup.Snapshot, q query, base string) templates.AlertFilter {
	f := templates.AlertFilter{Tiers: show.TierChoices(q.tiers), State: strings.Join(q.states, ","), Any: q.narrowed(), Clear: query{states: q.states}.address(base)}
	pipelines := map[string]bool{}
	for i := range snap.Pipelines {
		pipelines[snap.Pipelines[i].Pipeline.Name] = true
	}
	for _, a := range view.Alerts { // what is gone may still have an alert
		if name := show.PipelineOf(a); name != "" {
			pipelines[name] = true
		}
	}
	f.Pipelines, f.Rules = namedChoices(pipelines, q.pipeline), show.NameChoices(ruleNames(view), q.rule)
	return f
}

// namedChoices are names in their order; the chosen one is among them even where there is no such name.
func namedChoices(names map[string]bool, chosen string) []templates.Choice {
	if chosen != "" {
		names[chosen] = true
	}
	return show.NameChoices(slices.SortedFunc(maps.Keys(names), show.CompareText), chosen)
}

// watched says what is judged, and how often.
func watched(view *alerts.View, snap *dedup.Snapshot) string {
	on, off := 0, 0
	for _, r := range view.Rules {
		if r.Disabled {
			off++
		} else {
			on++
		}
	}
	text := show.Counted(on, "rule") + " " + show.Plural(on, "watches", "watch") + " " + show.Counted(len(snap.Pipelines), "pipeline") + ", " +
		show.Counted(len(snap.Brokers), "broker") + " and " + show.Counted(len(snap.Stores), "store")
	if off > 0 {
		text += "; " + templates.Number(off) + " more " + show.Plural(off, "is", "are") + " switched off"
	}
	return text + "."
}

// emptyAlerts says why the list is empty, what is watched and when it was last judged.
func emptyAlerts(view *alerts.View, snap *dedup.Snapshot, q query, v templates.AlertsView, admitted int) templates.Empty {
	evaluated := v.Watched + " Last evaluated at " + v.AsOf.Text + "."
	blind := 0
	for _, a := range view.Alerts {
		if q.admits(a) && a.Stale() {
			blind++
		}
	}
	if blind > 0 {
		evaluated += " Of " + show.Counted(blind, "alert") + " nothing can be told: see “cannot tell”."
	}
	gone := web.NotConfigured(snap, q.pipeline, "")
	switch {
	case gone != "" && admitted == 0:
		return templates.Empty{Heading: "No alert matches this filter", Text: gone, Href: v.Filter.Clear, Link: "Clear the filter"}
	case view.At.IsZero():
		return templates.Empty{Heading: "The first evaluation is under way", Text: "Rules are judged for the first time once brokers and stores have been read. " + v.Watched, Href: v.Self, Link: "Reload"}
	case q.narrowed() && admitted == 0:
		return templates.Empty{Heading: "No alert matches this filter", Text: evaluated, Href: v.Filter.Clear, Link: "Clear the filter"}
	case v.Late != "":
		return templates.Empty{Heading: "Nothing can be told", Text: v.Late + ". " + v.Watched}
	case len(q.states) > 0 && !slices.Equal(q.states, []string{stateFiring}):
		return templates.Empty{Heading: "No alert is in this state", Text: evaluated}
	case q.narrowed():
		return templates.Empty{Heading: "Nothing fires that matches this filter", Text: evaluated, Href: v.Filter.Clear, Link: "Clear the filter"}
	default:
		return templates.Empty{Heading: "Nothing fires", Text: evaluated}
	}
}

// alertSummary says in a few words what fires, for those who hear the page: it changes when a tier does.
func alertSummary(view *alerts.View) string {
	counts := firingByTier(view, func(*alerts.AlertView) bool { return true })
	var parts []string
	for _, t := range []dedup.Tier{dedup.Emergency, dedup.Severe, dedup.Warning} {
		if n := counts[t]; n > 0 {
			parts = append(parts, templates.Number(n)+" "+t.String())
		}
	}
	if len(parts) == 0 {
		return "Nothing fires"
	}
	return "Alerts: " + strings.Join(parts, ", ")
}

// firingByTier counts what fires, without the watchdog.
func firingByTier(view *alerts.View, which func(*alerts.AlertView) bool) map[dedup.Tier]int {
	counts := map[dedup.Tier]int{}
	for _, a := range view.Alerts {
		if show.Fires(a) && a.Key.Rule != alerts.RuleWatchdog && which(a) {
			counts[a.State.Tier]++
		}
	}
	return counts
}

// subjectOf says what an alert is about: "pipeline orders".
func subjectOf(k rule.Key) string {
	if k.Kind == rule.OfDashboard {
		return "the dashboard itself"
	}
	if k.Kind == rule.OfQueue {
		return "shared queue " + k.Subject
	}
	return string(k.Kind) + " " + k.Subject
}

// subjectAddress is the page of what an alert is about.
func subjectAddress(base string, k rule.Key) string {
	switch k.Kind {
	case rule.OfPipeline:
		return base + "/pipelines/" + url.PathEscape(k.Subject)
	case rule.OfBroker, rule.OfStore:
		return base + "/#sources"
	case rule.OfQueue:
		return base + "/dead-letters"
	default:
		return ""
	}
}

// alertRow is one alert at a glance, in the words of its notification.
func alertRow(view *alerts.View, a *alerts.AlertView, now time.Time, base string) templates.AlertRow {
	r := templates.AlertRow{
		Href: show.AlertAddress(base, a.Key), Title: show.LongName(show.AlertTitle(a)), Subject: show.LongName(subjectOf(a.Key)),
		SubjectHref: subjectAddress(base, a.Key), Why: show.Statement(cmp.Or(a.Last.Why, "no value yet")),
	}
	if c := a.CauseIn(now.Location()); c != "" {
		r.Cause = templates.Sentence(show.EndSentence(c))
	}
	if a.Rule != nil && a.Rule.Step != "" {
		r.Step = show.Statement(a.Rule.Step)
	}
	r.Steps = StepLinks(a, base)
	late := show.AlertsLate(view, now) != ""
	alertState(&r, a, late, now)
	if !late {
		r.Held = templates.Sentence(HeldText(a, now))
	}
	if a.Stale() && a.LastOK.Why != "" {
		r.Before = show.Statement("Before that, " + show.Ago(a.LastOK.At, now) + ": " + a.LastOK.Why)
	}
	if a.Ack != nil {
		r.Acked = templates.Sentence(ackText(a.Ack, now))
	}
	if len(a.Silences) > 0 {
		r.Silenced = templates.Sentence(silencedText(view, a, now))
	}
	return r
}

// alertState fills in the chips of an alert and since when it is so. While evaluations are late nothing can be told of any.
func alertState(r *templates.AlertRow, a *alerts.AlertView, late bool, now time.Time) {
	since, pending := a.State.Since, a.Pending()
	switch {
	case show.Fires(a) && (late || a.Stale()):
		r.Tier, r.Word = dedup.TierUnknown.String(), "unknown (was "+a.State.Tier.String()+")"
		r.SinceWord, since = "fires since", a.State.FiredAt
	case show.Fires(a):
		r.Tier, r.Word = a.State.Tier.String(), a.State.Tier.String()
		r.SinceWord, since = "fires since", a.State.FiredAt
	case a.Stale():
		r.Tier, r.Word = dedup.TierUnknown.String(), dedup.TierUnknown.String()
		r.SinceWord, since = a.State.Health.String()+" since", a.State.HealthSince
	case late:
		r.Tier, r.Word, since = dedup.TierUnknown.String(), dedup.TierUnknown.String(), time.Time{}
	default:
		r.Tier, r.Word = dedup.Normal.String(), dedup.Normal.String()
		r.SinceWord = "normal since"
	}
	if pending >= dedup.Warning {
		r.Pending = pending.String()
		if !show.Fires(a) && !a.Stale() {
			r.Tier, r.Word = pending.String(), "" // the chip of what is pending stands alone
			r.SinceWord, since = "normal, pending since", a.State.Reached[pending-dedup.Warning]
		}
	}
	if a.State.Phase == alerts.PhaseRecovering {
		r.Notes = append(r.Notes, "recovering")
	}
	if !a.Flapping.IsZero() {
		r.Notes = append(r.Notes, "flapping")
	}
	if r.Since = show.Moment(since, now); r.Since.RFC == "" {
		r.SinceWord = ""
		return
	}
	r.For = templates.Span(now.Sub(since))
	if show.Fires(a) && !late && !a.Stale() && a.State.Changed() {
		r.TierSince, r.TierFor = show.Moment(a.State.TierSince, now), tierFor(a, now)
	}
}

// tierFor says for how long an alert fires at its tier: "emergency for 1 m".
func tierFor(a *alerts.AlertView, now time.Time) string {
	return a.State.Tier.String() + " for " + templates.Span(now.Sub(a.State.TierSince))
}

// HeldText says why a tier stands that the value reaches no longer; empty where that is not so.
func HeldText(a *alerts.AlertView, now time.Time) string {
	switch {
	case a.Stale() || !show.Fires(a) || a.Last.Enters >= a.State.Tier || a.Rule == nil:
		return ""
	case a.State.Phase == alerts.PhaseFiring && a.Last.Holds > a.State.Tier:
		return "It still fires: nobody can tell yet that it is over."
	case a.State.Phase == alerts.PhaseFiring:
		return "It still fires: a tier is left only well below its limit, lest it come and go."
	}
	to, at, ok := a.State.Falls(a.Rule.Timing)
	if !ok {
		return ""
	}
	return "It recovers: it falls to " + to.String() + " at " + show.Moment(at, now).Text + " if that stays so."
}

// ackText says who attends to an alert, until when, and with which note.
func ackText(k *alerts.Ack, now time.Time) string {
	text := "Acknowledged by " + show.Within(k.By) + " " + show.Moment(k.At, now).Text
	if !k.Until.IsZero() {
		text += ", until " + show.Moment(k.Until, now).Text
	}
	if k.Note != "" {
		text += ": “" + show.Within(k.Note) + "”"
	}
	return show.EndSentence(text)
}

// silencedText says until when an alert is silenced, and by whom.
func silencedText(view *alerts.View, a *alerts.AlertView, now time.Time) string {
	var last alerts.Silence
	for _, s := range view.Silences {
		if slices.Contains(a.Silences, s.ID) && s.Ends.After(last.Ends) {
			last = s
		}
	}
	if last.ID == "" {
		return "Silenced."
	}
	return show.EndSentence("Silenced until " + show.Moment(last.Ends, now).Text + " by " + show.Within(last.Author) + ": “" + show.Within(last.Reason) + "”")
}
