package config

import (
	"fmt"
	"testing"
)

func TestInOneTransactionASecondDeliveryWaitsUnlessTheConfigurationSaysOtherwise(t *testing.T) {
	const text = `
brokers:
  - {name: main, management_url: "http://127.0.0.1:15672", username: watcher, password: p}
stores:
  - {name: log, preset: %s, sql: {driver: mysql, dsn: "u:p@tcp(127.0.0.1:3306)/shop"}%s}
pipelines:
  - {name: orders, queues: [a], store: log}
`
	for name, tt := range map[string]struct{ preset, more, inFlight, onFail string }{
		"a row that is committed before the work":                       {"sql-status-code", "", "ack", "ack"},
		"message_process_log, as the documentation writes it":           {"sql-status-code", `, table: message_process_log, transactional: true, ttl: {done: 24h}, columns: {status: process_status, created: process_time, updated: "", expires: expire_time, auto_increment: ""}`, "wait", "delete"},
		"names for statuses":                                            {"sql-status-name", ", transactional: true", "wait", "delete"},
		"consumers that do not wait for the lock, as somebody wrote it": {"sql-status-code", ", transactional: true, on_inflight: ack, on_fail: ack", "ack", "ack"},
		"consumers that return the delivery":                            {"sql-status-name", ", transactional: true, on_inflight: nack", "nack", "delete"},
		"a row of the work, which never shows in flight":                {"sql-unique-row", "", "", "delete"},
		"consumers that wait without a transaction":                     {"sql-status-code", ", on_inflight: wait", "wait", "ack"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Parse("test.yaml", fmt.Appendf(nil, text, tt.preset, tt.more))
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.Stores[0]; got.OnInFlight != tt.inFlight || got.OnFail != tt.onFail {
				t.Errorf("on_inflight %q, on_fail %q; want %q, %q", got.OnInFlight, got.OnFail, tt.inFlight, tt.onFail)
			}
		})
	}
}
