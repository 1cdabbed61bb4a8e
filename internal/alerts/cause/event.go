package cause

import (
	"strings"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// causeOf is the cause that an event of a kind may be; empty for events that make no duplicates, such as a source that is lost
// to us, and for those of a store, which make double effects.
func causeOf(kind string) Kind {
	switch kind {
	case "consumer_restart":
		return Restart
	case "ack_timeout":
		return AckTimeout
	case "broker_restart", "failover", "node_down", "partition", "alarm", "channels_closed":
		return Broker
	case "job":
		return OwnJob
	case "mark":
		return Deploy
	}
	return ""
}

// ofCause returns the events that may be a cause. Of the broker's, what tells most stands alone: a restart closes channels too.
func ofCause(events []dedup.Event, cause Kind) []dedup.Event {
	var all, strong []dedup.Event
	for _, e := range events {
		if causeOf(e.Kind) != cause {
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
	times := ""
	if n > 1 {
		times = " " + rule.Figured(float64(n), "time")
	}
	switch last {
	case "consumer_restart":
		return "consumers restarted" + times
	case "ack_timeout":
		return "acks timed out" + times
	case "broker_restart":
		return "the broker was restarted" + times
	case "failover":
		return "a queue failed over" + times
	case "node_down":
		return "a node of the broker went down" + times
	case "partition":
		return "the broker was partitioned" + times
	case "alarm":
		return "the broker raised an alarm" + times
	case "channels_closed":
		return "channels of the broker were closed"
	case "job":
		return "a job of this dashboard ran" + times
	case "mark":
		return "a deploy was marked" + times
	}
	return "this happened" + times
}

// quoted is what an event says of itself, within a sentence.
func quoted(e dedup.Event) string {
	return text.Cut(strings.TrimRight(strings.TrimSpace(e.Text), "."), saidOfEvent)
}
