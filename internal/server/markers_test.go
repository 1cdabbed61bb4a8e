package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/playground/demo"
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

// ended waits until an operation has ended and returns its page.
func (s *site) ended(at string) *goquery.Document {
	s.t.Helper()
	for {
		doc := s.page("admin", at)
		if doc.Find("progress").Length() == 0 {
			return doc
		}
		select {
		case <-s.t.Context().Done():
			s.t.Fatal("the operation does not end")
		case <-time.After(5 * time.Millisecond): // between two looks, as a browser without the script does
		}
	}
}

func TestAStuckMarkerIsFoundReviewedClearedAndPutBack(t *testing.T) {
	s := stocked(t, nil)
	sel := s.firstOf(dedup.Orphan)
	key, _ := url.QueryUnescape(sel)

	one := s.page("admin", markerAddress("", "orders", key))
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
	if gone := s.page("admin", markerAddress("", "orders", key)); !strings.Contains(gone.Find("main").Text(), "There is no marker with this key any more") || gone.Find("#why-title").Length() != 0 {
		t.Errorf("the cleared marker: %s", oneLine(gone.Find("main")))
	}
	if made := s.page("viewer", markerAddress("", "orders", "msg:made-up")); !strings.Contains(made.Find("main").Text(), "There is no marker with this key:") || oneLine(made.Find(".title .chip")) != "none" {
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
	if again := s.page("admin", markerAddress("", "orders", key)); oneLine(again.Find("#why-title")) != "Verdict: orphan" {
		t.Error("the marker is not back")
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
		"a viewer with one":       {"viewer", markerAddress("", "orders", mustKey(t, s.firstOf(dedup.Orphan))), "needs the role admin"},
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
	key, err := decodeKey(sel)
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

func TestAValueIsShownAsTheRoleAllows(t *testing.T) {
	g := dedup.Sighting{Marker: dedup.Marker{State: dedup.Done, Status: "success"}, Type: "string", Value: []byte(`{"status": "success", "card": "4111 1111"}`)}
	for role, want := range map[string]string{"viewer": "", "operator": `{"xxxxxx": "xxxxxxx", "xxxx": "0000 0000"}`, "admin": string(g.Value)} {
		s := newSite(t, nil, testUsers())
		who, ok := s.auth.Token(map[string]string{"viewer": viewerToken, "operator": operatorToken, "admin": adminToken}[role])
		if !ok {
			t.Fatal("no such token")
		}
		v := valueView(g, who)
		if v.Text.Short != want || (len(v.Dump) > 0) != (role == "admin") || (v.Masked == "") != (role == "admin") || v.Hash == "" {
			t.Errorf("%s sees %q, %d lines of bytes, masked %q", role, v.Text.Short, len(v.Dump), v.Masked)
		}
	}
	if got := maskValue([]byte("processing"), "processing", ""); got != "processing" {
		t.Errorf("a status alone is shown as %q", got)
	}
}

func TestListsAreFilteredSortedAndPagedByTheirAddress(t *testing.T) {
	s := stocked(t, nil)
	ids := func(query string) []string {
		return s.page("viewer", "/pipelines/orders/markers"+query).Find(".c-id a").Map(func(_ int, a *goquery.Selection) string { return oneLine(a) })
	}
	oldest, youngest := ids(""), ids("?sort=-age")
	if len(oldest) != 21 || oldest[0] != youngest[20] || oldest[20] != youngest[0] {
		t.Errorf("oldest first %v, youngest first %v", oldest, youngest)
	}
	if got := ids("?q=order:88003"); len(got) != 1 {
		t.Errorf("by business key: %v", got)
	}
	if got := ids("?sort=id"); !slices.IsSorted(got) {
		t.Errorf("by id: %v", got)
	}
	if got := ids("?verdict=still+working"); len(got) != 6 {
		t.Errorf("the living: %v", got)
	}
	if got := ids("?state=done"); len(got) != markersPerPage {
		t.Errorf("a live page has %d markers", len(got))
	}
	next, _ := s.page("viewer", "/pipelines/orders/markers?state=done").Find("#list > p > a.button").Attr("href")
	if got := ids(strings.TrimPrefix(next, "/pipelines/orders/markers")); len(got) != markersPerPage || got[0] == ids("?state=done")[0] {
		t.Errorf("the next page by %q has %d markers", next, len(got))
	}
	for _, bad := range []string{"?state=all", "?verdict=alive", "?sort=size", "?page=0", "?q=" + strings.Repeat("a", 300), "?cursor=" + strings.Repeat("a", 5000)} {
		if res := s.as("viewer", "GET", "/pipelines/orders/markers"+bad, ""); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%.30s: %s", bad, res.Status)
		}
	}
}

func TestLostMessagesComeAsAListForTheProducer(t *testing.T) {
	s := stocked(t, nil)
	snap := s.snapshots.Snapshot()
	snap.Stores[0].Stats.Pass.GaveUpMarkers[0].BusinessKey = `=HYPERLINK("http://evil.example")`
	doc := s.page("viewer", "/pipelines/orders/markers?state=gave-up")
	if !strings.Contains(doc.Find("main").Text(), "These messages are lost") {
		t.Error("the page does not say that they are lost")
	}
	href, _ := doc.Find("a[download]").Attr("href")
	res := s.as("viewer", "GET", href, "")
	lines := strings.Split(strings.TrimSpace(s.body(res)), "\n")
	if res.Header.Get("Content-Type") != "text/csv; charset=utf-8" || len(lines) != 4 || !strings.HasPrefix(lines[0], "id,business_key,key,") {
		t.Errorf("%s: %v", res.Status, lines)
	}
	if !strings.Contains(lines[1], `'=HYPERLINK`) {
		t.Errorf("a formula is live: %s", lines[1])
	}
}

func TestLookupSaysOfEveryStoreWhatItAnswered(t *testing.T) {
	s := stocked(t, nil)
	if at := s.as("viewer", "GET", "/lookup?term=order%3A88000", "").Header.Get("Location"); at != "/lookup?id=order%3A88000" {
		t.Errorf("the form leads to %q", at)
	}
	doc := s.page("viewer", "/lookup?id=order%3A88000")
	if got := oneLine(doc.Find("#found-title")); got != "1 marker in 3 stores; 1 store did not answer" {
		t.Errorf("the sum is %q", got)
	}
	var answers []string
	doc.Find(".store-answer").Each(func(_ int, a *goquery.Selection) { answers = append(answers, oneLine(a)) })
	for i, want := range []string{"orphan", "no marker", "connection refused"} {
		if i >= len(answers) || !strings.Contains(answers[i], want) {
			t.Errorf("answer %d lacks %q: %v", i, want, answers)
		}
	}
	if got := oneLine(s.page("viewer", "/lookup").Find(".blank strong")); got == "" {
		t.Error("the empty page says nothing")
	}
}

func TestADeadStoreLeavesTheLastListAndSaysSo(t *testing.T) {
	s := stocked(t, nil)
	s.shelf.Down = true
	for path, want := range map[string]string{
		"/pipelines/orders/markers":            "Processing",
		"/pipelines/orders/markers?state=done": "These markers cannot be read: ",
		"/pipelines/mailings/markers":          "Store sessions cannot be read",
		"/lookup?id=x":                         "did not answer",
	} {
		if text := s.page("admin", path).Find("main").Text(); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", path, want)
		}
	}
	if got := oneLine(s.page("admin", "/pipelines/mailings/markers").Find(".tabs a").First()); got != "processing unknown" {
		t.Errorf("the tab of a store that was never read says %q", got)
	}
	if res := s.as("admin", "GET", markerAddress("", "orders", "msg:x"), ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one marker: %s", res.Status)
	}
}

func TestASchemeInWhichNothingShowsSaysThatZeroProvesNothing(t *testing.T) {
	s := stocked(t, nil)
	snap := s.snapshots.Snapshot()
	st, _ := findStore(snap, "payments")
	pass := *st.Stats.Pass
	pass.OldestProcessing, pass.States = nil, map[dedup.State]int64{}
	st.Stats.Pass = &pass
	text := s.page("viewer", "/pipelines/payments/markers").Find("main").Text()
	for _, want := range []string{"“0 stuck” proves nothing here", "In this scheme that proves nothing"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestTheAuditIsPagedFilteredAndChecked(t *testing.T) {
	s := stocked(t, nil)
	for i := range 3 {
		form := url.Values{"reason": {fmt.Sprintf("reason %d", i)}}
		at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {s.firstOf(dedup.Orphan)}})
		s.ended(s.as("admin", "POST", at+"/execute", form.Encode()).Header.Get("Location"))
		s.restock()
	}
	doc := s.page("operator", "/audit")
	if got := oneLine(doc.Find(".problem.t-normal")); !strings.HasPrefix(got, "The chain of hashes is whole: ") {
		t.Errorf("the chain: %q", got)
	}
	all := doc.Find(".entries tbody tr").Length()
	operation, _ := doc.Find(".entries tbody a").First().Attr("href")
	only := s.page("operator", "/audit?operation="+strings.TrimPrefix(operation, "/operations/")).Find(".entries tbody tr").Length()
	if only == 0 || only >= all {
		t.Errorf("%d of %d entries are of one operation", only, all)
	}
	if got := s.page("operator", "/audit?before=3").Find(".entries tbody tr").Length(); got != 2 {
		t.Errorf("before number 3 there are %d entries", got)
	}
	if got := s.page("operator", "/operations").Find("tbody tr").Length(); got != 3 {
		t.Errorf("%d operations are listed", got)
	}
	for _, bad := range []string{"?before=x", "?before=-1", "?key=a"} {
		if res := s.as("operator", "GET", "/audit"+bad, ""); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, res.Status)
		}
	}
}
