package show

import (
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/web/templates"
)

// AlertTitle is what an alert is called: the title of its rule.
func AlertTitle(a *alerts.AlertView) string {
	if a.Rule != nil && a.Rule.Title != "" {
		return a.Rule.Title
	}
	return strings.ReplaceAll(a.Key.Rule, "_", " ")
}

// Fires reports whether an alert fires, recovering or not.
func Fires(a *alerts.AlertView) bool {
	return a.State.Phase == alerts.PhaseFiring || a.State.Phase == alerts.PhaseRecovering
}

// PipelineOf is the pipeline that an alert is about; empty for one of a broker, a store or the dashboard.
func PipelineOf(a *alerts.AlertView) string {
	if a.Key.Kind == rule.OfPipeline {
		return a.Key.Subject
	}
	return ""
}

// AlertAddress is the page of one alert.
func AlertAddress(base string, k rule.Key) string {
	return base + "/alerts/one?key=" + url.QueryEscape(k.String())
}

// AlertsLate says since when rules were not judged, once three intervals have passed without; empty while they are on time.
func AlertsLate(v *alerts.View, now time.Time) string {
	age := now.Sub(v.At)
	if v.At.IsZero() || v.Interval <= 0 || age <= 3*v.Interval {
		return ""
	}
	return "Stale since " + Moment(v.At, now).Text + " (" + templates.Span(age) + "): no evaluation has ended since then"
}
