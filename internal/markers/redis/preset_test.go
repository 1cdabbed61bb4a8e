package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/lab/markerstest"
)

// foreignShapes are values as strangers' consumers write them, in flight and done, with the preset that reads them; empty where none does.
var foreignShapes = map[string]struct {
	inFlight, done string
	fits           string
}{
	"flags":                    {"", "1", "redis-flag"},
	"words":                    {"processing", "done", "redis-text-status"},
	"JSON statuses":            {"processing", `{"status": "success", "time": 1732380000}`, "redis-json-status"},
	"milliseconds":             {"", "now", "redis-timestamp"},
	"any text":                 {"", "worker-7/!", "redis-presence"},
	"other words":              {"IN_PROGRESS", "COMPLETED", ""},
	"JSON of another member":   {`{"state": "PENDING"}`, `{"state": "OK"}`, ""},
	"JSON-quoted words":        {`"processing"`, `"done"`, ""},
	"a word that nobody knows": {"processing", "zzz", ""},
	"numbers that are no time": {"", "42", ""},
	"JSON that says nothing":   {"", `{"a": [1]}`, ""},
}

func fillShape(t *testing.T, rdb *redis.Client, inFlight, done string) {
	t.Helper()
	for i := range 12 {
		value, life := done, 24*time.Hour
		if value == "now" {
			value = fmt.Sprint(time.Now().UnixMilli())
		}
		if i%4 == 0 && inFlight != "" {
			value, life = inFlight, 200*time.Second
		}
		if err := rdb.Set(t.Context(), fmt.Sprintf("app:seen:%d", i), value, life).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkShape checks a store of a preset with further lines, and counts the samples that it cannot decode.
func checkShape(t *testing.T, url, preset string, lines ...string) (markers.Config, markers.Report, int) {
	t.Helper()
	entry := map[string]string{"name": "name: a", "preset": "preset: " + preset, "redis": fmt.Sprintf("redis: {url: %q}", url), "match": `match: "app:seen:*"`}
	for _, line := range lines {
		key, _, _ := strings.Cut(line, ":")
		entry[key] = line
	}
	var all []string
	for _, line := range entry {
		all = append(all, line)
	}
	cfg, err := markerstest.Decode(t, "{"+strings.Join(all, ", ")+"}")
	if err == nil {
		err = kinds.Validate(cfg)
	}
	if err != nil {
		t.Fatalf("%s with %q: %v", preset, lines, err)
	}
	report, err := markerstest.OpenStore(t, cfg).Check(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	odd := 0
	for _, m := range report.Examples(20) {
		if m.State == dedup.StateUnknown {
			odd++
		}
	}
	return cfg, report, odd
}

// TestWhatCheckProposesMakesItPass applies the lines that check proposes, exactly, and looks again: over all presets and foreign shapes.
func TestWhatCheckProposesMakesItPass(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	for shape, c := range foreignShapes {
		rdb.FlushAll(t.Context())
		fillShape(t, rdb, c.inFlight, c.done)
		for _, preset := range markers.PresetNames() {
			if strings.HasPrefix(preset, "sql-") {
				continue
			}
			cfg, report, odd := checkShape(t, server.URL(), preset)
			what := shape + " under " + preset
			if odd == 0 {
				continue // nothing is proposed
			}
			if c.fits != "" && cfg.Kind == markers.RedisString && report.Fits != c.fits {
				t.Errorf("%s: preset %q is proposed, want %s: %q", what, report.Fits, c.fits, report.Remedy)
			}
			if len(report.Remedy) == 0 || cfg.Hint(report.Unmapped) != "" && report.Fits == "" {
				continue // it says what is left open
			}
			next := preset
			if report.Fits != "" {
				next = report.Fits
			}
			after, again, left := checkShape(t, server.URL(), next, report.Remedy...)
			if left > 0 || len(again.Remedy) > 0 || again.Pass.States[dedup.StateUnknown] > 0 {
				t.Errorf("%s: with %q %d samples are still unknown, and it proposes %q", what, report.Remedy, left, again.Remedy)
			}
			if p, _ := markers.Preset(next); report.Fits != "" && (after.Ask != p.Ask || after.Mark != p.Mark) {
				t.Errorf("%s: asks by %s and marks %s the work, want those of %s", what, after.Ask, after.Mark, next)
			}
		}
	}
}

// TestAPresetIsProposedWithWhatTheEntryOverrode: what an entry overrode of its preset would go on to hold under the other one.
func TestAPresetIsProposedWithWhatTheEntryOverrode(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	fillShape(t, rdb, "", "1")
	overrides := []string{`states: {present: [any, "1"]}`, "on_fail: keep", `exclude: ["app:seen:x*"]`, "ttl: {done: 12h}"}
	_, report, odd := checkShape(t, server.URL(), "redis-timestamp", overrides...)
	if odd == 0 || report.Fits != "redis-flag" {
		t.Fatalf("%d unknown, preset %q is proposed: %q", odd, report.Fits, report.Remedy)
	}
	cfg, again, left := checkShape(t, server.URL(), "redis-flag", append(overrides, report.Remedy...)...)
	flag, _ := markers.Preset("redis-flag")
	if left > 0 || len(again.Remedy) > 0 || cfg.OnFail != flag.OnFail || cfg.Mark != "after" || len(cfg.States[dedup.Present]) > 0 || len(cfg.Exclude) != 1 {
		t.Errorf("with %q: %d unknown, %+v", report.Remedy, left, cfg)
	}
}

// TestAPresetThatTakesAnyValueIsProposedForNoWords: it would decode them, tell nothing, and turn what the entry says of its consumers.
func TestAPresetThatTakesAnyValueIsProposedForNoWords(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	for _, tt := range []struct{ name, preset, inFlight, done, remedy string }{
		{"words where one is expected", "redis-flag", "", "completed", `states: {done: ["1", completed]}`},
		{"words where others are expected", "redis-text-status", "in_progress", "completed", "states: {processing: [processing, in_progress], done: [done, completed]}"},
		{"JSON of a member that nobody knows", "redis-flag", "", `{"phase": "over!"}`, ""},
		{"words that the entry has no state for", "redis-flag", "processing", "zzz", ""},
		{"a word beside what is none", "redis-flag", "worker-7/!", "zzz", ""},
		{"a value that the entry reads beside one that is no word", "redis-flag", "worker-7/!", "1", ""},
		{"no words", "redis-flag", "", "worker-7/!", "preset: redis-presence"},
		{"no words where states are expected", "redis-text-status", "", "worker-7/!", "preset: redis-presence"},
	} {
		rdb.FlushAll(t.Context())
		fillShape(t, rdb, tt.inFlight, tt.done)
		_, report, odd := checkShape(t, server.URL(), tt.preset)
		got := strings.Join(report.Remedy, "\n")
		if odd == 0 || (report.Fits != "") != strings.HasPrefix(tt.remedy, "preset: ") || !strings.Contains(got, tt.remedy) || tt.remedy == "" && got != "" {
			t.Errorf("%s: %d unknown, preset %q is proposed with %q, want %q", tt.name, odd, report.Fits, report.Remedy, tt.remedy)
		}
	}
}
