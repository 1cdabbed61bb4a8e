package server

import (
	"bufio"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

func TestABodyIsMaskedRevealedOnlyToAdminsAndNeverByAnAddress(t *testing.T) {
	s := stocked(t, nil)
	doc := s.looked("inventory", inventoryDLQ, "100")
	at, _ := doc.Find(".letters .c-id a").First().Attr("href")
	page := s.page("operator", at)
	if text := page.Find("#payload .value").Text(); !strings.Contains(text, `"email": "***"`) || strings.Contains(text, "@example.com") {
		t.Errorf("the operator reads %s", text)
	}
	if page.Find("form.reveal").Length() != 0 {
		t.Error("an operator is offered to reveal")
	}
	form := hiddenFields(s.page("admin", at).Find("form.reveal"))
	if res := s.as("operator", "POST", "/dead-letters/reveal", form.Encode()); res.StatusCode != http.StatusForbidden {
		t.Errorf("an operator reveals: %s", res.Status)
	}
	res := s.as("admin", "POST", "/dead-letters/reveal", form.Encode())
	if body := s.body(res); res.StatusCode != http.StatusOK || !strings.Contains(body, "@example.com") {
		t.Errorf("the admin reads %s: %.200s", res.Status, body)
	}
	if text := oneLine(s.page("operator", "/audit").Find(".entries")); !strings.Contains(text, "reveal") {
		t.Errorf("the audit has no word of it: %.300s", text)
	}
	download, _ := s.page("admin", at).Find("#payload .aside").Attr("href")
	res = s.as("admin", "GET", download, "")
	for name, want := range map[string]string{"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := res.Header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment; filename=message-") {
		t.Errorf("Content-Disposition is %q", got)
	}
}

func TestTheTablesOfLettersAreSafeForSpreadsheetsAndWhole(t *testing.T) {
	s := stocked(t, nil)
	const formula = "=cmd|'/c calc'!A1"
	s.morgue.Put(inventoryDLQ, deadletter.Letter{
		DeadLetter: dedup.NewDeadLetter(dedup.QueueRef{Vhost: "/", Name: inventoryDLQ}, message.Message{Body: []byte("x"), Properties: message.Properties{MessageID: formula}}),
		ID:         formula, Prediction: preflight.Prediction{Class: preflight.ClassRuns},
	})
	doc := s.looked("inventory", inventoryDLQ, "10000")
	links := map[string]string{}
	doc.Find("#messages .links a").Each(func(_ int, a *goquery.Selection) { links[oneLine(a)], _ = a.Attr("href") })
	res := s.as("operator", "GET", links["Affected business keys as CSV"], "")
	rows, err := csv.NewReader(strings.NewReader(s.body(res))).ReadAll()
	if err != nil || len(rows) != 2320 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got := rows[2319][0]; got != "'"+formula {
		t.Errorf("the formula stands as %q", got)
	}
	res = s.as("admin", "GET", links["Export as NDJSON, masked"], "")
	lines, n := bufio.NewScanner(res.Body), 0
	for lines.Scan() {
		var e struct {
			Body    []byte `json:"body_base64"`
			Headers map[string]struct{ Type string }
			Deaths  []json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 && (len(e.Body) == 0 || e.Headers["attempt"].Type != "int32" || len(e.Deaths) != 1) {
			t.Errorf("the first line is %.400s", lines.Text())
		}
	}
	if n != 2319 {
		t.Errorf("%d lines", n)
	}
}

func TestAnEditShowsWhatItChangesAndKeepsWhatItDoesNot(t *testing.T) {
	s := stocked(t, nil)
	href, _ := s.looked("inventory", inventoryDLQ, "10").Find(".letters .c-id a").First().Attr("href")
	form := s.page("admin", strings.Replace(href, "/message?", "/edit?", 1)).Find("form.edit-form")
	values := hiddenFields(form)
	values.Set("body", strings.Replace(strings.TrimPrefix(form.Find("textarea").Text(), "\n"), `"country":"DE"`, `"country":"AT"`, 1))
	form.Find("input[name=content_type], input[name=message_id], input[name^=value-]").Each(func(_ int, in *goquery.Selection) {
		name, _ := in.Attr("name")
		value, _ := in.Attr("value")
		values.Set(name, value)
	})
	values.Set("new-0", "corrected-by")
	values.Set("new-value-0", "ops")
	res := s.as("admin", "POST", "/dead-letters/edit", values.Encode())
	at := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s: %.300s", res.Status, s.body(res))
	}
	review := s.page("admin", at)
	if got := oneLine(review.Find(".diff .added")); !strings.Contains(got, `"country": "AT"`) {
		t.Errorf("added is %q", got)
	}
	if got := oneLine(review.Find("section[aria-labelledby=diff-title] .pairs")); got != "corrected-bynothing → “ops”" {
		t.Errorf("the headers change by %q", got)
	}
	if strings.Contains(s.body(s.as("operator", "GET", at, "")), `country`) {
		t.Error("an operator reads the body in the review")
	}
	values.Set("new-0", "x-death")
	if res := s.as("admin", "POST", "/dead-letters/edit", values.Encode()); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a locked header: %s", res.Status)
	}
}

func TestHostileDeadLettersStayHarmlessOnEveryPage(t *testing.T) {
	s := stocked(t, nil)
	for _, evil := range append(append([]string{}, hostile...), "javascript:alert(1)//\u2066", strings.Repeat("A", 1<<20)) {
		s.morgue.Put("orders.dlq", hostileLetter(evil))
	}
	doc := s.looked("orders", "orders.dlq", "1000")
	list := "/pipelines/orders/dead-letters?queue=orders.dlq"
	paths := []string{list, list + "&page=2", list + "&by=exception", list + "&by=route", list + "&by=type", "/dead-letters", "/jobs"}
	for _, evil := range hostile {
		paths = append(paths, list+"&filter="+url.QueryEscape(evil[:min(len(evil), 300)]), "/lookup?id="+url.QueryEscape(evil[:min(len(evil), 250)]))
	}
	doc.Find(".letters .c-id a").Each(func(_ int, a *goquery.Selection) {
		h, _ := a.Attr("href")
		paths = append(paths, h, h+"&view=text", h+"&view=hex", strings.Replace(h, "/message?", "/edit?", 1))
	})
	at := s.planMoveOf("admin", doc, "requeue-all")
	for _, path := range append(paths, at) {
		s.harmlessPage(t, path)
	}
	job := s.started(at, url.Values{"reason": {`<script>alert(1)</script> & "quotes"`}, "confirm": {"orders.dlq"}})
	s.moved(job)
	for _, path := range []string{job, job + "/items", "/jobs"} {
		s.harmless(t, path)
	}
}

var textArea = regexp.MustCompile(`(?s)(<textarea[^>]*>)([^<]*)</textarea>`)

// harmlessPage is harmless for the editor too, whose field holds what was there.
func (s *site) harmlessPage(t *testing.T, path string) {
	t.Helper()
	if !strings.Contains(path, "/edit?") {
		s.harmless(t, path)
		return
	}
	res := s.as("admin", "GET", path, "")
	body := textArea.ReplaceAllString(s.body(res), "$1</textarea>")
	if res.StatusCode >= 500 || strings.Contains(body, "<script>") || strings.Contains(body, "<img src=x") {
		t.Errorf("%.80q: %s", path, res.Status)
	}
}

// hostileLetter has what attackers and accidents write in every part.
func hostileLetter(evil string) deadletter.Letter {
	short := evil[:min(len(evil), 250)]
	m := message.Message{Exchange: short, RoutingKey: short, Body: []byte(evil), Properties: message.Properties{
		ContentType: short, ContentEncoding: short, MessageID: short, CorrelationID: short, ReplyTo: short, Type: short, UserID: short, AppID: short, Expiration: short,
		Headers: map[string]any{short: evil, "list": []any{evil, map[string]any{short: evil}}, "x-exception-message": evil, "x-death": []any{map[string]any{
			"queue": short, "reason": evil, "count": int64(1), "exchange": evil, "routing-keys": []any{evil}, "time": time.Now().Add(-time.Hour),
		}}},
	}}
	return deadletter.Letter{
		DeadLetter: dedup.NewDeadLetter(dedup.QueueRef{Vhost: "/", Name: "orders.dlq"}, m), ID: short, Target: short, Exception: evil, Failure: evil, NoTarget: evil,
		Marker:     &dedup.Sighting{Marker: dedup.Marker{Store: "orders", ID: short, Key: "msg:" + short, State: dedup.Processing, BusinessKey: evil}, Value: []byte(evil)},
		Prediction: preflight.Prediction{Class: preflight.ClassSwallowed, Reasons: []string{evil}, ClearFirst: true},
	}
}

// call asks the API and returns its JSON object.
func (s *site) call(role, method, path string, body any) map[string]any {
	s.t.Helper()
	text := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		text = string(b)
	}
	res := s.as(role, method, path, text)
	out := map[string]any{}
	if err := json.Unmarshal([]byte(s.body(res)), &out); err != nil || res.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %s: %v", method, path, res.Status, out)
	}
	return out
}

func TestTheAPIOfDeadLettersGoesFromALookToAJob(t *testing.T) {
	s := stocked(t, nil)
	if got := s.call("viewer", "GET", "/api/v1"+inventory, nil); got["scan"] != nil || got["why_hidden"] == "" {
		t.Errorf("a viewer gets %v", got)
	}
	scan := s.call("operator", "POST", "/api/v1"+inventory+"/scan", map[string]any{"queue": inventoryDLQ, "limit": 200})
	if scan["scanned"] != 200.0 || len(scan["classes"].(map[string]any)) != len(preflight.Classes()) {
		t.Errorf("the look is %v", scan)
	}
	found := s.call("operator", "GET", "/api/v1"+inventory+"?filter=class%3Aruns", nil)["scan"].(map[string]any)
	messages := found["messages"].([]any)
	if len(messages) != lettersPerPage || found["matching"].(float64) < 100 {
		t.Errorf("%d messages of %v", len(messages), found["matching"])
	}
	ref := messages[0].(map[string]any)["ref"].(string)
	one := s.call("operator", "GET", "/api/v1/dead-letters/message?"+url.Values{"scan": {scan["id"].(string)}, "ref": {ref}}.Encode(), nil)
	if body, err := base64.StdEncoding.DecodeString(one["body_base64"].(string)); err != nil || !strings.Contains(string(body), "***") || one["masked"] != true {
		t.Errorf("the message is %v", one)
	}
	plan := s.call("operator", "POST", "/api/v1/moves/plan", map[string]any{"do": "requeue", "pipeline": "inventory", "queue": inventoryDLQ, "scan": scan["id"], "refs": []string{ref}})
	if plan["matching"] != 1.0 || plan["needs"] != "operator" {
		t.Errorf("the plan is %v", plan)
	}
	job := s.call("operator", "POST", "/api/v1/moves/"+plan["id"].(string)+"/start", map[string]any{"reason": "the gateway is back"})
	s.moved("/jobs/" + job["job"].(string))
	href := job["href"].(string)
	if got := s.call("operator", "GET", href, nil); got["final"] != true || got["counts"].(map[string]any)["moved"] != 1.0 {
		t.Errorf("the job is %v", got)
	}
	if got := s.call("operator", "GET", href+"/items", nil); len(got["items"].([]any)) != 1 {
		t.Errorf("the items are %v", got)
	}
	if got := s.call("operator", "GET", "/api/v1/jobs", nil); len(got["jobs"].([]any)) != 1 {
		t.Errorf("the jobs are %v", got)
	}
}

func TestThePageOfAnErrorEnvelopeSaysThatItIsNotTheMessage(t *testing.T) {
	s := stocked(t, nil)
	var envelope deadletter.Letter
	envelope.MessageID, envelope.ID, envelope.Ref = "enveloped", "enveloped", "enveloped"
	envelope.Type = "EasyNetQ.SystemMessages.Error:EasyNetQ"
	s.morgue.Put("orders.dlq", envelope)
	doc := s.looked("orders", "orders.dlq", "1000")
	said := map[bool]int{}
	doc.Find(".letters .c-id a").Each(func(_ int, a *goquery.Selection) {
		h, _ := a.Attr("href")
		said[strings.Contains(s.body(s.as("admin", "GET", h, "")), "This is an error envelope of EasyNetQ")]++
	})
	if said[true] != 1 || said[false] == 0 {
		t.Errorf("the note stands on %d pages and is missing on %d", said[true], said[false])
	}
}
