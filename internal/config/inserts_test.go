package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestInsertsAreCountedOnlyOnceTheirWorkMustHaveEnded(t *testing.T) {
	const text = `
brokers:
  - {name: main, management_url: "http://127.0.0.1:15672", username: watcher, password: p}
stores:
  - {name: log, preset: sql-status-code, sql: {driver: mysql, dsn: "u:p@tcp(127.0.0.1:3306)/shop"}%s}
pipelines:
  - {name: quick, queues: [a], store: log}
  - {name: slow, queues: [b], store: log%s}
`
	for name, tt := range map[string]struct {
		store, pipeline string
		settle          time.Duration
		problem         string
	}{
		"neither is written":                {"", "", 0, ""}, // that of the store
		"work of the default length":        {"", ", max_processing: 30s", 0, ""},
		"long work":                         {"", ", max_processing: 5m", 10 * time.Minute, ""},
		"short work":                        {", insert_settle: 60s", ", max_processing: 1s", time.Minute, ""},
		"long enough":                       {", insert_settle: 10m", ", max_processing: 5m", 10 * time.Minute, ""},
		"too short":                         {", insert_settle: 9m", ", max_processing: 5m", 0, `test.yaml:5: stores[0].insert_settle: is 9m0s, while pipeline "slow" has max_processing 5m0s`},
		"too short for the default":         {", insert_settle: 59s", ", max_processing: 1s", 0, `pipeline "quick" has max_processing 30s: rows whose work goes on would count as failed. Write 1m0s or more`},
		"where inserts are not counted":     {", insert_settle: 9m, insert_first: false", ", max_processing: 5m", 9 * time.Minute, ""},
		"where there is no column to count": {`, insert_settle: 9m, columns: {auto_increment: ""}`, ", max_processing: 5m", 9 * time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Parse("test.yaml", fmt.Appendf(nil, text, tt.store, tt.pipeline))
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("%v, want %q", err, tt.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.Stores[0].InsertSettle; got != tt.settle {
				t.Errorf("insert_settle is %s, want %s", got, tt.settle)
			}
		})
	}
}
