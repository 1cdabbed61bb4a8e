package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
)

const refused = "Redis at 127.0.0.1:26577 refused the connection: check that it runs and that redis.url names its host and port"

func TestOneLostServerIsShownOnceHoweverManyStoresItServes(t *testing.T) {
	html, doc := overviewPage(t, demo.Scene("outage", noon), "")
	if n := strings.Count(html, refused); n != 1 {
		t.Errorf("the overview says the error %d times", n)
	}
	if got := oneLine(doc.Find("[aria-label=Stores] .head")); got != "5 stores orders, payments, inventory, invoices and shipping-labels unreachable since 11:59:18" {
		t.Errorf("the card says %q", got)
	}
	doc.Find("tbody .why").Each(func(_ int, s *goquery.Selection) {
		got := oneLine(s)
		if strings.Contains(got, "; mean ack latency ") && strings.Contains(got, " down since 11:59:18; ") {
			return // the broker tells as much without the store
		}
		if got != "Store down since 11:59:18." {
			t.Errorf("a row says %q", got)
		}
	})

	_, page := pipelinePage(t, demo.Scene("outage", noon), "orders", "", demo.History{})
	page.Find(".panel, #unknowns dl").Remove() // what opens on request tells all of it
	if n := strings.Count(page.Text(), refused); n != 1 {
		t.Errorf("the page of the pipeline says the error %d times", n)
	}
	for i, want := range map[int]string{0: "store down", 3: "store down"} {
		if got := oneLine(page.Find(".now .part").Eq(i).ChildrenFiltered("small").Last()); got != want {
			t.Errorf("tile %d says %q", i, got)
		}
	}
}

func TestSourcesWithErrorsOfTheirOwnStandApart(t *testing.T) {
	snap := demo.Scene("outage", noon)
	snap.Stores[1].Health.Err, snap.Stores[4].Health = "the password is wrong", dedup.SourceHealth{Name: "store x", Tried: true, OK: true}
	_, doc := overviewPage(t, snap, "")
	cards := doc.Find("[aria-label=Stores] > li .head strong").Map(func(_ int, s *goquery.Selection) string { return oneLine(s) })
	if got := strings.Join(cards, " | "); got != "orders, inventory and invoices | payments | shipping-labels" {
		t.Errorf("the cards are %q", got)
	}
}

func TestTheBannerLeadsToWhatItIsAbout(t *testing.T) {
	tiers := func(list ...dedup.Tier) ([]alerts.Verdict, *dedup.Snapshot) {
		snap := &dedup.Snapshot{}
		var verdicts []alerts.Verdict
		for i, tier := range list {
			snap.Pipelines = append(snap.Pipelines, dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: string(rune('a' + i))}})
			verdicts = append(verdicts, alerts.Verdict{Verdict: rule.Verdict{Tier: tier}})
		}
		return verdicts, snap
	}
	for _, tt := range []struct {
		name  string
		tiers []dedup.Tier
		want  string
	}{
		{"the only severe pipeline", []dedup.Tier{dedup.Normal, dedup.Severe, dedup.TierUnknown}, "/x/pipelines/b"},
		{"the list of several", []dedup.Tier{dedup.Severe, dedup.Severe}, "/x/?tier=severe"},
		{"the list of both tiers", []dedup.Tier{dedup.Severe, dedup.Emergency, dedup.Warning}, "/x/?tier=emergency&tier=severe"},
		{"the pipelines that a lost source makes unknown", []dedup.Tier{dedup.TierUnknown, dedup.TierUnknown, dedup.Normal}, "/x/?tier=unknown"},
		{"the sources when no pipeline suffers", []dedup.Tier{dedup.Normal}, "/x/#sources"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			verdicts, snap := tiers(tt.tiers...)
			if got := bannerAddress(snap, verdicts, "/x"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAMarkerOfASilentStoreHasAPageWithTheCauseAndTwoWaysOn(t *testing.T) {
	s := stocked(t, nil)
	s.shelf.Down = true
	for _, tt := range []struct {
		name string
		res  *http.Response
		form bool
	}{
		{"the marker's page", s.as("admin", "GET", web.MarkerAddress("", "orders", "msg:1"), ""), false},
		{"a plan", s.as("admin", "POST", "/markers/plan", url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {web.EncodeKey("msg:1")}, "action": {"x"}}.Encode()), true},
	} {
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(s.body(tt.res)))
		if err != nil {
			t.Fatal(err)
		}
		text := oneLine(doc.Find("main"))
		if tt.res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "refused") || !strings.Contains(text, "Nothing was changed.") {
			t.Errorf("%s: %s: %s", tt.name, tt.res.Status, text)
		}
		if href, _ := doc.Find(".buttons a").Last().Attr("href"); href != "/pipelines/orders/markers" {
			t.Errorf("%s leads back to %q", tt.name, href)
		}
		form := doc.Find("main form[method=post][action='/markers/plan']")
		if tt.form && (form.Find("[name=sel]").AttrOr("value", "") != web.EncodeKey("msg:1") || form.Find("[name=action]").Length() != 0) {
			t.Errorf("%s cannot be sent again as it was", tt.name)
		}
		if href := doc.Find(".buttons a").First().AttrOr("href", ""); !tt.form && href != web.MarkerAddress("", "orders", "msg:1") {
			t.Errorf("%s tries again at %q", tt.name, href)
		}
	}
}

func TestWhileTheStoreIsDownTheListIsMarkedOldAndCannotAct(t *testing.T) {
	s := stocked(t, nil)
	st, _ := s.snapshots.Snapshot().Store("orders")
	if s.page("admin", "/pipelines/orders/markers").Find("input[name=sel][disabled], .act-bar fieldset[disabled]").Length() != 0 {
		t.Fatal("the controls are disabled while the store answers")
	}
	st.Health = dedup.SourceHealth{Name: "store orders", Kind: "store", Tried: true, Err: refused, Since: time.Now()}
	doc := s.page("admin", "/pipelines/orders/markers")
	if n := doc.Find("input[name=sel]").Not("[disabled]").Length(); n != 0 {
		t.Errorf("%d markers can be selected", n)
	}
	if doc.Find(".act-bar fieldset").Not("[disabled]").Length() != 0 || !strings.Contains(oneLine(doc.Find(".blocked")), "Store orders does not answer") {
		t.Errorf("the controls: %s", oneLine(doc.Find(".act-bar")))
	}
	if got := oneLine(doc.Find("th .stale-mark")); got != "as of "+show.Moment(st.Stats.Pass.Ended, time.Now().UTC()).Text {
		t.Errorf("the verdicts are marked %q", got)
	}
}
