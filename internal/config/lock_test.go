package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestALockStandsBesideTheStoreOfTheMarkers(t *testing.T) {
	const text = `
brokers:
  - {name: main, management_url: "http://127.0.0.1:15672", username: watcher, password: p}
stores:
  - {name: flags, preset: redis-flag, redis: {url: "redis://127.0.0.1:6379/0"}}
  - {name: locks, preset: redisson-lock, redis: {url: "redis://127.0.0.1:6379/0"}, on_inflight: wait}
  - {name: others, preset: redis-token-lock, redis: {url: "redis://127.0.0.1:6379/1"}}
pipelines:
  - {name: orders, queues: [a]%s}
`
	for name, tt := range map[string]struct{ more, problem string }{
		"a lock around a flag":    {", store: flags, lock: locks", ""},
		"no lock":                 {", store: flags", ""},
		"a lock alone":            {", store: locks", ""},
		"a name that is none":     {", store: flags, lock: lokcs", `pipelines[0].lock: no store is called "lokcs"`},
		"no markers":              {", lock: locks", `pipelines[0].lock: "locks" stands without store`},
		"the same twice":          {", store: locks, lock: locks", `pipelines[0].lock: "locks" is the store of the markers too`},
		"markers in its place":    {", store: locks, lock: flags", `pipelines[0].lock: "flags" holds no locks but is of kind redis-string`},
		"a lock around a lock":    {", store: others, lock: locks", `pipelines[0].store: "others" is a lock beside a lock`},
		"a list in place of name": {", store: flags, lock: [locks]", `pipelines[0].lock`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Parse("test.yaml", fmt.Appendf(nil, text, tt.more))
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("%v, want %q", err, tt.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.Pipelines[0].Lock; (got == "locks") != strings.Contains(tt.more, "lock: ") {
				t.Errorf("the lock is %q", got)
			}
			if cfg.Stores[1].OnInFlight != "wait" {
				t.Errorf("%+v", cfg.Stores[1])
			}
		})
	}
}
