package finding

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// recoveringFor is how long after an outage the pipelines of the source are said to be recovering.
const recoveringFor = 5 * time.Minute

// Recovering tells of an outage that has just ended: what goes on for some minutes is its aftermath.
func Recovering(source string, lasted time.Duration, until time.Time, ready dedup.Figure, now time.Time) []dedup.Finding {
	if until.IsZero() || now.Sub(until) >= recoveringFor || now.Before(until) {
		return nil
	}
	waiting := "how many messages wait is not known"
	if ready.Known() {
		waiting = text.Counted(text.Whole(ready.Value), "message") + " waiting"
	}
	return []dedup.Finding{{
		Kind: "recovering", Tier: dedup.Normal,
		Text: fmt.Sprintf("Recovering: %s was unreachable for %s until %s; %s", text.Name(source), text.Span(lasted),
			until.UTC().Format("15:04:05 MST"), waiting),
		Evidence: "Deliveries that came back during the outage are not taken for a loop; loops and standstills are judged by what happens since",
		Remedy:   "Wait until the backlog has drained. Then look for markers of consumers that died meanwhile, and for messages that were given up.",
	}}
}
