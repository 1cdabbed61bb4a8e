package deadletter

import (
	"testing"
	"time"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// unread is a pipeline whose broker cannot be read.
func unread(name string) dedup.PipelineStatus {
	return dedup.PipelineStatus{
		Pipeline: dedup.Pipeline{Name: name, Broker: "main"}, DeadLetters: dedup.Unknown(dedup.Count, "broker main cannot be read"),
		DeadLetterQueues: []dedup.DeadLetterQueue{{QueueRef: dedup.QueueRef{Vhost: "/", Name: name + ".dlq"}}},
	}
}

func TestTheSumOfDeadLettersIsNoZeroWhileNoneIsKnown(t *testing.T) {
	snap := &dedup.Snapshot{Pipelines: []dedup.PipelineStatus{unread("orders"), unread("billing")}}
	row := templates.DeadPipeline{Queues: make([]templates.DeadQueueLine, 1)}
	if text := sumText([]templates.DeadPipeline{row, row}, snap); text != "How many there are is unknown: the dead-letter queues of 2 pipelines cannot be read." {
		t.Errorf("none is known: %q", text)
	}
	known := row
	known.Depth.Known = true
	q := &snap.Pipelines[0].DeadLetterQueues[0]
	q.Depth = dedup.Exact(dedup.Measured, dedup.Count, 3, time.Now(), "test")
	if text := sumText([]templates.DeadPipeline{known, row}, snap); text != "3 in 1 dead-letter queue of 1 pipeline. Of 1 pipeline the number is unknown." {
		t.Errorf("one is known: %q", text)
	}
}

func TestTheTypeInTheListIsTheOneOfTheFilter(t *testing.T) {
	for _, header := range []string{"task", "rbs2-msg-type", "type"} {
		l := deadletter.Letter{}
		l.Headers = map[string]any{header: "shop.order"}
		if got := (queuePage{p: &dedup.PipelineStatus{}, now: time.Now()}).letterLine(deadletter.Scan{}, l).Type.Short; got != "shop.order" {
			t.Errorf("%s is listed as %q", header, got)
		}
	}
}
