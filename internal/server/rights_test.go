package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

func TestTheFirstMessagesAreThoseThatARequeueMoves(t *testing.T) {
	letter := func(ref, target string, class preflight.Class, requeues int) deadletter.Letter {
		return deadletter.Letter{DeadLetter: dedup.DeadLetter{Ref: ref}, Target: target, NoTarget: "it has no history", Requeues: requeues, Prediction: preflight.Prediction{Class: class}}
	}
	worn, homeless := letter("worn", "orders", preflight.ClassRuns, 3), letter("homeless", "", preflight.ClassRuns, 0)
	swallowed, runs, skipped := letter("swallowed", "orders", preflight.ClassSwallowed, 0), letter("runs", "orders", preflight.ClassRuns, 2), letter("skipped", "orders", preflight.ClassSkipped, 0)
	all := []deadletter.Letter{worn, homeless, swallowed, runs, skipped, runs}
	for name, c := range map[string]struct {
		letters []deadletter.Letter
		most    int
		target  string
		want    string
	}{
		"those that stay take no place":                  {all, 2, "", "runs skipped"},
		"those without a queue go where they are sent":   {all, 2, "orders", "homeless runs"},
		"fewer than asked for":                           {all, 100, "", "runs skipped runs"},
		"none would go: the review of the first says so": {[]deadletter.Letter{worn, swallowed, worn}, 2, "", "worn swallowed"},
		"there is none":                                  {nil, 2, "", ""},
	} {
		var got []string
		for _, l := range firstOf(c.letters, c.most, c.target) {
			got = append(got, l.Ref)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

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
	if _, err := parseMoveForm(url.Values{"pipeline": {"payments"}, "queue": {"payments.dlq"}, "do": {"requeue-tail"}}, time.Now()); err == nil {
		t.Error("a button that there is not is taken")
	}
}
