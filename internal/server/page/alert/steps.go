package alert

import (
	"net/url"

	"dedup-dashboard/internal/admin/marker"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/web/templates"
)

// StepLinks lead to where the first step of an alert is done; none where it is done elsewhere. Rules of one's own lead where the
// built-in ones of the same measure do.
func StepLinks(a *alerts.AlertView, base string) []templates.PageLink {
	if a.Rule == nil {
		return nil
	}
	switch a.Key.Kind {
	case rule.OfPipeline:
		return pipelineSteps(a.Rule, base+"/pipelines/"+url.PathEscape(a.Key.Subject))
	case rule.OfBroker, rule.OfStore:
		return []templates.PageLink{{Label: "Brokers and stores", Href: base + "/#sources"}}
	case rule.OfQueue:
		return []templates.PageLink{{Label: "Dead letters", Href: base + "/dead-letters"}}
	default:
		return selfSteps(a.Rule, base)
	}
}

// pipelineSteps lead to the lists and charts of a pipeline, whose page has the path.
func pipelineSteps(r *rule.Rule, path string) []templates.PageLink {
	markers := func(label string, list marker.List) templates.PageLink {
		return templates.PageLink{Label: label, Href: path + "/markers?state=" + string(list)}
	}
	one := func(label, below string) []templates.PageLink {
		return []templates.PageLink{{Label: label, Href: path + below}}
	}
	if len(r.Findings) > 0 {
		return one("Its findings", "#findings")
	}
	switch r.Measure {
	case "dead_letters", "dead_letter_inflow":
		return one("Its dead letters", "/dead-letters")
	case "stuck_markers", "looping":
		return []templates.PageLink{markers("Its processing markers", marker.ProcessingList)}
	case "markers_without_expiry":
		return []templates.PageLink{markers("Its markers without expiry", marker.PermanentList)}
	case "lost_messages":
		return []templates.PageLink{markers("Its failed markers", marker.FailedList), markers("Those given up", marker.GaveUpList)}
	case "double_effects":
		return one("Its double effects", "/effects")
	case "ack_latency", "unacked_without_ack":
		return one("Its latency chart", "#chart-latency")
	case "ready":
		return one("Its backlog chart", "#chart-backlog")
	case "source_unreachable":
		return one("Its sources", "#sources-title")
	case "duplicate_rate", "failure_rate", "ack_timeouts", "consumer_restarts":
		return one("Its chart with events", "#chart-duplicates")
	default:
		return one("Its page", "")
	}
}

// selfSteps lead to what the dashboard shows of itself.
func selfSteps(r *rule.Rule, base string) []templates.PageLink {
	switch r.Measure {
	case "outbox_age", "deliveries_failed", "receiver_faults":
		return []templates.PageLink{{Label: "Channels", Href: base + "/alerts#channels-title"}}
	case "audit_refused":
		return []templates.PageLink{{Label: "Audit", Href: base + "/audit"}}
	default:
		return nil
	}
}
