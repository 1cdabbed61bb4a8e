package show

import (
	"strings"

	"dedup-dashboard/internal/dedup"
)

// Dropped says that a pipeline is set up to keep its dead letters and yet loses them, and why; empty where it does not. A pipeline
// without a dead-letter exchange loses them too, but as somebody chose.
func Dropped(p *dedup.PipelineStatus) string {
	for _, r := range p.DeadLetterRoutes {
		if IsDropped(r) {
			return droppedRoute(r)
		}
	}
	return ""
}

// IsDropped reports whether a way that is set leads nowhere. A stream has no dead letters.
func IsDropped(r dedup.DeadLetterRoute) bool {
	return r.Role == dedup.RouteMissing && r.Origin != "" && strings.Contains(r.Note, "dead letters are ")
}

// droppedRoute says what becomes of messages whose way leads nowhere.
func droppedRoute(r dedup.DeadLetterRoute) string {
	why, end := DroppedWhy(r)
	return "messages are " + end + ": " + why
}

// DroppedWhy says why a way leads nowhere, and what happens to messages then.
func DroppedWhy(r dedup.DeadLetterRoute) (why, end string) {
	why, end, _ = strings.Cut(r.Note, ": dead letters are ")
	switch {
	case r.Exchange != "" && why == "the exchange does not exist":
		why = "exchange " + Within(r.Exchange) + " is missing"
	case r.Exchange != "":
		why += " (exchange " + Within(r.Exchange) + ")"
	}
	return why, end
}
