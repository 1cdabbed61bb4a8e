package measurement

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/webtest"
)

// fake has measured what it is told.
type fake struct {
	all    []dedup.Measurement
	whyNot string
	asked  []measuring.Request
}

func (f *fake) Start(_ context.Context, _ admin.Caller, req measuring.Request) (dedup.Measurement, error) {
	f.asked = append(f.asked, req)
	return dedup.Measurement{ID: "m-new", Pipeline: req.Pipeline, Length: req.Length, State: dedup.MeasurementRunning}, nil
}

func (f *fake) Stop(context.Context, admin.Caller, string) error { return nil }

func (f *fake) One(_ context.Context, id string) (dedup.Measurement, error) {
	for _, m := range f.all {
		if m.ID == id {
			return m, nil
		}
	}
	return dedup.Measurement{}, &dedup.Error{Kind: dedup.NotFound, Public: "There is no such measurement"}
}

func (f *fake) List(context.Context, string) ([]dedup.Measurement, error) { return f.all, nil }

func (f *fake) WhyNot(string) string { return f.whyNot }

const at = "/pipelines/orders/measurements"

var viewer, operator = webtest.As(auth.Viewer), webtest.As(auth.Operator)

func siteOf(t *testing.T, f *fake) *webtest.Site { return webtest.New(t, New(f).Pages) }

// measured is a measurement with a result, and a hostile string wherever one comes from outside.
func measured() dedup.Measurement {
	now := time.Now()
	return dedup.Measurement{ID: "m-1", Pipeline: "orders", Broker: webtest.Hostile, By: webtest.Hostile, Queues: []dedup.QueueRef{{Vhost: "/", Name: webtest.Hostile}},
		Started: now.Add(-2 * time.Minute), Began: now.Add(-time.Minute), Ended: now, Length: time.Minute, State: dedup.MeasurementDone,
		Result: &dedup.SessionResult{Began: now.Add(-time.Minute), Ended: now, Traced: 10_000, Counted: 10_000, Messages: 10_000, Duplicates: 150, Band: 5, Sent: 100, Redelivered: 50,
			RepeatedIDs: 3, Origins: []dedup.Origin{{Exchange: webtest.Hostile, RoutingKey: webtest.Hostile, UserID: "web", AppID: webtest.Hostile, Copies: 20, Duplicates: 10}},
			Repeated: []dedup.RepeatedID{{ID: webtest.Hostile, Deliveries: 3, Duplicates: 2, First: now,
				Origins: []dedup.Origin{{Exchange: "shop", AppID: "cron", Headers: map[string]string{"x-attempt": webtest.Hostile}, Copies: 3, Duplicates: 2}}}}}}
}

func TestTheResultShowsTheRateItsBandAndEachDuplicatedMessage(t *testing.T) {
	page := siteOf(t, &fake{all: []dedup.Measurement{measured()}}).Page(operator, "/measurements/m-1")
	for part, want := range map[string]string{".measured-rate .big": "1.50 %", ".measured-band": "± 0.05", ".chip.t-normal": "done"} {
		if got := webtest.Text(page.Find(part).First()); got != want {
			t.Errorf("%s: %q, want %q", part, got, want)
		}
	}
	if n := page.Find(".repeated-rows tbody tr").Length(); n != 1 {
		t.Errorf("%d duplicated messages", n)
	}
	if n := page.Find(`a[download], a[href^="/api/v1/measurements/"]`).Length(); n != 2 {
		t.Errorf("%d ways to take the result away", n)
	}
}

func TestAPipelineThatWasNeverMeasuredOffersTheFirstMeasurement(t *testing.T) {
	page := siteOf(t, &fake{}).Page(operator, at)
	if tables, empty := page.Find("table").Length(), page.Find(".blank").Length(); tables != 0 || empty != 1 {
		t.Errorf("%d tables, %d empty states", tables, empty)
	}
	if got := page.Find("form.controls").AttrOr("action", ""); got != at {
		t.Errorf("the form leads to %q", got)
	}
}

func TestWhereItCannotBeMeasuredTheButtonIsNotPressedAndSaysWhy(t *testing.T) {
	for name, tt := range map[string]struct {
		who    auth.Principal
		whyNot string
		forms  int
	}{
		"an operator may":         {operator, "", 1},
		"a viewer may not":        {viewer, "", 0},
		"the pipeline cannot be":  {operator, "the broker has no account that traces", 0},
		"neither of them may now": {viewer, "another measurement runs", 0},
	} {
		page := siteOf(t, &fake{whyNot: tt.whyNot}).Page(tt.who, at)
		forms, dead := page.Find("main form").Length(), page.Find("button[disabled]").Length()
		if why := webtest.Text(page.Find(".denied")); forms != tt.forms || dead != 1-tt.forms || (why == "") != (tt.forms == 1) {
			t.Errorf("%s: %d forms, %d dead buttons, why %q", name, forms, dead, why)
		}
	}
}

func TestAViewerStartsAndStopsNothing(t *testing.T) {
	f := &fake{all: []dedup.Measurement{measured()}}
	s := siteOf(t, f)
	for _, path := range []string{at, "/api/v1" + at, "/measurements/m-1/stop", "/api/v1/measurements/m-1/stop"} {
		if got := s.Post(viewer, path, url.Values{"seconds": {"60"}}).Code; got != http.StatusForbidden {
			t.Errorf("%s: %d", path, got)
		}
	}
	if len(f.asked) != 0 {
		t.Errorf("asked for %+v", f.asked)
	}
}

func TestAnOperatorIsLedToTheMeasurementThatBegan(t *testing.T) {
	f := &fake{}
	s := siteOf(t, f)
	answer := s.Post(operator, at, url.Values{"seconds": {"120"}})
	if to := answer.Header().Get("Location"); answer.Code != http.StatusSeeOther || to != "/measurements/m-new" {
		t.Errorf("%d to %q", answer.Code, to)
	}
	if len(f.asked) != 1 || f.asked[0].Pipeline != "orders" || f.asked[0].Length != 2*time.Minute {
		t.Errorf("asked for %+v", f.asked)
	}
	for _, seconds := range []string{"", "-1", "soon", "1e9"} {
		if got := s.Post(operator, at, url.Values{"seconds": {seconds}}).Refused(); got != dedup.Invalid {
			t.Errorf("%q seconds: %q", seconds, got)
		}
	}
}

func TestOneThatRunsCanBeFollowedAndStopped(t *testing.T) {
	running := dedup.Measurement{ID: "m-1", Pipeline: "orders", Started: time.Now(), Began: time.Now().Add(-20 * time.Second), Length: time.Minute, State: dedup.MeasurementRunning, Seen: 7}
	waiting := running
	waiting.Began, waiting.Commands = time.Time{}, []string{"rabbitmqctl trace_on -p shop"}
	for name, tt := range map[string]struct {
		m              dedup.Measurement
		who            auth.Principal
		dead, commands int
	}{
		"an operator can stop it": {running, operator, 0, 0}, "a viewer cannot": {running, viewer, 1, 0}, "it waits for somebody": {waiting, operator, 0, 1},
	} {
		page := siteOf(t, &fake{all: []dedup.Measurement{tt.m}}).Page(tt.who, "/measurements/m-1")
		if got := page.Find("progress").AttrOr("max", ""); got != "60" {
			t.Errorf("%s: of %q s", name, got)
		}
		if got := page.Find(`form[action="/measurements/m-1/stop"]`).Length(); got != 1 {
			t.Errorf("%s: %d forms that stop it", name, got)
		}
		if dead, commands := page.Find("button[disabled]").Length(), page.Find("pre.lines").Length(); dead != tt.dead || commands != tt.commands {
			t.Errorf("%s: %d dead buttons, %d lists of commands", name, dead, commands)
		}
	}
}

func TestOneThatFailedSaysWhyAndShowsNoResult(t *testing.T) {
	m := measured()
	m.State, m.Why, m.Result = dedup.MeasurementFailed, "the trace broke off "+webtest.Hostile, nil
	page := siteOf(t, &fake{all: []dedup.Measurement{m}}).Page(viewer, "/measurements/m-1")
	if chips, problems, results := page.Find(".chip.t-severe").Length(), page.Find(".problem.t-severe").Length(), page.Find(".measured").Length(); chips != 1 || problems != 1 || results != 0 {
		t.Errorf("%d chips, %d problems, %d results", chips, problems, results)
	}
}

func TestWhoMayNotSeeMessagesSeesNotWhatCopiesCarried(t *testing.T) {
	s := siteOf(t, &fake{all: []dedup.Measurement{measured()}})
	for who, columns := range map[auth.Principal]int{viewer: 4, operator: 6} {
		if got := s.Page(who, "/measurements/m-1").Find(".origin-rows thead th").Length(); got != columns {
			t.Errorf("%s sees %d columns of origins, want %d", who.Name, got, columns)
		}
		var body JSON
		answer := s.Get(who, "/api/v1/measurements/m-1")
		if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if hidden := body.Result.Origins[0].UserID == "" && body.Result.Repeated[0].Origins[0].Headers == nil; hidden != (who == viewer) {
			t.Errorf("%s is given %+v", who.Name, body.Result.Origins)
		}
	}
}

func TestTheTableOfDuplicatesRunsNoFormula(t *testing.T) {
	m := measured()
	m.Result.Repeated[0].ID = "=cmd|'/c calc'!A1"
	answer := siteOf(t, &fake{all: []dedup.Measurement{m}}).Get(operator, "/measurements/m-1/repeated.csv")
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(answer.Body.String(), "\ufeff"))).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%v: %q", err, rows)
	}
	for _, cell := range rows[1] {
		if strings.HasPrefix(cell, "=") {
			t.Errorf("the cell %q", cell)
		}
	}
}

func TestWithoutMeasurementsEveryRouteSaysSo(t *testing.T) {
	s := webtest.New(t, New(nil).Pages)
	for _, path := range []string{at, "/measurements/m-1", "/measurements/m-1/repeated.csv", "/api/v1" + at, "/api/v1/measurements/m-1"} {
		if got := s.Get(operator, path).Refused(); got != dedup.Unavailable {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := dedup.KindOf(siteOf(t, &fake{}).Get(viewer, "/measurements/gone").Err); got != dedup.NotFound {
		t.Errorf("one that is gone: %q", got)
	}
}
