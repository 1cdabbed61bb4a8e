package sql_test

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/lab/markerstest"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
)

const (
	goodMySQL    = "watch:hunter2@tcp(127.0.0.1:3306)/shop"
	goodPostgres = "postgres://watch:hunter2@127.0.0.1:5432/shop"
)

func sqlConfig(preset string) markers.Config {
	c, _ := markers.Preset(preset)
	c.Name = "payments"
	c.SQL = markers.SQL{Driver: "mysql", DSN: secret.New(goodMySQL)}
	if preset == "sql-state-machine" {
		c.Terminal, c.Transitions = []string{"PAID"}, map[string][]string{"UNPAID": {"PAID"}}
	}
	return c
}

func TestTheSQLPresetsAreSoundWithAnAddress(t *testing.T) {
	for _, preset := range []string{"sql-status-code", "sql-status-name", "sql-unique-row", "sql-state-machine"} {
		if err := kinds.Validate(sqlConfig(preset)); err != nil {
			t.Errorf("%s: %v", preset, err)
		}
	}
}

func TestEachProblemOfATableIsNamedWithItsPath(t *testing.T) {
	cases := []struct {
		name, preset, path, words string
		spoil                     func(*markers.Config)
	}{
		{"an unknown driver", "sql-status-code", "sql.driver", "mysql or postgres", func(c *markers.Config) { c.SQL.Driver = "oracle" }},
		{"no DSN", "sql-status-code", "sql.dsn", "is missing", func(c *markers.Config) { c.SQL.DSN = secret.Secret{} }},
		{"a bad DSN of MySQL", "sql-status-code", "sql.dsn", "is not a MySQL DSN", func(c *markers.Config) { c.SQL.DSN = secret.New("watch:hunter2@nowhere") }},
		{"a bad DSN of PostgreSQL", "sql-status-code", "sql.dsn", "is not a PostgreSQL DSN", func(c *markers.Config) {
			c.SQL = markers.SQL{Driver: "postgres", DSN: secret.New("watch:hunter2@nowhere")}
		}},
		{"an acting account of another driver", "sql-status-code", "act.sql.driver", "one table", func(c *markers.Config) {
			c.Act.SQL = markers.SQL{Driver: "postgres", DSN: secret.New(goodPostgres)}
		}},
		{"an acting account of another database", "sql-status-code", "act.sql.dsn", `names database "staging" and sql.dsn names "shop"`, func(c *markers.Config) {
			c.Act.SQL.DSN = secret.New("mover:hunter2@tcp(127.0.0.1:3306)/staging")
		}},
		{"an acting account of another database of PostgreSQL", "sql-status-code", "act.sql.dsn", `names database "mover" and sql.dsn names "shop"`, func(c *markers.Config) {
			c.SQL = markers.SQL{Driver: "postgres", DSN: secret.New(goodPostgres)}
			c.Act.SQL.DSN = secret.New("postgres://mover:hunter2@127.0.0.1:5432/")
		}},
		{"a time zone that is none", "sql-status-code", "sql.dsn", "time_zone", func(c *markers.Config) {
			c.SQL.DSN = secret.New(goodMySQL + "?time_zone=%27x%27%2Bsleep%281%29")
		}},
		{"rows that are neither", "sql-status-code", "rows", "use markers", func(c *markers.Config) { c.Rows = "business" }},
		{"rows that are taken again sometimes", "sql-status-code", "retakes", "use never", func(c *markers.Config) { c.Retakes = "sometimes" }},
		{"failed rows that are dropped", "sql-status-code", "on_failed", "use ack or nack or run", func(c *markers.Config) { c.OnFailed = "drop" }},
		{"acks of a kind that is none", "sql-status-code", "acks", "use each or batch", func(c *markers.Config) { c.Acks = "every" }},
		{"messages for which no table is asked", "sql-status-code", "unasked", "is for Redis", func(c *markers.Config) { c.Unasked = true }},
		{"failed rows that are and are not taken again", "sql-status-name", "on_failed", "leave one of them out", func(c *markers.Config) { c.OnFailed, c.Retakes = "run", "never" }},
		{"no table", "sql-status-code", "table", "is missing", func(c *markers.Config) { c.Table = "" }},
		{"SQL in a table's name", "sql-status-code", "table", "without quotes", func(c *markers.Config) { c.Table = "m; DROP TABLE m" }},
		{"quotes in a schema", "sql-status-code", "table", "without quotes", func(c *markers.Config) { c.Table = "`shop`.m" }},
		{"no database anywhere", "sql-status-code", "table", "names none", func(c *markers.Config) { c.SQL.DSN = secret.New("watch:hunter2@tcp(127.0.0.1:3306)/") }},
		{"no id", "sql-status-code", "columns.id", "is missing", func(c *markers.Config) { c.Columns.ID = nil }},
		{"SQL in a column", "sql-status-code", "columns.status", "without quotes", func(c *markers.Config) { c.Columns.Status = "status` = 0 --" }},
		{"one column for two things", "sql-status-code", "columns.status", "also columns.id", func(c *markers.Config) { c.Columns.Status = "message_id" }},
		{"a value of two states", "sql-status-code", "states.failed", "also a value of", func(c *markers.Config) { c.States[dedup.Failed] = []string{"1"} }},
		{"a state that is none", "sql-status-code", "states", "is not a state", func(c *markers.Config) { c.States["finished"] = []string{"7"} }},
		{"states without a status", "sql-unique-row", "states", "without columns.status", func(c *markers.Config) { c.States = map[dedup.State][]string{dedup.Done: {"1"}} }},
		{"a give-up without attempts", "sql-status-code", "columns.attempts", "is missing", func(c *markers.Config) { c.Retry.GiveUp = 3 }},
		{"no terminal status", "sql-state-machine", "terminal", "is empty", func(c *markers.Config) { c.Terminal = nil }},
		{"no transitions", "sql-state-machine", "transitions", "is empty", func(c *markers.Config) { c.Transitions = nil }},
		{"a terminal status that goes on", "sql-state-machine", "terminal", "leads nowhere", func(c *markers.Config) { c.Transitions["PAID"] = []string{"UNPAID"} }},
		{"a status without a way out", "sql-state-machine", "transitions", "leads nowhere", func(c *markers.Config) { c.Transitions["UNPAID"] = []string{"PAID", "LOST"} }},
		{"no limit for stuck rows", "sql-state-machine", "stuck_after", "above zero", func(c *markers.Config) { c.StuckAfter = 0 }},
		{"states beside transitions", "sql-state-machine", "states", "one or the other", func(c *markers.Config) { c.States = map[dedup.State][]string{dedup.Done: {"PAID"}} }},
		{"too many rows at once", "sql-status-code", "sweep.count", "20000", func(c *markers.Config) { c.Sweep.Count = 50_000 }},
		{"a pattern of Redis keys", "sql-status-code", "match", "is for Redis", func(c *markers.Config) { c.Match = "msg:*" }},
		{"no answer to a hit", "sql-status-code", "on_inflight", "ack or nack", func(c *markers.Config) { c.OnInFlight = "" }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := sqlConfig(c.preset)
			c.spoil(&cfg)
			err := kinds.Validate(cfg)
			if err == nil || !strings.Contains(err.Error(), c.path+": ") || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v, want %s with %q", err, c.path, c.words)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the DSN prints: %v", err)
			}
		})
	}
}

func TestYAMLDescribesATable(t *testing.T) {
	c := parsed(t, `
name: log
preset: sql-status-code
sql: {driver: postgres, dsn: "`+goodPostgres+`"}
table: public.message_process_log
columns: {id: message_id, status: process_status, created: process_time, updated: "", expires: expire_time, auto_increment: ""}
transactional: true
rows: markers
ttl: {done: 24h}
`)
	if err := kinds.Validate(c); err != nil {
		t.Fatal(err)
	}
	if len(c.Columns.ID) != 1 || c.Columns.Updated != "" || c.Columns.BusinessKey != "business_key" || c.Rows != "markers" || c.TTL.Done != 24*time.Hour || c.Sweep.Count != 5000 {
		t.Errorf("config %+v", c)
	}
	c = parsed(t, `
name: stock
preset: sql-status-name
sql: {driver: mysql, dsn: "`+goodMySQL+`"}
table: InventoryLog
columns: {id: [order_no, product_id], business_key: order_no}
`)
	if err := kinds.Validate(c); err != nil || len(c.Columns.ID) != 2 {
		t.Errorf("%v: %+v", err, c)
	}
}

func TestTwoStoresOfOneTableOverlap(t *testing.T) {
	a, b := sqlConfig("sql-status-code"), sqlConfig("sql-status-code")
	b.Name, b.SQL.DSN, b.Table = "other", secret.New("root:hunter2@tcp(localhost:3306)/mysql"), "shop.message_dedup"
	if _, open := kinds.Resolve([]markers.Config{a, b}); len(open) != 1 || !strings.Contains(open[0].Error(), "payments and other") {
		t.Errorf("overlaps %v", open)
	}
	b.Table = "message_dedup"
	if _, open := kinds.Resolve([]markers.Config{a, b}); len(open) != 0 {
		t.Errorf("overlaps %v", open)
	}
}

func TestATableOfPostgreSQLIsTheSameWithAndWithoutItsSchema(t *testing.T) {
	for name, c := range map[string]struct {
		params, table string
		overlap       bool
	}{
		"the usual schema":                     {"", "public.message_dedup", true},
		"another schema":                       {"", "archive.message_dedup", false},
		"a schema of the DSN":                  {"?search_path=archive", "archive.message_dedup", true},
		"the usual schema and one of the DSN":  {"?search_path=archive", "public.message_dedup", false},
		"the first of several and with blanks": {"?search_path=%20%22archive%22%2C%20public", "archive.message_dedup", true},
		"one of the DSN and none":              {"?search_path=archive", "message_dedup", false},
	} {
		a, b := sqlConfig("sql-status-code"), sqlConfig("sql-status-code")
		a.SQL = markers.SQL{Driver: "postgres", DSN: secret.New(goodPostgres + c.params)}
		b.Name, b.SQL, b.Table = "other", markers.SQL{Driver: "postgres", DSN: secret.New(goodPostgres)}, c.table
		if _, open := kinds.Resolve([]markers.Config{a, b}); (len(open) == 1) != c.overlap {
			t.Errorf("%s: overlaps %v", name, open)
		}
	}
}

func TestOneTableWithItsDatabaseMayBeReachedFromAnyDatabase(t *testing.T) {
	c := sqlConfig("sql-status-code")
	c.Table, c.Act.SQL.DSN = "shop.message_dedup", secret.New("mover:hunter2@tcp(127.0.0.1:3306)/")
	if err := kinds.Validate(c); err != nil {
		t.Error(err)
	}
}

func TestWhatIsSaidOfRowsIsNotSaidOfKeys(t *testing.T) {
	c, _ := markers.Preset("redis-text-status")
	c.Name, c.Redis.URL, c.Rows, c.Retakes = "orders", secret.New("redis://127.0.0.1:6379/0"), "markers", "never"
	if err := kinds.Validate(c); err == nil || !strings.Contains(err.Error(), "rows: is for kind sql-table") || !strings.Contains(err.Error(), "retakes: is for kind sql-table") {
		t.Errorf("error %v", err)
	}
}

func parsed(t *testing.T, text string) markers.Config {
	t.Helper()
	c, err := markerstest.Decode(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
