package server

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// withUndecoded lets the last pass count a marker without expiry that it could not decode.
func (s *site) withUndecoded() {
	snap := s.snapshots.Snapshot()
	for i := range snap.Stores {
		if p := snap.Stores[i].Stats.Pass; snap.Stores[i].Name == "orders" {
			p.NoExpiry[dedup.StateUnknown]++
		}
	}
}

func TestTheListWithoutExpiryOffersToClearAndAnExpiryThatFits(t *testing.T) {
	s := stocked(t, nil)
	doc := s.page("admin", "/pipelines/orders/markers?state=no-expiry")
	if got := oneLine(doc.Find("thead")); !strings.Contains(got, "Verdict") {
		t.Errorf("the columns are %q", got)
	}
	if doc.Find("button[value=clear-selected]").Length() != 1 || doc.Find("button[value=expire-selected]").Length() != 1 {
		t.Error("it does not offer both to clear and to set an expiry")
	}
	if got := oneLine(doc.Find("select[name=ttl] option[selected]")); !strings.HasPrefix(got, "recommended: 5 m for processing, ") {
		t.Errorf("the default is %q", got)
	}
	if got := doc.Find("select[name=ttl] option").Length(); got != 4 || doc.Find("input[name=ttl_own]").Length() != 1 {
		t.Errorf("%d choices", got)
	}
}

func TestThePlanOfAnExpirySaysUntilWhenMessagesStayBlockedAndOffersToClear(t *testing.T) {
	s := stocked(t, nil)
	at := s.plan(url.Values{"store": {"orders"}, "do": {"expire-all"}, "list": {"no-expiry"}, "ttl": {"recommended"}})
	doc := s.page("admin", at)
	text := oneLine(doc.Find("main"))
	for _, want := range []string{"5 m from when it is set", "still blocked until ", "it loops in its queue until then", "Carried out now: until "} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan lacks %q: %.900s", want, text)
		}
	}
	form := url.Values{"store": {"orders"}, "do": {"clear-selected"}}
	for _, input := range doc.Find("form.undo [name=sel]").EachIter() {
		form.Add("sel", input.AttrOr("value", ""))
	}
	instead := s.page("admin", s.plan(form))
	if got := oneLine(instead.Find("h1")); got != "Review: clear 4 markers" {
		t.Errorf("the alternative is %q", got)
	}
}

func TestWhatAPlanLeavesOutIsCountedByReasonAtTheTopAndOnTheOperation(t *testing.T) {
	s := stocked(t, nil)
	s.withUndecoded()
	at := s.plan(url.Values{"store": {"orders"}, "do": {"expire-all"}, "list": {"no-expiry"}, "ttl": {"5m"}})
	review := s.page("admin", at)
	if got := oneLine(review.Find(".left-sum a[href='#left-out']")); got != "1 left out: could not be decoded" {
		t.Errorf("the top says %q", got)
	}
	if text := oneLine(review.Find("main")); strings.Contains(text, "more match than one plan takes") {
		t.Error("what cannot be decoded is said to be left for another plan")
	}
	res := s.as("admin", "POST", at+"/execute", url.Values{"reason": {"they never expire"}}.Encode())
	done := s.ended(res.Header.Get("Location"))
	if got := oneLine(done.Find(".left-sum")); got != "1 left out: could not be decoded" || done.Find("#left-out").Length() != 1 {
		t.Errorf("the operation says %q", got)
	}
	heading := oneLine(s.page("admin", "/pipelines/orders/markers?state=no-expiry").Find(".count"))
	if !strings.HasPrefix(heading, "4, as of") {
		t.Errorf("the list is headed %q", heading)
	}
}

func TestTimesInTextsAreWrittenAsOnPagesInTheZoneOfTheReader(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 21, 18, 0, 0, 0, zone)
	got := show.ReadableTimes("processing since 2026-11-21T16:03:04Z, expires 2026-11-21T17:10:00.5Z", now)
	if got != "processing since 17:03:04, expires 18:10:00" {
		t.Error(got)
	}
}

func TestAKeyTooLongHasNeitherLinkNorCheckboxAndIsLeftOutOfPlans(t *testing.T) {
	s := stocked(t, nil)
	long := dedup.Marker{Store: "orders", State: dedup.Processing, TooLong: `"msg:seedseed"…`, Detail: "its key of 10244 bytes is too long to be acted on", FirstSeen: time.Now()}
	snap := s.snapshots.Snapshot()
	for i := range snap.Stores {
		if snap.Stores[i].Name == "orders" {
			p := snap.Stores[i].Stats.Pass
			p.OldestProcessing = append([]dedup.Marker{long}, p.OldestProcessing...)
		}
	}
	doc := s.page("admin", "/pipelines/orders/markers?verdict=cannot+tell&sort=id")
	row := doc.Find("tr#" + web.Anchor("orders", long.TooLong))
	text := oneLine(row)
	if row.Find("a, input").Length() != 0 || !strings.Contains(text, "seedseed") || !strings.Contains(text, "too long to be acted on") || !strings.Contains(text, "age unknown") {
		t.Errorf("%d links and checkboxes: %s", row.Find("a, input").Length(), text)
	}
	review := oneLine(s.page("admin", s.plan(url.Values{"store": {"orders"}, "do": {"clear-all"}, "list": {"processing"}})).Find("#left-out"))
	if !strings.Contains(review, "its key is too long to be acted on") || !strings.Contains(review, "seedseed") {
		t.Errorf("the plan leaves out %s", review)
	}
}
