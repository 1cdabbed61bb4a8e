package internal_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/web"
)

// page returns a page of the documentation.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryDefaultRuleHasARunbook: the address that an alert gives is a section of docs/alerts.md, which says all that there is to say.
func TestEveryDefaultRuleHasARunbook(t *testing.T) {
	sections := map[string]string{}
	for _, section := range strings.Split("\n"+page(t, "alerts.md"), "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		if !regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`).MatchString(heading) {
			continue
		}
		if _, twice := sections[heading]; twice {
			t.Errorf("docs/alerts.md has two sections %s", heading)
		}
		sections[heading] = text
	}
	for _, r := range rule.Defaults() {
		if r.Runbook != "docs/alerts.md#"+r.Name {
			t.Errorf("the runbook of %s is %s", r.Name, r.Runbook)
		}
		text, there := sections[r.Name]
		if !there {
			t.Errorf("docs/alerts.md has no section %s", r.Name)
		}
		for _, part := range []string{"Means", "First", "Then", "False or silent", "Limit"} {
			if there && !strings.Contains(text, "\n**"+part+".** ") {
				t.Errorf("section %s of docs/alerts.md does not say: %s", r.Name, part)
			}
		}
		delete(sections, r.Name)
	}
	for heading := range sections {
		t.Errorf("docs/alerts.md has a section %s, and there is no such rule", heading)
	}
}

// TestTheTableOfDefaultRulesIsTheirTable compares the limits and times that people read with those that are judged.
func TestTheTableOfDefaultRulesIsTheirTable(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| \[([a-z_]+)\]\(#([a-z_]+)\) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$`)
	rows := row.FindAllStringSubmatch(page(t, "alerts.md"), -1)
	rules := rule.Defaults()
	if len(rows) != len(rules) {
		t.Fatalf("the table has %d rules, and there are %d", len(rows), len(rules))
	}
	for i, r := range rules {
		cells := rows[i]
		if cells[1] != r.Name || cells[2] != r.Name {
			t.Fatalf("row %d is of %s, and leads to %s; want %s: the order is that of the code", i+1, cells[1], cells[2], r.Name)
		}
		want := documentedLimits(r)
		for column, name := range []string{"warning", "severe", "emergency"} {
			got := cells[4+column]
			byFinding := want[column] == "none" && strings.HasPrefix(got, "*") && strings.HasSuffix(got, "*")
			if got != want[column] && !byFinding {
				t.Errorf("%s: the table says %q of %s, and the code %q", r.Name, got, name, want[column])
			}
		}
		of := string(r.Kind)
		if of == "" {
			of = "source"
		}
		if cells[3] != of || cells[7] != documentedTiming(r.Timing) {
			t.Errorf("%s: the table says of %q, for %q; the code %q, %q", r.Name, cells[3], cells[7], of, documentedTiming(r.Timing))
		}
		if r.Timing.KeepFiring != 5*time.Minute {
			t.Errorf("%s keeps firing for %s; docs/alerts.md says 5m of all", r.Name, r.Timing.KeepFiring)
		}
		if left := fmt.Sprintf("left below %v %% of the limit", 100*r.Limits.Leave); r.Limits.Leave != 0 && !strings.Contains(cells[8], left) {
			t.Errorf("%s: the table does not say %q", r.Name, left)
		}
	}
}

// documentedLimits are those of a rule for warning, severe and emergency, as the table writes them.
func documentedLimits(r rule.Rule) [3]string {
	page := dedup.DefaultLimits()
	switch r.Name {
	case "duplicate_rate":
		return [3]string{amount(page.DuplicateWarning, r.Unit), amount(page.DuplicateSevere, r.Unit), "above " + amount(page.DuplicateEmergency, r.Unit)}
	case "ack_latency":
		return [3]string{amount(page.LatencyWarning, r.Unit), "above " + amount(page.LatencySevere, r.Unit), "none"}
	case "watchdog":
		return [3]string{"always", "none", "none"}
	}
	var cells [3]string
	for i, limit := range []*float64{r.Limits.Warning, r.Limits.Severe, r.Limits.Emergency} {
		switch {
		case limit != nil:
			cells[i] = amount(*limit, r.Unit)
		case r.Disabled:
			cells[i] = "off"
		case i == 0 && r.Measure == "source_unreachable": // follows from the interval of the collector
			cells[i] = "3 intervals"
		default:
			cells[i] = "none"
		}
	}
	return cells
}

// amount writes a limit as the configuration takes it.
func amount(v float64, unit dedup.Unit) string {
	switch unit {
	case dedup.Ratio:
		return strconv.FormatFloat(100*v, 'g', 6, 64) + "%"
	case dedup.Seconds:
		return span(time.Duration(v * float64(time.Second)))
	default:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
}

// span writes a duration without the parts that are 0.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func documentedTiming(t rule.Timing) string {
	if t.Warning == t.Severe && t.Severe == t.Emergency {
		return span(t.Warning)
	}
	return span(t.Warning) + " / " + span(t.Severe) + " / " + span(t.Emergency)
}

// TestTheExamplesOfAlertsCanBePasted loads each example of the section alerts, and each limit that a runbook shows, with a small
// configuration around it.
func TestTheExamplesOfAlertsCanBePasted(t *testing.T) {
	t.Setenv("DINGTALK_URL", "https://oapi.dingtalk.com/robot/send?access_token=token")
	for _, name := range []string{"PAGER_URL", "SLACK_URL", "HEARTBEAT_URL"} {
		t.Setenv(name, "https://hooks.example.com/"+name)
	}
	for _, name := range []string{"PAGER_TOKEN", "PAGER_SECRET", "ALERTMANAGER_PASSWORD", "DINGTALK_SECRET", "MAIL_PASSWORD"} {
		t.Setenv(name, "a secret of some length")
	}
	text := page(t, "alerts.md")
	var examples []string
	for _, m := range regexp.MustCompile("(?s)\n```yaml\n(alerts:\n.*?)```").FindAllStringSubmatch(text, -1) {
		examples = append(examples, m[1])
	}
	if len(examples) < 10 {
		t.Errorf("only %d examples found", len(examples))
	}
	for _, m := range regexp.MustCompile("`(- \\{name: .*?\\})`").FindAllStringSubmatch(text, -1) {
		examples = append(examples, "alerts:\n  rules:\n    "+m[1]+"\n")
	}
	if len(examples) < 30 {
		t.Errorf("only %d examples found, with those of the runbooks", len(examples))
	}
	for _, example := range examples {
		file := filepath.Join(t.TempDir(), "dashboard.yaml")
		if err := os.WriteFile(file, []byte(around+example), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(file); err != nil {
			t.Errorf("%s\n%v", example, err)
		}
	}
}

// TestTheQueriesOfAlertsAskForSeriesThatThereAre: a query for a series that nobody writes never fires.
func TestTheQueriesOfAlertsAskForSeriesThatThereAre(t *testing.T) {
	stored := map[string]bool{}
	for _, m := range regexp.MustCompile("`(dedup_[a-z_]+)`").FindAllStringSubmatch(page(t, "metrics.md"), -1) {
		stored[m[1]] = true
	}
	for _, file := range []string{"alerts.md", "../config.example.yaml"} {
		asked := regexp.MustCompile(`\bdedup_[a-z_]*[a-z]`).FindAllString(page(t, file), -1)
		if len(asked) < 4 {
			t.Errorf("only %d series found in %s", len(asked), file)
		}
		for _, name := range asked {
			if !stored[name] && name != "dedup_outcomes_total" && name != "dedup_ack_seconds" && name != "dedup_work_seconds" { // those of consumers
				t.Errorf("%s names %s, which docs/metrics.md does not have", file, name)
			}
		}
	}
}

// TestTheEvidenceThatIsToldIsTheEvidence judges the examples of rates by the function that judges.
func TestTheEvidenceThatIsToldIsTheEvidence(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| ([0-9,]+) of ([0-9,]+) \| ([0-9.]+) % \| ([a-z]+)`).FindAllStringSubmatch(page(t, "alerts.md"), -1)
	if len(rows) < 5 {
		t.Errorf("only %d examples found", len(rows))
	}
	for _, r := range rows {
		var numbers [3]float64
		for i := range numbers {
			var err error
			if numbers[i], err = strconv.ParseFloat(strings.ReplaceAll(r[1+i], ",", ""), 64); err != nil {
				t.Fatal(err)
			}
		}
		hits, n := numbers[0], numbers[1]
		tier := rule.DuplicateTier(hits/n, n, dedup.DefaultLimits()).String()
		if tier != r[4] || math.Abs(100*hits/n-numbers[2]) > 0.005 {
			t.Errorf("%s of %s are %v %% and %s, and the page says %s %% and %s", r[1], r[2], 100*hits/n, tier, r[3], r[4])
		}
	}
}

// around is a configuration that lacks nothing but its alerts.
const around = `
brokers: [{name: main, management_url: "http://127.0.0.1:15672", username: watcher, password: watched}]
stores: [{name: orders, preset: redis-text-status, redis: {url: "redis://127.0.0.1:6379/0"}}]
pipelines: [{name: orders, queues: [orders], store: orders}]
`

// TestTheLinksOfAlertsLeadSomewhere follows the links to sections, of docs/alerts.md and from it to other pages.
func TestTheLinksOfAlertsLeadSomewhere(t *testing.T) {
	links := regexp.MustCompile(`\]\(([a-z-]+\.md)?(?:#([^)]*))?\)`).FindAllStringSubmatch(page(t, "alerts.md"), -1)
	if len(links) < 50 {
		t.Errorf("only %d links found", len(links))
	}
	known := map[string]map[string]bool{}
	for _, l := range links {
		name := l[1]
		if name == "" {
			name = "alerts.md"
		}
		if known[name] == nil {
			known[name] = anchors(page(t, name))
		}
		if l[2] != "" && !known[name][l[2]] {
			t.Errorf("%s has no section %s", name, l[2])
		}
	}
}

// anchors are the sections of a page, as links name them: small letters, without punctuation, with hyphens for spaces.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}

// TestEveryAddressOfAlertsIsInTheDocumentationOfTheAPI compares the routes of alerts with the headings of docs/api.md, with who may ask.
func TestEveryAddressOfAlertsIsInTheDocumentationOfTheAPI(t *testing.T) {
	doc := page(t, "api.md")
	headings := map[string]bool{}
	for _, r := range alert.New(alert.Deps{})(web.Site{}) {
		if r.Kind != web.APIKind {
			continue
		}
		address := r.Method + " " + r.Path
		section := regexp.MustCompile(`\n## ` + regexp.QuoteMeta(address) + `(\?\S*)?\n`).FindStringIndex(doc)
		if section == nil {
			t.Errorf("docs/api.md has no section %s", address)
			continue
		}
		headings[address] = true
		text, _, _ := strings.Cut(doc[section[1]:], "\n## ")
		if told := strings.Contains(text, "Role "+r.Needs.String()+"."); told != (r.Needs != auth.Viewer) {
			t.Errorf("%s needs the role %s: does its section say so? %v", address, r.Needs, told)
		}
	}
	if len(headings) < 8 {
		t.Errorf("only %d routes found", len(headings))
	}
	for _, m := range regexp.MustCompile(`(?m)^## ((?:GET|POST) /api/v1/(?:alerts|silences|rules)[^?\n]*)`).FindAllStringSubmatch(doc, -1) {
		if !headings[m[1]] {
			t.Errorf("docs/api.md has a section %s, and there is no such address", m[1])
		}
	}
}

// TestEveryMetricOfAlertsIsInTheDocumentation compares alerts_metrics.go with the section of docs/metrics.md.
func TestEveryMetricOfAlertsIsInTheDocumentation(t *testing.T) {
	code, err := os.ReadFile("server/metrics/alerts.go")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(page(t, "metrics.md"), "\n## Alerts\n")
	known := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\|[^|]*\\| `(dedup_[a-z_]+)` \\|[^|]*\\|[^|]*\\| ?(.*?) ?\\|$").FindAllStringSubmatch(section, -1) {
		known[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`desc\("(dedup_[a-z_]+)", ".*?"((?:, "[a-z]+")*)\)`).FindAllStringSubmatch(string(code), -1) {
		labels := strings.ReplaceAll(strings.TrimPrefix(m[2], ", "), `"`, "")
		if got, there := known[m[1]]; !there || got != labels {
			t.Errorf("docs/metrics.md gives %s the labels %q (listed: %v), and it has %q", m[1], got, there, labels)
		}
		delete(known, m[1])
	}
	for name := range known {
		t.Errorf("docs/metrics.md lists %s, which the code does not have", name)
	}
}

// TestTheLabelsOfAlertsAreNamedInFullWhereverTheyAreWritten: a silence, a route and a rule can be given each that there is. A route has tiers
// of its own, and a rule is chosen before its tier is known.
func TestTheLabelsOfAlertsAreNamedInFullWhereverTheyAreWritten(t *testing.T) {
	without := func(left ...string) []string {
		return slices.DeleteFunc(rule.Labels(), func(label string) bool { return slices.Contains(left, label) })
	}
	example, err := os.ReadFile(filepath.Join("..", "config.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	route := "# labels of the pipeline, or " + strings.Join(without(rule.LabelTier), ", ") + "\n"
	match := "# labels of the pipeline, or " + strings.Join(without(rule.LabelTier, rule.LabelRule, rule.LabelKind), ", ") + "\n"
	silence := "Give labels: `" + strings.Join(rule.Labels(), "`, `") + "`, or labels of your pipelines."
	alertmanager := "(the tier), `" + strings.Join(without(rule.LabelTier, rule.LabelRule), "`, `") + "`, and the labels of your pipelines"
	for _, where := range []struct {
		name, text string
		want       []string
	}{
		{"docs/alerts.md", page(t, "alerts.md"), []string{route, match, silence, alertmanager}},
		{"config.example.yaml", string(example), []string{route, match}},
	} {
		for _, want := range where.want {
			if !strings.Contains(where.text, want) {
				t.Errorf("%s does not say %q", where.name, strings.TrimSpace(want))
			}
		}
	}
}
