package server

import (
	"encoding/json"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/web"
)

// shared lets the first two pipelines of the sample share the dead-letter queue of the first.
func shared(s *site) (first, second string) {
	snap := *s.snapshots.Snapshot()
	snap.Pipelines = append([]dedup.PipelineStatus{}, snap.Pipelines...)
	a, b := &snap.Pipelines[0], &snap.Pipelines[1]
	q := dedup.DeadLetterQueue{QueueRef: dedup.QueueRef{Vhost: "/", Name: "dead"}, Found: "listed", Depth: dedup.Exact(dedup.Measured, dedup.Count, 732, snap.At, "test")}
	for p, other := range map[*dedup.PipelineStatus]string{a: b.Pipeline.Name, b: a.Pipeline.Name} {
		q.Shared = dedup.Sharing{Pipelines: []string{other}, Queues: []string{"legacy<b>"}}
		p.Pipeline.Broker, p.DeadLetterQueues, p.Baseline, p.Down = "main", []dedup.DeadLetterQueue{q}, nil, nil
		p.DeadLetters = dedup.Figure{Quality: dedup.Derived, Unit: dedup.Count, High: 732, At: snap.At, Why: "dead is shared"}
	}
	snap.SharedQueues = []dedup.SharedQueue{{QueueRef: q.QueueRef, Broker: "main", Pipelines: []string{a.Pipeline.Name, b.Pipeline.Name}, Queues: []string{"legacy<b>"},
		Depth: q.Depth, Inflow: dedup.Exact(dedup.Derived, dedup.PerHour, 732, snap.At, "test")}}
	s.snapshots.snap.Store(&snap)
	return a.Pipeline.Name, b.Pipeline.Name
}

func TestASharedQueueIsABoundOfEachPipelineAndStandsOnce(t *testing.T) {
	s := stocked(t, nil)
	first, second := shared(s)
	var list struct {
		Pipelines []struct {
			Name        string
			DeadLetters web.FigureJSON `json:"dead_letters"`
		}
		Shared []api.SharedQueueJSON `json:"shared_dead_letter_queues"`
	}
	if err := json.Unmarshal([]byte(s.body(s.do("GET", "/api/v1/pipelines", "", "Authorization", "Bearer "+viewerToken))), &list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Pipelines {
		if f := p.DeadLetters; (p.Name == first || p.Name == second) && (*f.Low != 0 || *f.High != 732) {
			t.Errorf("%s: %v to %v", p.Name, *f.Low, *f.High)
		}
	}
	if len(list.Shared) != 1 || list.Shared[0].Subject != "main:dead" || *list.Shared[0].Depth.Value != 732 || len(list.Shared[0].Pipelines) != 2 {
		t.Errorf("shared queues %+v", list.Shared)
	}
	metrics := s.body(s.do("GET", "/metrics", "", "Authorization", "Bearer "+viewerToken))
	for _, want := range []string{`dedup_shared_dead_letters{broker="main",queue="dead",vhost="/"} 732`, `dedup_shared_dead_letter_queue_info{broker="main",pipeline="` + second + `",queue="dead",vhost="/"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%s is missing from the metrics", want)
		}
	}
	if strings.Contains(metrics, `dedup_dead_letters{pipeline="`+first+`",queue="dead"`) {
		t.Error("the metrics blame " + first)
	}
	rows := oneLine(s.page("viewer", "/dead-letters").Find(".dead-list"))
	if !strings.Contains(rows, "0–732") || !strings.Contains(rows, "shared with pipeline "+second) || !strings.Contains(rows, "queue legacy<b> of no pipeline") {
		t.Errorf("the list of dead letters says %q", rows)
	}
	if text := oneLine(s.page("viewer", "/pipelines/"+first).Find("main")); !strings.Contains(text, "0–732") || !strings.Contains(text, "of a shared queue") || !strings.Contains(text, "shared with pipeline "+second) {
		t.Errorf("the page of %s does not say that its queue is shared", first)
	}
	if text := oneLine(s.page("viewer", "/pipelines/"+first+"/dead-letters?queue=dead").Find("main")); !strings.Contains(text, "Shared with") {
		t.Errorf("the page of the queue says %.600q", text)
	}
	if text := oneLine(s.page("viewer", "/").Find("main")); !strings.Contains(text, "0–732") {
		t.Error("the overview does not give the bounds")
	}
}
