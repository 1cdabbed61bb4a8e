package show

import (
	"strings"

	"dedup-dashboard/internal/dedup"
)

// sharersShown is how many names a list of those who share a queue holds.
const sharersShown = 5

// Sharers names who else has messages in a dead-letter queue; empty where nobody has.
func Sharers(s dedup.Sharing) string {
	var parts []string
	if n := len(s.Pipelines); n > 0 {
		parts = append(parts, Plural(n, "pipeline ", "pipelines ")+namesShown(s.Pipelines))
	}
	if n := len(s.Queues); n > 0 {
		parts = append(parts, Plural(n, "queue ", "queues ")+namesShown(s.Queues)+" of no pipeline")
	}
	return strings.Join(parts, " and ")
}

func namesShown(names []string) string {
	var shown []string
	for _, name := range names[:min(sharersShown, len(names))] {
		shown = append(shown, Within(name))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += " and " + Counted(more, "other")
	}
	return text
}

// Found says how a dead-letter queue was found, and who shares it.
func Found(q dedup.DeadLetterQueue) string {
	if !q.Shared.Any() {
		return q.Found
	}
	return q.Found + "; shared with " + Sharers(q.Shared)
}

// SharedQueue finds a shared dead-letter queue of a pipeline's broker; nil where it is not shared.
func SharedQueue(snap *dedup.Snapshot, p *dedup.PipelineStatus, ref dedup.QueueRef) *dedup.SharedQueue {
	for i := range snap.SharedQueues {
		if q := &snap.SharedQueues[i]; q.Broker == p.Pipeline.Broker && q.QueueRef == ref {
			return q
		}
	}
	return nil
}
