package server

import (
	"encoding/json"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/lab/demo"
)

func TestThePageShowsWhereDeadLettersGo(t *testing.T) {
	snap := demo.Scene("healthy", noon)
	p := &snap.Pipelines[0]
	queue := p.Pipeline.Queues[0]
	p.DeadLetterRoutes = append(p.DeadLetterRoutes,
		dedup.DeadLetterRoute{Source: dedup.QueueRef{Vhost: "/", Name: "bare"}, Role: dedup.RouteMissing, Certain: true, Note: "no dead-letter exchange is set: dead letters are dropped"},
		dedup.DeadLetterRoute{Target: dedup.QueueRef{Vhost: "/", Name: "pinned"}, Role: dedup.RouteDeadLetter, Certain: true, Origin: "listed"})
	p.RoutesLeftOut = 3
	_, doc := pipelinePage(t, snap, p.Pipeline.Name, "", demo.History{})
	rows := doc.Find("#dead-letter-routes tbody tr")
	for i, want := range [][]string{
		{queue, "shop.dead", "each message keeps its own keys", queue + ".dlq", "dead-letter queue", "Argument x-dead-letter-exchange."},
		{"delay between attempts", "possible", "Messages with the key retry."},
		{queue + ".retry", "the default exchange", "key " + queue, "source, tried again"},
		{"bare", "no dead-letter exchange", "nowhere", "dead letters are dropped."},
		{"no way found", "pinned", "Listed in the configuration."},
	} {
		text := strings.Join(strings.Fields(rows.Eq(i).Text()), " ")
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("row %d does not say %q: %s", i, part, text)
			}
		}
	}
	section := strings.Join(strings.Fields(doc.Find("#dead-letter-routes").Closest("section").Text()), " ")
	for _, want := range []string{"They reach 2 dead-letter queues, 1 delay queue. Some come back to a source queue. Those of 1 queue lead nowhere.", "3 more ways are left out."} {
		if !strings.Contains(section, want) {
			t.Errorf("the section does not say %q: %.300s", want, section)
		}
	}
}

func TestTheAPISaysNullWhereNoQueueIs(t *testing.T) {
	text, err := json.Marshal(api.RoutesOf(&dedup.PipelineStatus{DeadLetterRoutes: []dedup.DeadLetterRoute{
		{Source: dedup.QueueRef{Vhost: "/", Name: "a"}, Exchange: "gone", Role: dedup.RouteMissing, Certain: true, Origin: "o", Note: "n"}}}))
	const want = `[{"source":{"vhost":"/","queue":"a"},"exchange":"gone","routing_key":"","key_kept":false,"target":null,"role":"missing","certain":true,"origin":"o","note":"n"}]`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	if text, _ := json.Marshal(api.RoutesOf(&dedup.PipelineStatus{})); string(text) != "[]" {
		t.Errorf("no ways are %s", text)
	}
}
