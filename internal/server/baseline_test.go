package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
)

// withDead is a site whose pipeline orders has dead letters, of which some are acknowledged; nil for none.
func withDead(t *testing.T, depth float64, line *dedup.Baseline, change func(*Config)) *site {
	s := newSite(t, change, testUsers())
	snap := demo.Scene("healthy", time.Now())
	snap.Pipelines[0].Pipeline.Name = "orders"
	snap.Pipelines[0].DeadLetters = dedup.Exact(dedup.Measured, dedup.Count, depth, time.Now(), "depths")
	snap.Pipelines[0].Baseline = line
	s.snapshots.snap.Store(snap)
	return s
}

func section(doc *goquery.Document) string {
	return strings.Join(strings.Fields(doc.Find("#acknowledge").Text()), " ")
}

func TestThePageOffersToAcknowledgeToWhoMay(t *testing.T) {
	const hostile = `<script>alert(1)</script>` + "\u202e"
	some := &dedup.Baseline{Count: 4, Acknowledged: 9, By: "ann" + hostile, At: time.Now().Add(-time.Hour), Reason: hostile}
	for _, tt := range []struct {
		name           string
		depth          float64
		line           *dedup.Baseline
		role           string
		readOnly       bool
		buttons, words []string
	}{
		{name: "nothing for nothing", role: "operator"},
		{name: "an operator may acknowledge", depth: 1200, role: "operator", buttons: []string{"Acknowledge 1,200 dead letters"}, words: []string{"None is acknowledged"}},
		{name: "a viewer is told why not", depth: 12, role: "viewer", words: []string{"needs the role operator; you are signed in as viewer"}},
		{name: "read-only is told why not", depth: 12, role: "admin", readOnly: true, words: []string{"read-only"}},
		{name: "more arrived", depth: 12, line: some, role: "operator", buttons: []string{"Acknowledge 12 dead letters", "All are new again"},
			words: []string{"4 dead letters are acknowledged, of 9 at first, by ann<script>", `\u202e`}},
		{name: "all acknowledged", depth: 4, line: some, role: "admin", buttons: []string{"All are new again"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := withDead(t, tt.depth, tt.line, func(c *Config) { c.ReadOnly = tt.readOnly })
			doc := s.page(tt.role, "/pipelines/orders")
			buttons := doc.Find("#acknowledge button").Map(func(_ int, b *goquery.Selection) string { return b.Text() })
			if strings.Join(buttons, "|") != strings.Join(tt.buttons, "|") {
				t.Errorf("buttons %q, want %q", buttons, tt.buttons)
			}
			for _, want := range tt.words {
				if !strings.Contains(section(doc), want) {
					t.Errorf("the section does not say %q: %s", want, section(doc))
				}
			}
			if len(tt.buttons)+len(tt.words) == 0 && section(doc) != "" {
				t.Errorf("shown for nothing: %s", section(doc))
			}
		})
	}
}

func TestDeadLettersAreAcknowledgedByFormAndTakenBack(t *testing.T) {
	s := withDead(t, 12, nil, nil)
	form := func() []string {
		return []string{"Content-Type", "application/x-www-form-urlencoded"}
	}
	post := func(path string, values url.Values, status int) *http.Response {
		t.Helper()
		res := s.as("operator", "POST", path, values.Encode(), form()...)
		if res.StatusCode != status {
			t.Fatalf("%s: %s: %.300s", path, res.Status, s.body(res))
		}
		return res
	}
	const path = "/pipelines/orders/dead-letters/baseline"
	post(path, url.Values{"count": {"12"}, "reason": {""}}, http.StatusBadRequest)
	post(path, url.Values{"count": {"many"}, "reason": {"known"}}, http.StatusBadRequest)
	res := post(path, url.Values{"count": {"12"}, "reason": {"known, OPS-1"}}, http.StatusSeeOther)
	if to := res.Header.Get("Location"); to != "/pipelines/orders#dead-title" {
		t.Errorf("leads to %s", to)
	}
	kept, err := s.journal.Baselines().Baselines(t.Context())
	if line := kept["orders"]; err != nil || line.Count != 12 || line.By != "o" || line.Reason != "known, OPS-1" {
		t.Errorf("kept %+v, %v", kept, err)
	}
	post(path+"/remove", url.Values{"reason": {"not known"}}, http.StatusSeeOther)
	if kept, _ := s.journal.Baselines().Baselines(t.Context()); len(kept) != 0 {
		t.Errorf("kept %+v", kept)
	}
	post(path+"/remove", url.Values{"reason": {"not known"}}, http.StatusConflict)
}

// TestThePageKeepsWhatIsAcknowledgedOfSharedQueuesApart: the form sends how many were the pipeline's own, and the page tells of those
// that were acknowledged before this was kept.
func TestThePageKeepsWhatIsAcknowledgedOfSharedQueuesApart(t *testing.T) {
	s := withDead(t, 4, nil, nil)
	show := func(own, shared float64, line *dedup.Baseline) *goquery.Document {
		snap := *s.snapshots.Snapshot()
		snap.Pipelines = slices.Clone(snap.Pipelines)
		f := dedup.Exact(dedup.Derived, dedup.Count, own, time.Now(), "depths")
		f.High += shared
		snap.Pipelines[0].DeadLetters, snap.Pipelines[0].Baseline = f, line
		s.snapshots.snap.Store(&snap)
		return s.page("operator", "/pipelines/orders")
	}
	form := url.Values{"reason": {"known, OPS-1"}}
	show(4, 8, nil).Find("#acknowledge form input[type=hidden]").Each(func(_ int, i *goquery.Selection) { form.Add(i.AttrOr("name", ""), i.AttrOr("value", "")) })
	show(7, 20, nil) // meanwhile more arrived in both
	const path = "/pipelines/orders/dead-letters/baseline"
	if res := s.as("operator", "POST", path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded"); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s: %.300s", res.Status, s.body(res))
	}
	kept, err := s.journal.Baselines().Baselines(t.Context())
	line := kept["orders"]
	if err != nil || line.Count != 12 || line.Own != 4 || !line.Split {
		t.Fatalf("kept %+v, %v; want 12, of which 4 are its own", kept, err)
	}
	if got := section(show(7, 20, &line)); !strings.Contains(got, "4 of them are in queues of this pipeline alone, the rest in shared ones") {
		t.Errorf("the page says %s", got)
	}
	snap := *s.snapshots.Snapshot()
	snap.Pipelines = slices.Clone(snap.Pipelines)
	snap.Pipelines[0].SharingUnknown = true
	s.snapshots.snap.Store(&snap)
	if own := s.page("operator", "/pipelines/orders").Find("#acknowledge input[name=own]"); own.Length() != 1 || own.AttrOr("value", "") != "" {
		t.Errorf("while nobody knows which queues are shared the form says that %q are its own", own.AttrOr("value", ""))
	}
	snap.Pipelines = slices.Clone(snap.Pipelines)
	snap.Pipelines[0].SharingUnknown = false
	line.Split = false
	if got := section(show(7, 20, &line)); !strings.Contains(got, "is not known: take it back and acknowledge again") {
		t.Errorf("of one from before it says %s", got)
	}
	for _, own := range []string{"-1", "many", "13"} {
		form.Set("own", own)
		if res := s.as("operator", "POST", path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded"); res.StatusCode != http.StatusBadRequest {
			t.Errorf("own=%s: %s", own, res.Status)
		}
	}
}

func TestTheAPIAcknowledgesAndSaysSo(t *testing.T) {
	s := withDead(t, 12, nil, nil)
	const path = "/api/v1/pipelines/orders/dead-letters/baseline"
	var line web.BaselineJSON
	s.decode(s.as("operator", "POST", path, `{"count": 15, "reason": "known, OPS-1"}`), http.StatusCreated, &line)
	if line.Count != 12 || line.Acknowledged != 12 || line.By != "o" || line.At == nil || line.Reason != "known, OPS-1" {
		t.Errorf("%+v", line)
	}
	if line.Own == nil || *line.Own != 12 {
		t.Errorf("own %v, want 12", line.Own)
	}
	if res := s.as("operator", "POST", path, `{"count": 15, "own": -2, "reason": "known"}`); res.StatusCode != http.StatusBadRequest {
		t.Errorf("own below 0: %s", res.Status)
	}
	if res := s.as("operator", "POST", path, `{"count": 15, "why": "known"}`); res.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown field: %s", res.Status)
	}
	var detail api.PipelineDetailJSON
	s.snapshots.Snapshot().Pipelines[0].Baseline = &dedup.Baseline{Count: 3, By: "ann"}
	s.decode(s.as("viewer", "GET", "/api/v1/pipelines/orders", ""), http.StatusOK, &detail)
	if detail.Baseline == nil || detail.Baseline.Count != 3 || detail.Baseline.By != "ann" {
		t.Errorf("the pipeline's baseline is %+v", detail.Baseline)
	}
	var removed map[string]bool
	s.decode(s.as("operator", "POST", path+"/remove", `{"reason": "not known"}`), http.StatusOK, &removed)
	if !removed["removed"] {
		t.Errorf("%v", removed)
	}
}
