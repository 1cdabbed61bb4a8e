package overview

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestHeadlinesCountWhatPipelinesShareOnce has three pipelines: two share a store, and a dead-letter queue of one broker; the
// third has a store and, on another broker, a queue of the same name.
func TestHeadlinesCountWhatPipelinesShareOnce(t *testing.T) {
	count := func(v float64) dedup.Figure { return dedup.Exact(dedup.Measured, dedup.Count, v, noon, "test") }
	pipeline := func(name, broker, store string, busy float64, queues map[string]float64) show.Judged {
		p := &dedup.PipelineStatus{
			Pipeline: dedup.Pipeline{Name: name, Broker: broker, Store: store}, Markers: map[dedup.State]dedup.Figure{dedup.Processing: count(busy)},
		}
		dead := 0.0
		for queue, depth := range queues {
			p.DeadLetterQueues = append(p.DeadLetterQueues, dedup.DeadLetterQueue{QueueRef: dedup.QueueRef{Vhost: "/", Name: queue}, Depth: count(depth)})
			dead += depth
		}
		p.DeadLetters = count(dead)
		return show.Judged{PipelineStatus: p}
	}
	unlisted := pipeline("old", "main", "", 0, nil)
	unlisted.DeadLetters, unlisted.Markers = count(5), nil
	got := map[string]string{}
	for _, s := range headline([]show.Judged{
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

// TestAHeadlineSaysThatPipelinesDroppedOut: without those that cannot be read the rest look better. Those whose part rests on another
// source, or is not there at all, are not among them.
func TestAHeadlineSaysThatPipelinesDroppedOut(t *testing.T) {
	count := func(v float64) dedup.Figure { return dedup.Exact(dedup.Measured, dedup.Count, v, noon, "test") }
	pipeline := func(dead, busy bool, down ...string) show.Judged {
		p := &dedup.PipelineStatus{Markers: map[dedup.State]dedup.Figure{}}
		if dead {
			p.DeadLetters = count(3)
		}
		if busy {
			p.Markers[dedup.Processing] = count(5)
		}
		for _, kind := range down {
			p.Down = append(p.Down, dedup.SourceHealth{Name: kind + " x", Kind: kind, Tried: true})
		}
		return show.Judged{PipelineStatus: p}
	}
	whole, noStore, noBroker, noQueue := pipeline(true, true), pipeline(true, false, "store", "reported"), pipeline(false, true, "broker"), pipeline(false, true)
	for _, tt := range []struct {
		name       string
		all        []show.Judged
		dead, busy string
	}{
		{"all are there", []show.Judged{whole, whole}, "", ""},
		{"a broker is down", []show.Judged{whole, noBroker}, "1 of 2 pipelines · 1 cannot be read", ""},
		{"stores are down", []show.Judged{whole, noStore, noStore}, "", "1 of 3 pipelines · 2 cannot be read"},
		{"stores are down, and one has no dead-letter queue", []show.Judged{whole, noQueue, noStore}, "2 of 3 pipelines", "2 of 3 pipelines · 1 cannot be read"},
		{"both are down", []show.Judged{pipeline(false, false, "broker", "store")}, "no pipeline knows · 1 cannot be read", "no pipeline knows · 1 cannot be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			notes := map[string]string{}
			for _, s := range headline(tt.all, noon) {
				notes[s.Label] = s.Note
			}
			if notes["Dead letters"] != tt.dead || notes["Processing markers"] != tt.busy {
				t.Errorf("dead letters: %q, want %q; markers: %q, want %q", notes["Dead letters"], tt.dead, notes["Processing markers"], tt.busy)
			}
		})
	}
}
