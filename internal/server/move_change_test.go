package server

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/admin"
)

func TestAChangeOfAPlanMakesNoDefaultAChoice(t *testing.T) {
	plan := admin.MovePlan{
		Request: admin.MoveRequest{Do: admin.Requeue, Whole: true, Choices: map[admin.Class]admin.Choice{admin.ClassSkipped: admin.LeaveOut}},
		Choices: map[admin.Class]admin.Choice{admin.ClassSkipped: admin.LeaveOut, admin.ClassUnknown: admin.KeepAsIs, admin.ClassBlocks: admin.LeaveOut},
	}
	for name, c := range map[string]struct {
		form string
		want map[admin.Class]admin.Choice
	}{
		"only the canary and the rate":                {"canary=5&rate=10", plan.Request.Choices},
		"defaults as the form sends them along":       {"canary=5&choice-unknown=keep&choice-blocks=leave_out", plan.Request.Choices},
		"another choice":                              {"choice-blocks=clear_first", map[admin.Class]admin.Choice{admin.ClassSkipped: admin.LeaveOut, admin.ClassBlocks: admin.ClearFirst}},
		"a choice that was made before is taken back": {"choice-skipped=keep", map[admin.Class]admin.Choice{admin.ClassSkipped: admin.KeepAsIs}},
	} {
		form, err := url.ParseQuery(c.form)
		if err != nil {
			t.Fatal(err)
		}
		if req, err := changedMove(plan, form); err != nil || !maps.Equal(req.Choices, c.want) {
			t.Errorf("%s: %v, %v", name, req.Choices, err)
		}
	}
	if plan.Request.Choices[admin.ClassBlocks] != "" {
		t.Error("the plan itself was changed")
	}
}

// editedOnce plans the requeue of one message with another country in its body, and returns the address of the review.
func (s *site) editedOnce() string {
	s.t.Helper()
	href, _ := s.looked("inventory", inventoryDLQ, "10").Find(".letters .c-id a").First().Attr("href")
	form := s.page("admin", strings.Replace(href, "/message?", "/edit?", 1)).Find("form.edit-form")
	values := hiddenFields(form)
	values.Set("body", strings.Replace(strings.TrimPrefix(form.Find("textarea").Text(), "\n"), `"country":"DE"`, `"country":"AT"`, 1))
	form.Find("input[name=content_type], input[name=message_id], input[name^=value-]").Each(func(_ int, in *goquery.Selection) {
		values.Set(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	res := s.as("admin", "POST", "/dead-letters/edit", values.Encode())
	if res.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("the edit: %s: %.300s", res.Status, s.body(res))
	}
	return res.Header.Get("Location")
}

func TestAChangeOfAPlanKeepsItsEdit(t *testing.T) {
	s := stocked(t, nil)
	res := s.as("admin", "POST", s.editedOnce()+"/change", "rate=10")
	review := s.page("admin", res.Header.Get("Location"))
	if got := oneLine(review.Find(".diff .added")); !strings.Contains(got, `"country": "AT"`) {
		t.Errorf("%s: added is %q", res.Status, got)
	}
}

// editsLost is a service that keeps no edit, as after a restart.
type editsLost struct{ deadLetterService }

func (e editsLost) PlannedMove(ctx context.Context, who admin.Caller, id string) (admin.MovePlan, string, error) {
	p, job, err := e.deadLetterService.PlannedMove(ctx, who, id)
	p.Edited = nil
	return p, job, err
}

func TestAPlanWhoseEditIsLostIsNeitherChangedNorRetriedWithoutIt(t *testing.T) {
	s := stocked(t, nil)
	at := s.editedOnce()
	s.deadLetters = editsLost{s.deadLetters}
	if res := s.as("admin", "POST", at+"/change", "rate=10"); res.StatusCode != http.StatusConflict {
		t.Errorf("the change is %s, to %q", res.Status, res.Header.Get("Location"))
	}
	job := s.started(at, url.Values{"reason": {"a wrong country"}})
	s.moved(job)
	if res := s.as("admin", "POST", job+"/retry", ""); res.StatusCode != http.StatusConflict || !strings.Contains(s.body(res), "make the edit again") {
		t.Errorf("the retry is %s, to %q", res.Status, res.Header.Get("Location"))
	}
}
