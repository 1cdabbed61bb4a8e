package kinds_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

func TestEachRedisPresetSaysHowItsConsumersWork(t *testing.T) {
	const day = 24 * time.Hour
	tests := map[string]struct {
		kind, mark, inFlight, fail string
		processing, done           time.Duration
		states                     []dedup.State
		lock                       bool
		blind                      string
	}{
		"redis-text-status": {"redis-string", "before", "nack", "delete", 300 * time.Second, day, []dedup.State{dedup.Processing, dedup.Done}, false, ""},
		"redis-json-status": {"redis-string", "before", "nack", "delete", 300 * time.Second, day, []dedup.State{dedup.Processing, dedup.Done}, false, ""},
		"redis-hash-status": {"redis-hash", "before", "nack", "delete", 300 * time.Second, day, []dedup.State{dedup.Processing, dedup.Done}, false, ""},
		"redis-presence":    {"redis-string", "before", "ack", "keep", 0, 0, []dedup.State{dedup.Present}, false, "looks like one that was done"},
		"redis-flag":        {"redis-string", "after", "", "delete", 0, day, []dedup.State{dedup.Done}, false, "leaves no trace"},
		"redis-timestamp":   {"redis-string", "before", "ack", "delete", 0, day, []dedup.State{dedup.Present}, false, "looks like one that was done"},
		"redisson-lock":     {"redis-lock", "before", "ack", "delete", 30 * time.Second, 0, []dedup.State{dedup.Processing}, true, "ends with its lease"},
		"redis-token-lock":  {"redis-lock", "before", "ack", "delete", 30 * time.Second, 0, []dedup.State{dedup.Processing}, true, "ends with its lease"},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := markerstest.Config(t, name, "redis://127.0.0.1/0")
			if name == "redis-presence" {
				if err := kinds.Validate(cfg); err == nil || !strings.Contains(err.Error(), "match: is missing") {
					t.Errorf("a preset without a pattern asks for none: %v", err)
				}
				cfg.Match = "order:*"
			}
			if err := kinds.Validate(cfg); err != nil {
				t.Fatal(err)
			}
			s := markerstest.OpenStore(t, cfg).Scheme()
			if s.Preset != name || s.Kind != want.kind || s.Mark != want.mark || s.OnInFlight != want.inFlight || s.OnFail != want.fail ||
				s.ProcessingTTL != want.processing || s.DoneTTL != want.done || s.Lock != want.lock || !slices.Equal(s.States, want.states) {
				t.Errorf("scheme %+v", s)
			}
			if (want.blind == "") != (s.Blind == "") || !strings.Contains(s.Blind, want.blind) {
				t.Errorf("blind: %q", s.Blind)
			}
		})
	}
	for _, name := range markers.PresetNames() {
		if _, listed := tests[name]; !listed && strings.HasPrefix(name, "redis") {
			t.Errorf("preset %s is not in this test", name)
		}
	}
}

func TestALockHasNoSettingsOfAMarker(t *testing.T) {
	for path, spoil := range map[string]func(c *markers.Config){
		"value.codec":    func(c *markers.Config) { c.Value.Codec = "raw" },
		"value":          func(c *markers.Config) { c.Value.Time = "$" },
		"states":         func(c *markers.Config) { c.States = map[dedup.State][]string{dedup.Done: {"1"}} },
		"ttl.done":       func(c *markers.Config) { c.TTL.Done = time.Hour },
		"ttl.processing": func(c *markers.Config) { c.TTL.Processing = 0 },
		"key.codec":      func(c *markers.Config) { c.Key.Codec = "base64" },
		"on_inflight":    func(c *markers.Config) { c.OnInFlight = "" },
	} {
		cfg := markerstest.Config(t, "redisson-lock", "redis://127.0.0.1/0")
		spoil(&cfg)
		if err := kinds.Validate(cfg); err == nil || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestATimeAndACodecMustFitEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		value codec.Value
		path  string
	}{
		"a path into a raw value":            {codec.Value{Codec: "raw", Path: "$.status"}, "value.path"},
		"a JSON value without a path":        {codec.Value{Codec: "json"}, "value.path"},
		"a member as time of a raw value":    {codec.Value{Codec: "raw", Time: "$.time"}, "value.time"},
		"a unit that is none":                {codec.Value{Codec: "raw", Time: "$", TimeUnit: "us"}, "value.time_unit"},
		"a whole value as time":              {codec.Value{Codec: "java", Time: "$"}, ""},
		"JSON in a serialised string":        {codec.Value{Codec: "java", Path: "$.status", Time: "$.time", TimeUnit: "s"}, ""},
		"quoted values have no path in them": {codec.Value{Codec: "json-quoted", Path: "$.status"}, "value.path"},
	} {
		cfg := markerstest.Config(t, "redis-text-status", "redis://127.0.0.1/0")
		cfg.Value = c.value
		err := kinds.Validate(cfg)
		if c.path == "" && err != nil || c.path != "" && (err == nil || !strings.HasPrefix(err.Error(), c.path+": ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFailedMarkerIsTreatedLikeOneInFlightUnlessTheConfigurationSaysOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		preset string
		change func(*markers.Config)
		want   string
	}{
		"as in flight":                  {"sql-status-code", func(*markers.Config) {}, "ack"},
		"as in flight, overridden":      {"sql-status-name", func(c *markers.Config) { c.OnInFlight = "nack" }, "nack"},
		"nobody waits for a failed one": {"sql-status-name", func(c *markers.Config) { c.OnInFlight = "wait" }, "ack"},
		"taken again":                   {"sql-status-name", func(c *markers.Config) { c.OnFailed = "run" }, "run"},
		"nobody says":                   {"sql-unique-row", func(*markers.Config) {}, ""},
		"a marker in Redis":             {"redis-text-status", func(c *markers.Config) { c.OnFailed = "ack" }, "ack"},
		"a marker in Redis, unsaid":     {"redis-text-status", func(*markers.Config) {}, "nack"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := markerstest.Config(t, c.preset, "redis://127.0.0.1/0")
			if strings.HasPrefix(c.preset, "sql") {
				cfg.Redis, cfg.SQL = markers.Redis{}, markers.SQL{Driver: "postgres", DSN: secret.New("postgres://u:p@127.0.0.1:5432/shop")}
			}
			c.change(&cfg)
			if err := kinds.Validate(cfg); err != nil {
				t.Fatal(err)
			}
			if s := markerstest.OpenStore(t, cfg).Scheme(); s.OnFailed != c.want || s.Transactional != (c.preset == "sql-unique-row") || s.Business {
				t.Errorf("scheme %+v", s)
			}
		})
	}
}

func TestAPresetOfAMarkerSaysThatEachDeliveryIsSettledBeforeTheNext(t *testing.T) {
	each := map[string]bool{"redis-json-status": true, "redis-hash-status": true, "redis-text-status": true, "redis-flag": true, "redis-timestamp": true,
		"sql-status-code": true, "sql-status-name": true, "sql-unique-row": true, "sql-state-machine": true}
	for _, name := range markers.PresetNames() {
		for acks, want := range map[string]bool{"as the preset": each[name], "each": true, "batch": false} {
			cfg := markerstest.Config(t, name, "redis://127.0.0.1/0")
			if acks != "as the preset" {
				cfg.Acks = acks
			}
			if strings.HasPrefix(name, "sql") {
				cfg.Redis, cfg.SQL = markers.Redis{}, markers.SQL{Driver: "postgres", DSN: secret.New("postgres://u:p@127.0.0.1:5432/shop")}
			}
			switch name {
			case "sql-state-machine":
				cfg.Terminal, cfg.Transitions = []string{"PAID"}, map[string][]string{"NEW": {"PAID"}}
			case "redis-presence":
				cfg.Match = "order:*"
			}
			if got := markerstest.OpenStore(t, cfg).Scheme().AcksEach; got != want {
				t.Errorf("%s, acks %s: AcksEach is %v, want %v", name, acks, got, want)
			}
		}
	}
	cfg := markerstest.Config(t, "redis-text-status", "redis://127.0.0.1/0")
	cfg.Acks = "several"
	if err := kinds.Validate(cfg); err == nil || !strings.HasPrefix(err.Error(), "acks: ") {
		t.Errorf("acks that are none: %v", err)
	}
}
