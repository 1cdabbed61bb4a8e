package server

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/dispatch"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/show"
)

// apart is the text of a selection on one line, with a space between elements.
func apart(s *goquery.Selection) string {
	var b strings.Builder
	s.Each(func(_ int, one *goquery.Selection) {
		text, _ := goquery.OuterHtml(one)
		b.WriteString(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")))
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// listedAlerts are the keys of the alerts that a page lists, in its order.
func listedAlerts(doc *goquery.Document) []string {
	return doc.Find(".alert-rows .c-id > a").Map(func(_ int, a *goquery.Selection) string {
		at, _ := url.Parse(a.AttrOr("href", ""))
		return at.Query().Get("key")
	})
}

const (
	rateKey    = "duplicate_rate/pipeline/orders"
	latencyKey = "ack_latency/pipeline/payments"
	nodeKey    = "node_down/broker/main"
	deadKey    = "dead_letters/pipeline/inventory"
	stuckKey   = "stuck_markers/pipeline/orders"
	blindKey   = "lost_messages/pipeline/points"
	calmKey    = "auto_ack/pipeline/points"
)

func TestTheListOfAlertsIsFilteredByItsAddress(t *testing.T) {
	s := night(t)
	for query, want := range map[string][]string{
		"":                                    {rateKey, stuckKey, latencyKey},
		"state=firing":                        {rateKey, latencyKey, nodeKey, deadKey},
		"state=pending":                       {stuckKey},
		"state=acked":                         {deadKey},
		"state=silenced":                      {nodeKey},
		"state=unknown":                       {latencyKey, blindKey},
		"state=normal":                        {calmKey},
		"state=acked,silenced":                {nodeKey, deadKey},
		"tier=severe":                         {latencyKey, nodeKey, stuckKey},
		"tier=severe&tier=emergency":          {rateKey, stuckKey, latencyKey, nodeKey}, // by pipeline
		"tier=normal":                         {calmKey},
		"tier=unknown":                        {latencyKey, blindKey},
		"pipeline=points":                     nil,
		"pipeline=orders":                     {rateKey, stuckKey},
		"pipeline=orders&state=pending":       {stuckKey},
		"pipeline=main":                       nil,
		"rule=node_down":                      {nodeKey},
		"rule=watchdog":                       {"watchdog/dashboard/"},
		"utm_source=mail&tier=emergency":      {rateKey},
		"state=normal&pipeline=points":        {calmKey},
		"page=99&state=firing&tier=severe":    {latencyKey, nodeKey},
		"state=firing&tier=normal":            nil,
		"state=firing&tier=warning,severe":    {latencyKey, nodeKey, deadKey},
		"pipeline=" + url.QueryEscape("\xff"): nil,
	} {
		if got := listedAlerts(s.page("viewer", "/alerts?"+query)); !slices.Equal(got, want) {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
	}
	for query, name := range map[string]string{"tier=bad": "tier", "state=dead": "state", "page=0": "page", "rule=" + strings.Repeat("x", 201): "rule", "rule=none-such": "rule"} {
		res := s.as("viewer", "GET", "/alerts?"+query, "")
		if body := s.body(res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "parameter "+name+" ") {
			t.Errorf("%s: %s", query, res.Status)
		}
	}
}

// alertRowOf is the text of the row of an alert.
func alertRowOf(doc *goquery.Document, key string) string {
	return apart(doc.Find(".alert-rows tr").FilterFunction(func(_ int, tr *goquery.Selection) bool {
		return strings.HasSuffix(tr.Find(".c-id > a").AttrOr("href", ""), "key="+url.QueryEscape(key))
	}))
}

func TestARowSaysTierValueCauseStepAndWhoAttends(t *testing.T) {
	doc := night(t).page("viewer", "/alerts?state=firing,pending,unknown&sort=-tier")
	for key, want := range map[string][]string{
		rateKey:    {"emergency", "Duplicate rate", "pipeline orders", "17.20 % of 12,345 messages in 15 m were duplicates, above the limit of 10 %.", "Likely cause: consumers of queue orders restart", "Look at the split and the events", "fires since"},
		latencyKey: {"unknown (was severe)", "Broker main cannot be read: connection refused.", "Before that, 1 h ago: 17.20 %"},
		nodeKey:    {"severe", "broker main", "Silenced until", "by ann: “the node is replaced”."},
		deadKey:    {"warning", "recovering", "Acknowledged by bob", "“the gateway is fixed”."},
		stuckKey:   {"normal", "pending severe", "pending since"},
		blindKey:   {"unknown", "No counters are reported.", "no data since"},
	} {
		for _, w := range want {
			if row := alertRowOf(doc, key); !strings.Contains(row, w) {
				t.Errorf("the row of %s lacks %q: %s", key, w, row)
			}
		}
	}
	if row := alertRowOf(doc, latencyKey); strings.Contains(row, "severe since") {
		t.Errorf("what cannot be told passes for told: %s", row)
	}
	if got := apart(doc.Find(".tabs")); got != "need eyes 3 firing 4 pending 1 cannot tell 2 acknowledged 1 silenced 1 normal 1" {
		t.Errorf("the tabs say %q", got)
	}
	if got := doc.Find("#alerts").AttrOr("data-alerts", ""); got != "Alerts: 1 emergency, 2 severe, 1 warning" {
		t.Errorf("the page is heard as %q", got)
	}
}

func TestAnEmptyListSaysWhatIsWatchedAndWhenItWasJudged(t *testing.T) {
	s := night(t)
	for query, want := range map[string]string{
		"rule=no_consumers":                "No alert matches this filter",
		"rule=node_down&state=pending":     "No alert is in this state",
		"pipeline=points&state=firing":     "Nothing fires that matches this filter",
		"pipeline=points&tier=emergency":   "No alert matches this filter",
		"state=silenced&pipeline=payments": "No alert is in this state",
	} {
		if got := apart(s.page("viewer", "/alerts?"+query).Find(".blank")); !strings.Contains(got, want) || !strings.Contains(got, "Last evaluated at") || !strings.Contains(got, "rules watch 8 pipelines") {
			t.Errorf("%s says %q, want %q", query, got, want)
		}
	}
	s.tower.show()
	if got := apart(s.page("viewer", "/alerts").Find(".blank")); !strings.Contains(got, "Nothing fires") {
		t.Errorf("without alerts: %q", got)
	}
	s.tower.view = &alerts.View{Interval: 15 * time.Second}
	if got := apart(s.page("viewer", "/alerts").Find(".blank")); !strings.Contains(got, "The first evaluation is under way") {
		t.Errorf("before the first evaluation: %q", got)
	}
	s.tower.show()
	s.tower.view.At = time.Now().Add(-5 * time.Minute)
	s.tower.view.Errors = []string{"alerts cannot be kept: disk full\u202e"}
	doc := s.page("viewer", "/alerts")
	if got := apart(doc.Find(".fresh.late")); !strings.Contains(got, "Stale since") || strings.Contains(apart(doc.Find(".blank")), "Nothing fires") {
		t.Errorf("five minutes after the last evaluation: %q, %q", got, apart(doc.Find(".blank")))
	}
	s.tower.view.Alerts = night(t).tower.view.Alerts
	late := s.page("viewer", "/alerts?state=firing,pending,normal")
	if late.Find(".alert-rows .chip").Not(".t-unknown, .hollow").Length() != 0 || !strings.Contains(alertRowOf(late, rateKey), "unknown (was emergency)") {
		t.Errorf("late evaluations show old tiers: %s", apart(late.Find(".alert-rows")))
	}
	if got := apart(doc.Find(".problem.t-severe")); !strings.Contains(got, `Alerts cannot be kept: disk full\u202e`) {
		t.Errorf("what keeps rules from being judged: %q", got)
	}
}

func TestAlertsThatAreSwitchedOffAreSaidToBe(t *testing.T) {
	s := night(t)
	s.alerting = alert.Deps{Off: "rules are judged elsewhere"}
	s.alerts = s.alerting
	for _, path := range []string{"/alerts", "/alerts/one?key=" + url.QueryEscape(rateKey), "/silences", "/silences/new"} {
		if got := apart(s.page("operator", path).Find(".blank")); got != "Alerts are switched off Rules are judged elsewhere." {
			t.Errorf("%s says %q", path, got)
		}
	}
	for _, path := range []string{"/api/v1/alerts", "/api/v1/rules", "/api/v1/silences"} {
		if res := s.as("viewer", "GET", path, ""); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if res := s.as("operator", "POST", "/alerts/acknowledge", url.Values{"key": {rateKey}}.Encode()); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("acknowledging: %s", res.Status)
	}
	doc := s.page("viewer", "/")
	if doc.Find(`nav a[href="/alerts"]`).Length() != 0 || strings.Contains(apart(doc.Find(".banner")), "alert") {
		t.Error("the frame speaks of alerts")
	}
}

func TestManyAlertsArePaged(t *testing.T) {
	s := night(t)
	var many []*alerts.AlertView
	for range 120 {
		many = append(many, alertIn(t, "stuck_markers", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Severe, time.Hour))
	}
	s.tower.show(many...)
	doc := s.page("viewer", "/alerts?page=2&state=firing")
	if n := len(listedAlerts(doc)); n != 50 || apart(doc.Find(".count")) != "120 of 120 alerts, page 2 of 3" {
		t.Errorf("page 2 has %d alerts: %s", n, apart(doc.Find(".count")))
	}
	links := doc.Find("#alerts > .buttons a").Map(func(_ int, a *goquery.Selection) string { return a.AttrOr("href", "") })
	if !slices.Equal(links, []string{"/alerts?state=firing", "/alerts?page=3&state=firing"}) {
		t.Errorf("beside it are %v", links)
	}
}

func TestThePageOfAnAlertAnswersWhy(t *testing.T) {
	s := night(t)
	doc := s.page("operator", "/alerts/one?key="+url.QueryEscape(rateKey))
	text := apart(doc.Find("main"))
	for _, want := range []string{
		"17.20 % of 12,345 messages in 15 m were duplicates", "Likely cause: consumers of queue orders restart", "What it means More of the messages than the limit",
		"What to do first Look at the split", "What to do about Duplicate rate", "Value 17.20 %", "Limit 10.00 %", "n 12,345", "12 consumer restarts in 1 h",
		"escalated From severe to emergency.", "fired It fired at severe.", "Fires after 2 m warning, 2 m severe, 1 m emergency", "those of the pipeline",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	rows := doc.Find("section[aria-labelledby=why-title] tbody tr")
	if rows.Length() != 20 || !strings.Contains(apart(rows.First()), "11.90 %") {
		t.Errorf("%d evaluations, the newest is %s", rows.Length(), apart(rows.First()))
	}
	if failed := apart(rows.Eq(16)); !strings.Contains(failed, "error") || !strings.Contains(failed, "store orders cannot be read") || strings.Contains(failed, "0.00 %") {
		t.Errorf("an evaluation without a value says %q", failed)
	}
	doc = s.page("viewer", "/alerts/one?key="+url.QueryEscape(latencyKey))
	if got := apart(doc.Find("#alert > .problem.t-unknown")); !strings.Contains(got, "The rule cannot be judged since") || !strings.Contains(got, "connection refused") {
		t.Errorf("a stale alert says %q", got)
	}
	if got := apart(doc.Find("section[aria-labelledby=why-title]")); !strings.Contains(got, "Not evaluated since the dashboard began") {
		t.Errorf("without evaluations: %q", got)
	}
	if got := apart(doc.Find("section[aria-labelledby=edges-title]")); !strings.Contains(got, "Nothing happened in the last 90 days") {
		t.Errorf("without edges: %q", got)
	}
}

func TestATimelineHoldsTheEdgesOfItsAlertAlone(t *testing.T) {
	s := night(t)
	mine := s.tower.edges[0]
	for _, key := range []rule.Key{{Rule: "duplicate_rate", Kind: rule.OfBroker, Subject: "orders"}, {Rule: "stuck_markers", Kind: rule.OfPipeline, Subject: "orders"}} {
		other := mine
		other.Judgement.Key = key
		s.tower.edges = append(s.tower.edges, other)
	}
	for path, want := range map[string]int{"/alerts/one?key=" + url.QueryEscape(rateKey): 2, "/alerts/one?key=" + url.QueryEscape(stuckKey): 1, "/alerts?pipeline=orders": 3} {
		if got := s.page("viewer", path).Find(".timeline li").Length(); got != want {
			t.Errorf("%s has %d edges, want %d", path, got, want)
		}
	}
	for range 60 {
		s.tower.edges = append(s.tower.edges, mine)
	}
	section := s.page("viewer", "/alerts/one?key="+url.QueryEscape(rateKey)).Find("section[aria-labelledby=edges-title]")
	if section.Find("li").Length() != 50 || !strings.Contains(apart(section), "Only the newest 50 are shown") {
		t.Errorf("%d edges: %s", section.Find("li").Length(), apart(section.Find(".hint")))
	}
}

func TestAnAlertThatIsNotThereIsNotFound(t *testing.T) {
	s := night(t)
	for query, status := range map[string]int{
		"": http.StatusBadRequest, "key=x": http.StatusNotFound, "key=a/b/c/d": http.StatusNotFound, "key=duplicate_rate/pipeline/none": http.StatusNotFound,
		"key=" + url.QueryEscape(hostile[0]+"/pipeline/x"): http.StatusNotFound,
	} {
		for _, path := range []string{"/alerts/one", "/api/v1/alerts/one"} {
			res := s.as("viewer", "GET", path+"?"+query, "")
			if body := s.body(res); res.StatusCode != status || strings.Contains(body, "<script>alert") {
				t.Errorf("%s?%s: %s", path, query, res.Status)
			}
		}
		form := url.Values{"key": {strings.TrimPrefix(query, "key=")}, "for": {"1h"}}.Encode()
		if res := s.as("operator", "POST", "/alerts/acknowledge", form); res.StatusCode != status {
			t.Errorf("acknowledging %q: %s", query, res.Status)
		}
	}
}

func TestThePagesOfAlertsLeadOn(t *testing.T) {
	s := night(t)
	for role, paths := range map[string][]string{
		"viewer":   {"/alerts", "/alerts?pipeline=orders", "/alerts/one?key=" + url.QueryEscape(rateKey), "/silences"},
		"operator": {"/alerts?state=normal", "/alerts/one?key=" + url.QueryEscape(nodeKey), "/silences", "/silences/new?preview=1&rule=node_down"},
	} {
		for _, path := range paths {
			for _, link := range links(s.page(role, path)) {
				if res := s.as(role, "GET", link, ""); res.StatusCode != http.StatusOK {
					t.Errorf("%s as %s leads to %s: %s", path, role, link, res.Status)
				}
			}
		}
	}
}

func TestAJournalThatCannotBeReadTakesNothingElseFromThePages(t *testing.T) {
	s := night(t)
	s.tower.err = errDisk
	for path, want := range map[string]string{
		"/alerts":                 "How the channels fare cannot be read",
		"/alerts?pipeline=orders": "What happened before cannot be read",
		"/alerts/one?key=" + url.QueryEscape(rateKey): "What happened before cannot be read",
		"/silences": "Silences that have ended cannot be read",
	} {
		if got := apart(s.page("operator", path).Find("main")); !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %s", path, got)
		}
	}
	res := s.as("operator", "POST", "/alerts/acknowledge", url.Values{"key": {rateKey}, "for": {"1h"}}.Encode())
	if body := s.body(res); res.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "secret") {
		t.Errorf("acknowledging: %s", res.Status)
	}
}

func TestANotificationLinksToThePageOfItsAlert(t *testing.T) {
	key := rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "orders"}
	at := time.Now()
	cfg := dispatch.Default()
	cfg.Channels, cfg.GroupWait, cfg.ExternalURL = []string{"pager"}, 0, "https://dedup.example.com/base"
	fires := alerts.Alert{Key: key, State: alerts.State{Phase: alerts.PhaseFiring, Tier: dedup.Severe, Since: at, FiredAt: at}}
	due := dispatch.New(cfg).Plan(at, []alerts.Alert{fires}, nil, nil)
	if len(due) != 1 || len(due[0].Alerts) != 1 {
		t.Fatalf("due: %+v", due)
	}
	if got, want := due[0].Alerts[0].Link, "https://dedup.example.com"+show.AlertAddress("/base", key); got != want {
		t.Errorf("the link is %s, the page %s", got, want)
	}
}
