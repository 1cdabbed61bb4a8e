package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

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
	if got := ids("?state=done"); len(got) != 50 {
		t.Errorf("a live page has %d markers", len(got))
	}
	next, _ := s.page("viewer", "/pipelines/orders/markers?state=done").Find("#list > p > a.button").Attr("href")
	if got := ids(strings.TrimPrefix(next, "/pipelines/orders/markers")); len(got) != 50 || got[0] == ids("?state=done")[0] {
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
	if got := oneLine(doc.Find("#found-title")); got != "1 marker in 2 stores; 1 store did not answer" {
		t.Errorf("the sum is %q", got)
	}
	var answers []string
	doc.Find(".store-answer").Each(func(_ int, a *goquery.Selection) { answers = append(answers, oneLine(a)) })
	for i, want := range []string{"orphan", "connection refused", "no marker"} {
		if i >= len(answers) || !strings.Contains(answers[i], want) {
			t.Errorf("answer %d lacks %q: %v", i, want, answers)
		}
	}
	if got := oneLine(doc.Find("details.store-quiet:not([open]) summary")); got != "1 store: nothing" {
		t.Errorf("the store without the marker is folded as %q", got)
	}
	if html := s.body(s.as("viewer", "GET", "/lookup?id=order%3A88000", "")); strings.Index(html, "timeline-title") > strings.Index(html, "found-title") {
		t.Error("the stores stand before the story")
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
	if res := s.as("admin", "GET", web.MarkerAddress("", "orders", "msg:x"), ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one marker: %s", res.Status)
	}
}

func TestAStoreOfWhichNoIDCouldBeReadShowsNoZero(t *testing.T) {
	s := stocked(t, nil)
	snap := s.snapshots.Snapshot()
	st, _ := snap.Store("orders")
	pass := *st.Stats.Pass
	pass.OldestProcessing, pass.States, pass.Matched, pass.Misfits = nil, map[dedup.State]int64{}, 0, 186
	st.Stats.Pass = &pass
	doc := s.page("viewer", "/pipelines/orders/markers")
	if got := oneLine(doc.Find(".tabs a").First()); got != "processing unknown" {
		t.Errorf("the list is %q", got)
	}
	if text := oneLine(doc.Find("main")); !strings.Contains(text, "186 keys found by match, but id fits none of them") || strings.Contains(text, "proves nothing") {
		t.Errorf("the page says %s", text)
	}
	if text := oneLine(s.page("viewer", "/").Find("#sources")); !strings.Contains(text, "186 keys found by match, but id fits none of them") {
		t.Errorf("the cards say %s", text)
	}
}

func TestASchemeInWhichNothingShowsSaysThatZeroProvesNothing(t *testing.T) {
	s := stocked(t, nil)
	snap := s.snapshots.Snapshot()
	st, _ := snap.Store("payments")
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
	if got := oneLine(doc.Find(".problem.t-normal")); !strings.HasPrefix(got, "The chain of hashes is whole: ") || !strings.Contains(got, "without the key of this installation") {
		t.Errorf("the chain: %q", got)
	}
	all := doc.Find(".entries tbody tr").Length()
	operation, _ := doc.Find(".entries tbody a[href^='/operations/']").First().Attr("href")
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

func TestTheLongestTermToLookUpIsNamedAsItIs(t *testing.T) {
	s := stocked(t, nil)
	for length, status := range map[int]int{admin.MaxTerm: http.StatusOK, admin.MaxTerm + 1: http.StatusBadRequest} {
		res := s.as("viewer", "GET", "/lookup?id="+strings.Repeat("a", length), "")
		if body := s.body(res); res.StatusCode != status || status != http.StatusOK && !strings.Contains(body, "1 to 512 bytes") {
			t.Errorf("%d bytes: %s", length, res.Status)
		}
	}
	res := s.as("viewer", "GET", "/lookup?id=%FF%FE", "") // it was told the length
	if body := s.body(res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "valid UTF-8") || strings.Contains(body, "512 bytes") {
		t.Errorf("2 bytes that are no text: %s", res.Status)
	}
	for _, path := range []string{"/", "/lookup"} {
		if got, _ := s.page("viewer", path).Find("input[name=term]").First().Attr("maxlength"); got != fmt.Sprint(admin.MaxTerm) {
			t.Errorf("%s takes %s characters", path, got)
		}
	}
}
