package server

import (
	"net/http"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

func TestAQueueIsChosenForMessagesThatDoNotSayWhereTheyCameFrom(t *testing.T) {
	s := stocked(t, nil)
	if n := s.looked("inventory", inventoryDLQ, "100").Find("select[name=target]").Length(); n != 0 {
		t.Error("a queue is asked for though every message says where it came from")
	}
	s.morgue.Put(inventoryDLQ, deadletter.Letter{
		DeadLetter: dedup.NewDeadLetter(dedup.QueueRef{Vhost: "/", Name: inventoryDLQ}, message.Message{Body: []byte("{}"), Properties: message.Properties{MessageID: "published"}}),
		ID:         "published", NoTarget: "it has no death history", Prediction: preflight.Prediction{Class: preflight.ClassRuns},
	})
	s.looked("inventory", inventoryDLQ, "10000")
	doc := s.page("operator", inventory+"?filter=id:published")
	if got := oneLine(doc.Find("form.act select[name=target]")); !strings.Contains(got, "stay where they are") || !strings.Contains(got, "go to inventory.reserve") {
		t.Errorf("the list offers %q", got)
	}
	at, _ := doc.Find(".letters .c-id a").First().Attr("href")
	form := s.page("operator", at).Find("form.act-bar")
	if form.Find("select[name=target] option").Length() != 2 {
		t.Error("the page of the message offers no queue")
	}
	values := hiddenFields(form)
	values.Set("do", "requeue-selected")
	values.Set("target", "inventory.reserve")
	if res := s.as("operator", "POST", "/dead-letters/plan", values.Encode()); res.StatusCode != http.StatusSeeOther {
		t.Errorf("%s: %.200s", res.Status, s.body(res))
	}
}
