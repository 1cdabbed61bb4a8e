package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/mask"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server"
)

const minimal = `
brokers:
  - {name: main, management_url: "http://127.0.0.1:15672", username: watcher, password: hunter2}
stores:
  - {name: orders, preset: redis-text-status, redis: {url: "redis://127.0.0.1:6379/0"}}
pipelines:
  - {name: orders, queues: [orders], store: orders}
`

func TestAMinimalFileIsFilledWithDefaults(t *testing.T) {
	cfg, err := Parse("test.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	p := cfg.Pipelines[0]
	if p.Broker != "main" || p.Vhost != "/" || p.IDFrom != "message_id" || !p.DiscoverDeadLetters || p.ReportedStore != "orders" {
		t.Errorf("pipeline is %+v", p)
	}
	if p.Limits.DuplicateWarning != 0.01 || p.Limits.Window != 15*time.Minute || p.MaxProcessing != 30*time.Second {
		t.Errorf("limits are %+v, max_processing %v", p.Limits, p.MaxProcessing)
	}
	if cfg.Server.Listen != "127.0.0.1:8080" || cfg.DataDir != "data" || cfg.Collector.Interval != 15*time.Second {
		t.Errorf("server %+v, data_dir %q, collector %+v", cfg.Server, cfg.DataDir, cfg.Collector)
	}
}

func TestEveryProblemIsReportedAtItsLineWithARemedy(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"malformed YAML", "server: {listen: [", "test.yaml:1: "},
		{"an unknown key", minimal + "\ncolector: {interval: 5s}", "test.yaml:9: colector: unknown key"},
		{"an unknown key in a list", minimal + "  - {name: b, queues: [b], sotre: orders}", "test.yaml:8: pipelines[1].sotre: unknown key"},
		{"a duplicate name", minimal + "  - {name: orders, queues: [b]}", `test.yaml:8: pipelines[1].name: "orders" is already the name of entry [0]`},
		{"a key that stands twice", minimal + "\nserver: {read_only: true}\nserver: {}", "already defined"},
		{"a name with capitals", minimal + "  - {name: Orders, queues: [b]}", `"Orders" is not a name`},
		{"a store that does not exist", minimal + "  - {name: b, queues: [b], store: nowhere}", `pipelines[1].store: no store is called "nowhere"`},
		{"a broker that does not exist", minimal + "  - {name: b, queues: [b], broker: nowhere}", `pipelines[1].broker: no broker is called "nowhere"`},
		{"no queues", minimal + "  - {name: b}", "pipelines[1].queues: must name at least one queue"},
		{"a limit without a unit", minimal + "alerts: {limits: {duplicate_rate: {warning: 3}}}", `test.yaml:8: alerts.limits.duplicate_rate.warning: "3" is not a percentage`},
		{"a span without a unit", minimal + "  - {name: b, queues: [b], max_processing: 30}", `test.yaml:8: pipelines[1].max_processing: "30" is not a span of time`},
		{"a span of Go's own type without a unit", minimal + "server: {session_idle: soon}", "test.yaml:8: server.session_idle: must be a span of time with its unit"},
		{"a share without a unit", strings.Replace(minimal, "redis-text-status,", "redis-text-status, sweep: {duty: 5},", 1), "test.yaml:5: stores[0].sweep.duty: is not a percentage"},
		{"text where a list belongs", minimal + "auth: {tokens: hunter3}", "test.yaml:8: auth.tokens: must be a list"},
		{"a list where text belongs", minimal + "server: {listen: [a]}", "test.yaml:8: server.listen: must be text"},
		{"a list where a group of keys belongs", "- hunter3", "test.yaml:1: must be a group of keys"},
		{"limits that do not rise", minimal + "alerts: {limits: {duplicate_rate: {warning: 5%}}}", "limits must rise"},
		{"a window that is not shown", minimal + "alerts: {limits: {window: 20m}}", "must be one of 5m, 15m, 1h and 24h"},
		{"an id from nowhere", minimal + "  - {name: b, queues: [b], id: {from: body}}", "says no place"},
		{"an environment variable that is not set", strings.Replace(minimal, "hunter2", "{env: SURELY_NOT_SET}", 1), "test.yaml:3: brokers[0].password: environment variable SURELY_NOT_SET is not set"},
		{"a secret written in a third way", strings.Replace(minimal, "hunter2", "{vault: hunter3}", 1), "must be a value, {env: NAME} or {file: PATH}"},
		{"a management URL without scheme", strings.Replace(minimal, "http://127.0.0.1:15672", "127.0.0.1:15672", 1), "brokers[0].management_url"},
		{"an unknown preset", strings.Replace(minimal, "redis-text-status", "redis-magic", 1), "stores[0].preset"},
		{"an address beyond loopback", minimal + "server: {listen: \"0.0.0.0:8080\"}", "test.yaml:8: server.listen"},
		{"two stores that claim the same keys", strings.Replace(minimal, "pipelines:", `  - {name: twin, preset: redis-text-status, redis: {url: "redis://localhost/0"}}`+"\npipelines:", 1),
			`test.yaml:6: stores[1].match: stores orders and twin: match "msg:*" and match "msg:*" find the same keys of the same database, and neither is more specific: change one, or exclude from one store what belongs to the other (stores[0].match is line 5)`},
		{"a preset without a pattern of its own", strings.Replace(minimal, "redis-text-status", "redis-presence", 1), "test.yaml:5: stores[0].match: is missing"},
		{"a second document", minimal + "\n---\nserver: {}", "after its YAML document"},
		{"a second document that is broken", minimal + "\n---\n{[", "after its YAML document"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("test.yaml", []byte(tt.text))
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error is %v (%T), want Problems", err, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is\n%v\nwant it to contain %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestTheMoreSpecificStoreTakesItsKeysWithoutAWord(t *testing.T) {
	cfg, err := Parse("test.yaml", []byte(strings.Replace(minimal, "pipelines:", `  - {name: eu, preset: redis-flag, match: "msg:eu:*", id: "", redis: {url: "redis://localhost/0"}}`+"\npipelines:", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if y := cfg.Stores[0].Yields; len(y) != 1 || y[0].To != "eu" || len(cfg.Stores[1].Yields) != 0 {
		t.Errorf("yields: %+v", y)
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	_, err := Parse("test.yaml", []byte(strings.Replace(minimal, "hunter2", "{env: SURELY_NOT_SET}", 1)+
		"  - {name: B, queues: [], store: nowhere, limits: {window: 3m}}\nserver: {listen: nonsense}\nextra: 1\n"))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) < 7 {
		t.Fatalf("got %d problems, want 7 or more:\n%v", len(problems), err)
	}
	for i := 1; i < len(problems); i++ {
		if problems[i].Line < problems[i-1].Line {
			t.Errorf("problems are not in the order of the file:\n%v", err)
		}
	}
}

func TestAValueThatCannotBeReadHidesNoOtherProblem(t *testing.T) {
	_, err := Parse("test.yaml", []byte(minimal+`  - {name: b, queues: [b], max_processing: 30, limits: {duplicate_rate: {severe: 5}}}
history: {retention: 5, max_size: 5}
collector: {interval: 5}
colector: {}
`))
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	for _, want := range []string{
		"test.yaml:8: pipelines[1].max_processing: ", "test.yaml:8: pipelines[1].limits.duplicate_rate.severe: ", "test.yaml:9: history.retention: ",
		"test.yaml:9: history.max_size: ", "test.yaml:10: collector.interval: ", "test.yaml:11: colector: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no problem begins with %q:\n%v", want, err)
		}
	}
}

func TestSecretsComeFromEnvironmentAndFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEST_BROKER_PASSWORD", "from the environment")
	for ref, want := range map[string]string{
		"{env: TEST_BROKER_PASSWORD}": "from the environment",
		"{file: " + path + "}":        "from a file",
		"'$literal{}'":                "$literal{}",
	} {
		cfg, err := Parse("test.yaml", []byte(strings.Replace(minimal, "hunter2", ref, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Brokers[0].Password.Reveal(); got != want {
			t.Errorf("%s gives %q, want %q", ref, got, want)
		}
		if printed := fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg.Brokers[0]); strings.Contains(printed, want) {
			t.Errorf("the secret of %s prints", ref)
		}
	}
}

const example = "../../config.example.yaml"

// exampleEnvironment sets what the example refers to.
func exampleEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{"RABBITMQ_PASSWORD", "RABBITMQ_MOVER_PASSWORD", "RABBITMQ_MEASURER_PASSWORD", "RABBITMQ_LOG_PASSWORD", "PAGER_TOKEN", "PAGER_SECRET", "DINGTALK_SECRET", "MAIL_PASSWORD"} {
		t.Setenv(name, "x")
	}
	for _, name := range []string{"PAGER_URL", "SLACK_URL", "DINGTALK_URL", "HEARTBEAT_URL"} {
		t.Setenv(name, "https://hooks.example.com/T0/x?access_token=x")
	}
	t.Setenv("ORDERS_REDIS_ADMIN", "redis://admin:x@127.0.0.1:6379/0")
	t.Setenv("DASHBOARD_TOKEN", strings.Repeat("0123456789abcdef", 4))
	t.Setenv("ALICE_PASSWORD_HASH", "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$QWxsIHRoaXMgaXMganVzdCBhIHBsYWNlaG9sZGVyISE")
}

func TestTheExampleLoads(t *testing.T) {
	exampleEnvironment(t)
	if _, err := Load(example); err != nil {
		t.Fatal(err)
	}
}

// TestTheExampleShowsTheDefaults keeps the promise at the head of the example, for the sections that have defaults of their own.
func TestTheExampleShowsTheDefaults(t *testing.T) {
	exampleEnvironment(t)
	shown, err := Load(example)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Parse("test.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	defaults := cmp.Options{cmpopts.EquateEmpty()}
	if d := cmp.Diff(server.DefaultConfig(), shown.Server, defaults); d != "" {
		t.Errorf("server (-default +example):\n%s", d)
	}
	if d := cmp.Diff(plain.Collector, shown.Collector, defaults); d != "" {
		t.Errorf("collector (-default +example):\n%s", d)
	}
	if h := shown.History; h.Retention != series.DefaultRetention || h.MaxBytes != series.DefaultMaxBytes {
		t.Errorf("history: the example shows %v and %d bytes, the defaults are %v and %d", h.Retention, h.MaxBytes, series.DefaultRetention, int64(series.DefaultMaxBytes))
	}
	if d := cmp.Diff(mask.Words(), shown.Admin.Mask); d != "" {
		t.Errorf("admin.mask (-default +example):\n%s", d)
	}
	if d := cmp.Diff(plain.Pipelines[0].Limits, shown.Pipelines[1].Limits); d != "" {
		t.Errorf("alerts.limits (-default +example):\n%s", d)
	}
}

// TestTheExampleShowsWhatItsPresetsFillIn: where the example writes out what a preset fills in, leaving it out changes nothing.
func TestTheExampleShowsWhatItsPresetsFillIn(t *testing.T) {
	exampleEnvironment(t)
	shown, err := Load(example)
	if err != nil {
		t.Fatal(err)
	}
	const redis = `redis: {url: "redis://127.0.0.1:6379/0"}`
	const mysql = `sql: {driver: mysql, dsn: "u:p@tcp(127.0.0.1:3306)/shop"}`
	for name, where := range map[string]string{"orders": redis, "payments": redis, "points": mysql} {
		i := slices.IndexFunc(shown.Stores, func(s markers.Config) bool { return s.Name == name })
		if i < 0 {
			t.Fatalf("the example has no store %s", name)
		}
		text := fmt.Sprintf("brokers: [{name: main, management_url: \"http://127.0.0.1:15672\", username: w, password: p}]\n"+
			"stores: [{name: %s, preset: %s, %s}]\npipelines: [{name: a, queues: [a], store: %[1]s}]\n", name, shown.Stores[i].Preset, where)
		plain, err := Parse("test.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		// InsertSettle follows from the pipelines of the store where it is left out.
		connections := cmpopts.IgnoreFields(markers.Config{}, "Redis", "SQL", "Act", "InsertSettle")
		if d := cmp.Diff(plain.Stores[0], shown.Stores[i], connections, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("store %s (-preset +example):\n%s", name, d)
		}
	}
}

func TestTheExampleDocumentsEveryKey(t *testing.T) {
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	keysOf(tree, "", have)
	for _, key := range keysOfType(reflect.TypeFor[file](), "") {
		if !have[key] {
			t.Errorf("config.example.yaml does not show %s", key)
		}
	}
}

// keysOf gathers the key paths of a YAML tree, list positions left out.
func keysOf(v any, path string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			into[join(path, k)] = true
			keysOf(inner, join(path, k), into)
		}
	case []any:
		for _, inner := range v {
			keysOf(inner, path, into)
		}
	}
}

// keysOfType gathers the key paths that a type decodes.
func keysOfType(t reflect.Type, path string) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return keysOfType(t.Elem(), path)
	case reflect.Struct:
	default:
		return nil
	}
	var keys []string
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			keys = append(keys, keysOfType(field.Type, path)...)
		case name != "" && name != "-":
			keys = append(keys, join(path, name))
			keys = append(keys, keysOfType(field.Type, join(path, name))...)
		}
	}
	return keys
}

func FuzzParse(f *testing.F) {
	f.Add(minimal)
	f.Add("server: {listen: [")
	f.Add("pipelines: [{name: a, dead_letter_queues: 3}]")
	f.Add("brokers: [null]\nstores: [{states: {a: b}}]")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse("fuzz.yaml", []byte(text))
		var problems Problems
		if err != nil && !errors.As(err, &problems) {
			t.Errorf("error is %v (%T), want Problems", err, err)
		}
	})
}
