package show

import (
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/web/templates"
)

// Deaths shows the dead letters of a whole broker by reason.
func Deaths(d *dedup.BrokerDeaths, now time.Time) templates.Deaths {
	var v templates.Deaths
	if d == nil {
		return v
	}
	for _, r := range d.Reasons {
		v.Reasons = append(v.Reasons, templates.DeathRow{Label: reasonWord(r.Reason), Figure: InflowFigure(Blameless(r.PerHour), now)})
	}
	v.Reasons = append(v.Reasons, templates.DeathRow{Label: "Discarded in the last hour", Figure: Reading(d.Discarded, now)})
	v.Note = "As the broker counts deaths. What came into a dead-letter queue can be more: consumers may publish there themselves, and nobody counts that as a death."
	if !d.Discarded.Known() {
		v.Why = Statement(d.Discarded.Why).Short
	}
	return v
}

// reasonWord is why a message died, for people.
func reasonWord(reason string) string {
	switch reason {
	case message.DeathRejected:
		return "Rejected"
	case message.DeathExpired:
		return "Expired"
	case message.DeathMaxLength:
		return "Queue full"
	case message.DeathDeliveryLimit:
		return "Delivery limit"
	default:
		return ShortName(reason)
	}
}

// DeathsFact is the dead letters of a broker in one line, for its card.
func DeathsFact(d *dedup.BrokerDeaths) string {
	var parts []string
	for _, r := range d.Reasons {
		if !r.PerHour.Known() {
			return "unknown"
		}
		if r.PerHour.Value > 0 {
			parts = append(parts, strings.ToLower(reasonWord(r.Reason))+" "+inflowText(r.PerHour))
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ", ")
}

// DeathsProblem tells of messages that the broker discarded, and of nodes that are not read.
func DeathsProblem(d *dedup.BrokerDeaths) []templates.Problem {
	switch {
	case d == nil:
		return nil
	case !d.Discarded.Known() && strings.Contains(d.Discarded.Why, "node"):
		return []templates.Problem{Problem(dedup.Warning, "Dead letters by reason are unknown: "+EndSentence(d.Discarded.Why),
			"List every node under prometheus_urls, and see that each answers there.")}
	case d.Discarded.Known() && d.Discarded.Value >= 1:
		return []templates.Problem{Problem(dedup.Warning,
			Counted(int(d.Discarded.Value), "message")+" died in the last hour in queues without a working dead-letter exchange, and "+Plural(int(d.Discarded.Value), "is", "are")+" lost.",
			"Give the queues whose messages matter a dead-letter exchange; the counter does not name them.")}
	}
	return nil
}
