package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/markers/redis"
	"dedup-dashboard/lab/markerstest"
)

func TestTheLinesThatCheckSuggestsMapTheWordsThatItFound(t *testing.T) {
	presets := []string{"redis-text-status", "redis-json-status", "redis-flag"}
	rapid.Check(t, func(r *rapid.T) {
		preset := rapid.SampledFrom(presets).Draw(r, "preset")
		word := rapid.OneOf(rapid.SampledFrom([]string{"yes", "null", "0", "1.5", "0x1f", "No", "a: b", "x/y", "Done", "done", "2024-01-01", "日本"}), rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_. :/-]{0,20}`)).Draw(r, "word")
		value := rapid.SampledFrom([]string{"%s", `"%s"`, `{"status": "%s"}`, `{"state": "%s", "n": 1}`}).Draw(r, "shape")
		base, _ := markers.Preset(preset)
		unmapped, remedy := redis.Mapped(base, dedup.Done, fmt.Sprintf(value, word))
		if len(unmapped) != 1 || unmapped[0].Status != word {
			r.Fatalf("%q gives %+v", fmt.Sprintf(value, word), unmapped)
		}
		cfg, err := markerstest.Decode(t, "{name: a, preset: "+preset+`, redis: {url: "redis://127.0.0.1/0"}, `+strings.Join(remedy, ", ")+"}")
		if err == nil {
			err = kinds.Validate(cfg)
		}
		if err != nil {
			r.Fatalf("%v in %q", err, remedy)
		}
		for _, listed := range cfg.States {
			if slices.Contains(listed, word) {
				return
			}
		}
		r.Fatalf("%q lists %q nowhere: %+v", remedy, word, cfg.States)
	})
}

func TestPayloadsAreNoStatuses(t *testing.T) {
	base, _ := markers.Preset("redis-text-status")
	for name, values := range map[string][]string{
		"a long text":       {strings.Repeat("a", 41)},
		"a result":          {`{"result": {"amount": 5}}`},
		"a list":            {"[1, 2]"},
		"bytes":             {"\x00\xff"},
		"nothing":           {""},
		"a word of two":     {"done!", "completed"},
		"nine of them":      {"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"},
		"a hostile value":   {"\x1b[2J"},
		"broken off JSON":   {`{"stat`},
		"a status and JSON": {"completed", `{"other": 1}`},
	} {
		if unmapped, remedy := redis.Mapped(base, dedup.Done, values...); len(remedy) > 0 || len(unmapped) != len(values) {
			t.Errorf("%s: %+v, %q", name, unmapped, remedy)
		}
	}
}
