package alert

import (
	"cmp"
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

// rulesPage answers the list of all rules, with their limits, how long a tier takes to fire, and what each has to say now.
func (s pages) rulesPage(r *web.Request) (web.Response, error) {
	v := templates.RulesView{Frame: s.site.Frame(r, "Rules of alerts")}
	if v.Off = s.alertsOffWhy(); v.Off != "" {
		return web.Page{Component: templates.Rules(v)}, nil
	}
	view := s.deps.View.View()
	v.Watched = watched(view, s.deps.Snapshots.Snapshot())
	counts := countByRule(view)
	for i := range view.Rules {
		v.Rows = append(v.Rows, ruleRow(&view.Rules[i], counts[variantOf(&view.Rules[i])], v.Frame.Base))
	}
	return web.Page{Component: templates.Rules(v)}, nil
}

// ruleCount is how many alerts of one rule fire, and how many are pending.
type ruleCount struct{ firing, pending int }

// variantOf tells a variant of a rule from others: by its name and its labels.
func variantOf(r *rule.Rule) string {
	return strings.Join(append([]string{r.Name}, show.SortedLabels(r.Match)...), "\x00")
}

func countByRule(view *alerts.View) map[string]ruleCount {
	counts := map[string]ruleCount{}
	for _, a := range view.Alerts {
		if a.Rule == nil {
			continue
		}
		c := counts[variantOf(a.Rule)]
		switch {
		case show.Fires(a):
			c.firing++
		case a.Pending() >= dedup.Warning:
			c.pending++
		}
		counts[variantOf(a.Rule)] = c
	}
	return counts
}

// ruleRow is one rule, or one variant of it, in the list.
func ruleRow(r *rule.Rule, c ruleCount, base string) templates.RuleRow {
	judges := "each " + cmp.Or(string(r.Kind), "broker, store and report")
	if r.Kind == rule.OfDashboard {
		judges = subjectOf(rule.Key{Kind: r.Kind})
	}
	row := templates.RuleRow{
		Title: show.LongName(cmp.Or(r.Title, r.Name)), Name: show.Name(r.Name), Judges: judges,
		Limits: show.Part(ruleLimits(r)), For: afterText(r), Keep: templates.Span(r.Timing.KeepFiring), Off: r.Disabled,
		Alerts: query{rule: r.Name}.address(base),
	}
	row.Match = list.Map(show.SortedLabels(r.Match), show.LongName)
	if r.Meaning != "" {
		row.Meaning = show.Statement(r.Meaning)
	}
	row.Runbook = runbookAddress(r, base)
	if c.firing > 0 {
		row.Firing = show.Counted(c.firing, "alert") + " " + show.Plural(c.firing, "fires", "fire")
	}
	if c.pending > 0 {
		row.Pending = templates.Number(c.pending) + " pending"
	}
	return row
}

// runbookAddress is where the runbook of a rule can be read; empty where it names no page of ours and no address.
func runbookAddress(r *rule.Rule, base string) string {
	if page := docs.Path(r.Runbook); page != "" {
		return base + page
	}
	if strings.HasPrefix(r.Runbook, "https://") || strings.HasPrefix(r.Runbook, "http://") {
		return r.Runbook
	}
	return ""
}

// ruleLimits are the limits of a rule by tier, or where its tiers come from.
func ruleLimits(r *rule.Rule) string {
	limits := limitsByTier(r)
	switch {
	case r.Measure == "source_unreachable" && r.Limits.Warning == nil:
		return strings.TrimSuffix("3 intervals warning, "+limits, ", ")
	case limits != "":
		return limits
	case r.Measure == "duplicate_rate" || r.Measure == "ack_latency":
		return "those of each pipeline, on its page"
	case len(r.Findings) > 0:
		return "the tier of the finding"
	case r.Measure == "watchdog":
		return "it always fires, at warning"
	default:
		return "none is given"
	}
}

// afterText says for how long a tier must be reached before it fires, for the tiers that the rule has.
func afterText(r *rule.Rule) string {
	spans := map[dedup.Tier]time.Duration{dedup.Warning: r.Timing.Warning, dedup.Severe: r.Timing.Severe, dedup.Emergency: r.Timing.Emergency}
	word := func(d time.Duration) string {
		if d <= 0 {
			return "at once"
		}
		return templates.Span(d)
	}
	tiers := r.Tiers()
	var parts []string
	same := true
	for _, t := range tiers {
		same = same && spans[t] == spans[tiers[0]]
		parts = append(parts, word(spans[t])+" "+t.String())
	}
	if len(tiers) > 0 && same {
		return word(spans[tiers[0]])
	}
	return strings.Join(parts, ", ")
}
