package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// offered are the choices of a row by their values.
func offered(row templates.MoveClass) []string {
	var values []string
	for _, c := range row.Choices {
		values = append(values, c.Value)
	}
	return values
}

func TestEveryClassCanBeLeftOutWhereMessagesCan(t *testing.T) {
	plan := move.Plan{Request: move.Request{Do: admin.Requeue, Whole: true}, Classes: preflight.Tally{}, Choices: map[preflight.Class]preflight.Choice{}}
	for _, c := range preflight.Classes() {
		plan.Classes[c], plan.Choices[c] = 1, preflight.KeepAsIs
	}
	for _, c := range []struct {
		do   admin.Move
		may  bool
		want bool
	}{{admin.Requeue, true, true}, {admin.Requeue, false, false}, {admin.Discard, true, false}} {
		plan.Request.Do, plan.MayLeave = c.do, c.may
		rows := moveClasses(plan)
		if len(rows) != len(preflight.Classes()) {
			t.Fatalf("%d rows", len(rows))
		}
		for _, row := range rows {
			if got := slices.Contains(offered(row), string(preflight.LeaveOut)); got != c.want {
				t.Errorf("%s, may leave out %t: %s offers %v", c.do, c.may, row.Word, offered(row))
			}
		}
	}
}

func TestMessagesThatStayWhateverIsChosenHaveRowsOfTheirOwn(t *testing.T) {
	plan := move.Plan{
		Request: move.Request{Do: admin.Requeue, Filter: "id:*"}, Ready: 20, Scanned: 20, Matching: 20, Nowhere: 7, Worn: 1,
		Classes: preflight.Tally{preflight.ClassRuns: 12}, Targets: map[string]int{"orders": 12},
	}
	rows := moveClasses(plan)
	if len(rows) != 3 || rows[1].Word != "nowhere to go" || rows[1].Count != 7 || rows[2].Count != 1 || len(rows[1].Choices) != 1 {
		t.Errorf("%+v", rows)
	}
	if got := moveTitle(plan); got != "Requeue 12 messages" {
		t.Errorf("the button is %q", got)
	}
	if got := moveSentence(plan); !strings.Contains(got, ": 7 with nowhere to go, 1 requeued too often") {
		t.Errorf("the sentence is %q", got)
	}
}

func TestClearingAMarkerThatDoesNotTellIsShownAsRunningASecondTime(t *testing.T) {
	blind := preflight.Prediction{Class: preflight.ClassPerhapsSwallowed, ClearFirst: true, MayRepeat: true}
	plan := move.Plan{
		Request: move.Request{Do: admin.Requeue, Filter: "id:*"}, MayLeave: true, MayRepeat: 2,
		Classes: preflight.Tally{blind.Class: 2}, Choices: map[preflight.Class]preflight.Choice{blind.Class: preflight.ClearFirst},
		Letters: []move.PlannedLetter{{Prediction: blind, Choice: preflight.ClearFirst}, {Prediction: blind, Choice: preflight.ClearFirst}},
	}
	row := moveClasses(plan)[0]
	if row.EffectWord != "may run a second time" || row.EffectTier != dedup.Severe.String() || !strings.Contains(row.Effect, "may be done a second time") || !moveDanger(plan) {
		t.Errorf("%+v, danger: %t", row, moveDanger(plan))
	}
	if got := moveSentence(plan); !strings.Contains(got, "2 may run a second time") {
		t.Errorf("the sentence is %q", got)
	}
	plan.Most = 1
	if got := moveSentence(plan); !strings.Contains(got, ": the first of 2, 2 may run a second time if they are among those") {
		t.Errorf("with a bound the sentence is %q", got)
	}
	plan.Choices[blind.Class], plan.MayRepeat = preflight.LeaveOut, 0
	if row := moveClasses(plan)[0]; row.EffectWord != "" || moveDanger(plan) {
		t.Errorf("left out: %+v", row)
	}
	if classWord(blind.Class) != "swallowed, work perhaps not done" || classTier(blind.Class) != dedup.Severe.String() {
		t.Errorf("the class is %q, %s", classWord(blind.Class), classTier(blind.Class))
	}
}

func TestABoundIsTheNumberThatAPlanMoves(t *testing.T) {
	seen := preflight.Tally{preflight.ClassRuns: 125}
	for want, p := range map[string]move.Plan{
		"120 messages":                 {Request: move.Request{Refs: []string{"a"}}, Ready: 300, Scanned: 300, Matching: 125, Most: 120, Classes: seen},
		"119 messages":                 {Request: move.Request{Whole: true}, Ready: 300, Scanned: 125, Matching: 125, Most: 119, Classes: seen},
		"118 messages":                 {Request: move.Request{Whole: true}, Ready: 300, Most: 118},
		"125 seen, up to 200 messages": {Request: move.Request{Filter: "id:*"}, Ready: 900, Scanned: 300, Matching: 125, Most: 200, Classes: seen},
	} {
		if got := moveCount(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheCanariesThatAreOfferedHaveThePresetAmongThem(t *testing.T) {
	var values []string
	for _, c := range canaryChoices(move.Plan{}) {
		values = append(values, c.Value)
	}
	if got := strings.Join(values, " "); got != "0 1 5 10 50 100" {
		t.Errorf("offered are %s", got)
	}
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
	if review.Find("form.sign").Length() != 0 {
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

func TestThePlanOfTheAPITellsItsNumbers(t *testing.T) {
	most := int64(120)
	j := moveOf(move.Plan{UpTo: 9, Nowhere: 1, Worn: 2, MayRepeat: 3, MayLeave: true, Guards: []move.Guard{{Fits: &most}}, Letters: []move.PlannedLetter{{Stays: "no history", Prediction: preflight.Prediction{MayRepeat: true}}}})
	if j.UpTo != 9 || j.Nowhere != 1 || j.Worn != 2 || j.MayRepeat != 3 || !j.MayLeave || j.Fits == nil || *j.Fits != 120 || j.Messages[0].Stays == "" || !j.Messages[0].MayRepeat {
		t.Errorf("%+v", j)
	}
	if j := moveOf(move.Plan{}); j.Fits != nil {
		t.Errorf("%d fit where nothing speaks against any", *j.Fits)
	}
}

func TestTheSampleSaysOfAMessageThatStaysWhy(t *testing.T) {
	s := stocked(t, nil)
	for want, l := range map[string]move.PlannedLetter{
		"nowhere to go":      {Stays: "it has no history", Choice: preflight.LeaveOut, Prediction: preflight.Prediction{Class: preflight.ClassRuns}},
		"requeued too often": {Stays: "it was requeued 3 times already", Target: "orders", Choice: preflight.LeaveOut, Prediction: preflight.Prediction{Class: preflight.ClassRuns}},
	} {
		line := s.sampleLine(move.Plan{Request: move.Request{Do: admin.Requeue}}, l)
		if line.Word != want || line.Effect != "Stays where it is: "+l.Stays+"." {
			t.Errorf("%q, %q", line.Word, line.Effect)
		}
	}
}

func TestAReviewSaysForWhichTimesItsClassesHold(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	p := move.Plan{Request: move.Request{Do: admin.Requeue, Rate: 2}, Letters: []move.PlannedLetter{{Expected: noon}, {Expected: noon.Add(114 * time.Second)}}}
	words := foretoldWords(p, noon)
	for _, part := range []string{"for this rate and canary", show.Moment(noon, noon).Text, show.Moment(noon.Add(114*time.Second), noon).Text, "Another rate can change them"} {
		if !strings.Contains(words, part) {
			t.Errorf("%q is missing in %q", part, words)
		}
	}
	if j := moveOf(p); j.Messages[1].Expected == nil || !j.Messages[1].Expected.Equal(noon.Add(114*time.Second)) {
		t.Errorf("the API expects the last at %v", j.Messages[1].Expected)
	}
	p.Request.Do = admin.Discard
	if words := foretoldWords(p, noon); words != "" {
		t.Errorf("of a discard: %q", words)
	}
}
