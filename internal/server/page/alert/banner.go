package alert

import (
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// Banner says how many alerts fire at severe and emergency, how many of them somebody acknowledged or silenced, and since when the
// oldest of the others fires. Those that recover are counted apart: they are over if they stay so. It is empty where nobody is needed, and
// where rules were not judged for so long that nothing can be told.
func Banner(view *alerts.View, base string, now time.Time) (text string, tier dedup.Tier, href string) {
	if show.AlertsLate(view, now) != "" {
		return "", dedup.TierUnknown, ""
	}
	c := countFiring(view)
	emergency, severe, recovering, oldest := c.tiers[dedup.Emergency], c.tiers[dedup.Severe], c.recovering, c.oldest
	if oldest == nil {
		return "", dedup.TierUnknown, ""
	}
	q := query{states: []string{stateFiring}}
	switch {
	case emergency > 0 && severe > 0:
		text = show.Counted(emergency, "alert") + " in emergency, " + templates.Number(severe) + " severe"
		q.tiers = []dedup.Tier{dedup.Emergency, dedup.Severe}
	case emergency > 0:
		text = show.Counted(emergency, "alert") + " in emergency"
		q.tiers = []dedup.Tier{dedup.Emergency}
	default:
		text = show.Counted(severe, "alert") + " severe"
		q.tiers = []dedup.Tier{dedup.Severe}
	}
	tier = dedup.Severe
	if emergency > 0 {
		tier = dedup.Emergency
	}
	href = q.address(base)
	text += c.attended()
	if recovering > 0 {
		text += ", " + templates.Number(recovering) + " more recovering"
	}
	if emergency+severe == 1 && recovering == 0 {
		text += ": " + show.Within(show.AlertTitle(oldest)) + ", " + show.Within(subjectOf(oldest.Key))
		href = show.AlertAddress(base, oldest.Key)
	}
	if since := oldest.State.FiredAt; !since.IsZero() && now.After(since) {
		text += ", " + c.ofOldest() + templates.Span(now.Sub(since))
		if emergency+severe == 1 && recovering == 0 && oldest.State.Changed() {
			text += ", " + tierFor(oldest, now)
		}
	}
	return text, tier, href
}

// firingCount is what fires at severe and emergency.
type firingCount struct {
	// tiers counts by tier what fires and does not recover; acked and silenced say how many of those nobody is needed for.
	tiers           map[dedup.Tier]int
	acked, silenced int
	// stale are those that cannot be judged now, because a source cannot be read.
	stale int
	// recovering counts what recovers and nobody attends to.
	recovering int
	// oldest is the oldest of those that nobody attends to and that do not recover; nil where there is none.
	oldest *alerts.AlertView
}

// countFiring counts what fires at severe and emergency: acknowledged and silenced ones too, as everywhere on the pages.
func countFiring(view *alerts.View) firingCount {
	c := firingCount{}
	c.tiers = firingByTier(view, func(a *alerts.AlertView) bool {
		if a.State.Tier >= dedup.Severe && a.State.Phase != alerts.PhaseRecovering && a.Stale() {
			c.stale++
		}
		switch {
		case a.State.Tier < dedup.Severe:
			return false
		case a.State.Phase == alerts.PhaseRecovering:
			if !a.Attended() {
				c.recovering++
			}
			return false
		case a.Ack != nil:
			c.acked++
		case len(a.Silences) > 0:
			c.silenced++
		case c.oldest == nil || a.State.FiredAt.Before(c.oldest.State.FiredAt):
			c.oldest = a
		}
		return true
	})
	return c
}

// attended says how many of those counted by tier nobody is needed for, and how many have the tier of before: they are among them, not
// beside them.
func (c firingCount) attended() string {
	shares := []show.Share{{N: c.acked, Word: " acknowledged"}, {N: c.silenced, Word: " silenced"}, {N: c.stale, Word: " as last judged"}}
	if emergency, severe := c.tiers[dedup.Emergency], c.tiers[dedup.Severe]; emergency > 0 && severe > 0 {
		return show.OfThese(emergency+severe, shares)
	}
	return show.OfThem(shares)
}

// ofOldest says of which alert the age is.
func (c firingCount) ofOldest() string {
	switch all := c.tiers[dedup.Emergency] + c.tiers[dedup.Severe]; {
	case all+c.recovering == 1:
		return "for "
	case c.acked+c.silenced > 0:
		return "the oldest of the others for "
	default:
		return "the oldest for "
	}
}

// Line says what fires or is pending of a pipeline, for its page.
func (d Deps) Line(base, name string, now time.Time) templates.AlertLine {
	if d.View == nil {
		return templates.AlertLine{}
	}
	view := d.View.View()
	var worst *alerts.AlertView
	firing, pending := 0, 0
	for _, a := range view.Alerts {
		switch {
		case show.PipelineOf(a) != name || name == "":
		case show.Fires(a):
			if firing++; worst == nil || worseOf(a, worst) {
				worst = a
			}
		case a.Pending() >= dedup.Warning:
			pending++
		}
	}
	if firing+pending == 0 {
		return templates.AlertLine{}
	}
	l := templates.AlertLine{Tier: dedup.TierUnknown.String(), Href: base + "/alerts?pipeline=" + url.QueryEscape(name), Link: "Its alerts"}
	var parts []string
	if firing > 0 {
		var row templates.AlertRow
		alertState(&row, worst, show.AlertsLate(view, now) != "", now)
		l.Tier = row.Tier
		parts = append(parts, show.Counted(firing, "alert")+" "+show.Plural(firing, "fires", "fire")+": "+firingText(worst, row, now))
	}
	if pending > 0 {
		parts = append(parts, show.Counted(pending, "alert")+" pending")
	}
	l.Text = show.Statement(strings.Join(parts, "; "))
	return l
}

// firingText says what fires at which tier, and since when both.
func firingText(a *alerts.AlertView, row templates.AlertRow, now time.Time) string {
	text := show.Within(show.AlertTitle(a)) + ", " + row.Word
	if a.State.Phase == alerts.PhaseRecovering {
		text += ", recovering,"
	}
	fired := a.State.FiredAt
	switch {
	case row.TierFor != "":
		text += " since " + show.Moment(a.State.TierSince, now).Text + ", firing since " + show.Moment(fired, now).Text
	case !fired.IsZero():
		text += " since " + show.Moment(fired, now).Text
	}
	if a.Attended() {
		text += ", attended to"
	}
	return text
}

// worseOf reports whether an alert that fires comes before another: those that recover come last.
func worseOf(a, b *alerts.AlertView) bool {
	if over := a.State.Phase == alerts.PhaseRecovering; over != (b.State.Phase == alerts.PhaseRecovering) {
		return !over
	}
	return a.State.Tier > b.State.Tier
}
