package server

import (
	"net/http"
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
)

func TestTheFirstMessagesOfAnOperatorAllGo(t *testing.T) {
	s := stocked(t, nil)
	var asked []move.Request
	s.deadLetters = roomFor{s.deadLetters, 120, false, false, &asked}
	s.planMoveOf("operator", s.looked("inventory", inventoryDLQ, "1000"), "requeue-first")
	scan, err := s.morgue.Kept(t.Context(), admin.Caller{Principal: auth.Principal{Name: "o", Role: auth.Operator}}, asked[0].Scan)
	if err != nil {
		t.Fatal(err)
	}
	goes := map[string]bool{}
	for _, l := range scan.Letters {
		goes[l.Ref] = l.Goes("")
	}
	for _, ref := range asked[0].Refs {
		if !goes[ref] {
			t.Errorf("%s is among them and stays", ref)
		}
	}
	if len(asked[0].Refs) != deadletter.DefaultOperatorLimit {
		t.Errorf("%d are asked for", len(asked[0].Refs))
	}
}

func TestAnOperatorIsOfferedTheHeadOfAQueueThatMovesAsAWhole(t *testing.T) {
	s := stocked(t, nil)
	var asked []move.Request
	s.deadLetters = roomFor{s.deadLetters, 120, false, false, &asked}
	const at = "/pipelines/payments/dead-letters"
	form := s.page("operator", at).Find("section[aria-labelledby=whole-title] form")
	if form.Find("button[value=requeue-whole][disabled]").Length() != 1 || oneLine(form.Find("button[value=requeue-head]:not([disabled])")) != "Preview requeue of the first 100" {
		t.Fatalf("offered is %q", oneLine(form))
	}
	values := hiddenFields(form)
	values.Set("do", "requeue-head")
	res := s.as("operator", "POST", form.AttrOr("action", ""), values.Encode())
	if res.StatusCode != http.StatusSeeOther || !asked[0].Whole || asked[0].Most != deadletter.DefaultOperatorLimit {
		t.Errorf("%s, asked for %+v", res.Status, asked)
	}
	if n := s.page("admin", at).Find("button[value=requeue-head]").Length(); n != 0 {
		t.Error("an admin, who may move the whole, is offered the head")
	}
}
