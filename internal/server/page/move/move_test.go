package move

import (
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// offered are the choices that a row offers.
func offered(row templates.MoveClass) []string {
	var values []string
	for _, c := range row.Choices {
		values = append(values, c.Value)
	}
	return values
}

func TestAChosenQueueIsPartOfARequeueAlone(t *testing.T) {
	for do, want := range map[string]string{"requeue-selected": "orders", "discard-selected": "", "restore-selected": ""} {
		req, err := parseMoveForm(url.Values{"pipeline": {"orders"}, "queue": {"orders.dlq"}, "do": {do}, "sel": {"ref"}, "target": {"orders"}}, time.Now())
		if err != nil || req.Target != want {
			t.Errorf("%s goes to %q: %v", do, req.Target, err)
		}
	}
}

// TestAPlanOfAProgramKeepsItsTimes: a job that is resumed later means the same messages.
func TestAPlanOfAProgramKeepsItsTimes(t *testing.T) {
	asked := requestJSON{Do: string(admin.Requeue), Pipeline: "orders", Queue: "orders.dlq", Scan: "1", Filter: "after:2h before:12:07"}
	req, err := asked.request(time.Date(2026, 11, 23, 13, 0, 0, 0, time.UTC))
	if want := "after:2026-11-23T11:00:00Z before:2026-11-23T12:07:00Z"; err != nil || req.Filter != want {
		t.Errorf("the filter of the plan is %q, %v", req.Filter, err)
	}
}

func TestABodyOfOneLineIsComparedLineByLine(t *testing.T) {
	l := deadletter.Letter{}
	l.Body = []byte(`{"id":1,"country":"DE","items":[1,2]}`)
	d := diffOf(move.Edit{Body: []byte(`{"id":1,"country":"AT","items":[1,2]}`)}, l, move.Plan{})
	var got []string
	for _, line := range d.Body {
		if line.Sign != " " {
			got = append(got, line.Sign+strings.TrimSpace(line.Text.Full))
		}
	}
	if want := `-"country": "DE", +"country": "AT",`; strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
	if !strings.Contains(d.Cut, "indented") {
		t.Errorf("nothing says that this is not how it is sent: %q", d.Cut)
	}
	spaces := diffOf(move.Edit{Body: []byte(`{"id": 1,"country":"DE","items":[1,2]}`)}, l, move.Plan{})
	if len(spaces.Body) == 0 || !strings.Contains(spaces.Cut, "white space") {
		t.Errorf("blanks alone: %+v", spaces)
	}
}

func TestAChangeOfAPlanMakesNoDefaultAChoice(t *testing.T) {
	plan := move.Plan{
		Request: move.Request{Do: admin.Requeue, Whole: true, Choices: map[preflight.Class]preflight.Choice{preflight.ClassSkipped: preflight.LeaveOut}},
		Choices: map[preflight.Class]preflight.Choice{preflight.ClassSkipped: preflight.LeaveOut, preflight.ClassUnknown: preflight.KeepAsIs, preflight.ClassBlocks: preflight.LeaveOut},
	}
	for name, c := range map[string]struct {
		form string
		want map[preflight.Class]preflight.Choice
	}{
		"only the canary and the rate":                {"canary=5&rate=10", plan.Request.Choices},
		"defaults as the form sends them along":       {"canary=5&choice-unknown=keep&choice-blocks=leave_out", plan.Request.Choices},
		"another choice":                              {"choice-blocks=clear_first", map[preflight.Class]preflight.Choice{preflight.ClassSkipped: preflight.LeaveOut, preflight.ClassBlocks: preflight.ClearFirst}},
		"a choice that was made before is taken back": {"choice-skipped=keep", map[preflight.Class]preflight.Choice{preflight.ClassSkipped: preflight.KeepAsIs}},
	} {
		form, err := url.ParseQuery(c.form)
		if err != nil {
			t.Fatal(err)
		}
		if req, err := changedMove(plan, form); err != nil || !maps.Equal(req.Choices, c.want) {
			t.Errorf("%s: %v, %v", name, req.Choices, err)
		}
	}
	if plan.Request.Choices[preflight.ClassBlocks] != "" {
		t.Error("the plan itself was changed")
	}
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
	if got := letter.Title(plan); got != "Requeue 12 messages" {
		t.Errorf("the button is %q", got)
	}
	if got := letter.Sentence(plan); !strings.Contains(got, ": 7 with nowhere to go, 1 requeued too often") {
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
	if got := letter.Sentence(plan); !strings.Contains(got, "2 may run a second time") {
		t.Errorf("the sentence is %q", got)
	}
	plan.Most = 1
	if got := letter.Sentence(plan); !strings.Contains(got, ": the first of 2, 2 may run a second time if they are among those") {
		t.Errorf("with a bound the sentence is %q", got)
	}
	plan.Choices[blind.Class], plan.MayRepeat = preflight.LeaveOut, 0
	if row := moveClasses(plan)[0]; row.EffectWord != "" || moveDanger(plan) {
		t.Errorf("left out: %+v", row)
	}
	if letter.ClassWord(blind.Class) != "swallowed, work perhaps not done" || letter.ClassTier(blind.Class) != dedup.Severe.String() {
		t.Errorf("the class is %q, %s", letter.ClassWord(blind.Class), letter.ClassTier(blind.Class))
	}
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

func TestTheReviewSaysThatAFieldIsCleared(t *testing.T) {
	l := deadletter.Letter{}
	l.ContentType, l.MessageID = "text/plain", "order-1"
	var said []string
	for _, f := range diffOf(move.Edit{NoContentType: true, NoMessageID: true}, l, move.Plan{}).Headers {
		said = append(said, f.Label+" "+f.Value)
	}
	if got := strings.Join(said, ", "); got != "Content type “text/plain” → removed, Message id “order-1” → removed" {
		t.Errorf("the review says %q", got)
	}
}

func TestAPlanTellsItsTarget(t *testing.T) {
	if j := moveOf(move.Plan{Request: move.Request{Target: "orders"}}); j.Target != "orders" {
		t.Errorf("a plan to orders tells %q", j.Target)
	}
}

func TestTheCanariesThatAreOfferedAreFew(t *testing.T) {
	var values []string
	for _, c := range canaryChoices(move.Plan{}) {
		values = append(values, c.Value)
	}
	if got := strings.Join(values, " "); got != "0 1 5 10 50 100" {
		t.Errorf("offered are %s", got)
	}
}

func TestAButtonThatThereIsNotIsNotTaken(t *testing.T) {
	if _, err := parseMoveForm(url.Values{"pipeline": {"payments"}, "queue": {"payments.dlq"}, "do": {"requeue-tail"}}, time.Now()); err == nil {
		t.Error("it is taken")
	}
}

func TestTheSampleSaysOfAMessageThatStaysWhy(t *testing.T) {
	for want, l := range map[string]move.PlannedLetter{
		"nowhere to go":      {Stays: "it has no history", Choice: preflight.LeaveOut, Prediction: preflight.Prediction{Class: preflight.ClassRuns}},
		"requeued too often": {Stays: "it was requeued 3 times already", Target: "orders", Choice: preflight.LeaveOut, Prediction: preflight.Prediction{Class: preflight.ClassRuns}},
	} {
		line := pages{}.sampleLine(move.Plan{Request: move.Request{Do: admin.Requeue}}, l)
		if line.Word != want || line.Effect != "Stays where it is: "+l.Stays+"." {
			t.Errorf("%q, %q", line.Word, line.Effect)
		}
	}
}

func TestAPlanThatAJobBlocksLeadsToItAndIsCheckedAgain(t *testing.T) {
	s := pages{nil, web.Site{Frame: func(*web.Request, string) templates.Frame { return templates.Frame{} }}}
	r := &web.Request{Request: httptest.NewRequest("GET", "/moves/p1", nil), Who: auth.Principal{Name: "ann", Role: auth.Admin}}
	v := s.moveView(r, move.Plan{ID: "p1", Request: move.Request{Do: admin.Requeue, Pipeline: "orders", Queue: "orders.dlq"}, Guards: []move.Guard{{Text: "job R55 is moving messages", Blocking: true, Job: "R55"}}})
	if v.Again == nil || v.Again.Action != "/moves/p1/change" || len(v.Guards) != 1 || v.Guards[0].Href != "/jobs/R55" {
		t.Errorf("%+v, %+v", v.Again, v.Guards)
	}
}
