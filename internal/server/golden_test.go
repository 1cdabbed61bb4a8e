package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
)

// With -golden the answers are written instead of compared: only where they are meant to change.
var writeGolden = flag.Bool("golden", false, "write testdata/golden instead of comparing with it")

// goldenDir holds an answer in each file.
const goldenDir = "testdata/golden"

// goldenHeaders are those that programs and browsers go by.
var goldenHeaders = []string{"Content-Type", "Content-Disposition", "Cache-Control", "Content-Security-Policy", "Location", "Retry-After", "Vary"}

// A walk asks a site and holds each answer against the one that is kept. In it no second passes and no number is random.
type walk struct {
	*site
	walked map[string]bool // routes
	named  map[string]bool
}

// ask sends a request and checks the answer, which it returns.
func (w *walk) ask(name, role, method, target, body string, headers ...string) string {
	w.t.Helper()
	if w.named[name] {
		w.t.Fatalf("two answers are called %s", name)
	}
	w.named[name] = true
	path, _, _ := strings.Cut(target, "?")
	for _, rt := range w.routes() {
		if rt.Method == method && routePattern(rt.Path).MatchString(path) {
			w.walked[method+" "+rt.Path] = true
			break
		}
	}
	if strings.HasPrefix(body, "{") {
		headers = append(headers, "Content-Type", "application/json")
	}
	res := w.as(role, method, target, body, headers...)
	text := w.body(res)
	w.compare(name, golden(method+" "+target+" as "+role, res, text))
	if res.StatusCode == http.StatusSeeOther {
		return res.Header.Get("Location")
	}
	return text
}

// page asks for a page as admin, who sees all of it.
func (w *walk) page(name, target string) string {
	return w.ask("page-"+name, "admin", "GET", target, "")
}

// both asks for a list as a page and by program, with each query, and returns the queries.
func (w *walk) both(name, page, api string, queries ...string) []string {
	w.t.Helper()
	for _, query := range queries {
		w.page(name+named(query), page+query)
		w.api(name+named(query), "GET", api+query, "", "")
	}
	return queries
}

// named turns a query into a part of a file's name.
func named(query string) string {
	return strings.TrimSuffix("-"+strings.Join(strings.FieldsFunc(query, func(c rune) bool { return strings.ContainsRune("?&=:,", c) }), "-"), "-")
}

// form presses a button.
func (w *walk) form(name, target string, values url.Values) string {
	return w.ask("form-"+name, "admin", "POST", target, values.Encode())
}

// api asks by program and returns the member of the answer at a path, such as "markers.0.key".
func (w *walk) api(name, method, target, body, member string, headers ...string) string {
	w.t.Helper()
	text := w.ask("api-"+name, "admin", method, "/api/v1/"+target, body, headers...)
	if member == "" {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		w.t.Fatalf("%s: %v in %.300s", name, err, text)
	}
	for _, part := range strings.Split(member, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[part]
		case []any:
			v = in[0]
		}
	}
	found, ok := v.(string)
	if !ok {
		w.t.Fatalf("%s has no %s: %.300s", name, member, text)
	}
	return found
}

func (w *walk) compare(name, got string) {
	w.t.Helper()
	file := filepath.Join(goldenDir, name+".txt")
	if *writeGolden {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		w.t.Errorf("%s: %v", name, err)
		return
	}
	if name == "page-docs-one" { // its text is that of docs/, which changes with every page that is written
		got, want = statusOf(got), []byte(statusOf(string(want)))
	}
	if got != string(want) {
		w.t.Errorf("%s is not what it was: %s", name, firstDifference(string(want), got))
	}
}

// statusOf returns the request of an answer and its status.
func statusOf(answer string) string { return strings.Join(strings.SplitN(answer, "\n", 3)[:2], "\n") }

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		was, is := "(the end)", "(the end)"
		if i < len(a) {
			was = a[i]
		}
		if i < len(b) {
			is = b[i]
		}
		if was != is {
			return fmt.Sprintf("line %d\n was %.600s\n  is %.600s", i+1, was, is)
		}
	}
	return ""
}

var (
	routeParameter = regexp.MustCompile(`\\\{[a-z.]+\\\}`)
	hashedAsset    = regexp.MustCompile(`(/static/[a-z0-9-]+)\.[0-9a-f]{6,}\.`)
	requestID      = regexp.MustCompile(`"request_id": "[A-Z2-7]{16}"`)
	ofTheProcess   = regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?(go|process|promhttp)_.*\n`)
)

func routePattern(path string) *regexp.Regexp {
	return regexp.MustCompile("^" + routeParameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
}

// golden is an answer as it is kept: of a page its title and what is below its navigation, a tag on each line.
func golden(asked string, res *http.Response, text string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s\n", asked, res.Status)
	for _, name := range goldenHeaders {
		if v := res.Header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	b.WriteByte('\n')
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		if doc, err := goquery.NewDocumentFromReader(strings.NewReader(text)); err == nil {
			main, _ := goquery.OuterHtml(doc.Find("main"))
			text = doc.Find("title").Text() + "\n" + strings.ReplaceAll(main, "><", ">\n<")
		}
		text = hashedAsset.ReplaceAllString(text, "$1.HASH.")
	}
	text = requestID.ReplaceAllString(text, `"request_id": "ID"`)
	b.WriteString(ofTheProcess.ReplaceAllString(text, ""))
	return b.String()
}

// TestEveryAnswerIsWhatItWas walks the demo scene: every endpoint of the API, every export, /metrics and every page.
func TestEveryAnswerIsWhatItWas(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	synctest.Test(t, func(t *testing.T) {
		w := &walk{site: night(t), walked: map[string]bool{}, named: map[string]bool{}}
		w.restock()
		w.history.answers = demo.History{}
		close(w.history.ready)
		w.snapshots.tried.Store(true)
		w.walkReading()
		w.walkMarkers()
		w.walkDeadLetters()
		w.walkMeasurements()
		w.walkAlerts()
		w.walkLists()
		w.ask("metrics", "viewer", "GET", "/metrics", "")
		w.ask("readyz", "viewer", "GET", "/readyz", "")
		w.ask("healthz", "viewer", "GET", "/healthz", "")
		for _, rt := range w.routes() {
			skipped := rt.Kind == web.StreamKind || rt.Kind == web.StaticKind || rt.Method == "POST" && rt.Kind == web.PageKind
			if at := rt.Method + " " + rt.Path; !w.walked[at] && !skipped {
				t.Errorf("%s is not walked", at)
			}
		}
	})
}

// walkReading asks for what the snapshot and the history hold.
func (w *walk) walkReading() {
	w.both("overview", "/", "pipelines", "", "?sort=name", "?tier=severe,emergency", "?q=o&risk=high", "?tier=red", "?sort=-duplicates", "?label=team=shop", "?page=2")
	for _, name := range []string{"orders", "payments", "inventory", "mailings", "points"} {
		w.api("pipeline-"+name, "GET", "pipelines/"+name, "", "")
		w.page("effects-"+name, "/pipelines/"+name+"/effects")
		w.api("effects-"+name, "GET", "pipelines/"+name+"/effects", "", "")
		w.page("effects-csv-"+name, "/pipelines/"+name+"/effects.csv")
	}
	for _, name := range []string{"orders", "inventory", "mailings"} {
		w.page("pipeline-"+name, "/pipelines/"+name)
	}
	w.page("effects-second", "/pipelines/payments/effects?page=2")
	w.page("pipeline-range", "/pipelines/orders?range=6h&scale=log&window=1h")
	for _, chart := range []string{"duplicates", "latency", "backlog", "dead-letters", "nothing"} {
		w.page("chart-csv-"+chart, "/pipelines/orders/chart.csv?range=15m&chart="+chart)
	}
	w.api("pipeline-unknown", "GET", "pipelines/nowhere", "", "")
	w.page("dead-letters", "/dead-letters")
	w.page("dead-letters-sorted", "/dead-letters?sort=name")
	w.api("mark", "POST", "marks", `{"text": "release 7", "pipeline": "orders"}`, "")
	w.api("marks", "GET", "marks", "", "")
	w.page("docs", "/docs")
	w.page("docs-one", "/docs/measure")
	w.page("account", "/account")
	w.page("login", "/login")
	w.page("welcome", "/welcome")
	w.page("setup", "/setup")
}

// walkMarkers looks at markers, clears one and reads what became of it.
func (w *walk) walkMarkers() {
	for _, query := range w.both("markers", "/pipelines/orders/markers", "pipelines/orders/markers", "", "?verdict=orphan", "?state=no-expiry", "?state=failed&sort=-id", "?q=order", "?page=2", "?state=odd") {
		w.page("markers-csv"+named(query), "/pipelines/orders/markers.csv"+query)
	}
	w.page("markers-down", "/pipelines/mailings/markers")
	w.page("lookup", "/lookup")
	w.page("lookup-found", "/lookup?id=order%3A88003")
	w.api("lookup", "GET", "lookup?id=order%3A88003", "", "")
	key := w.api("markers-first", "GET", "pipelines/orders/markers?verdict=orphan&limit=1", "", "markers.0.key")
	w.page("marker", "/markers/one?store=orders&key="+url.QueryEscape(key))
	review := w.form("plan", "/markers/plan", url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {url.QueryEscape(key)}})
	w.page("plan", review)
	plan := w.api("plan", "POST", "markers/plan", `{"deed": "clear", "store": "orders", "keys": ["`+key+`"]}`, "id")
	operation := w.api("execute", "POST", "plans/"+plan+"/execute", `{"reason": "its consumer is gone"}`, "operation", "Idempotency-Key", "one")
	synctest.Wait()
	w.api("operation", "GET", "operations/"+operation, "", "")
	w.page("operation", "/operations/"+operation)
	w.page("operations", "/operations")
	w.restock()
	w.both("audit", "/audit", "audit", "", "?view=entries", "?view=operations", "?outcome=denied", "?store=orders&who=a&from=today", "?outcome=odd", "?before=3")
	w.page("audit-of-one", "/audit?operation="+operation)
	w.api("audit-of-one", "GET", "audit?operation="+operation, "", "")
}

// walkDeadLetters peeks at a queue, requeues some of it and reads what became of them.
func (w *walk) walkDeadLetters() {
	const at = "/pipelines/inventory/dead-letters"
	w.page("queue-before", at)
	found := w.form("peek", at+"/scan", url.Values{"queue": {inventoryDLQ}, "limit": {"20"}})
	found, _, _ = strings.Cut(found, "#")
	w.page("queue", found)
	scan := w.api("scan", "POST", "pipelines/inventory/dead-letters/scan", `{"queue": "`+inventoryDLQ+`", "limit": 20}`, "id")
	w.api("dead-letters", "GET", "pipelines/inventory/dead-letters?queue="+inventoryDLQ, "", "")
	w.api("dead-letters-filtered", "GET", "pipelines/inventory/dead-letters?queue="+inventoryDLQ+"&filter=class:runs", "", "")
	for _, query := range []string{"by=exception", "filter=class:swallowed", "by=colour", "page=2"} {
		w.page("queue"+named(query), at+"?queue="+inventoryDLQ+"&"+query)
	}
	w.page("letters-csv", at+".csv?scan="+scan)
	w.page("letters-csv-filtered", at+".csv?filter=class:runs&scan="+scan)
	own := []string{"Sec-Fetch-Site", "same-origin"}
	w.ask("letters-ndjson", "admin", "GET", at+".ndjson?scan="+scan, "", own...)
	w.ask("letters-ndjson-masked", "operator", "GET", at+".ndjson?scan="+scan, "", own...)
	w.ask("api-export", "admin", "GET", "/api/v1/dead-letters/export?scan="+scan, "", own...)
	refs := w.site.page("operator", at+"?queue="+inventoryDLQ+"&filter=class:runs").Find("input[name=sel]").Map(func(_ int, in *goquery.Selection) string { return in.AttrOr("value", "") })
	one := "pipeline=inventory&queue=" + inventoryDLQ + "&scan=" + scan + "&ref=" + url.QueryEscape(refs[0])
	w.page("letter", "/dead-letters/message?"+one)
	w.api("letter", "GET", "dead-letters/message?"+one, "", "")
	w.ask("page-edit", "admin", "GET", "/dead-letters/edit?"+one, "", own...)
	w.ask("page-download", "admin", "GET", "/dead-letters/download?"+one, "", own...)
	plan := w.api("move-plan", "POST", "moves/plan", `{"do": "requeue", "pipeline": "inventory", "queue": "`+inventoryDLQ+`", "scan": "`+scan+`", "refs": ["`+strings.Join(refs[:4], `", "`)+`"]}`, "id")
	w.page("move", "/moves/"+plan)
	w.page("move-keys-csv", "/moves/"+plan+"/keys.csv")
	w.page("move-unstarted", "/moves/"+plan+"/start")
	job := w.api("move-start", "POST", "moves/"+plan+"/start", `{"reason": "the gateway is back", "confirm": "`+inventoryDLQ+`"}`, "job")
	w.api("job-pause", "POST", "jobs/"+job+"/pause", "", "")
	w.page("job-paused", "/jobs/"+job)
	w.api("job-resume", "POST", "jobs/"+job+"/resume", "", "")
	w.moved("/jobs/" + job)
	for i, path := range []string{"", "/" + job, "/" + job + "/items"} {
		name := []string{"jobs", "job", "job-items"}[i]
		w.page(name, "/jobs"+path)
		w.api(name, "GET", "jobs"+path, "", "")
	}
	w.page("job-items-csv", "/jobs/"+job+"/items.csv")
	w.page("job-items-after", "/jobs/"+job+"/items?after=2&became=done")
	w.api("job-cancel", "POST", "jobs/"+job+"/cancel", "", "")
	w.api("baseline", "POST", "pipelines/inventory/dead-letters/baseline", `{"count": 12, "reason": "known"}`, "")
	w.api("baseline-removed", "POST", "pipelines/inventory/dead-letters/baseline/remove", `{"reason": "all are new"}`, "")
	w.page("audit-jobs", "/audit?queue="+inventoryDLQ)
}

// walkLists asks by program for what the first pages show.
func (w *walk) walkLists() {
	w.api("state", "GET", "overview", "", "")
	w.api("dead-letters-of-all", "GET", "dead-letters", "", "")
	w.api("operations", "GET", "operations", "", "")
}

// walkMeasurements measures a pipeline to its end.
func (w *walk) walkMeasurements() {
	w.bench.result, w.bench.slow = hostileResult(), make(chan struct{})
	w.bench.live = &dedup.Calibration{Method: dedup.MethodLive, Low: 0.028, Value: 0.0301, High: 0.032, Off: 0.0007, Held: true}
	id := w.api("measure", "POST", "pipelines/orders/measurements", `{"seconds": 60}`, "id")
	synctest.Wait()
	w.page("measurement-running", "/measurements/"+id)
	w.api("measurement-stop", "POST", "measurements/"+id+"/stop", "", "")
	close(w.bench.slow)
	synctest.Wait()
	w.page("measurement", "/measurements/"+id)
	w.api("measurement", "GET", "measurements/"+id, "", "")
	w.page("measurements", "/pipelines/orders/measurements")
	w.api("measurements", "GET", "pipelines/orders/measurements", "", "")
	w.page("repeated-csv", "/measurements/"+id+"/repeated.csv")
}

// walkAlerts reads alerts and silences and attends to some.
func (w *walk) walkAlerts() {
	w.both("alerts", "/alerts", "alerts", "", "?state=pending", "?tier=severe", "?rule=duplicate_rate&state=normal", "?pipeline=orders", "?tier=red", "?choose=1", "?page=2")
	one := "one?key=" + url.QueryEscape(rateKey)
	w.page("alert", "/alerts/"+one)
	w.api("alert", "GET", "alerts/"+one, "", "")
	w.page("rules", "/alerts/rules")
	w.api("rules", "GET", "rules", "", "")
	w.page("silence-new", "/silences/new?"+url.Values{"pipeline": {"orders"}}.Encode())
	w.api("alert-acknowledge", "POST", "alerts/acknowledge", `{"key": "`+rateKey+`", "note": "on it", "for": "2h"}`, "")
	w.api("alert-unacknowledge", "POST", "alerts/unacknowledge", `{"key": "`+rateKey+`"}`, "")
	w.api("silence", "POST", "silences", `{"matchers": [{"label": "pipeline", "op": "=", "value": "orders"}], "for": "1h", "reason": "the shop is closed"}`, "")
	w.both("silences", "/silences", "silences", "", "?state=ended")
	w.api("silence-expire", "POST", "silences/s2/expire", "", "")
}
