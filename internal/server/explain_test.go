package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/lab/demo"
)

func TestEveryFigureOfEveryPageOpensToWhereItCameFrom(t *testing.T) {
	pages := everyPage(t)
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(demo.Scene("mixed", time.Now()))
	for _, path := range []string{"/dead-letters", "/pipelines/orders/markers", "/pipelines/orders/dead-letters"} {
		body, err := s.page("admin", path).Html()
		if err != nil {
			t.Fatal(err)
		}
		pages[path] = body
	}
	figures := 0
	for name, html := range pages {
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(html))
		if err != nil {
			t.Fatal(err)
		}
		doc.Find(".val").Each(func(_ int, val *goquery.Selection) {
			figures++
			prov := val.Closest("details.prov")
			mark, ok := prov.Find("summary .q").Attr("aria-label")
			if title, _ := prov.Find("summary").Attr("title"); !ok && prov.Find("summary").HasClass("q-"+title) {
				mark = title // its letter is drawn by the stylesheet
			}
			panel := prov.Find(".panel").Text()
			if !slices.Contains([]string{"measured", "derived", "estimated", "unknown"}, mark) || !strings.Contains(panel, "Quality") {
				t.Errorf("%s: %q of %s has no mark that opens", name, val.Text(), oneLine(val.Parent().Parent()))
			}
			if known := mark != "unknown"; known && !strings.Contains(panel, "Source") || !known && !strings.Contains(panel, "Why unknown") {
				t.Errorf("%s: the mark of %q opens to %q", name, val.Text(), panel)
			}
		})
	}
	if figures < 1000 {
		t.Errorf("only %d figures on all pages", figures)
	}
}

func explainedPage(t *testing.T, name string) *goquery.Document {
	t.Helper()
	_, doc := pipelinePage(t, demo.Scene("explained", noon), name, "", demo.History{})
	return doc
}

func TestHowARateWasFoundNamesThePartOfEachSource(t *testing.T) {
	for name, want := range map[string]struct{ line, uses string }{
		"all-sources":      {"How this rate was found: by reported counters, cross-checked by id gap", "shown|cross-check|in reserve|in reserve"},
		"disputed":         {"How this rate was found: by store events, disputed by reported counters", "cross-checkdisputed|refused|showndisputed|in reserve"},
		"cannot-tell":      {"How this rate is found: each of 4 sources refuses, and says why", "refused|refused|refused|refused"},
		"nothing-reported": {"How this rate is found: each of 4 sources refuses, and says why", "refused|refused|refused|refused"},
	} {
		doc := explainedPage(t, name)
		if got := oneLine(doc.Find("#how-found > summary")); got != want.line {
			t.Errorf("%s: %q, want %q", name, got, want.line)
		}
		if got := strings.Join(linesOf(doc.Find("#how .c-use .chips")), "|"); got != want.uses {
			t.Errorf("%s: used as %s, want %s", name, got, want.uses)
		}
	}
}

func TestARefusalSaysWhyAndWhatToDo(t *testing.T) {
	doc := explainedPage(t, "cannot-tell")
	rows := linesOf(doc.Find("#how .c-use"))
	for i, want := range []string{"Report counters: 6 lines of Python.", "Never in this scheme: the store is no table whose ids tell of failed inserts.", "Enable notify-keyspace-events K$gxe", "4.1 points wide"} {
		if !strings.Contains(rows[i], want) {
			t.Errorf("row %d lacks %q: %s", i, want, rows[i])
		}
	}
	if got := doc.Find("#report-lines pre").Text(); !strings.Contains(got, `hincrby("dedupstats:cannot-tell", outcome, 1)`) || strings.Count(got, "\n") != 5 {
		t.Errorf("the lines to report are\n%s", got)
	}
	if got := oneLine(doc.Find("#how .val").Last()); got != "within 0.40–4.50 %" {
		t.Errorf("the interval that is too wide reads %q", got)
	}
}

func TestDuplicatesAreSplitAndTheirNeighboursStandApart(t *testing.T) {
	doc := explainedPage(t, "all-sources")
	if got := oneLine(doc.Find("#why-duplicates .said")); got != "5 % producer-sent, 82 % redelivered, 13 % may be either." {
		t.Errorf("the split reads %q", got)
	}
	for name, want := range map[string]struct{ label, value, href string }{
		"swallowed":      {"Swallowed", "23", "/pipelines/swallowed/markers?state=failed"},
		"looping":        {"Looping", "12,400", "/pipelines/looping/markers?state=processing"},
		"double-effects": {"Double effects", "4", "/pipelines/double-effects/effects"},
	} {
		some := explainedPage(t, name).Find(".neighbours .some").First()
		href, _ := some.Find("a").Attr("href")
		if oneLine(some.Find(".name")) != want.label || oneLine(some.Find(".val")) != want.value || href != want.href {
			t.Errorf("%s: %s leading to %q", name, oneLine(some), href)
		}
	}
	if got := oneLine(explainedPage(t, "nothing-reported").Find(".origin > .hint")); !strings.HasPrefix(got, "The duplicates are not known") {
		t.Errorf("an unknown split reads %q", got)
	}
}

func TestALoopIsToldAsALoopBesideANormalTier(t *testing.T) {
	const want = "Likely cause: One message loops on a stuck marker: 12,400 redeliveries in 15 m, no duplicates."
	if got := oneLine(explainedPage(t, "looping").Find("#status > .cause")); got != want {
		t.Errorf("the page says %q", got)
	}
	_, doc := overviewPage(t, demo.Scene("explained", noon), "")
	if got := oneLine(doc.Find("#row-looping .cause")); got != want {
		t.Errorf("the overview says %q", got)
	}
	snap := demo.Scene("explained", noon)
	p, _ := snap.Pipeline("looping")
	if c := api.CauseOf(snap, show.Judged{PipelineStatus: p}, ""); c == nil || c.Kind != "loop" {
		t.Errorf("the API says %+v", c)
	}
	if c := api.CauseOf(snap, show.Judged{PipelineStatus: p}, "stale"); c != nil {
		t.Errorf("a late round is explained: %+v", c)
	}
}

func TestPagesAndAPISayTheCauseThatTheAlertOfThePipelineSays(t *testing.T) {
	const computed, told = "One message loops on a stuck marker", "What the notification said."
	for _, tt := range []struct {
		name, rule, cause, want string
	}{
		{"an alert about loops", "redelivery_loop", told, told},
		{"an alert about something else", "dead_letters", told, computed},
		{"an alert that has no cause", "duplicate_rate", "", computed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, nil, testUsers())
			s.snapshots.snap.Store(demo.Scene("explained", time.Now()))
			a := alertIn(t, tt.rule, rule.OfPipeline, "looping", alerts.PhaseFiring, dedup.Warning, time.Minute)
			a.Cause = tt.cause
			s.tower.show(a)
			if got := oneLine(s.page("viewer", "/").Find("#row-looping .cause")); !strings.Contains(got, tt.want) {
				t.Errorf("the overview says %q", got)
			}
			if got := oneLine(s.page("viewer", "/pipelines/looping").Find("#status > .cause")); !strings.Contains(got, tt.want) {
				t.Errorf("the page of the pipeline says %q", got)
			}
			var p struct{ Cause struct{ Text string } }
			if s.api("/api/v1/pipelines/looping", &p); !strings.Contains(p.Cause.Text, tt.want) {
				t.Errorf("the API says %q", p.Cause.Text)
			}
		})
	}
}

func TestEventsThatCrowdShareAMarkWithTheirNumber(t *testing.T) {
	doc := explainedPage(t, "all-sources")
	list := strings.Join(linesOf(doc.Find(".track .events > li > .kind")), "|")
	if list != "deploy|alarm|counter reset|eviction|node down|12 consumer restarts|ack timeout|1 requeue by us, 1 source lost" {
		t.Errorf("the marks are %s", list)
	}
	shapes := map[string]bool{}
	doc.Find(".event-mark path").Each(func(_ int, s *goquery.Selection) { d, _ := s.Attr("d"); shapes[d] = true })
	if len(shapes) != 8 {
		t.Errorf("%d shapes for 8 kinds of marks", len(shapes))
	}
	doc.Find(".event-mark").Each(func(_ int, s *goquery.Selection) {
		href, _ := s.Attr("href")
		if label, _ := s.Attr("aria-label"); !strings.HasPrefix(label, "Event ") || doc.Find(href).Length() != 1 {
			t.Errorf("mark %q leads to %s", label, href)
		}
	})
}

// TestTheOldestWaitingMessageStandsUnderTheBacklog: with its age, with the reason why it is not known, and not at all where
// nothing waits.
func TestTheOldestWaitingMessageStandsUnderTheBacklog(t *testing.T) {
	s, now := newSite(t, nil, testUsers()), time.Now().UTC()
	for name, tt := range map[string]struct {
		ready, oldest dedup.Figure
		says          string
		not           string
	}{
		"an age":            {dedup.Exact(dedup.Measured, dedup.Count, 58922, now, "a test"), dedup.Exact(dedup.Derived, dedup.Seconds, 720, now, "a test"), "oldest 12 md", "unknown"},
		"no timestamp":      {dedup.Exact(dedup.Measured, dedup.Count, 3, now, "a test"), dedup.Unknown(dedup.Seconds, "it carries no timestamp"), "it carries no timestamp", ""},
		"nothing waits":     {dedup.Exact(dedup.Measured, dedup.Count, 0, now, "a test"), dedup.Unknown(dedup.Seconds, "no message waits"), "Backlog", "oldest"},
		"an unknown number": {dedup.Unknown(dedup.Count, "broker down"), dedup.Unknown(dedup.Seconds, "broker down"), "oldest unknown", ""},
	} {
		t.Run(name, func(t *testing.T) {
			snap := knowingAll(t)
			snap.Pipelines[0].SetGauge(dedup.Ready, tt.ready)
			snap.Pipelines[0].OldestWaiting = tt.oldest
			s.snapshots.snap.Store(snap)
			doc, err := goquery.NewDocumentFromReader(strings.NewReader(s.body(s.as("viewer", "GET", onPipeline, ""))))
			if err != nil {
				t.Fatal(err)
			}
			tile := oneLine(doc.Find(".now .part").FilterFunction(func(_ int, p *goquery.Selection) bool { return p.Find("h2").Text() == "Backlog" }))
			if !strings.Contains(tile, tt.says) || tt.not != "" && strings.Contains(tile, tt.not) {
				t.Errorf("got %q", tile)
			}
		})
	}
}

// TestARowWhoseStoreIsDownBeginsWithIt: the symptoms come after the cause.
func TestARowWhoseStoreIsDownBeginsWithIt(t *testing.T) {
	now := time.Date(2026, 1, 2, 6, 20, 0, 0, time.UTC)
	store := dedup.SourceHealth{Name: "store orders", Kind: "store", Tried: true, Since: now.Add(-6*time.Minute - 3*time.Second), Err: "connection refused"}
	counters := dedup.SourceHealth{Name: "reported counters", Kind: "reported", Tried: true, Since: now, Err: "connection refused"}
	for name, tt := range map[string]struct {
		tier dedup.Tier
		why  string
		down []dedup.SourceHealth
		want string
	}{
		"symptoms":             {dedup.Emergency, "the pipeline stands still", []dedup.SourceHealth{counters, store}, "store orders down since 06:13:57; the pipeline stands still"},
		"nothing else":         {dedup.Normal, "", []dedup.SourceHealth{store}, "store orders down since 06:13:57"},
		"another source":       {dedup.Severe, "messages loop", []dedup.SourceHealth{counters}, "messages loop"},
		"nothing is down":      {dedup.Severe, "messages loop", nil, "messages loop"},
		"no tier can be given": {dedup.TierUnknown, "", []dedup.SourceHealth{store}, "store down since 06:13:57"},
	} {
		t.Run(name, func(t *testing.T) {
			p := show.Judged{PipelineStatus: &dedup.PipelineStatus{Down: tt.down}}
			p.Verdict.Tier, p.Verdict.Why = tt.tier, tt.why
			if got := show.Why(p, now); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestStoreEventsThatComeNeedNoLines: what enables store events is told where they are off, for the store of the page.
func TestStoreEventsThatComeNeedNoLines(t *testing.T) {
	s, now := newSite(t, nil, testUsers()), time.Now().UTC()
	for name, tt := range map[string]struct {
		events *dedup.StoreEvents
		lines  bool
	}{
		"off":          {nil, true},
		"do not come":  {&dedup.StoreEvents{At: now}, true},
		"come already": {&dedup.StoreEvents{At: now, Listening: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			snap := knowingAll(t)
			p := &snap.Pipelines[0]
			p.Pipeline.Store, snap.Stores[0].Name, snap.Stores[0].Stats.Events = "parcels", "parcels", tt.events
			snap.Stores[0].Scheme = dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "delete"}
			for i := range p.Windows[0].Estimates {
				f := dedup.Unknown(dedup.Ratio, "it cannot be told")
				f.Better = "something would help"
				p.Windows[0].Estimates[i].Rate = f
			}
			s.snapshots.snap.Store(snap)
			html := s.body(s.as("viewer", "GET", onPipeline, ""))
			if got := strings.Contains(html, "id=\"listen-lines\"") && strings.Contains(html, "name: &#34;parcels&#34;"); got != tt.lines {
				t.Errorf("lines: %t, want %t", got, tt.lines)
			}
		})
	}
}

func TestARefusedIntervalThatHoldsTheFigureAgrees(t *testing.T) {
	shown := dedup.Figure{Quality: dedup.Measured, Value: 0.1522, Low: 0.1522, High: 0.1522, N: 900}
	between := func(low, high float64) dedup.Figure { return dedup.Figure{Low: low, High: high, N: 900} }
	for name, tt := range map[string]struct {
		refused, shown dedup.Figure
		want           bool
	}{
		"within":                    {between(0.0948, 0.1808), shown, true},
		"beside":                    {between(0.0948, 0.12), shown, false},
		"so wide as to say nothing": {between(0, 0.9), shown, false},
		"no interval":               {dedup.Figure{}, shown, false},
		"nothing to compare":        {between(0.0948, 0.1808), dedup.Figure{Low: 0.1, High: 0.1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show.Agrees(tt.refused, tt.shown); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestTheCellShowsTheIntervalThatWasJudged: the reason beside it speaks of the same one.
func TestTheCellShowsTheIntervalThatWasJudged(t *testing.T) {
	text := func(f dedup.Figure) string {
		v := show.Figure(f, "unknown", noon)
		return v.Text + " " + v.Note
	}
	quarter := dedup.Figure{Unit: dedup.Ratio, Low: 0.007, High: 0.1331, N: 300, Window: 15 * time.Minute}
	hour := dedup.Figure{Unit: dedup.Ratio, Low: 0.0128, High: 0.1346, N: 900, Window: time.Hour}
	p := show.Judged{PipelineStatus: &dedup.PipelineStatus{}}
	if got := text(show.ShownRate(p, &dedup.WindowFigures{DuplicateRate: quarter})); got != "7.0 % ± 6.4 0 s of 15 m · n\u00a0300" {
		t.Errorf("not judged: %q", got)
	}
	p.Verdict.Judged = hour
	if got := text(show.ShownRate(p, &dedup.WindowFigures{DuplicateRate: quarter})); got != "7.4 % ± 6.2 0 s of 1 h · n\u00a0900" {
		t.Errorf("judged: %q", got)
	}
}
