package server

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/jobs"

	"dedup-dashboard/internal/admin"
)

// planless is a service whose jobs cannot be read with their plans.
type planless struct{ deadLetterService }

func (planless) Job(context.Context, admin.Caller, string) (jobs.Job, error) {
	panic("a story reads a plan")
}

func TestAStoryReadsNoPlan(t *testing.T) {
	s := stocked(t, nil)
	doc := s.looked("inventory", inventoryDLQ, "100")
	id := oneLine(doc.Find(".letters .c-id a").First())
	s.moved(s.started(s.planMoveOf("admin", doc, "requeue-selected", firstRef(doc)), url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}}))
	s.deadLetters = planless{s.deadLetters}
	if text := oneLine(s.page("operator", "/lookup?id="+id).Find("main")); !strings.Contains(text, "Requeued by a, “the gateway is back”") {
		t.Errorf("the story is %.600s", text)
	}
}
