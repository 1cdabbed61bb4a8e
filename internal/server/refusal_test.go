package server

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/PuerkitoBio/goquery"
	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/lab/demo"
	"dedup-dashboard/web/templates"
)

// The pages that a figure may be refused on.
const (
	onPipeline = "/pipelines/orders"
	onOverview = "/"
	onMorgue   = "/dead-letters"
	onQueue    = onPipeline + "/dead-letters?queue=orders.dlq"
)

// notOnPages are the figures that only the API and the metrics have, or that pages show only when they are known.
var notOnPages = regexp.MustCompile(`^(Gauges\[unacked\]|Stuck|PassAge|Coverage|Verdicts\[.*|Windows\[.*\]\.(WorkP50|WorkP99))$`)

// A figureSlot is one place of a snapshot that holds a figure of a pipeline.
type figureSlot struct {
	path string
	set  func(*dedup.PipelineStatus, dedup.Figure)
}

// figureSlots finds every figure of a pipeline, so that one which is added later is asked for too.
func figureSlots(p *dedup.PipelineStatus) []figureSlot {
	var slots []figureSlot
	figure := reflect.TypeFor[dedup.Figure]()
	var walk func(v reflect.Value, path string, steps []any)
	walk = func(v reflect.Value, path string, steps []any) {
		switch {
		case v.Type() == figure:
			slots = append(slots, figureSlot{path, func(p *dedup.PipelineStatus, f dedup.Figure) { put(reflect.ValueOf(p), steps, reflect.ValueOf(f)) }})
		case v.Kind() == reflect.Pointer && !v.IsNil():
			walk(v.Elem(), path, steps)
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), append(steps[:len(steps):len(steps)], i))
				}
			}
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), append(steps[:len(steps):len(steps)], i))
			}
		case v.Kind() == reflect.Map && v.Type().Elem() == figure:
			for _, key := range v.MapKeys() {
				walk(v.MapIndex(key), fmt.Sprintf("%s[%s]", path, key), append(steps[:len(steps):len(steps)], key))
			}
		}
	}
	walk(reflect.ValueOf(p), "", nil)
	return slots
}

// put stores a figure at the end of the steps, which lead through fields, elements and keys.
func put(v reflect.Value, steps []any, f reflect.Value) {
	for _, step := range steps {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		switch step := step.(type) {
		case reflect.Value:
			v.SetMapIndex(step, f)
			return
		case int:
			if v.Kind() == reflect.Struct {
				v = v.Field(step)
			} else {
				v = v.Index(step)
			}
		}
	}
	v.Set(f)
}

// knowingAll is a pipeline that knows every figure there is, and nothing else to tell of.
func knowingAll(t *testing.T) *dedup.Snapshot {
	t.Helper()
	now := time.Now().UTC()
	_, from := explainedSnapshot(t, now)
	p := *from
	p.Pipeline.Name, p.Down, p.Findings, p.Events, p.Baseline = "orders", nil, nil, nil, nil
	p.Pipeline.Limits.Window = p.Windows[0].Window // so that the judged window is the first one
	queue := dedup.DeadLetterQueue{QueueRef: dedup.QueueRef{Vhost: "/", Name: "orders.dlq"}, Type: "classic", Found: "listed"}
	other := queue
	other.Name = "orders.late"
	p.DeadLetterQueues = []dedup.DeadLetterQueue{queue, other}
	p.BrokerDeaths = &dedup.BrokerDeaths{Reasons: []dedup.ReasonDeaths{{Reason: "rejected"}}}
	p.Markers = map[dedup.State]dedup.Figure{}
	for _, state := range dedup.States() {
		p.Markers[state] = dedup.Figure{}
	}
	p.Verdicts = map[dedup.Verdict]dedup.Figure{dedup.Orphan: {}}
	spans := dedup.Windows()
	for i := range p.Windows {
		estimates := p.Windows[i].Estimates
		p.Windows[i] = dedup.WindowFigures{Window: spans[i]}
		if i == 0 {
			p.Windows[i].Estimates = estimates
		}
	}
	for _, slot := range figureSlots(&p) {
		f := dedup.Exact(dedup.Measured, dedup.Count, 1, now, "a test")
		for i := range p.Windows {
			if strings.HasPrefix(slot.path, fmt.Sprintf("Windows[%d]", i)) {
				f.Window, f.Covered = spans[i], spans[i]
			}
		}
		slot.set(&p, f)
	}
	store := dedup.StoreStatus{Name: p.Pipeline.Store, Stats: dedup.StoreStats{Pass: &dedup.Pass{Started: now, Ended: now}}}
	return &dedup.Snapshot{Round: 1, At: now, Interval: 15 * time.Second, Stores: []dedup.StoreStatus{store}, Pipelines: []dedup.PipelineStatus{p}}
}

func explainedSnapshot(t *testing.T, now time.Time) (*dedup.Snapshot, *dedup.PipelineStatus) {
	t.Helper()
	snap := demo.Scene("explained", now)
	p, ok := snap.Pipeline("all-sources")
	if !ok {
		t.Fatal("no pipeline all-sources")
	}
	return snap, p
}

// pagesOf names the pages that must say why a figure is unknown.
func pagesOf(path string) []string {
	pages := []string{onPipeline}
	switch path {
	case "DeadLetters":
		return append(pages, onOverview, onMorgue)
	case "Gauges[ready]", "Gauges[consumers]", "Markers[processing]", "Windows[0].DuplicateRate", "Windows[0].AckMean":
		return append(pages, onOverview)
	case "DeadLetterQueues[0].Depth":
		return append(pages, onMorgue, onQueue)
	case "DeadLetterQueues[1].Depth":
		return append(pages, onMorgue)
	case "Windows[2].DeadLetterInflow":
		return append(pages, onMorgue)
	}
	return pages
}

// refusals are what a test says of figures: a plain sentence, or one that is no friend of the page.
func refusals() *rapid.Generator[string] {
	huge := strings.Repeat("<b>\u202e", 1<<18)
	return rapid.OneOf(rapid.SampledFrom(append([]string{"a plain reason", "a & b < c > \"d\" 'e'", "</p></details><h1>it is 0.00 %</h1>", huge}, hostile...)), rapid.String())
}

// TestEachPageSaysWhyItRefusesAFigure refuses some figures of a pipeline in the worst of words, and reads each page that shows
// them as a browser without JavaScript does.
func TestEachPageSaysWhyItRefusesAFigure(t *testing.T) {
	s := newSite(t, nil, testUsers())
	n := len(figureSlots(&knowingAll(t).Pipelines[0]))
	if n < 130 {
		t.Fatalf("only %d figures were found", n)
	}
	words := refusals()
	rapid.Check(t, func(rt *rapid.T) {
		refused := map[int]string{}
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, 12, rapid.ID).Draw(rt, "slots") {
			refused[i] = words.Draw(rt, "why")
		}
		s.mustSay(rt, knowingAll(t), refused, nil)
	})
}

// TestAPipelineThatKnowsNothingSaysWhyOfEachFigure refuses all figures at once: the table of the windows then shows the first
// one alone, and folds what is unknown there into one line.
func TestAPipelineThatKnowsNothingSaysWhyOfEachFigure(t *testing.T) {
	s := newSite(t, nil, testUsers())
	n := len(figureSlots(&knowingAll(t).Pipelines[0]))
	words := refusals()
	rapid.Check(t, func(rt *rapid.T) {
		odd, why := rapid.IntRange(0, n-1).Draw(rt, "odd"), words.Draw(rt, "why")
		refused := map[int]string{}
		for i := range n {
			refused[i] = "it was not read"
		}
		refused[odd] = why
		s.mustSay(rt, knowingAll(t), refused, regexp.MustCompile(`^Windows\[[1-3]\]`))
	})
}

// mustSay refuses figures, and asks each page that shows one for its reason. Folded figures are not on the page of the pipeline.
func (s *site) mustSay(rt *rapid.T, snap *dedup.Snapshot, refused map[int]string, folded *regexp.Regexp) {
	p := &snap.Pipelines[0]
	wanted := map[string][]string{onPipeline: nil, onOverview: nil, onMorgue: nil, onPipeline + "/markers": nil}
	reasons := map[string]string{}
	for i, slot := range figureSlots(p) {
		words, ok := refused[i]
		if !ok {
			continue
		}
		reasons[slot.path] = fmt.Sprintf("Refusal %d: %s, and that is the reason", i, words)
		slot.set(p, dedup.Unknown(dedup.Count, reasons[slot.path]))
		if notOnPages.MatchString(slot.path) {
			continue
		}
		for _, page := range pagesOf(slot.path) {
			if page != onPipeline || folded == nil || !folded.MatchString(slot.path) {
				wanted[page] = append(wanted[page], slot.path)
			}
		}
	}
	s.snapshots.snap.Store(snap)
	for page, paths := range wanted {
		text := s.readable(rt, page)
		for _, path := range paths {
			if !says(text, reasons[path]) {
				rt.Errorf("%s does not say why %s is unknown: %.300q", page, path, reasons[path])
			}
		}
	}
}

// readable is the text of a page for one who has no JavaScript. Nothing in the page may be of the words' own making.
func (s *site) readable(rt *rapid.T, path string) string {
	role := "admin"
	if path == onQueue {
		role = "viewer" // who is shown the queue as the last round counted it
	}
	body := s.body(s.as(role, "GET", path, ""))
	for _, r := range body {
		if r != '\n' && r != '\t' && r != '\u00a0' && !unicode.IsPrint(r) { // a number stands in one line with its unit
			rt.Fatalf("%s holds the character %q", path, r)
		}
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(body))
	if err != nil {
		rt.Fatal(err)
	}
	if n := doc.Find("main b, main img, main h1").Length(); n != 1 {
		rt.Fatalf("%s has %d headings, images and bold words, want its one heading", path, n)
	}
	if len(body) > 1<<20 {
		rt.Errorf("%s has %d bytes", path, len(body))
	}
	doc.Find("script, template, [hidden]").Remove()
	return oneLine(doc.Selection)
}

// says reports whether a text holds the whole reason, or all of it that a sentence may be long.
func says(text, why string) bool {
	for _, said := range []string{templates.Sentence(why).Short, show.Statement(why).Short} {
		if strings.Contains(text, strings.Join(strings.Fields(said), " ")) {
			return true
		}
	}
	return false
}
