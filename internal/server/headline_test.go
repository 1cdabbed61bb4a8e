package server

import (
	"testing"

	"dedup-dashboard/internal/dedup"
)

// TestHeadlinesCountWhatPipelinesShareOnce has three pipelines: two share a store, and a dead-letter queue of one broker; the
// third has a store and, on another broker, a queue of the same name.
func TestHeadlinesCountWhatPipelinesShareOnce(t *testing.T) {
	count := func(v float64) dedup.Figure { return dedup.Exact(dedup.Measured, dedup.Count, v, noon, "test") }
	pipeline := func(name, broker, store string, busy float64, queues map[string]float64) judged {
		p := &dedup.PipelineStatus{
			Pipeline: dedup.Pipeline{Name: name, Broker: broker, Store: store}, Markers: map[dedup.State]dedup.Figure{dedup.Processing: count(busy)},
		}
		dead := 0.0
		for queue, depth := range queues {
			p.DeadLetterQueues = append(p.DeadLetterQueues, dedup.DeadLetterQueue{QueueRef: dedup.QueueRef{Vhost: "/", Name: queue}, Depth: count(depth)})
			dead += depth
		}
		p.DeadLetters = count(dead)
		return judged{PipelineStatus: p}
	}
	unlisted := pipeline("old", "main", "", 0, nil)
	unlisted.DeadLetters, unlisted.Markers = count(5), nil
	got := map[string]string{}
	for _, s := range headline([]judged{
		pipeline("orders", "main", "shared", 12, map[string]float64{"dlq": 40, "orders.dlq": 2}),
		pipeline("invoices", "main", "shared", 12, map[string]float64{"dlq": 40}),
		pipeline("stock", "other", "own", 3, map[string]float64{"dlq": 100}),
		unlisted,
	}, noon) {
		got[s.Label] = s.Value
	}
	if got["Dead letters"] != "147" {
		t.Errorf("%s dead letters in all, want 40 + 2 + 100 + 5", got["Dead letters"])
	}
	if got["Processing markers"] != "15" {
		t.Errorf("%s processing markers in all, want 12 + 3", got["Processing markers"])
	}
}

// TestAHeadlineSaysThatPipelinesDroppedOut: without the one that cannot be read the rest look better.
func TestAHeadlineSaysThatPipelinesDroppedOut(t *testing.T) {
	known := judged{PipelineStatus: &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders"}, DeadLetters: dedup.Exact(dedup.Measured, dedup.Count, 3, noon, "test")}}
	dark := judged{PipelineStatus: &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "payments"}, Down: []dedup.SourceHealth{{Name: "store payments", Tried: true}}}}
	for _, s := range headline([]judged{known, dark}, noon) {
		if s.Label == "Dead letters" && s.Note != "1 of 2 pipelines · 1 cannot be read" {
			t.Errorf("the note is %q", s.Note)
		}
	}
	for _, s := range headline([]judged{known}, noon) {
		if s.Label == "Dead letters" && s.Note != "" {
			t.Errorf("all are there: the note is %q", s.Note)
		}
	}
}
