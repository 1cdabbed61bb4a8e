package config

import (
	"errors"
	"strings"
	"testing"
)

// TestOneMistakeIsOneProblem makes one mistake in a file that is right otherwise.
func TestOneMistakeIsOneProblem(t *testing.T) {
	const sqlStore = `
brokers:
  - {name: main, management_url: "http://127.0.0.1:15672", username: watcher, password: hunter2}
stores:
  - {name: payments, preset: sql-status-code, sql: {driver: mysql, dsn: "u:p@tcp(127.0.0.1:3306)/shop"}}
pipelines:
  - {name: payments, queues: [payments], store: payments}
`
	for _, tt := range []struct{ name, text, old, new, want string }{
		{"a wrong preset", minimal, "redis-text-status", "redis-text-staus", `stores[0].preset: "redis-text-staus" is not known: use one of redis-json-status,`},
		{"a wrong preset of a table", sqlStore, "sql-status-code", "sql-status", `stores[0].preset: "sql-status" is not known`},
		{"a wrong preset with other fields of its kind", minimal, "redis-text-status,", `redis-magic, match: "a:*", ttl: {processing: 30s, done: 1h},`, `stores[0].preset: "redis-magic" is not known: use one of`},
		{"no preset and no kind", minimal, "preset: redis-text-status, ", "", "stores[0].preset: is missing"},
		{"a wrong kind", minimal, "redis-text-status,", "redis-text-status, kind: redis-set,", `stores[0].kind: "redis-set" is not known`},
		{"an unset variable in a broker", minimal, "hunter2", "{env: SURELY_NOT_SET}", "brokers[0].password: environment variable SURELY_NOT_SET is not set"},
		{"an unset variable in an account that acts", minimal, "hunter2", `hunter2, act: {amqp_url: "amqp://127.0.0.1/", username: mover, password: {env: SURELY_NOT_SET}}`, "brokers[0].act.password: environment variable SURELY_NOT_SET is not set"},
		{"an unset variable in a store", minimal, `"redis://127.0.0.1:6379/0"`, "{env: SURELY_NOT_SET}", "stores[0].redis.url: environment variable SURELY_NOT_SET is not set"},
		{"an unset variable in a table's store", sqlStore, `"u:p@tcp(127.0.0.1:3306)/shop"`, "{env: SURELY_NOT_SET}", "stores[0].sql.dsn: environment variable SURELY_NOT_SET is not set"},
		{"an unset variable in a user", minimal, "pipelines:", "auth: {users: [{name: alice, role: admin, password_hash: {env: SURELY_NOT_SET}}]}\npipelines:", "auth.users[0].password_hash: environment variable SURELY_NOT_SET is not set"},
		{"an unset variable in a token", minimal, "pipelines:", "auth: {tokens: [{name: grafana, role: viewer, token: {env: SURELY_NOT_SET}}]}\npipelines:", "auth.tokens[0].token: environment variable SURELY_NOT_SET is not set"},
		{"limits of all pipelines that do not rise", minimal, "pipelines:", "alerts: {limits: {duplicate_rate: {warning: 5%}}}\npipelines:", "alerts.limits.duplicate_rate: limits must rise"},
		{"a wrong window of all pipelines", minimal, "pipelines:", "alerts: {limits: {window: 20m}}\npipelines:", "alerts.limits.window: must be one of"},
		{"text where the queues belong", minimal, "queues: [orders]", "queues: orders", "pipelines[0].queues: must be a list"},
		{"text where redis belongs", minimal, `redis: {url: "redis://127.0.0.1:6379/0"}`, `redis: "redis://127.0.0.1:6379/0"`, "stores[0].redis: must be a group of keys"},
		{"a group where the name belongs", minimal, "name: main,", "name: {},", "brokers[0].name: must be text"},
		{"a key that is misspelt", minimal, "queues: [orders]", "queue: [orders]", "pipelines[0].queue: unknown key; did you mean queues?"},
		{"a key of a broker that is misspelt", minimal, "management_url:", "managment_url:", "brokers[0].managment_url: unknown key; did you mean management_url?"},
		{"a section that is misspelt", minimal, "brokers:", "broker:", "broker: unknown key; did you mean brokers?"},
		{"the stores misspelt", minimal, "stores:", "store:", "store: unknown key; did you mean stores?"},
		{"no brokers", minimal, `brokers:
  - {name: main, management_url: "http://127.0.0.1:15672", username: watcher, password: hunter2}`, "", "brokers: is missing"},
		{"a span without a unit", minimal, "pipelines:", "collector: {interval: 5}\npipelines:", "collector.interval: must be a span of time"},
		{"a reported store that does not exist", minimal, "store: orders}", "store: orders, reported: {store: nowhere}}", `pipelines[0].reported.store: no store is called "nowhere"`},
		{"counters in a store and at an endpoint", minimal, "store: orders}", "store: orders, reported: {store: orders, prometheus: {url: 'http://a/metrics'}}}", `pipelines[0].reported: names a store and Prometheus`},
		{"an endpoint that is no address", minimal, "store: orders}", "store: orders, reported: {prometheus: {url: [orders-1:9102]}}}", `pipelines[0].reported.prometheus.url[0]: must be http:// or https://`},
		{"an endpoint that stands twice", minimal, "store: orders}", "store: orders, reported: {prometheus: {url: ['http://a/metrics', 'http://a/metrics']}}}", `pipelines[0].reported.prometheus.url[1]: stands twice`},
		{"no endpoint", minimal, "store: orders}", "store: orders, reported: {prometheus: {metric: a}}}", `pipelines[0].reported.prometheus.url: is missing`},
		{"an effect check that is several statements", sqlStore, "store: payments}", "store: payments, effect_check: {store: payments, query: 'SELECT a FROM b; DROP TABLE b'}}", "pipelines[0].effect_check.query: must be one statement"},
		{"an effect check that writes", sqlStore, "store: payments}", "store: payments, effect_check: {store: payments, query: DELETE FROM orders}}", "pipelines[0].effect_check.query: must begin with SELECT or WITH"},
		{"an effect check without a query", sqlStore, "store: payments}", "store: payments, effect_check: {store: payments}}", "pipelines[0].effect_check.query: is missing"},
		{"an effect check without a connection", sqlStore, "store: payments}", "store: payments, effect_check: {query: SELECT a FROM b}}", "pipelines[0].effect_check.sql: is missing"},
		{"an effect check of a Redis store", minimal, "store: orders}", "store: orders, effect_check: {store: orders, query: SELECT a FROM b}}", `pipelines[0].effect_check.store: "orders" keeps no table`},
		{"an effect check of no store", sqlStore, "store: payments}", "store: payments, effect_check: {store: nowhere, query: SELECT a FROM b}}", `pipelines[0].effect_check.store: no store is called "nowhere"`},
		{"an effect check of two connections", sqlStore, "store: payments}", `store: payments, effect_check: {store: payments, sql: {driver: mysql, dsn: "u:p@tcp(h:1)/s"}, query: SELECT a FROM b}}`, "pipelines[0].effect_check.store: stands beside sql"},
		{"an effect check that never rests", sqlStore, "store: payments}", "store: payments, effect_check: {store: payments, query: SELECT a FROM b, every: 5s, timeout: 2s}}", "pipelines[0].effect_check.every: 5s is outside 1m to 24h"},
		{"an effect check with an unset variable", sqlStore, "store: payments}", "store: payments, effect_check: {sql: {driver: mysql, dsn: {env: SURELY_NOT_SET}}, query: SELECT a FROM b}}", "pipelines[0].effect_check.sql.dsn: environment variable SURELY_NOT_SET is not set"},
		{"an effect check with a key that is misspelt", sqlStore, "store: payments}", "store: payments, effect_check: {store: payments, query: SELECT a FROM b, evry: 5m}}", "pipelines[0].effect_check.evry: unknown key; did you mean every?"},
		{"a store that does not exist", minimal, "store: orders}", "store: nowhere}", `pipelines[0].store: no store is called "nowhere"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(tt.text, tt.old, tt.new, 1)
			if text == tt.text {
				t.Fatalf("the file does not hold %q", tt.old)
			}
			_, err := Parse("test.yaml", []byte(text))
			var problems Problems
			if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d problems, want one with %q:\n%v", len(problems), tt.want, err)
			}
		})
	}
}

func TestTwoMistakesInOneGroupAreTwoProblems(t *testing.T) {
	for name, text := range map[string]string{
		"two unset variables":    strings.Replace(minimal, "hunter2", `{env: SURELY_NOT_SET}, act: {amqp_url: "amqp://127.0.0.1/", username: mover, password: {env: NOT_SET_EITHER}}`, 1),
		"two states of no name":  strings.Replace(minimal, "redis-text-status,", "redis-text-status, states: {gone: [a], lost: [b]},", 1),
		"two pipelines, no list": minimal + "  - {name: b}\n  - {name: c}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("test.yaml", []byte(text))
			var problems Problems
			if !errors.As(err, &problems) || len(problems) != 2 {
				t.Errorf("%d problems, want two:\n%v", len(problems), err)
			}
		})
	}
}

func TestAnEntryThatCannotBeReadMovesNoProblemOfTheNext(t *testing.T) {
	text := strings.Replace(minimal, "pipelines:", `  - {name: payments, preset: redis-json-status, redis: {url: "redis://127.0.0.1:6379/0"}, mark: never}`+"\npipelines:", 1)
	_, err := Parse("test.yaml", []byte(strings.Replace(text, "redis-text-status,", "redis-text-status, matsh: a,", 1)))
	want := `test.yaml:5: stores[0].matsh: unknown key; did you mean match?
test.yaml:6: stores[1].mark: "never": use before or after`
	if err == nil || err.Error() != want {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}
