package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/web"
)

// deadAgainJob is a job of an admin of which n messages are dead again.
func (s *site) deadAgainJob(n int, change url.Values) string {
	s.t.Helper()
	s.morgue.DeadAgain = n
	doc := s.looked("inventory", inventoryDLQ, "1000")
	view, err := s.morgue.Queue(s.t.Context(), admin.Caller{Principal: auth.Principal{Name: "o", Role: auth.Operator}}, "inventory", inventoryDLQ)
	if err != nil {
		s.t.Fatal(err)
	}
	var refs []string
	for _, l := range view.Scan.Letters {
		if l.Prediction.Class == preflight.ClassRuns && len(refs) < n+2 {
			refs = append(refs, l.Ref)
		}
	}
	at := s.planMoveOf("admin", doc, "requeue-selected", refs...)
	if change != nil {
		res := s.as("admin", "POST", at+"/change", change.Encode())
		if at = res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther {
			s.t.Fatalf("the change: %s: %.300s", res.Status, s.body(res))
		}
	}
	job := s.started(at, url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}})
	s.moved(job)
	return job
}

func TestWhatIsPlannedOnceMoreIsBoundedToWhatTheRefusalOffers(t *testing.T) {
	s := stocked(t, nil)
	job := s.deadAgainJob(3, nil)
	var asked []move.Request
	morgue := s.deadLetters
	s.deadLetters = roomFor{morgue, 120, true, false, &asked}
	if res := s.again(s.parsed(s.as("operator", "POST", job+"/again", ""))); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the button of the refusal leads to %s", res.Status)
	}
	if last := asked[len(asked)-1]; last.Most != 120 || len(last.Refs) != 3 {
		t.Errorf("asked for %+v", last)
	}
	s.deadLetters = failing{s.deadLetters, jobs.JobItem{Ref: "r", Outcome: "rejected"}}
	if res := s.again(s.parsed(s.as("operator", "POST", job+"/retry", ""))); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the button of the refused retry leads to %s", res.Status)
	}
	if last := asked[len(asked)-1]; last.Most != 120 || !slices.Equal(last.Refs, []string{"r"}) {
		t.Errorf("the retry asked for %+v", last)
	}
	if res := s.as("operator", "POST", job+"/again", "most=many"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a bound that is no number: %s", res.Status)
	}
}

func TestTheBoundOfAJobDoesNotHoldForItsMessagesThatAreNamed(t *testing.T) {
	s := stocked(t, nil)
	job := s.deadAgainJob(3, url.Values{"most": {"2"}})
	var asked []move.Request
	s.deadLetters = roomFor{s.deadLetters, 120, false, false, &asked}
	if res := s.as("admin", "POST", job+"/again", ""); res.StatusCode != http.StatusSeeOther || len(asked) != 1 || asked[0].Most != 0 || len(asked[0].Refs) != 2 {
		t.Errorf("%s, asked for %+v", res.Status, asked)
	}
}

func TestRequeueingAgainIsDisabledForThoseWhomItWouldBeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change url.Values
		dead   int
		role   string
		why    string
	}{
		"an operator, of a job that cleared markers":      {url.Values{"choice-runs": {"clear_first"}}, 3, "operator", "Clearing markers first needs the role admin."},
		"an operator, more than operators move at once":   {nil, deadletter.DefaultOperatorLimit + 1, "operator", "Operators requeue at most 100 messages at once."},
		"an operator, few, of a job that cleared nothing": {nil, 3, "operator", ""},
		"an admin, of a job that cleared markers":         {url.Values{"choice-runs": {"clear_first"}}, 3, "admin", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := stocked(t, nil)
			job := s.deadAgainJob(c.dead, c.change)
			form := s.page(c.role, job).Find("form[action$='/again']")
			button := form.Find("button")
			if _, off := button.Attr("disabled"); button.Length() != 1 || off != (c.why != "") {
				t.Errorf("the button is disabled: %t", off)
			}
			if got := oneLine(form.Parent()); c.why != "" && !strings.Contains(got, c.why) {
				t.Errorf("%q does not say %q", got, c.why)
			}
			refused := s.as(c.role, "POST", job+"/again", "").StatusCode == http.StatusForbidden
			if refused != (c.why != "") {
				t.Errorf("refused: %t", refused)
			}
		})
	}
}

// failing is a service whose jobs all have one message.
type failing struct {
	deadLetterService
	item jobs.JobItem
}

func (f failing) JobItems(context.Context, admin.Caller, string, int64, int) ([]jobs.JobItem, error) {
	return []jobs.JobItem{f.item}, nil
}

func TestTheAPIChoosesAQueueForMessagesThatDoNotSayWhereTheyCameFrom(t *testing.T) {
	s := stocked(t, nil)
	var asked []move.Request
	s.deadLetters = roomFor{s.deadLetters, 120, false, false, &asked}
	plan := func(do, target string) *http.Response {
		body := `{"do":"` + do + `","pipeline":"inventory","queue":"` + inventoryDLQ + `","filter":"id:published","target":"` + target + `"}`
		return s.as("admin", "POST", "/api/v1/moves/plan", body, "Content-Type", "application/json")
	}
	res := plan("requeue", "inventory.reserve")
	if body := s.body(res); res.StatusCode != http.StatusCreated || len(asked) != 1 || asked[0].Target != "inventory.reserve" || !strings.Contains(body, `"target": "inventory.reserve"`) {
		t.Errorf("%s: asked for %+v", res.Status, asked)
	}
	for do, target := range map[string]string{"discard": "inventory.reserve", "requeue": strings.Repeat("q", web.MaxRef+1)} {
		if res := plan(do, target); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s to %.20q: %s", do, target, res.Status)
		}
	}
}
