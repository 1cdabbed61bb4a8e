package kinds_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

func TestYAMLIsLaidOverThePresetItNames(t *testing.T) {
	cfg, err := markerstest.Decode(t, `{name: orders, preset: redis-text-status, redis: {url: "redis://127.0.0.1/2"}, match: "job:*", id: "^job:(.+)$",
		ttl: {done: 72h}, exclude: ["job:lock:*"], states: {done: [ok, finished]}, sweep: {duty: 2.5%, every: 5s}, retry: {give_up: 3}}`)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := markers.Preset("redis-text-status")
	want.Name, want.Match, want.ID, want.Exclude = "orders", "job:*", "^job:(.+)$", []string{"job:lock:*"}
	want.Redis.URL = secret.New("redis://127.0.0.1/2")
	want.TTL.Done, want.States[dedup.Done] = 72*time.Hour, []string{"ok", "finished"}
	want.Sweep.Duty, want.Sweep.Every, want.Retry.GiveUp = 0.025, 5*time.Second, 3
	if d := cmp.Diff(want, cfg, cmp.Comparer(func(a, b secret.Secret) bool { return a.Reveal() == b.Reveal() })); d != "" {
		t.Errorf("config (-want +got):\n%s", d)
	}
	if err := kinds.Validate(cfg); err != nil {
		t.Error(err)
	}
	fresh, _ := markers.Preset("redis-text-status")
	if fresh.States[dedup.Done][0] != "done" {
		t.Error("the YAML of one store changed the preset of all")
	}
}

func TestFieldsOfAHashAreRefusedWhereMarkersAreNone(t *testing.T) {
	cfg, err := markerstest.Decode(t, `{name: orders, preset: redis-text-status, redis: {url: "redis://127.0.0.1/2"}, fields: {status: state}}`)
	if err == nil {
		err = kinds.Validate(cfg)
	}
	if err == nil || !strings.Contains(err.Error(), "fields: is for kind redis-hash") {
		t.Errorf("%v", err)
	}
}

func TestAnIDThatIsNotWrittenFollowsFromAMatchThatIs(t *testing.T) {
	for _, preset := range markers.PresetNames() {
		if p, _ := markers.Preset(preset); p.ID == "" {
			continue
		}
		server, rdb := markerstest.StartRedis(t)
		cfg, err := markerstest.Decode(t, fmt.Sprintf(`{name: mail, preset: %s, redis: {url: %q}, match: "mail:sent:*"}`, preset, server.URL()))
		if err == nil {
			err = kinds.Validate(cfg)
		}
		if err != nil {
			t.Fatalf("%s: %v", preset, err)
		}
		if cfg.Kind == "redis-hash" || cfg.Value.Codec == "redisson" {
			rdb.HSet(t.Context(), "mail:sent:7", "client:1", 1)
		} else {
			rdb.Set(t.Context(), "mail:sent:7", "1", time.Minute)
		}
		store := markerstest.OpenStore(t, cfg)
		if pass := markerstest.MustPass(t, store); pass.Matched != 1 || pass.Misfits != 0 {
			t.Errorf("%s: %d markers, %d keys without an id", preset, pass.Matched, pass.Misfits)
		}
		id := "7"
		if preset == "redis-presence" { // its ids are whole keys
			id = "mail:sent:7"
		}
		if found := markerstest.Find(t, store, id); found[0] == nil || found[0].Key != "mail:sent:7" {
			t.Errorf("%s: under %s it finds %s", preset, id, markerstest.Said(found))
		}
	}
}

func TestAnIDThatDoesNotFollowFromTheMatchIsAskedFor(t *testing.T) {
	for text, want := range map[string]string{
		`match: "mail:*:sent"`:                            "id: is missing",
		`match: "mail:[0-9]*"`:                            "id: is missing",
		`match: "mail:1"`:                                 "id: is missing",
		`match: "mail:*:sent", id: ~`:                     "id: is missing",
		`match: "mail:*:sent", id: "^mail:(.+):sent$"`:    "",
		`match: "mail:*:sent", id: ""`:                    "",
		`match: "msg:processed:*"`:                        "",
		`match: "msg:processed:mail:*", id: "^msg:(.+)$"`: "",
		`ttl: {done: 72h}`:                                "",
	} {
		cfg, err := markerstest.Decode(t, `{name: mail, preset: redis-flag, redis: {url: "redis://127.0.0.1/0"}, `+text+`}`)
		if err == nil {
			err = kinds.Validate(cfg)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestYAMLThatNobodyUnderstandsIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{preset: redis-text-status, colour: red}`:         "colour",
		`{preset: redis-text-status, ttl: {doone: 1h}}`:    "doone",
		`{preset: redis-text-status, sweep: {duty: 0.05}}`: "sweep.duty: is not a percentage",
		`{preset: redis-text-status, sweep: {duty: NaN%}}`: "sweep.duty: is not a percentage",
		`{preset: redis-text-status, ttl: {done: 5}}`:      "time.Duration",
	} {
		cfg, err := markerstest.Decode(t, text)
		if err == nil {
			err = kinds.Validate(cfg)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v (%+v)", text, err, cfg)
		}
	}
}

func TestEachProblemIsNamedWithItsPath(t *testing.T) {
	for path, spoil := range map[string]func(c *markers.Config){
		"name":             func(c *markers.Config) { c.Name = "Orders!" },
		"preset":           func(c *markers.Config) { c.Preset = "redis-magic" },
		"kind":             func(c *markers.Config) { c.Kind = "redis-set" },
		"redis.url":        func(c *markers.Config) { c.Redis.URL = secret.Secret{} },
		"redis.cluster[1]": func(c *markers.Config) { c.Redis.Cluster = []string{"redis-1:6379", "redis-2"} },
		"redis.cluster": func(c *markers.Config) {
			c.Redis.Cluster, c.Redis.Sentinel = []string{"redis-1:6379"}, markers.Sentinel{Master: "m", Addresses: []string{"s:26379"}}
		},
		"events": func(c *markers.Config) { c.Redis.Cluster, c.Events = []string{"redis-1:6379"}, true },
		"act.redis.cluster": func(c *markers.Config) {
			c.Act.Redis = markers.Redis{URL: secret.New("redis://a@h"), Cluster: []string{"redis-1:6379"}}
		},
		"act.redis.cluster[0]": func(c *markers.Config) {
			c.Redis.Cluster = []string{"redis-1:6379"}
			c.Act.Redis = markers.Redis{URL: secret.New("redis://a@h"), Cluster: []string{":6379"}}
		},
		"redis.cert_file": func(c *markers.Config) { c.Redis.CertFile = "x"; c.Redis.URL = secret.New("rediss://h") },
		"act.redis.url":   func(c *markers.Config) { c.Act.Redis.URL = secret.New("ftp://x") },
		"match":           func(c *markers.Config) { c.Match = "" },
		"exclude[0]":      func(c *markers.Config) { c.Exclude = []string{"*"} },
		"exclude[1]":      func(c *markers.Config) { c.Exclude = []string{"msg:a", ""} },
		"id":              func(c *markers.Config) { c.ID = "^msg:.+$" },
		"value.codec":     func(c *markers.Config) { c.Value.Codec = "xml" },
		"value.path":      func(c *markers.Config) { c.Value = codec.Value{Codec: "json", Path: "status"} },
		"states":          func(c *markers.Config) { c.States = map[dedup.State][]string{"busy": {"x"}, "done": {"y"}} },
		"states.done":     func(c *markers.Config) { c.States[dedup.Done] = []string{"processing"} },
		"mark":            func(c *markers.Config) { c.Mark = "during" },
		"on_inflight":     func(c *markers.Config) { c.OnInFlight = "drop" },
		"on_fail":         func(c *markers.Config) { c.OnFail = "cry" },
		"ttl.processing":  func(c *markers.Config) { c.TTL.Processing = 0 },
		"ttl.done":        func(c *markers.Config) { c.TTL.Done = time.Minute },
		"retry.match":     func(c *markers.Config) { c.Retry.Match = "msg:retry:*" },
		"retry.give_up":   func(c *markers.Config) { c.Retry.GiveUp = 0 },
		"retry.ttl":       func(c *markers.Config) { c.Retry.TTL = -1 },
		"sweep.duty":      func(c *markers.Config) { c.Sweep.Duty = 1.5 },
		"sweep.count":     func(c *markers.Config) { c.Sweep.Count = 100_000 },
		"sweep.every":     func(c *markers.Config) { c.Sweep.Every = time.Millisecond },
		"sweep":           func(c *markers.Config) { c.Sweep.MaxKeysPerSecond = -1 },
	} {
		t.Run(path, func(t *testing.T) {
			cfg := markerstest.Config(t, "redis-text-status", "redis://127.0.0.1/0")
			if err := kinds.Validate(cfg); err != nil {
				t.Fatalf("before: %v", err)
			}
			spoil(&cfg)
			err := kinds.Validate(cfg)
			var first *markers.FieldError
			if !errors.As(err, &first) || first.Path != path || first.Text == "" {
				t.Errorf("problems: %v", err)
			}
			if _, err := kinds.Open(cfg, markerstest.Log(t)); err == nil {
				t.Error("it opens all the same")
			}
		})
	}
	elsewhere := markerstest.Config(t, "redis-text-status", "redis://h/3")
	elsewhere.Redis.Cluster = []string{"redis-1:6379"}
	if err := kinds.Validate(elsewhere); err == nil || !strings.Contains(err.Error(), "redis.url: names database 3") {
		t.Errorf("database 3 of a cluster: %v", err)
	}
	for text, err := range map[string]error{
		"name":   kinds.Validate(markers.Config{Preset: "redis-flag", Kind: "redis-string"}),
		"preset": kinds.Validate(markers.Config{Name: "orders"}),
	} {
		var first *markers.FieldError
		if !errors.As(err, &first) || first.Path != text || text == "preset" && strings.Contains(err.Error(), "\n") {
			t.Errorf("without a %s: %v", text, err)
		}
	}
	bare := markers.Config{Name: "orders", Kind: "redis-string"}
	if err := kinds.Validate(bare); strings.Count(err.Error(), "\n") < 4 {
		t.Errorf("a store that is nothing but a kind has more problems than %v", err)
	}
}

func TestTheMoreSpecificStoreHasTheKeysAndEqualClaimsAreRefused(t *testing.T) {
	store := func(name, preset, url string, change func(c *markers.Config)) markers.Config {
		cfg := markerstest.Config(t, preset, url)
		cfg.Name = name
		if change != nil {
			change(&cfg)
		}
		return cfg
	}
	const here = "redis://127.0.0.1/0"
	wide := store("wide", "redis-text-status", here, nil)
	narrow := store("narrow", "redis-text-status", "redis://localhost:6379/0", func(c *markers.Config) { c.Match, c.ID, c.Retry.Match = "msg:eu:*", "", "" })
	all := store("all", "redis-presence", here, func(c *markers.Config) { c.Match = "*" })
	java := func(name string) markers.Config {
		return store(name, "redis-timestamp", here, func(c *markers.Config) { c.Key.Codec = "java" })
	}
	plain := store("plain", "redis-timestamp", here, nil)
	javaWide := java("java wide")
	javaWide.Match, javaWide.ID = "*", ""
	for name, c := range map[string]struct {
		stores []markers.Config
		open   int
		yields map[string][]string // by store: what it leaves to whom
	}{
		"both presets in one database exclude each other by themselves": {[]markers.Config{wide, store("json", "redis-json-status", here, nil)}, 0, nil},
		"one preset twice disputes markers and counters":                {[]markers.Config{wide, store("twin", "redis-text-status", "redis://LOCALHOST:6379/0", nil)}, 2, nil},
		"one preset in two databases":                                   {[]markers.Config{wide, store("other", "redis-text-status", "redis://127.0.0.1/1", nil)}, 0, nil},
		"the narrower store wins, written first":                        {[]markers.Config{narrow, wide}, 0, map[string][]string{"wide": {"match to narrow"}}},
		"the narrower store wins, written last":                         {[]markers.Config{wide, narrow}, 0, map[string][]string{"wide": {"match to narrow"}}},
		"a pattern of all keys yields markers and retry counters":       {[]markers.Config{all, wide}, 0, map[string][]string{"all": {"match to wide", "match to wide"}}},
		"the serialised form of a key is another key":                   {[]markers.Config{plain, java("java")}, 0, nil},
		"two stores of the same serialised keys":                        {[]markers.Config{java("a"), java("b")}, 1, nil},
		"among serialised keys the narrower pattern wins too":           {[]markers.Config{javaWide, java("b")}, 0, map[string][]string{"java wide": {"match to b"}}},
		"a pattern of all keys yields serialised ones":                  {[]markers.Config{all, java("b")}, 0, map[string][]string{"all": {"match to b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			settled, open := kinds.Resolve(c.stores)
			if len(open) != c.open {
				t.Errorf("open: %v", open)
			}
			yields := map[string][]string{}
			for _, s := range settled {
				for _, y := range s.Yields {
					yields[s.Name] = append(yields[s.Name], y.Field+" to "+y.To)
				}
			}
			if d := cmp.Diff(c.yields, yields, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("yields (-want +got):\n%s", d)
			}
		})
	}
}
