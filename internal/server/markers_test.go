package server

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
)

// stocked is a site whose store orders holds the markers of the demo.
func stocked(t *testing.T, change func(*Config)) *site {
	t.Helper()
	s := newSite(t, change, testUsers())
	s.restock()
	return s
}

// restock makes a new pass over the store.
func (s *site) restock() {
	now := time.Now()
	snap := demo.Scene("mixed", now)
	s.shelf.Stock(snap, now)
	s.snapshots.snap.Store(snap)
}

// as asks with the token of a role.
func (s *site) as(role, method, target, body string, headers ...string) *http.Response {
	s.t.Helper()
	token := map[string]string{"viewer": viewerToken, "operator": operatorToken, "admin": adminToken}[role]
	return s.do(method, target, body, append([]string{"Authorization", "Bearer " + token}, headers...)...)
}

func (s *site) page(role, target string) *goquery.Document {
	s.t.Helper()
	res := s.as(role, "GET", target, "")
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s: %s", target, res.Status, s.body(res))
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(s.body(res)))
	if err != nil {
		s.t.Fatal(err)
	}
	return doc
}

// firstOf returns the key of the first marker of a list with the verdict, as the page's form sends it.
func (s *site) firstOf(verdict dedup.Verdict) string {
	s.t.Helper()
	doc := s.page("admin", "/pipelines/orders/markers?verdict="+url.QueryEscape(string(verdict)))
	sel, ok := doc.Find("input[name=sel]").First().Attr("value")
	if !ok {
		s.t.Fatalf("no marker is %s", verdict)
	}
	return sel
}

// plan makes a plan by the form and returns the address of its review.
func (s *site) plan(form url.Values) string {
	s.t.Helper()
	res := s.as("admin", "POST", "/markers/plan", form.Encode())
	at := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, "/plans/") {
		s.t.Fatalf("the plan: %s, to %q: %.300s", res.Status, at, s.body(res))
	}
	return at
}

// ended waits until an operation has ended and the audit, which is told last, has its outcome, and returns its page.
func (s *site) ended(at string) *goquery.Document {
	s.t.Helper()
	bound := time.After(2 * time.Minute)
	for {
		doc := s.page("admin", at)
		if doc.Find("progress").Length() == 0 && !strings.Contains(s.page("admin", "/audit").Find(".entries").Text(), "no outcome") {
			return doc
		}
		select {
		case <-bound:
			s.t.Fatalf("the operation %s does not end within a minute: %s", at, oneLine(doc.Find("main")))
		case <-time.After(5 * time.Millisecond): // between two looks, as a browser without the script does
		}
	}
}

func TestAStuckMarkerIsFoundReviewedClearedAndPutBack(t *testing.T) {
	s := stocked(t, nil)
	sel := s.firstOf(dedup.Orphan)
	key, _ := url.QueryUnescape(sel)

	one := s.page("admin", web.MarkerAddress("", "orders", key))
	if got := oneLine(one.Find("#why-title")); got != "Verdict: orphan" || one.Find(".reasons li").Length() < 2 {
		t.Errorf("the marker's page says %q with %d reasons", got, one.Find(".reasons li").Length())
	}
	at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {sel}})
	review := s.page("admin", at)
	if got := oneLine(review.Find(".verdict").First()); got != "Clear 1 marker of store orders: 1 orphan." {
		t.Errorf("the plan is %q", got)
	}
	if got := oneLine(review.Find(".c-effect")); got == "" {
		t.Error("the review does not say what happens next")
	}
	res := s.as("admin", "POST", at+"/execute", url.Values{"reason": {"consumer 2 was killed"}, "key": {"k1"}}.Encode())
	operation := res.Header.Get("Location")
	if !strings.HasPrefix(operation, "/operations/") {
		t.Fatalf("carried out: %s, to %q", res.Status, operation)
	}
	done := s.ended(operation)
	if got := oneLine(done.Find("h1")); got != "Cleared 1 of 1 marker" {
		t.Errorf("the result is %q", got)
	}
	audit := s.page("operator", "/audit")
	if text := oneLine(audit.Find(".entries")); !strings.Contains(text, "consumer 2 was killed") || !strings.Contains(text, "succeeded") {
		t.Errorf("the audit has %.400s", text)
	}
	if gone := s.page("admin", web.MarkerAddress("", "orders", key)); !strings.Contains(gone.Find("main").Text(), "There is no marker with this key any more") || gone.Find("#why-title").Length() != 0 {
		t.Errorf("the cleared marker: %s", oneLine(gone.Find("main")))
	}
	if made := s.page("viewer", web.MarkerAddress("", "orders", "msg:made-up")); !strings.Contains(made.Find("main").Text(), "There is no marker with this key:") || oneLine(made.Find(".title .chip")) != "none" {
		t.Errorf("a made-up key: %s", oneLine(made.Find("main")))
	}

	undo := done.Find("form.undo")
	if undo.Length() == 0 {
		t.Fatal("it cannot be undone")
	}
	id, _ := undo.Find("[name=operation]").Attr("value")
	store, _ := undo.Find("[name=store]").Attr("value")
	back := s.plan(url.Values{"do": {"restore"}, "operation": {id}, "store": {store}})
	res = s.as("admin", "POST", back+"/execute", url.Values{"reason": {"it was alive"}}.Encode())
	if got := oneLine(s.ended(res.Header.Get("Location")).Find("h1")); got != "Restored 1 of 1 marker" {
		t.Errorf("the undo is %q", got)
	}
	if again := s.page("admin", web.MarkerAddress("", "orders", key)); oneLine(again.Find("#why-title")) != "Verdict: orphan" {
		t.Error("the marker is not back")
	}
}

// TestTheTimesInVerdictsAreInTheZoneOfTheReaderAndInTheAPIInUTC: a time without its zone beside others in the reader's would mislead.
func TestTheTimesInVerdictsAreInTheZoneOfTheReaderAndInTheAPIInUTC(t *testing.T) {
	s := stocked(t, nil)
	sel := s.firstOf(dedup.Orphan)
	key, _ := url.QueryUnescape(sel)
	var body struct {
		Markers []struct {
			Key     string
			Reasons []string
		}
	}
	s.api("/api/v1/pipelines/orders/markers?state=processing", &body)
	var reasons []string
	for _, m := range body.Markers {
		if m.Key == key {
			reasons = m.Reasons
		}
	}
	at := regexp.MustCompile(`held no message at (\S+) and`).FindStringSubmatch(strings.Join(reasons, "\n"))
	if at == nil || !strings.HasSuffix(at[1], "Z") {
		t.Fatalf("the API says %q; want a time in UTC that says so", reasons)
	}
	seen, err := time.Parse(time.RFC3339, at[1])
	if err != nil {
		t.Fatal(err)
	}
	plan := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {sel}})
	for _, path := range []string{web.MarkerAddress("", "orders", key), plan, "/lookup?id=" + url.QueryEscape(strings.TrimPrefix(key, "msg:"))} {
		for _, zone := range []string{"Asia/Kathmandu", "UTC"} {
			in, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			query := "?tz="
			if strings.Contains(path, "?") {
				query = "&tz="
			}
			text := oneLine(s.page("admin", path+query+url.QueryEscape(zone)).Find("main"))
			if want := show.Moment(seen, time.Now().In(in)).Text; !strings.Contains(text, "held no message at "+want+" and") {
				t.Errorf("%s in %s does not say %s: %.1200s", path, zone, want, text)
			}
		}
	}
}

func TestAllThatMatchAFilterAreFrozenInAPlanThatLeavesTheLivingAlone(t *testing.T) {
	s := stocked(t, nil)
	doc := s.page("admin", s.plan(url.Values{"store": {"orders"}, "do": {"clear-all"}, "list": {"processing"}}))
	if got := oneLine(doc.Find("h1")); got != "Review: clear 12 markers" {
		t.Errorf("the heading is %q", got)
	}
	if text := oneLine(doc.Find("main")); !strings.Contains(text, "refused, owner alive") || !strings.Contains(text, "what holds for all 7") {
		t.Errorf("the review lacks its reasons: %.600s", text)
	}
}

func TestAPlanIsNeverCarriedOutTwice(t *testing.T) {
	s := stocked(t, nil)
	at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {s.firstOf(dedup.Orphan)}})
	form := url.Values{"reason": {"a double click"}, "key": {"the same"}}.Encode()
	places := make(chan string, 4)
	for range cap(places) {
		go func() { places <- s.as("admin", "POST", at+"/execute", form).Header.Get("Location") }()
	}
	first := <-places
	for range cap(places) - 1 {
		if next := <-places; next != first || first == "" {
			t.Errorf("one click leads to %q, another to %q", first, next)
		}
	}
	if res := s.as("admin", "GET", at, ""); res.Header.Get("Location") != first {
		t.Errorf("the plan leads to %q, expected its operation", res.Header.Get("Location"))
	}
	s.ended(first)
}

func TestMistakesOfTheReviewKeepWhatWasTyped(t *testing.T) {
	s := stocked(t, nil)
	at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {s.firstOf(dedup.CannotTell)}})
	for name, form := range map[string]url.Values{
		"no reason":       {"reason": {""}, "confirm": {"x"}},
		"nothing typed":   {"reason": {"because of the night"}},
		"something wrong": {"reason": {"because of the night"}, "confirm": {"<script>"}},
	} {
		res := s.as("admin", "POST", at+"/execute", form.Encode())
		body := s.body(res)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "form-error") || strings.Contains(body, "<script>") {
			t.Errorf("%s: %s", name, res.Status)
		}
		if want := form.Get("reason"); want != "" && !strings.Contains(body, `value="`+want+`"`) {
			t.Errorf("%s: the reason is gone", name)
		}
	}
}

func TestFormsThatMakeNoSenseAreRefusedInWords(t *testing.T) {
	s := stocked(t, nil)
	for name, form := range map[string]url.Values{
		"nothing selected":    {"store": {"orders"}, "do": {"clear-selected"}},
		"no button":           {"store": {"orders"}},
		"a broken key":        {"store": {"orders"}, "do": {"clear-selected"}, "sel": {"%zz"}},
		"a bad time to live":  {"store": {"orders"}, "do": {"expire-all"}, "list": {"no-expiry"}, "ttl": {"soon"}},
		"no such list":        {"store": {"orders"}, "do": {"clear-all"}, "list": {"everything"}},
		"a bad item":          {"do": {"restore"}, "operation": {"x"}, "item": {"-1"}},
		"too short an expiry": {"store": {"orders"}, "do": {"expire-all"}, "list": {"no-expiry"}, "ttl": {"1s"}},
	} {
		if res := s.as("admin", "POST", "/markers/plan", form.Encode()); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	for _, at := range []string{"/plans/nothing", "/operations/nothing", "/plans/" + strings.Repeat("A", 300)} {
		if res := s.as("admin", "GET", at, ""); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", at, res.Status)
		}
	}
}

func TestWhoMayNotActSeesWhy(t *testing.T) {
	s := stocked(t, nil)
	for name, c := range map[string]struct{ role, path, want string }{
		"a viewer":                {"viewer", "/pipelines/orders/markers", "needs the role admin; you are signed in as viewer"},
		"an operator":             {"operator", "/pipelines/orders/markers", "needs the role admin; you are signed in as operator"},
		"no acting credentials":   {"admin", "/pipelines/payments/markers", "has no act credentials"},
		"a viewer with one":       {"viewer", web.MarkerAddress("", "orders", mustKey(t, s.firstOf(dedup.Orphan))), "needs the role admin"},
		"a store without markers": {"admin", "/pipelines/mailings/markers", "has no act credentials"},
	} {
		doc := s.page(c.role, c.path)
		if text := doc.Find("main").Text(); !strings.Contains(text, c.want) {
			t.Errorf("%s: the page does not say %q", name, c.want)
		}
		if doc.Find("main form[method=post]").Length() > 0 {
			t.Errorf("%s: there are controls", name)
		}
	}
	for _, role := range []string{"viewer", "operator"} {
		for _, path := range []string{"/markers/plan", "/plans/x/execute", "/api/v1/markers/plan", "/api/v1/plans/x/execute"} {
			if res := s.as(role, "POST", path, "do=clear-all"); res.StatusCode != http.StatusForbidden {
				t.Errorf("%s may POST %s: %s", role, path, res.Status)
			}
		}
	}
}

func mustKey(t *testing.T, sel string) string {
	t.Helper()
	key, err := web.DecodeKey(sel)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestReadOnlyShowsMarkersAndTakesNoPlan(t *testing.T) {
	s := stocked(t, func(c *Config) { c.ReadOnly = true })
	doc := s.page("admin", "/pipelines/orders/markers")
	if !strings.Contains(doc.Find("main").Text(), "read-only") || doc.Find("main form[method=post]").Length() > 0 {
		t.Error("the page has controls, or does not say why there are none")
	}
	if res := s.as("admin", "POST", "/markers/plan", "do=clear-all"); res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a plan: %s", res.Status)
	}
}

// Markers whose state nobody can tell may be in progress: an empty list beside them does not say that all is well.
func TestAnEmptyListBesideUndecodableMarkersDoesNotSayThatNoneIsStuck(t *testing.T) {
	s := stocked(t, nil)
	st, _ := s.snapshots.Snapshot().Store("orders")
	pass := *st.Stats.Pass
	pass.OldestProcessing, pass.States = nil, map[dedup.State]int64{dedup.StateUnknown: 2}
	st.Stats.Pass = &pass
	text := oneLine(s.page("viewer", "/pipelines/orders/markers").Find("main"))
	if strings.Contains(text, "none can be stuck") || !strings.Contains(text, "2 markers could not be decoded, and each of them may be in progress or stuck.") {
		t.Errorf("the page says %q", text)
	}
}
