package server

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/chart"
	"dedup-dashboard/internal/server/page/effects"
	"dedup-dashboard/internal/server/page/overview"
	"dedup-dashboard/internal/server/page/pipeline"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
	"dedup-dashboard/web/templates"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func frameOf(live bool) templates.Frame {
	f := templates.Frame{Title: "Test", User: "ann", Role: "viewer", Zone: "UTC"}
	if live {
		f.Bundle, f.Live = true, "/events?topics=overview"
	}
	return f
}

func render(t *testing.T, c templ.Component) (string, *goquery.Document) {
	t.Helper()
	var b strings.Builder
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), doc
}

// nobody can measure any pipeline.
func nobody(string) bool { return false }

func overviewPage(t *testing.T, snap *dedup.Snapshot, query string) (string, *goquery.Document) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q, err := overview.ParseQuery(values)
	if err != nil {
		t.Fatal(err)
	}
	return render(t, templates.Overview(overview.View(snap, alerts.Judge, q, noon, frameOf(true), nobody)))
}

func pipelinePage(t *testing.T, snap *dedup.Snapshot, name, query string, h chart.History) (string, *goquery.Document) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q, err := web.ParseRange(values, noon)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := snap.Pipeline(name)
	if !ok {
		t.Fatalf("no pipeline %s", name)
	}
	v := pipeline.View(snap, p, alerts.Judge, q, noon, frameOf(true), web.Reader{Masker: web.NewMasker(nil), Who: auth.Principal{Name: "ann", Role: auth.Admin}})
	path := "/pipelines/" + url.PathEscape(name)
	v.Effects = effects.Section(p, path, 1, 50, noon)
	v.Charts, v.ChartsMissing = chart.New(chart.Deps{History: h}).Draw(t.Context(), p, q, path, snap.Interval, noon)
	for i := range v.Charts {
		v.Charts[i].Events = v.Track.Events
	}
	return render(t, templates.Pipeline(v))
}

// everyPage is each page in each scene.
func everyPage(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, scene := range demo.Scenes() {
		snap := demo.Scene(scene, noon)
		pages["overview "+scene], _ = overviewPage(t, snap, "")
		if scene == "many" {
			continue
		}
		for _, p := range snap.Pipelines {
			pages["pipeline "+scene+" "+p.Pipeline.Name], _ = pipelinePage(t, snap, p.Pipeline.Name, "", demo.History{})
		}
	}
	evil := "\"><script>alert(1)</script>\u202e"
	for name, c := range map[string]templ.Component{
		"login": templates.Login(templates.LoginView{Frame: frameOf(false), Name: evil, Next: evil, Error: evil}),
		"setup": templates.Setup(templates.SetupView{Frame: frameOf(false), Token: evil, Name: evil, Error: evil}),
		"error": templates.Error(templates.ErrorView{Frame: frameOf(false), Status: 400, Heading: evil, Message: evil, RequestID: evil}),
	} {
		pages[name], _ = render(t, c)
	}
	return pages
}

func names(doc *goquery.Document) []string {
	return doc.Find("th.c-name > a").Map(func(_ int, s *goquery.Selection) string { return strings.TrimSpace(s.Text()) })
}

func row(doc *goquery.Document, name string) string {
	return strings.Join(strings.Fields(doc.Find("#row-"+name).Text()), " ")
}

func TestNoPageHoldsAnythingThatTheContentSecurityPolicyWouldBlock(t *testing.T) {
	for name, html := range everyPage(t) {
		// Attribute values are escaped, so what looks like markup below is markup.
		for _, bad := range []string{`<[^>]* style=`, `<style`, `<[^>"]*(?:"[^"]*"[^>"]*)*\son[a-z]+=`, `hx-on`, `<[^>]*="js:`, `javascript:`, `<script>`} {
			if found := regexp.MustCompile(bad).FindString(html); found != "" {
				t.Errorf("%s holds %s: %.120s", name, bad, found)
			}
		}
		if n := strings.Count(html, "<script"); n > 1 {
			t.Errorf("%s has %d scripts", name, n)
		}
	}
}

func TestPagesUseNoMoreThanTheseAttributesOfHtmx(t *testing.T) {
	allowed := []string{"hx-get", "hx-trigger", "hx-swap", "hx-sse:connect"}
	for name, html := range everyPage(t) {
		for _, a := range regexp.MustCompile(`\s(hx-[a-z:-]+)=`).FindAllStringSubmatch(html, -1) {
			if !slices.Contains(allowed, a[1]) {
				t.Errorf("%s uses %s", name, a[1])
			}
		}
	}
}

func TestNoPageShowsAHiddenCharacterOrAControlNameThatClobbersTheDocument(t *testing.T) {
	// Values of forms go back to the server as they came, so they may hold what text may not.
	values := regexp.MustCompile(`\svalue="[^"]*"`)
	for name, html := range everyPage(t) {
		html = values.ReplaceAllString(html, "")
		if i := strings.IndexFunc(html, func(r rune) bool { return r == 0x202e || r == 0x2066 || r == 0x1b || r == 0 || r == 0xfffd }); i >= 0 {
			t.Errorf("%s shows a hidden character: %q", name, html[max(0, i-60):i+20])
		}
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(html))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"id", "action", "method", "name", "children", "submit"} {
			if doc.Find(`[name="`+bad+`"]`).Not("meta").Length() > 0 {
				t.Errorf("%s has a control named %s", name, bad)
			}
		}
	}
}

func TestTheOverviewShowsTheWorstFirst(t *testing.T) {
	_, doc := overviewPage(t, demo.Scene("mixed", noon), "")
	want := []string{"inventory", "payments", "orders", "mailings", "shipping-labels", "invoices", "points", "search-index"}
	if got := names(doc); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for tier, count := range map[string]string{"emergency": "1", "severe": "1", "warning": "1", "unknown": "2", "normal": "3"} {
		if got := doc.Find(".tile.t-" + tier + " .big").Text(); got != count {
			t.Errorf("%s tile shows %s, want %s", tier, got, count)
		}
	}
}

func TestAFedExampleShows150DuplicatesOf10000AsWarningWithMediumRisk(t *testing.T) {
	snap := demo.Scene("mixed", noon)
	p, _ := snap.Pipeline("orders")
	for i := range p.Windows {
		p.Windows[i].DuplicateRate.N, p.Windows[i].DuplicateRate.Value = 10_000, 0.015
	}
	_, doc := overviewPage(t, snap, "")
	text := row(doc, "orders")
	for _, want := range []string{"warning", "medium", "1.50 %", "reported · 15 m"} {
		if !strings.Contains(text, want) {
			t.Errorf("the row lacks %q: %s", want, text)
		}
	}
}

func TestWhatIsNotKnownIsNeverShownAsAZeroOrAsNormal(t *testing.T) {
	_, doc := overviewPage(t, demo.Scene("mixed", noon), "")
	for name, want := range map[string][]string{
		"mailings":        {"unknown", "Store down since 11:52:00."},
		"shipping-labels": {"unknown", "cannot tell", "12.00 % redelivered", "4.1 points wide"},
		"invoices":        {"0.80–1.92 %", "possible warning"},
	} {
		for _, w := range want {
			if text := row(doc, name); !strings.Contains(text, w) {
				t.Errorf("%s lacks %q: %s", name, w, text)
			}
		}
	}
	if got := doc.Find("#row-mailings .c-tier").Text(); strings.Contains(got, "normal") {
		t.Errorf("mailings is %s", got)
	}

	empty := &dedup.Snapshot{Round: 1, At: noon, Interval: 15 * time.Second, Pipelines: []dedup.PipelineStatus{{Pipeline: dedup.Pipeline{Name: "bare", Limits: dedup.DefaultLimits()}}}}
	_, doc = overviewPage(t, empty, "")
	if text := row(doc, "bare"); strings.ContainsAny(text, "0123456789") {
		t.Errorf("a pipeline without figures shows a number: %s", text)
	}
	html, _ := pipelinePage(t, empty, "bare", "", demo.History{})
	if strings.Contains(html, ">0.00 %<") {
		t.Error("the page of a pipeline without figures shows 0.00 %")
	}
}

func TestALateSnapshotTurnsEveryTierUnknown(t *testing.T) {
	_, doc := overviewPage(t, demo.Scene("stale", noon), "")
	if got := doc.Find(".c-tier .chip").Not(".t-unknown").Length(); got != 0 {
		t.Errorf("%d chips show an old tier", got)
	}
	if got := doc.Find(".fresh.late").Text(); !strings.Contains(got, "Stale since 11:57:56 (2 m 4 s)") {
		t.Errorf("freshness says %q", got)
	}
}

func TestTheOverviewFiltersAndSortsByItsAddress(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"tier=severe&tier=emergency", []string{"inventory", "payments"}},
		{"tier=severe,warning", []string{"payments", "orders"}},
		{"q=INVENT", []string{"inventory"}},
		{"q=payments.retry", []string{"payments"}},
		{"label=team%3Dmoney", []string{"payments", "invoices"}},
		{"label=team%3Dmoney&tier=normal", []string{"invoices"}},
		{"q=none-such", nil},
		{"sort=name&label=team%3Dshop", []string{"inventory", "orders", "points"}},
		{"sort=-name&label=team%3Dshop", []string{"points", "orders", "inventory"}},
		{"sort=duplicates&label=team%3Dshop", []string{"points", "orders", "inventory"}},
		{"sort=-dead-letters&label=team%3Dmoney", []string{"payments", "invoices"}},
		{"utm_source=mail&q=invent", []string{"inventory"}},
	} {
		t.Run(tt.query, func(t *testing.T) {
			_, doc := overviewPage(t, demo.Scene("mixed", noon), tt.query)
			if got := names(doc); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	_, doc := overviewPage(t, demo.Scene("mixed", noon), "sort=-duplicates")
	list := names(doc)
	if tail := list[len(list)-2:]; !slices.Equal(tail, []string{"mailings", "shipping-labels"}) {
		t.Errorf("what is unknown is sorted to %v", list)
	}
	if got := doc.Find("th[aria-sort]"); got.Length() != 1 || got.AttrOr("aria-sort", "") != "descending" {
		t.Errorf("aria-sort is %q", got.AttrOr("aria-sort", ""))
	}
}

func TestABadParameterIsNamed(t *testing.T) {
	for query, name := range map[string]string{
		"sort=up": "sort", "tier=bad": "tier", "page=0": "page", "page=x": "page", "label=x": "label", "q=" + strings.Repeat("x", 201): "q",
	} {
		values, _ := url.ParseQuery(query)
		_, err := overview.ParseQuery(values)
		if dedup.KindOf(err) != dedup.Invalid || err == nil || !strings.Contains(dedup.PublicText(err), "parameter "+name+" ") {
			t.Errorf("%s gives %v", query, err)
		}
	}
	for query, name := range map[string]string{"range=2h": "range", "scale=sqrt": "scale", "from=last week": "from", "to=x": "to", "from=2026-11-21T11:00&to=2026-11-21T10:00": "from", "from=2020-01-01T00:00": "from"} {
		values, _ := url.ParseQuery(query)
		_, err := web.ParseRange(values, noon)
		if err == nil || !strings.Contains(dedup.PublicText(err), "parameter "+name+" ") {
			t.Errorf("%s gives %v", query, err)
		}
	}
}

func TestAnAddressKeepsItsQuery(t *testing.T) {
	for _, address := range []string{"/", "/?tier=severe", "/?label=team%3Dshop&q=a+b&sort=latency", "/?page=3&sort=-risk"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		q, err := overview.ParseQuery(u.Query())
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Address(""); got != address {
			t.Errorf("%s becomes %s", address, got)
		}
	}
}

func TestEmptyStatesSayWhyAndWhatNext(t *testing.T) {
	for _, tt := range []struct{ scene, query, want string }{
		{"starting", "", "The first reading is under way"},
		{"empty", "", "No pipeline is configured"},
		{"mixed", "q=none-such", "No pipeline matches this filter"},
	} {
		_, doc := overviewPage(t, demo.Scene(tt.scene, noon), tt.query)
		if got := doc.Find(".blank").Text(); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s says %q, want %q", tt.scene, tt.query, got, tt.want)
		}
	}
}

func TestManyPipelinesArePagedByFifty(t *testing.T) {
	_, doc := overviewPage(t, demo.Scene("many", noon), "page=4")
	if got := len(names(doc)); got != 50 {
		t.Errorf("page 4 of 200 has %d rows", got)
	}
	if got := doc.Find(".pager [aria-current]").Text(); got != "4" {
		t.Errorf("current page is %q", got)
	}
	_, doc = overviewPage(t, demo.Scene("many", noon), "page=99")
	if got := doc.Find(".pager [aria-current]").Text(); got != "4" {
		t.Errorf("a page beyond the last shows %q", got)
	}
}

func BenchmarkOverviewOf200Pipelines(b *testing.B) {
	snap := demo.Scene("many", noon)
	q, err := overview.ParseQuery(url.Values{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var out strings.Builder
		if err := templates.Overview(overview.View(snap, alerts.Judge, q, noon, frameOf(true), nobody)).Render(b.Context(), &out); err != nil {
			b.Fatal(err)
		}
	}
}

func TestHintsAreGroupedAndWarningsStandOpen(t *testing.T) {
	_, doc := pipelinePage(t, demo.Scene("mixed", noon), "inventory", "", demo.History{})
	open, hints := doc.Find("#findings > .problem"), doc.Find("#findings > details#hints")
	if open.Length() != 1 || !strings.Contains(open.Text(), "never expire") {
		t.Errorf("%d findings stand open: %q", open.Length(), open.Text())
	}
	if got := hints.Find("summary").Text(); got != "1 hint, which changes no tier" || hints.Find(".problem.t-normal").Length() != 1 {
		t.Errorf("hints: %q with %d problems", got, hints.Find(".problem").Length())
	}
	if _, doc := pipelinePage(t, demo.Scene("mixed", noon), "orders", "", demo.History{}); doc.Find("details#hints").Length() != 0 {
		t.Error("a pipeline without hints shows their group")
	}
}
