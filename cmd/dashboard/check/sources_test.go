package check

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
)

func TestCheckSaysWhichSourcesCanTellTheRateOfAPipeline(t *testing.T) {
	for preset, want := range map[string]struct {
		says  []string
		never bool
	}{
		"redis-text-status":  {[]string{"store events       can, once store events are on", "residual interval  can\n", "id gap             cannot: the store is no table"}, false},
		"redis-presence":     {[]string{"store events       can tell an upper bound"}, false},
		"redis-flag":         {[]string{"store events       cannot: consumers of this scheme mark only after", "residual interval  can\n"}, false},
		"redisson-lock":      {[]string{"store events       cannot: a lock"}, true},
		"sql-status-code":    {[]string{"id gap             can\n"}, false},
		"sql-state-machine":  {[]string{"id gap             cannot"}, true},
		"a store of no name": {[]string{"cannot: the pipeline has no store"}, true},
	} {
		var out strings.Builder
		cfg, _ := markers.Preset(preset)
		cfg.Name = "a"
		p := dedup.Pipeline{Name: "orders", Store: "a"}
		if preset == "a store of no name" {
			p.Store = ""
		}
		printSources(&out, p, []markers.Config{cfg})
		for _, words := range append(want.says, "reported counters  can: where") {
			if !strings.Contains(out.String(), words) {
				t.Errorf("%s: want %q in\n%s", preset, words, out.String())
			}
		}
		if never := strings.Contains(out.String(), "can have no duplicate rate unless"); never != want.never {
			t.Errorf("%s: says that there can be none: %v\n%s", preset, never, out.String())
		}
	}
}

func TestNobodyIsAdvisedARedisOfTheirOwnForEventsThatNeverTell(t *testing.T) {
	for preset, want := range map[string]bool{"redis-text-status": true, "redis-flag": false} {
		one, _ := markers.Preset(preset)
		one.Name, one.Events, one.Redis.URL = "one", true, secret.New("redis://localhost:6379/0")
		other := one
		other.Name, other.Match = "other", "other:*"
		var out strings.Builder
		printSharers(&out, one, []markers.Config{one, other})
		if got := strings.Contains(out.String(), "Redis server of its own"); got != want {
			t.Errorf("%s: advised %v, want %v: %q", preset, got, want, out.String())
		}
	}
}

func TestATimeoutThatNeverComesToHoldIsSaid(t *testing.T) {
	for timeout, want := range map[time.Duration]string{0: "", 10 * time.Second: "", time.Minute: "timeout of 1m0s has no effect: a reading ends after collector.timeout, 10s"} {
		var out strings.Builder
		printTimeout(&out, broker.Config{Timeout: timeout}, collector.Config{})
		if (out.Len() > 0) != (want != "") || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %q, want %q", timeout, out.String(), want)
		}
	}
}
