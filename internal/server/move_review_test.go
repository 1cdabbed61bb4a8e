package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

func TestTheCanaryOfThePresetIsChosen(t *testing.T) {
	s := stocked(t, nil)
	doc := s.page("admin", s.planMoveOf("admin", s.looked("inventory", inventoryDLQ, "1000"), "requeue-all"))
	if got, _ := doc.Find("select[name=canary] option[selected]").Attr("value"); got != "5" {
		t.Errorf("a canary of %q is chosen", got)
	}
}

// roomFor is a service whose targets have room for some messages only, and whose operators may move as many. late says that they fill
// up after the plan.
type roomFor struct {
	deadLetterService
	most   int64
	refuse bool
	late   bool
	asked  *[]move.Request
}

func (f roomFor) tooMany(kind dedup.Kind) error {
	return &move.TooMany{Fits: f.most, Err: &dedup.Error{Kind: kind, Public: "125 do not fit: room for 120. Take 120 at most"}}
}

func (f roomFor) PlanMove(ctx context.Context, who admin.Caller, req move.Request) (move.Plan, error) {
	*f.asked = append(*f.asked, req)
	if f.refuse && (req.Most == 0 || req.Most > f.most) {
		return move.Plan{}, f.tooMany(dedup.Forbidden)
	}
	return f.deadLetterService.PlanMove(ctx, who, req)
}

func (f roomFor) PlannedMove(ctx context.Context, who admin.Caller, id string) (move.Plan, string, error) {
	p, job, err := f.deadLetterService.PlannedMove(ctx, who, id)
	if p.Most == 0 && !f.late {
		p.Guards = append(p.Guards, move.Guard{Blocking: true, Text: "125 do not fit: room for 120. Take 120 at most", Fits: &f.most})
	}
	return p, job, err
}

func (f roomFor) StartJob(context.Context, admin.Caller, jobs.StartRequest) (string, error) {
	return "", f.tooMany(dedup.Conflict)
}

// again presses the button that plans fewer messages.
func (s *site) again(doc *goquery.Document) *http.Response {
	s.t.Helper()
	form := doc.Find("form.again")
	if got := oneLine(form.Find("button")); got != "Take 120 at most" {
		s.t.Fatalf("the button is %q on %.300s", got, oneLine(doc.Find("main")))
	}
	return s.as("admin", "POST", form.AttrOr("action", ""), hiddenFields(form).Encode())
}

func TestARefusedMoveOffersAsManyAsFit(t *testing.T) {
	s := stocked(t, nil)
	var asked []move.Request
	look := s.looked("inventory", inventoryDLQ, "1000")
	full := roomFor{s.deadLetters, 120, false, false, &asked}
	s.deadLetters = full

	review := s.page("admin", s.planMoveOf("admin", look, "requeue-all"))
	if review.Find("main .sign input, main [formaction]").Length() != 0 {
		t.Error("what is blocked can be started")
	}
	if res := s.again(review); res.StatusCode != http.StatusSeeOther || asked[1].Most != 120 || asked[1].Queue != inventoryDLQ {
		t.Errorf("the review's button: %s, %+v", res.Status, asked[1:])
	}

	full.late = true
	s.deadLetters = full
	res := s.as("admin", "POST", s.planMoveOf("admin", look, "requeue-all")+"/start", url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}}.Encode())
	if page := s.parsed(res); res.StatusCode != http.StatusConflict || !strings.Contains(oneLine(page.Find("main")), "125 do not fit") || s.again(page).StatusCode != http.StatusSeeOther {
		t.Errorf("the start: %s", res.Status)
	}

	full.refuse = true
	s.deadLetters = full
	form := hiddenFields(look.Find("form.act"))
	form.Set("do", "requeue-selected")
	form.Set("sel", firstRef(look))
	form.Set("target", "inventory.reserve")
	res = s.as("operator", "POST", "/dead-letters/plan", form.Encode())
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("the plan: %s", res.Status)
	}
	before := asked[len(asked)-1]
	if res := s.again(s.parsed(res)); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the refusal's button: %s", res.Status)
	}
	if last := asked[len(asked)-1]; last.Most != 120 || last.Target != "inventory.reserve" || !slices.Equal(last.Refs, before.Refs) || last.Scan != before.Scan || last.Queue != before.Queue {
		t.Errorf("asked for %+v", last)
	}
	res = s.as("operator", "POST", "/api/v1/moves/plan", `{"do":"requeue","pipeline":"inventory","queue":"`+inventoryDLQ+`","whole":true}`, "Content-Type", "application/json")
	if body := s.body(res); res.StatusCode != http.StatusForbidden || !strings.Contains(body, `"fits": 120`) {
		t.Errorf("the API: %s %s", res.Status, body)
	}
}

// parsed reads the page of an answer.
func (s *site) parsed(res *http.Response) *goquery.Document {
	s.t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(s.body(res)))
	if err != nil {
		s.t.Fatal(err)
	}
	return doc
}
