// Package internal_test holds the import rules of docs/architecture.md as a test.
package internal_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "dedup-dashboard/"

// allowed says which packages of this module a package may import. A package that is not listed fails the test, so
// that a new one is placed on purpose.
var allowed = map[string][]string{
	"cmd/dashboard":                    {"*"},
	"cmd/dashboard/check":              {"internal/alerts/rule", "internal/broker", "internal/broker/amqp", "internal/broker/log", "internal/collector", "internal/collector/topology", "internal/config", "internal/dedup", "internal/markers", "internal/markers/exports", "internal/markers/kinds", "internal/markers/sql/effect"},
	"cmd/playground":                   {"*"},
	"internal/config":                  {"internal/series", "internal/markers", "internal/markers/kinds", "internal/markers/sql/effect", "internal/markers/exports", "internal/broker", "internal/collector", "internal/alerts", "internal/alerts/dispatch", "internal/alerts/notify", "internal/alerts/rule", "internal/admin", "internal/auth", "internal/server", "internal/dedup", "internal/message", "internal/secret", "docs", "internal/admin/deadletter"},
	"internal/server/list":             {"internal/dedup", "web/templates"},
	"internal/server/show":             {"internal/alerts", "internal/alerts/cause", "internal/alerts/rule", "internal/dedup", "internal/message", "web/templates"},
	"internal/server/web":              {"internal/server/list", "internal/server/show", "internal/admin", "internal/alerts", "internal/auth", "internal/dedup", "web/templates", "internal/text", "internal/admin/marker"},
	"internal/server/letter":           {"internal/admin/preflight", "internal/admin/move", "internal/admin/jobs", "internal/admin/deadletter", "internal/admin", "internal/server/web", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "internal/message", "web/templates"},
	"internal/server/session":          {"internal/server/web", "internal/auth", "internal/dedup"},
	"internal/server/page/account":     {"internal/admin", "internal/server/session", "internal/server/web", "internal/server/show", "internal/auth", "internal/dedup", "web/templates"},
	"internal/server/page/alert":       {"internal/admin", "internal/alerts", "internal/server/web", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "internal/text", "web/templates", "docs", "internal/alerts/rule", "internal/admin/marker", "internal/admin/alerting"},
	"internal/server/page/audit":       {"internal/admin", "internal/server/web", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "internal/text", "web/templates"},
	"internal/server/page/chart":       {"internal/series", "internal/server/web", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "web/templates"},
	"internal/server/page/deadletter":  {"internal/admin/preflight", "internal/admin/jobs", "internal/admin/deadletter", "internal/admin/baseline", "internal/admin", "internal/server/web", "internal/server/letter", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "web/templates"},
	"internal/server/page/effects":     {"internal/server/web", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "web/templates"},
	"internal/server/page/guide":       {"internal/server/web", "internal/server/show", "internal/auth", "web/templates", "docs"},
	"internal/server/page/job":         {"internal/admin/preflight", "internal/admin/move", "internal/admin/jobs", "internal/admin/deadletter", "internal/admin", "internal/server/web", "internal/server/letter", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "web/templates"},
	"internal/server/page/marker":      {"internal/admin", "internal/server/web", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "web/templates", "internal/admin/marker"},
	"internal/server/page/measurement": {"internal/admin", "internal/server/web", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "web/templates", "internal/admin/measuring"},
	"internal/server/page/message":     {"internal/admin/move", "internal/admin/marker", "internal/admin/jobs", "internal/admin/deadletter", "internal/admin", "internal/server/web", "internal/server/letter", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "internal/message", "web/templates"},
	"internal/server/page/move":        {"internal/admin/preflight", "internal/admin/move", "internal/admin/jobs", "internal/admin/deadletter", "internal/admin", "internal/server/web", "internal/server/letter", "internal/server/list", "internal/server/show", "internal/auth", "internal/dedup", "web/templates"},
	"internal/server/page/overview":    {"internal/server/web", "internal/server/list", "internal/server/show", "internal/alerts", "internal/auth", "internal/dedup", "web/templates"},
	"internal/server/page/pipeline":    {"internal/admin/marker", "internal/alerts/rule", "internal/admin", "internal/server/web", "internal/server/show", "internal/alerts", "internal/auth", "internal/dedup", "web/templates"},
	"internal/server/api":              {"internal/admin", "internal/server/web", "internal/server/list", "internal/server/show", "internal/alerts", "internal/auth", "internal/dedup", "internal/message"},
	"internal/server/metrics":          {"internal/alerts", "internal/dedup", "internal/series", "internal/server/show"},
	"internal/server":                  {"internal/server/list", "internal/server/show", "internal/server/web", "internal/server/session", "internal/server/metrics", "internal/server/api", "internal/server/page/alert", "internal/series", "internal/alerts", "internal/admin", "internal/auth", "internal/dedup", "web/templates", "web/static", "internal/alerts/cause", "internal/alerts/rule", "internal/admin/marker", "internal/admin/preflight", "internal/admin/move", "internal/admin/jobs", "internal/admin/deadletter", "internal/admin/baseline", "internal/server/page/chart", "internal/server/page/effects"},
	"internal/collector":               {"internal/collector/consumer", "internal/collector/counter", "internal/collector/deadletter", "internal/collector/effect", "internal/collector/estimate", "internal/collector/event", "internal/collector/evidence", "internal/collector/figure", "internal/collector/finding", "internal/collector/progress", "internal/collector/queue", "internal/collector/rate", "internal/collector/records", "internal/collector/sample", "internal/collector/source", "internal/collector/topology", "internal/collector/window", "internal/dedup", "internal/secret", "internal/series", "internal/text"},
	"internal/collector/counter":       {"internal/collector/sample", "internal/collector/source", "internal/dedup", "internal/series"},
	"internal/collector/queue":         {"internal/collector/counter", "internal/collector/finding", "internal/collector/sample", "internal/collector/topology", "internal/dedup", "internal/series", "internal/text"},
	"internal/collector/progress":      {"internal/collector/finding", "internal/collector/sample", "internal/collector/source", "internal/dedup"},
	"internal/collector/consumer":      {"internal/collector/counter", "internal/collector/event", "internal/collector/figure", "internal/collector/finding", "internal/collector/sample", "internal/collector/topology", "internal/dedup", "internal/series", "internal/text"},
	"internal/collector/event":         {"internal/dedup"},
	"internal/collector/deadletter":    {"internal/collector/counter", "internal/collector/figure", "internal/collector/finding", "internal/collector/sample", "internal/collector/topology", "internal/dedup", "internal/message", "internal/series", "internal/text"},
	"internal/collector/effect":        {"internal/collector/event", "internal/collector/finding", "internal/collector/source", "internal/dedup", "internal/text"},
	"internal/collector/records":       {"internal/collector/event", "internal/dedup", "internal/text"},
	"internal/collector/estimate":      {"internal/dedup"},
	"internal/collector/figure":        {"internal/collector/rate", "internal/collector/sample", "internal/dedup", "internal/text"},
	"internal/collector/finding":       {"internal/dedup", "internal/message", "internal/text"},
	"internal/collector/rate":          {"internal/collector/estimate", "internal/collector/sample", "internal/dedup", "internal/text"},
	"internal/collector/sample":        {"internal/collector/estimate", "internal/dedup", "internal/text"},
	"internal/collector/source":        {"internal/collector/estimate", "internal/collector/sample", "internal/dedup", "internal/text"},
	"internal/collector/topology":      {"internal/dedup", "internal/text"},
	"internal/collector/session":       {"internal/dedup", "internal/message", "internal/collector/estimate"},
	"internal/collector/evidence":      {"internal/collector/deadletter", "internal/collector/sample", "internal/dedup"},
	"internal/collector/window":        {"internal/collector/estimate", "internal/collector/figure", "internal/collector/finding", "internal/collector/rate", "internal/collector/sample", "internal/collector/topology", "internal/dedup", "internal/text"},
	"internal/alerts":                  {"internal/alerts/cause", "internal/alerts/rule", "internal/text", "internal/dedup", "internal/series"},
	"internal/admin":                   {"internal/auth", "internal/dedup", "internal/mask", "internal/text", "internal/admin/requeue"},
	"internal/admin/requeue":           {"internal/dedup", "internal/message"},
	"internal/journal":                 {"internal/dedup", "internal/message", "internal/alerts", "internal/alerts/outbox", "internal/alerts/rule", "internal/admin", "internal/auth", "internal/secret", "internal/admin/marker", "internal/admin/move", "internal/admin/measuring", "internal/admin/jobs", "internal/admin/alerting"},
	"internal/alerts/cause":            {"internal/alerts/rule", "internal/dedup", "internal/text"},
	"internal/alerts/dispatch":         {"internal/alerts", "internal/alerts/rule", "internal/dedup"},
	"internal/alerts/rule":             {"internal/dedup", "internal/series"},
	"internal/alerts/outbox":           {"internal/alerts", "internal/alerts/rule"},
	"internal/alerts/ruletest":         {"internal/alerts", "internal/alerts/rule", "internal/dedup", "internal/series"},
	"internal/alerts/notify":           {"internal/alerts", "internal/alerts/rule", "internal/dedup", "internal/secret"},
	"internal/admin/alerting":          {"internal/admin", "internal/auth", "internal/dedup"},
	"internal/admin/baseline":          {"internal/admin", "internal/auth", "internal/dedup"},
	"internal/admin/mark":              {"internal/admin", "internal/auth", "internal/dedup"},
	"internal/admin/operation":         {"internal/admin"},
	"internal/admin/marker":            {"internal/admin", "internal/admin/operation", "internal/auth", "internal/dedup", "internal/message"},
	"internal/admin/measuring":         {"internal/admin", "internal/admin/operation", "internal/auth", "internal/dedup", "internal/mask"},
	"internal/admin/preflight":         {"internal/admin", "internal/dedup", "internal/message"},
	"internal/admin/deadletter":        {"internal/admin", "internal/admin/preflight", "internal/admin/requeue", "internal/auth", "internal/dedup", "internal/message", "internal/mask", "internal/text"},
	"internal/admin/move":              {"internal/admin", "internal/admin/operation", "internal/admin/deadletter", "internal/admin/preflight", "internal/auth", "internal/dedup", "internal/message", "internal/mask"},
	"internal/admin/jobs":              {"internal/admin", "internal/admin/operation", "internal/admin/deadletter", "internal/admin/move", "internal/admin/preflight", "internal/admin/requeue", "internal/auth", "internal/dedup", "internal/message", "internal/mask"},
	"internal/markers":                 {"internal/dedup", "internal/secret", "internal/markers/codec", "internal/markers/pace"},
	"internal/markers/sql":             {"internal/dedup", "internal/markers", "internal/markers/codec", "internal/markers/pace", "internal/markers/sql/dialect", "internal/markers/sql/digest", "internal/text"},
	"internal/markers/exports":         {"internal/dedup", "internal/outbound", "internal/secret", "internal/text"},
	"internal/broker":                  {"internal/dedup", "internal/outbound", "internal/secret", "internal/text"},
	"internal/broker/live":             {"internal/broker", "internal/dedup", "internal/outbound"},
	"internal/broker/amqp":             {"internal/broker", "internal/dedup", "internal/message", "internal/outbound"},
	"internal/broker/log":              {"internal/broker", "internal/broker/amqp", "internal/dedup"},
	"internal/broker/trace":            {"internal/broker", "internal/broker/amqp", "internal/broker/live", "internal/dedup", "internal/message", "internal/secret", "internal/text"},
	"internal/series":                  {"internal/dedup", "internal/secret"},
	"internal/auth":                    {"internal/secret"},
	"internal/dedup":                   {"internal/message"},
	"internal/message":                 {},
	"internal/text":                    {},
	"internal/outbound":                {},
	"internal/mask":                    {"internal/dedup", "internal/message", "internal/text"},
	"internal/secret":                  {},
	"web/templates":                    {"web/static"},
	"web/static":                       {},
	"docs":                             {},
	"internal":                         {},
	"lab/...":                          {"*"},
	"internal/markers/kinds":           {"internal/markers", "internal/markers/redis", "internal/markers/redis/hash", "internal/markers/redis/layout", "internal/markers/redis/lock", "internal/markers/sql", "internal/markers/sql/act"},
	"internal/markers/codec":           {"internal/dedup", "internal/text"},
	"internal/markers/pace":            {"internal/dedup", "internal/message"},
	"internal/markers/redis":           {"internal/dedup", "internal/markers", "internal/markers/codec", "internal/markers/pace", "internal/markers/redis/client", "internal/markers/redis/known", "internal/markers/redis/layout", "internal/markers/redis/events"},
	"internal/markers/redis/client":    {"internal/dedup", "internal/markers", "internal/markers/codec", "internal/markers/pace"},
	"internal/markers/redis/known":     {},
	"internal/markers/redis/layout":    {"internal/dedup", "internal/markers", "internal/markers/codec"},
	"internal/markers/redis/hash":      {"internal/dedup", "internal/markers", "internal/markers/codec", "internal/markers/redis/layout"},
	"internal/markers/redis/lock":      {"internal/dedup", "internal/markers", "internal/markers/codec", "internal/markers/redis/layout"},
	"internal/markers/redis/events":    {"internal/dedup", "internal/markers", "internal/markers/codec", "internal/markers/pace", "internal/markers/redis/client", "internal/markers/redis/layout"},
	"internal/markers/sql/act":         {"internal/dedup", "internal/markers", "internal/markers/codec", "internal/markers/pace", "internal/markers/sql", "internal/markers/sql/dialect", "internal/text"},
	"internal/markers/sql/dialect":     {"internal/dedup", "internal/markers", "internal/markers/codec", "internal/markers/pace", "internal/text"},
	"internal/markers/sql/digest":      {},
	"internal/markers/sql/effect":      {"internal/dedup", "internal/markers", "internal/markers/sql/dialect"},
}

// homes says where a library may be imported: moving off it is then the work of those packages alone.
var homes = map[string][]string{
	"github.com/labstack/echo":   {"internal/server"},
	"github.com/alexedwards/scs": {"internal/server/session"},
	"golang.org/x/time":          {"internal/server"},
	// The history names a type of it to hand its own compactor to the TSDB, and registers nothing; exports uses its client of the query API.
	"github.com/prometheus/client_golang": {"internal/server/metrics", "internal/series", "internal/markers/exports"},
	"github.com/a-h/templ":                {"web/templates", "internal/server", "internal/server/web"},
	"github.com/redis/go-redis":           {"internal/markers/redis", "internal/markers/redis/client", "internal/markers/redis/events"},
	"github.com/go-sql-driver/mysql":      {"internal/markers/sql/dialect"},
	"github.com/jackc/pgx":                {"internal/markers/sql/dialect"},
	"modernc.org/sqlite":                  {"internal/journal"},
	"github.com/rabbitmq/amqp091-go":      {"internal/broker/amqp", "internal/broker/log", "internal/broker/trace"},
	"github.com/prometheus/prometheus":    {"internal/series"},
	// Only their text format is read, never a registry.
	"github.com/prometheus/common":       {"internal/broker", "internal/markers/exports"},
	"github.com/prometheus/client_model": {"internal/broker", "internal/markers/exports"},
	"go.yaml.in/yaml":                    {"internal/config", "internal/alerts/ruletest"},
	"golang.org/x/crypto":                {"internal/auth"},
	"github.com/yuin/goldmark":           {"internal/server/page/guide"},
	"github.com/wneessen/go-mail":        {"internal/alerts/notify"},
}

// listed is what "go list -json" says of a package.
type listed struct {
	ImportPath string
	Name       string
	Standard   bool
	Imports    []string
	Deps       []string
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		rule, ok := ruleFor(name)
		if !ok {
			t.Errorf("package %s is not in the import table: place it in docs/architecture.md and here", name)
			continue
		}
		if slices.Contains(rule, "*") {
			continue
		}
		for _, imported := range p.Imports {
			checkImport(t, name, rule, imported)
		}
		for _, dep := range p.Deps {
			if inner, ok := strings.CutPrefix(dep, module); ok && (strings.HasPrefix(inner, "lab/") || strings.HasSuffix(inner, "test")) {
				t.Errorf("%s depends on %s: production code never reaches test code", name, inner)
			}
		}
	}
}

// TestProgramsStayFreeOfTestCode looks at the dashboard itself, which the table lets import everything.
func TestProgramsStayFreeOfTestCode(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != module+"cmd/dashboard" {
			continue
		}
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, module+"lab/") {
				t.Errorf("cmd/dashboard depends on %s", dep)
			}
		}
	}
}

// TestEachProgramBringsItsOwnTimeZones: an image may have none, and every named zone would be refused.
func TestEachProgramBringsItsOwnTimeZones(t *testing.T) {
	programs := 0
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, module+"cmd/") || p.Name != "main" {
			continue
		}
		programs++
		if !slices.Contains(p.Deps, "time/tzdata") {
			t.Errorf("%s does not hold the time zones: import time/tzdata", p.ImportPath)
		}
	}
	if programs != 2 {
		t.Errorf("%d programs, want the dashboard and the playground", programs)
	}
}

func checkImport(t *testing.T, name string, rule []string, imported string) {
	t.Helper()
	if inner, ok := strings.CutPrefix(imported, module); ok {
		if !slices.Contains(rule, inner) {
			t.Errorf("%s imports %s, which the import table does not allow", name, inner)
		}
		return
	}
	for library, at := range homes {
		if (imported == library || strings.HasPrefix(imported, library+"/")) && !slices.Contains(at, name) {
			t.Errorf("%s imports %s, whose home is %s", name, imported, strings.Join(at, " and "))
		}
	}
}

func ruleFor(name string) ([]string, bool) {
	if rule, ok := allowed[name]; ok {
		return rule, true
	}
	if strings.HasPrefix(name, "lab/") {
		return allowed["lab/..."], true
	}
	return nil, false
}

// packages lists the packages of this module with what their production files import.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Standard,Imports,Deps", "dedup-dashboard/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, exitText(err))
	}
	var all []listed
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

func exitText(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}
