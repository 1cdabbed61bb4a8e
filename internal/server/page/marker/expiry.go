package marker

import (
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// recommendedTTL is what the form sends for the time to live that fits each marker.
const recommendedTTL = "recommended"

// chosenTTL reads the time to live of a form: the own value if one was entered, else the choice; 0 for the recommended one.
func chosenTTL(form url.Values) (time.Duration, error) {
	text, name := form.Get("ttl"), "ttl"
	if own := strings.ReplaceAll(form.Get("ttl_own"), " ", ""); own != "" {
		text, name = own, "ttl_own"
	}
	if text == recommendedTTL {
		return 0, nil
	}
	ttl, err := time.ParseDuration(strings.TrimSuffix(text, "in")) // 10min is 10m
	if err != nil || ttl < time.Minute {
		return 0, list.Bad(name, "must be a time of a minute or more, such as 10m or 36h")
	}
	return ttl, nil
}

// ttlChoices are the times to live that a form offers. Where it is for one marker, its state tells which is recommended.
func ttlChoices(st *dedup.StoreStatus, states ...dedup.State) []templates.Choice {
	label := "recommended"
	if st != nil {
		var parts []string
		for _, state := range states {
			ttl := templates.Span(marker.RecommendedTTL(state, st.Evidence.MaxProcessing, st.Scheme))
			if len(states) > 1 {
				ttl += " for " + string(state)
			}
			parts = append(parts, ttl)
		}
		label += ": " + strings.Join(parts, ", ")
	}
	return []templates.Choice{
		{Value: recommendedTTL, Label: label, Chosen: true}, {Value: "5m", Label: "5 minutes"}, {Value: "1h", Label: "1 hour"}, {Value: "24h", Label: "24 hours"},
	}
}

// ttlText says which time to live a plan sets: the one that was asked for, or those that are recommended.
func ttlText(p marker.Plan) string {
	if p.Request.TTL > 0 {
		return templates.Span(p.Request.TTL)
	}
	least, most := ttlRange(p, func(marker.PlanItem) bool { return true })
	switch {
	case most == 0:
		return "the recommended time"
	case least == most:
		return templates.Span(most)
	default:
		return templates.Span(least) + " to " + templates.Span(most)
	}
}

func ttlRange(p marker.Plan, counts func(marker.PlanItem) bool) (least, most time.Duration) {
	for _, it := range p.Items {
		if ttl := max(it.TTL, p.Request.TTL); counts(it) {
			if least == 0 || ttl < least {
				least = ttl
			}
			most = max(most, ttl)
		}
	}
	return least, most
}

// stillBlocked counts the processing markers that get an expiry, and says for how long at most they hold their messages back.
func stillBlocked(p marker.Plan) (n int, ttl time.Duration) {
	if p.Request.Deed != admin.SetExpiry {
		return 0, 0
	}
	blocks := func(it marker.PlanItem) bool { return it.Seen.State == dedup.Processing }
	for _, it := range p.Items {
		if blocks(it) {
			n++
		}
	}
	_, ttl = ttlRange(p, blocks)
	return n, ttl
}

// blockedUntil ends the effect of an expiry with the time, which depends on when the plan is carried out.
func blockedUntil(p marker.Plan, it marker.PlanItem, now time.Time) string {
	if p.Request.Deed != admin.SetExpiry || it.Seen.State != dedup.Processing {
		return ""
	}
	return ". Carried out now: until " + show.Moment(now.Add(max(it.TTL, p.Request.TTL)), now).Text + "."
}

// clearInstead offers to clear the markers of an expiry plan whose owners are dead by the evidence: that frees them at once.
func (s *pages) clearInstead(p marker.Plan) *templates.ClearInstead {
	if p.Request.Deed != admin.SetExpiry {
		return nil
	}
	v := &templates.ClearInstead{Action: s.site.Base + "/markers/plan", Store: p.Request.Store}
	for _, it := range p.Items {
		if it.Verdict == dedup.ProbablyDead || it.Verdict == dedup.Orphan {
			v.Sels = append(v.Sels, web.EncodeKey(it.Seen.Key))
		}
	}
	if len(v.Sels) == 0 {
		return nil
	}
	v.Button = "Review clearing " + show.Plural(len(v.Sels), "it", "these "+templates.Number(len(v.Sels))) + " instead"
	v.Text = show.Counted(len(v.Sels), "marker") + " of these " + show.Plural(len(v.Sels), "is", "are") + " probably dead or orphan: clearing frees " +
		show.Plural(len(v.Sels), "its message", "their messages") + " at once, and can be undone for 7 days."
	return v
}
