package alert

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/docs"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

const (
	// edgesShown is how many edges a page shows.
	edgesShown = 50
	// recordsTimeout bounds a look into the journal for a page.
	recordsTimeout = 5 * time.Second
)

// alertView builds the page of one alert, without what the journal knows and without forms.
func alertView(view *alerts.View, a *alerts.AlertView, now time.Time, frame templates.Frame) templates.AlertView {
	v := templates.AlertView{
		LivePage: livePage(frame, show.AlertAddress(frame.Base, a.Key), view, now), Row: alertRow(view, a, now, frame.Base),
		Crumbs: []templates.Crumb{
			show.Crumb("Alerts", frame.Base+"/alerts"), show.Crumb(subjectOf(a.Key), subjectAlerts(frame.Base, a.Key)), show.Crumb(show.AlertTitle(a), ""),
		},
		Facts: alertFacts(a, now),
	}
	if a.Stale() {
		v.Trouble = new(show.Problem(dedup.TierUnknown, show.WholeSentence(staleText(a, now)), "Nothing is taken back while that is so: the alert stays as it was."))
	}
	v.Evidence = list.Map(a.Last.Evidence, show.Statement)
	v.Evaluations = evaluationRows(a, now)
	ruleViews(&v, a)
	return v
}

// livePage is the head of a page that shows alerts; self is its address.
func livePage(frame templates.Frame, self string, view *alerts.View, now time.Time) templates.LivePage {
	return templates.LivePage{
		Frame: frame, Self: self, AsOf: show.Moment(view.At, now), Every: templates.Span(view.Interval), Seconds: max(1, int(view.Interval.Seconds())), Late: show.AlertsLate(view, now),
	}
}

// subjectAlerts is the list of alerts of the same subject; empty where the list has no such filter.
func subjectAlerts(base string, k rule.Key) string {
	if k.Kind != rule.OfPipeline {
		return ""
	}
	return query{pipeline: k.Subject}.address(base)
}

// staleText says why an alert cannot be told.
func staleText(a *alerts.AlertView, now time.Time) string {
	text := "There is nothing to judge"
	if a.State.Health == rule.HealthError {
		text = "The rule cannot be judged"
	}
	if !a.State.HealthSince.IsZero() {
		text += " since " + show.Moment(a.State.HealthSince, now).Text
	}
	return text + ": " + cmp.Or(a.Last.Why, "no reason is known")
}

// alertFacts are the figures behind the newest judgement.
func alertFacts(a *alerts.AlertView, now time.Time) []templates.Fact {
	var facts show.Facts
	add := func(label, value string) { facts.Add(label, show.Within(value)) }
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return show.Moment(t, now).Text + ", " + show.Ago(t, now)
	}
	j := a.Last
	if j.Health == rule.HealthOK && j.Unit != "" {
		add("Value", show.Value(j.Value, j.Unit))
		if j.Limit != 0 {
			add("Limit", show.Value(j.Limit, j.Unit))
		}
		if j.N > 0 {
			add("n", templates.Number(j.N))
		}
		if j.Window > 0 {
			add("Window", templates.Window(j.Window))
		}
	}
	add("State", a.State.Phase.String())
	add("Fires since", at(a.State.FiredAt))
	add("At this tier since", at(a.State.TierSince))
	add("In this state since", at(a.State.Since))
	if a.State.Phase == alerts.PhaseRecovering {
		add("Below its limit since", at(a.State.Calm()))
	}
	if !a.Flapping.IsZero() {
		add("Flapping since", at(a.Flapping))
	}
	add("Judged", at(j.At))
	add("Labels", strings.Join(show.SortedLabels(j.Labels), ", "))
	return facts
}

// evaluationRows are the last evaluations, newest first. Several in a row that came to the same are one line.
func evaluationRows(a *alerts.AlertView, now time.Time) []templates.AlertEvaluation {
	var rows []templates.AlertEvaluation
	times := 1
	for i := len(a.History) - 1; i >= 0; i-- {
		row := evaluationRow(&a.History[i], a.Last.Unit, now)
		if n := len(rows); n > 0 && sameEvaluation(rows[n-1], row) {
			times++
			rows[n-1].From, rows[n-1].Times = row.At, templates.Number(times)+" times the same"
			continue
		}
		rows, times = append(rows, row), 1
	}
	return rows
}

// sameEvaluation reports whether two lines differ in nothing but their time.
func sameEvaluation(a, b templates.AlertEvaluation) bool {
	a.At, a.From, a.Times = b.At, b.From, b.Times
	return a == b
}

// evaluationRow is one line of the table of evaluations.
func evaluationRow(e *alerts.Evaluated, unit dedup.Unit, now time.Time) templates.AlertEvaluation {
	row := templates.AlertEvaluation{At: show.Moment(e.At, now), State: e.Phase.String(), Tier: e.Tier.String(), Value: e.Health.String(), Why: templates.Sentence(e.Why)}
	if e.Phase == alerts.PhaseFiring || e.Phase == alerts.PhaseRecovering {
		row.State += " at " + e.Tier.String()
	}
	if e.Health != rule.HealthOK {
		return row
	}
	row.Value, row.Enters, row.Holds = show.Value(e.Value, unit), e.Enters.String(), e.Holds.String()
	if e.N > 0 {
		row.N = templates.Number(e.N)
	}
	return row
}

// ruleViews fill in what the rule says of itself.
func ruleViews(v *templates.AlertView, a *alerts.AlertView) {
	r := a.Rule
	if r == nil || !ruleJudges(r) {
		v.RuleNote = templates.Sentence("No rule of this name judges this subject any more. The alert resolves with the next evaluations.")
		return
	}
	if r.Disabled {
		v.RuleNote = templates.Sentence("The rule is switched off for this subject.")
	}
	if r.Meaning != "" {
		v.Meaning = show.Statement(r.Meaning)
	}
	if r.Runbook != "" {
		v.RunbookText = show.LongKey(r.Runbook)
		if v.Runbook = runbookAddress(r, v.Frame.Base); docs.Path(r.Runbook) != "" {
			v.RunbookText = show.LongKey("What to do about " + show.AlertTitle(a))
		}
	}
	v.Limits = ruleFacts(r)
	for _, q := range []templates.AlertQuery{{Label: "Value", Text: r.Expr}, {Label: "Numerator", Text: r.Numerator}, {Label: "Denominator", Text: r.Denominator}} {
		if q.Text != "" {
			q.Text = templates.Plain(q.Text, 4*fullQuery).Full
			v.Query = append(v.Query, q)
		}
	}
}

// fullQuery bounds what a page shows of a query, in quarters.
const fullQuery = 500

// ruleJudges reports whether a rule has anything to judge by; one that is gone has its name alone.
func ruleJudges(r *rule.Rule) bool {
	return r.Measure != "" || len(r.Findings) > 0 || r.Expr != "" || r.Numerator != ""
}

// ruleFacts are the limits of a rule and how it is judged.
func ruleFacts(r *rule.Rule) []templates.Fact {
	facts := show.Facts{{Label: "Rule", Value: show.ShortName(r.Name)}}
	add := func(label, value string) { facts.Add(label, show.Within(value)) }
	add("Limits", limitsText(r))
	if r.Measure == "duplicate_rate" || r.Measure == "ack_latency" {
		add("Limits", "those of the pipeline, on its page")
	}
	add("Fires after", afterText(r))
	add("Falls after", templates.Span(r.Timing.KeepFiring)+" below what holds it")
	if r.MinCount > 0 {
		add("Needs at least", templates.Number(r.MinCount)+" events; else the next longer window is judged")
	}
	switch r.NoData {
	case rule.NoDataFire:
		add("Without data", "counts as its lowest tier")
	case rule.NoDataOK:
		add("Without data", "counts as normal")
	default:
		add("Without data", "stays as it is")
	}
	add("For labels", strings.Join(show.SortedLabels(r.Match), ", "))
	switch {
	case r.Measure != "":
		add("Judges", "the measure "+r.Measure+" of the page")
	case len(r.Findings) > 0 && slices.Contains(r.Findings, rule.EveryOtherFinding):
		add("Judges", "every finding that no other rule judges, by its own tier")
	case len(r.Findings) > 0:
		add("Judges", "the findings "+strings.Join(r.Findings, ", "))
	default:
		add("Judges", "a query of the history")
	}
	return facts
}

// limitsByTier writes the limits of a rule, empty where it has none: "1.00 % warning, 3.00 % severe".
func limitsByTier(r *rule.Rule) string {
	var parts []string
	for _, l := range []struct {
		limit *float64
		tier  dedup.Tier
	}{{r.Limits.Warning, dedup.Warning}, {r.Limits.Severe, dedup.Severe}, {r.Limits.Emergency, dedup.Emergency}} {
		if l.limit != nil {
			parts = append(parts, show.Value(*l.limit, r.Unit)+" "+l.tier.String())
		}
	}
	return strings.Join(parts, ", ")
}

// limitsText writes the limits of a rule and when a tier is left: "1.00 % warning, 3.00 % severe; a tier is left below 80.00 % of its limit".
func limitsText(r *rule.Rule) string {
	limits := limitsByTier(r)
	if limits == "" {
		return ""
	}
	return limits + "; a tier is left below " + templates.Percent(leaveOf(r)) + " of its limit"
}

// leaveOf is the share of a limit below which its tier is left.
func leaveOf(r *rule.Rule) float64 { return cmp.Or(r.Limits.Leave, usualLeave) }

// usualLeave is the share where a rule gives none.
const usualLeave = 0.8

// edgesOf is what happened to one alert, or to every alert of its subject where the key names no rule, newest first.
func (s pages) edgesOf(r *web.Request, k rule.Key, view *alerts.View, now time.Time) templates.AlertTimeline {
	edges, note := s.readEdges(r.Context(), k, now)
	t := templates.AlertTimeline{Note: note}
	dated := attention(k, view, now)
	if k.Rule != "" {
		for _, e := range s.endedAcks(r.Context(), k) {
			dated = append(dated, endedAckEntries(e, now)...)
		}
	}
	for _, e := range edges {
		dated = append(dated, web.Dated{When: e.At, TimelineEntry: edgeEntry(e, k.Rule == "", view, s.site.Base, now)})
	}
	slices.SortStableFunc(dated, func(a, b web.Dated) int { return b.When.Compare(a.When) })
	for _, d := range dated {
		t.Entries = append(t.Entries, d.TimelineEntry)
	}
	if len(t.Entries) == 0 && note == "" {
		t.Note = "Nothing happened in the last 90 days: it did not fire."
	}
	return t
}

// attention is who acknowledged and silenced one alert, as far as that still holds.
func attention(k rule.Key, view *alerts.View, now time.Time) []web.Dated {
	a, ok := view.Alert(k)
	if !ok {
		return nil
	}
	var all []web.Dated
	add := func(kind string, at, until time.Time, by, why string) {
		text := "by " + show.ShortName(by) + ", until " + show.Moment(until, now).Text
		all = append(all, web.Dated{When: at, TimelineEntry: templates.TimelineEntry{At: show.Moment(at, now), Kind: kind, Tier: dedup.TierUnknown.String(), Text: show.Statement(text), More: templates.Sentence(show.Quoted(why))}})
	}
	if a.Ack != nil {
		add("acknowledged", a.Ack.At, a.Ack.Until, a.Ack.By, a.Ack.Note)
	}
	for _, silence := range view.Silences {
		if slices.Contains(a.Silences, silence.ID) {
			add("silenced", silence.Starts, silence.Ends, silence.Author, silence.Reason)
		}
	}
	return all
}

// endedAcks are the acknowledgements of an alert that hold no more; none where they cannot be read, which is said of the history.
func (s pages) endedAcks(ctx context.Context, k rule.Key) []alerts.EndedAck {
	if s.deps.Records == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recordsTimeout)
	defer cancel()
	ended, err := s.deps.Records.EndedAcks(ctx, k, edgesShown)
	if err != nil {
		s.deps.Log.Warn("acknowledgements that have ended cannot be read", "err", err)
	}
	return ended
}

// endedAckEntries tell that somebody acknowledged an alert, and why that holds no more.
func endedAckEntries(e alerts.EndedAck, now time.Time) []web.Dated {
	by := show.ShortName(e.By)
	entry := func(at time.Time, kind, text, note string) web.Dated {
		return web.Dated{When: at, TimelineEntry: templates.TimelineEntry{At: show.Moment(at, now), Kind: kind, Tier: dedup.TierUnknown.String(), Text: show.Statement(text), More: templates.Sentence(show.Quoted(note))}}
	}
	return []web.Dated{
		entry(e.At, "acknowledged", "by "+by+", until "+show.Moment(e.Until, now).Text, e.Note),
		entry(e.Ended, "acknowledgement ended", "that of "+by+": "+ackEndText(e), ""),
	}
}

// ackEndText says why an acknowledgement ended.
func ackEndText(e alerts.EndedAck) string {
	by := ""
	if e.EndedBy != "" {
		by = " by " + show.ShortName(e.EndedBy)
	}
	switch e.Why {
	case alerts.AckOver:
		return "its time was over"
	case alerts.AckResolved:
		return "the alert fires no more"
	case alerts.AckWorse:
		return "the alert got worse than " + e.Tier.String()
	case alerts.AckReplaced:
		return "it was acknowledged anew" + by
	default:
		return "it was taken back" + by
	}
}

// readEdges reads what the journal knows of an alert or a subject, and says what is missing.
func (s pages) readEdges(ctx context.Context, k rule.Key, now time.Time) ([]alerts.Transition, string) {
	if s.deps.Records == nil {
		return nil, "What happened before is not kept: the dashboard was started without a journal of alerts."
	}
	ctx, cancel := context.WithTimeout(ctx, recordsTimeout)
	defer cancel()
	edges, err := s.deps.Records.History(ctx, k, edgesShown+1, now.Add(time.Hour)) // a clock that was set back has edges ahead
	if err != nil {
		s.deps.Log.Warn("the history of alerts cannot be read", "err", err)
		return nil, "What happened before cannot be read from the journal at the moment."
	}
	if len(edges) > edgesShown {
		return edges[:edgesShown], "Only the newest " + templates.Number(edgesShown) + " are shown."
	}
	return edges, ""
}

// edgeEntry is one edge in a timeline. Where the list is of several rules it names the alert.
func edgeEntry(e alerts.Transition, named bool, view *alerts.View, base string, now time.Time) templates.TimelineEntry {
	entry := templates.TimelineEntry{At: show.Moment(e.At, now), Kind: edgeWord(e.Kind), Tier: e.To.String(), Text: show.Statement(edgeText(e))}
	if e.Judgement.Why != "" {
		entry.More = show.Statement(e.Judgement.Why)
	}
	if e.Cause != "" && e.Kind != alerts.EdgeResolved {
		entry.More = templates.Sentence(strings.TrimSpace(entry.More.Short + " Likely cause: " + templates.Sentence(show.EndSentence(e.Cause)).Short))
	}
	if named {
		title := strings.ReplaceAll(e.Judgement.Key.Rule, "_", " ")
		if a, ok := view.Alert(e.Judgement.Key); ok {
			title = show.AlertTitle(a)
			entry.Href = show.AlertAddress(base, e.Judgement.Key)
			entry.Link = show.ShortName(title)
		} else {
			entry.Text = show.Statement(show.ShortName(title) + ": " + edgeText(e))
		}
	}
	return entry
}

func edgeWord(k alerts.EdgeKind) string {
	switch k {
	case alerts.EdgeFired, alerts.EdgeEscalated, alerts.EdgeResolved:
		return string(k)
	case alerts.EdgeDeescalated:
		return "de-escalated"
	default:
		return show.ShortName(string(k))
	}
}

// edgeText says from which tier to which an edge leads.
func edgeText(e alerts.Transition) string {
	if e.Kind == alerts.EdgeFired {
		return "it fired at " + e.To.String()
	}
	return "from " + e.From.String() + " to " + e.To.String()
}
