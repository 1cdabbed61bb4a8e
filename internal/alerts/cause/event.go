package cause

import (
	"strings"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// A happening is what events of a kind say: the cause that they may be, and what happened.
type happening struct {
	cause Kind
	said  string
}

// happeningOf is that of a kind of events; without a cause for events that make no duplicates, such as a source that is lost to us, and for
// those of a store, which make double effects.
func happeningOf(kind string) happening {
	switch kind {
	case "consumer_restart":
		return happening{Restart, "consumers restarted"}
	case "ack_timeout":
		return happening{AckTimeout, "acks timed out"}
	case "broker_restart":
		return happening{Broker, "the broker was restarted"}
	case "failover":
		return happening{Broker, "a queue failed over"}
	case "node_down":
		return happening{Broker, "a node of the broker went down"}
	case "partition":
		return happening{Broker, "the broker was partitioned"}
	case "alarm":
		return happening{Broker, "the broker raised an alarm"}
	case "channels_closed":
		return happening{Broker, "channels of the broker were closed"}
	case "job":
		return happening{OwnJob, "a job of this dashboard ran"}
	case "mark":
		return happening{Deploy, "a deploy was marked"}
	}
	return happening{said: "this happened"}
}

// ofCause returns the events that may be a cause. Of the broker's, what tells most stands alone: a restart closes channels too.
func ofCause(events []dedup.Event, cause Kind) []dedup.Event {
	var all, strong []dedup.Event
	for _, e := range events {
		if happeningOf(e.Kind).cause != cause {
			continue
		}
		all = append(all, e)
		if befalls(e) {
			strong = append(strong, e)
		}
	}
	if len(strong) > 0 {
		return strong
	}
	return all
}

// befalls reports whether an event tells by itself that channels were closed, and whose: not an alarm, nor closures of anybody.
func befalls(e dedup.Event) bool { return e.Kind != "alarm" && e.Kind != "channels_closed" }

// happened says what the events are, of which the last gives the kind.
func happened(events []dedup.Event) string {
	last := events[len(events)-1].Kind
	n := int64(0)
	for _, e := range events {
		if e.Kind == last {
			n += e.Happenings()
		}
	}
	said := happeningOf(last).said
	if n > 1 && last != "channels_closed" { // it counts channels
		said += " " + rule.Figured(float64(n), "time")
	}
	return said
}

// quoted is what an event says of itself, within a sentence.
func quoted(e dedup.Event) string {
	return text.Cut(strings.TrimRight(strings.TrimSpace(e.Text), "."), saidOfEvent)
}
