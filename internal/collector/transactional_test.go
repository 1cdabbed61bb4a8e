package collector

import (
	"log/slog"
	"testing"

	"go.yaml.in/yaml/v3"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/dedup"
	stores "dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
)

// TestTheDocumentedLogInOneTransactionCanHaveARate reads message_process_log as docs/stores.md writes it.
func TestTheDocumentedLogInOneTransactionCanHaveARate(t *testing.T) {
	const log = `{name: log, preset: sql-status-code, sql: {driver: mysql, dsn: "u:p@tcp(127.0.0.1:3306)/shop"}, table: message_process_log,
  columns: {status: process_status, created: process_time, updated: "", expires: expire_time, auto_increment: ""}, ttl: {done: 24h}`
	for more, can := range map[string]bool{", transactional: true}": true, ", transactional: true, on_inflight: ack}": false, "}": false} {
		var cfg stores.Config
		if err := yaml.Unmarshal([]byte(log+more), &cfg); err != nil {
			t.Fatal(err)
		}
		store, err := kinds.Open(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		scheme := store.Scheme()
		_ = store.Close()
		if why := scheme.Refuses(dedup.MethodResidual); (why == "") != can {
			t.Errorf("%s: refused: %q, want a rate: %t", more, why, can)
		}
		if can && scheme.OnFailed != "ack" {
			t.Errorf("a failed row: %q", scheme.OnFailed)
		}
	}
}

func TestConsumersThatWaitSwallowNothingAndBurnIDsOnlyWithoutATransaction(t *testing.T) {
	scheme := dedup.Scheme{Kind: "sql-table", Mark: "before", OnInFlight: "wait", OnFailed: "ack", OnFail: "delete", InsertFirst: true}
	x := figure.Explanation{Scheme: scheme}
	out := &dedup.WindowFigures{}
	if f := x.Swallowed(out); !f.Known() || f.High != 0 {
		t.Errorf("swallowed %+v", f)
	}
	if f := x.Looping(out); f.Known() {
		t.Errorf("looping %+v", f)
	}
	if why := scheme.Refuses(dedup.MethodIDGap); why == "" || why[:9] != "consumers" {
		t.Errorf("tries that wait are counted as duplicates: %q", why)
	}
	scheme = dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "wait", OnFail: "delete"}
	if why := scheme.Refuses(dedup.MethodStoreEvents); why == "" || why[:9] != "consumers" {
		t.Errorf("calls that wait are counted as deliveries: %q", why)
	}
}
