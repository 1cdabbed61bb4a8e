package check

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

func TestTheSampleBeginsWithTheMarkersThatTellMost(t *testing.T) {
	var r markers.Report
	for i := range sampleKeys {
		r.Samples = append(r.Samples, dedup.Marker{Key: fmt.Sprint("msg:", i), State: dedup.Done})
	}
	r.Samples[3].State = dedup.Processing
	r.Pass.OldestProcessing = []dedup.Marker{{Key: "msg:stuck", State: dedup.Processing}, r.Samples[3]}
	r.Pass.Undecodable = []dedup.Marker{{Key: "msg:odd", State: dedup.StateUnknown}}
	got := r.Examples(sampleKeys)
	if len(got) != sampleKeys {
		t.Fatalf("%d markers, want %d", len(got), sampleKeys)
	}
	for i, want := range []string{"msg:stuck", "msg:3", "msg:odd", "msg:0", "msg:1", "msg:2", "msg:4"} {
		if got[i].Key != want {
			t.Errorf("marker %d is %s, want %s", i, got[i].Key, want)
		}
	}
}

// storeOf parses a configuration that holds nothing but one store.
func storeOf(t *testing.T, entry string) markers.Config {
	t.Helper()
	cfg, err := config.Parse("test.yaml", []byte("stores:\n- name: orders\n"+entry))
	if err != nil {
		t.Fatalf("%v in\n%s", err, entry)
	}
	return cfg.Stores[0]
}

// checked looks at a store as check does, and returns what it printed.
func checked(t *testing.T, entry string) (string, error) {
	t.Helper()
	var out strings.Builder
	cfg := storeOf(t, entry)
	report, err := readStore(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	err = printStore(&out, cfg, report)
	return out.String(), err
}

// suggested is an entry with the lines that a check printed for it, those of another preset in place of its own.
func suggested(entry, printed string) string {
	var lines strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^      ((?:preset|match|id|exclude|value|states): .*)$`).FindAllStringSubmatch(printed, -1) {
		lines.WriteString("  " + m[1] + "\n")
	}
	if strings.Contains(lines.String(), "preset: ") {
		entry = regexp.MustCompile(`(?m)^  preset: .*\n`).ReplaceAllString(entry, "")
	}
	return entry + lines.String()
}

// put writes n keys with one value.
func put(t *testing.T, rdb *redis.Client, n int, prefix, value string, life time.Duration) {
	t.Helper()
	for i := range n {
		if err := rdb.Set(context.WithoutCancel(t.Context()), fmt.Sprint(prefix, i), value, life).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAWrongMappingIsToldFromTheSamplesWithTheLinesThatMendIt(t *testing.T) {
	const day = 24 * time.Hour
	java := func(s string) string { return "\xac\xed\x00\x05t\x00" + string(rune(len(s))) + s }
	for _, tt := range []struct {
		name, preset       string
		processing, done   string
		verdict, seen, fix string
	}{
		{"other words", "redis-text-status", "in_progress", "completed", "the mapping is wrong: 20 of 20 samples cannot be decoded", `"completed" (18), "in_progress" (2)`, "states: {processing: [processing, in_progress], done: [done, completed]}"},
		{"words that mean something by their life alone", "redis-text-status", "begonnen", "fertig", "the mapping is wrong", `"fertig" (18), "begonnen" (2)`, "states: {processing: [processing, begonnen], done: [done, fertig]}"},
		{"JSON where text is expected", "redis-text-status", `{"status": "processing"}`, `{"status": "success", "result": {"a": 1}}`, "the mapping is wrong", `"success" (18), "processing" (2)`, "preset: redis-json-status"},
		{"text where JSON is expected", "redis-json-status", "in_progress", "completed", "the mapping is wrong", `"completed" (18)`, "states: {processing: [processing, in_progress], done: [success, completed]}"},
		{"what Java wrote", "redis-text-status", java("processing"), java("done"), "the mapping is wrong", `"done" (18)`, "value: {codec: java}"},
		{"what Jackson wrote", "redis-text-status", `"RUNNING"`, `"DONE"`, "the mapping is wrong", `"DONE" (18)`, "value: {codec: json-quoted}"},
		{"numbers", "redis-text-status", "0", "1", "the mapping is wrong", `"1" (18), "0" (2)`, `states: {processing: [processing, "0"], done: [done, "1"]}`},
		{"one word of two", "redis-text-status", "in_progress", "done", "the mapping is incomplete: 2 of 20 samples cannot be decoded", `"in_progress" (2)`, "states: {processing: [processing, in_progress]}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, rdb := markerstest.StartRedis(t)
			prefix := map[string]string{"redis-text-status": "msg:", "redis-json-status": "msg:dedup:"}[tt.preset]
			put(t, rdb, 30, prefix+"a", tt.done, day)
			put(t, rdb, 2, prefix+"b", tt.processing, 200*time.Second)
			entry := fmt.Sprintf("  preset: %s\n  redis: {url: %q}\n", tt.preset, server.URL())

			printed, err := checked(t, entry)
			if err == nil {
				t.Error("the check does not fail")
			}
			for _, want := range []string{"PROBLEM " + tt.verdict, "values seen in the samples: " + tt.seen, tt.fix, "30 assumed done from their expiry"} {
				if !strings.Contains(printed, want) {
					t.Errorf("does not say %q", want)
				}
			}
			if strings.Contains(printed, "done       30") {
				t.Error("30 done is told for a fact")
			}
			if t.Failed() {
				t.Logf("printed\n%s", printed)
			}

			printed, err = checked(t, suggested(entry, printed))
			if err != nil || !strings.Contains(printed, "done       30\n") || !strings.Contains(printed, "processing 2\n") {
				t.Errorf("with the lines that it suggests it says %v\n%s", err, printed)
			}
		})
	}
}

func TestWhatNoLineCanMapIsDescribed(t *testing.T) {
	server, rdb := markerstest.StartRedis(t)
	entry := fmt.Sprintf("  preset: redis-text-status\n  redis: {url: %q}\n", server.URL())

	printed, err := checked(t, entry)
	if err != nil || !strings.Contains(printed, "NOTE the store is empty") {
		t.Errorf("an empty store: %v\n%s", err, printed)
	}
	put(t, rdb, 1, "other:", "x", 0)
	if printed, err = checked(t, entry); err == nil || !strings.Contains(printed, "1 key in the database") || !strings.Contains(printed, `finds 0 markers`) || !strings.Contains(printed, "PROBLEM no key matches") {
		t.Errorf("a store without a key of ours: %v\n%s", err, printed)
	}
	put(t, rdb, 3, "msg:", strings.Repeat("secret ", 40), time.Hour)
	if printed, err = checked(t, entry); err == nil || !strings.Contains(printed, "values seen in the samples: a value of 280 bytes (3)") || strings.Contains(printed, "states:") {
		t.Errorf("payloads: %v\n%s", err, printed)
	}
	for i := range 20 {
		put(t, rdb, 1, fmt.Sprintf("msg:%d:", i), fmt.Sprintf("token-%d", i), 0)
	}
	rdb.Del(t.Context(), "msg:0", "msg:1", "msg:2")
	if printed, err = checked(t, entry); err == nil || !strings.Contains(printed, "20 different values are no statuses") || strings.Contains(printed, "states:") {
		t.Errorf("tokens: %v\n%s", err, printed)
	}
}

func TestKeysWhoseIDsCannotBeToldAreNoMissingKeys(t *testing.T) {
	server, rdb := markerstest.StartRedis(t)
	put(t, rdb, 186, "mail:sent:", "1", time.Hour)
	entry := fmt.Sprintf("  preset: redis-flag\n  redis: {url: %q}\n  match: \"mail:sent:*\"\n", server.URL())

	printed, err := checked(t, entry)
	if err != nil || !strings.Contains(printed, `match "mail:sent:*" finds 186 markers`) {
		t.Errorf("with another prefix: %v\n%s", err, printed)
	}

	printed, err = checked(t, entry+"  id: \"^mail:out:(.+)$\"\n")
	for _, want := range []string{"PROBLEM 186 keys match `match` (\"mail:sent:*\"), but `id` (\"^mail:out:(.+)$\") fits none of them (e.g. \"mail:sent:", `id: "^mail:sent:(.+)$"`} {
		if err == nil || !strings.Contains(printed, want) {
			t.Errorf("error %v, and it does not say %s\n%s", err, want, printed)
		}
	}
	if strings.Contains(printed, "no key matches") {
		t.Errorf("it says that no key matches:\n%s", printed)
	}

	put(t, rdb, 1, "mail:out:", "1", time.Hour)
	printed, err = checked(t, strings.Replace(entry, "mail:sent:*", "mail:*", 1)+"  id: \"^mail:out:(.+)$\"\n")
	if err != nil || !strings.Contains(printed, "NOTE 186 keys match `match` and `id` does not fit (e.g. \"mail:sent:") {
		t.Errorf("where some fit: %v\n%s", err, printed)
	}
}

func TestTheWordsFitATable(t *testing.T) {
	var out strings.Builder
	cfg := markers.Config{Name: "payments", Preset: "sql-status-code", Kind: "sql-table", Table: "message_dedup", States: map[dedup.State][]string{dedup.Done: {"1"}}}
	r := markers.Report{
		Server: "MariaDB", Keys: 1, Coverage: 1, Samples: []dedup.Marker{{ID: "m", Key: "1", State: dedup.StateUnknown, Status: "7"}},
		Unmapped: []markers.Unmapped{{Status: "7", Count: 1}},
		Pass:     dedup.Pass{Matched: 1, States: map[dedup.State]int64{dedup.StateUnknown: 1}},
	}
	err := printStore(&out, cfg, r)
	got := out.String()
	for _, want := range []string{"table message_dedup: about 1 row, 100 % of them looked at, 1 row with an id", `list "7" in states, under what it means`} {
		if !strings.Contains(got, want) {
			t.Errorf("does not say %q:\n%s", want, got)
		}
	}
	if err == nil || strings.Contains(got, "key") || strings.Contains(got, "match") {
		t.Errorf("error %v, and it speaks of keys:\n%s", err, got)
	}
	var again strings.Builder
	if err = printStore(&again, cfg, markers.Report{Findings: []dedup.Finding{{Kind: "table_missing", Evidence: "no table"}}}); err == nil || strings.Contains(again.String(), "empty") {
		t.Errorf("a missing table: %v\n%s", err, again.String())
	}
}

func TestStoresThatAreCountedTogetherAreNoted(t *testing.T) {
	store := func(name, ask string, events bool) markers.Config {
		return markers.Config{Name: name, Kind: "redis-string", Mark: "before", OnFail: "delete", Ask: ask, Events: events, Redis: markers.Redis{URL: secret.New("redis://localhost:6379/0")}}
	}
	all := []markers.Config{store("orders", "SETNX", true), store("shipping", "SETNX", true), store("quiet", "SETNX", false), store("alone", "GET", true)}
	for i, want := range []string{"may not tell a duplicate rate while several are in use: the server counts the calls of SETNX together with those for stores shipping, quiet\n    fix: give the store a Redis server of its own", "for stores orders, quiet\n", "", ""} {
		var out strings.Builder
		printSharers(&out, all[i], all)
		if got := out.String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", all[i].Name, got, want)
		}
	}
}

func TestCheckNamesTheRightsThatAreMissingAndThoseThatCannotBeTried(t *testing.T) {
	server, rdb := markerstest.StartRedis(t, "--notify-keyspace-events", "K$gxe")
	if err := rdb.Do(t.Context(), "acl", "setuser", "dashboard", "on", ">secret", "+@all", "-psubscribe", "%R~*", "resetchannels").Err(); err != nil {
		t.Fatal(err)
	}
	printed, err := checked(t, fmt.Sprintf("  preset: redis-text-status\n  events: true\n  redis: {url: %q}\n", strings.Replace(server.URL(), "redis://", "redis://dashboard:secret@", 1)))
	const want = "PROBLEM the account lacks rights; grant: +psubscribe\n" +
		"    and run check again: only then it shows whether these are granted: &__keyspace@0__:msg:* &__keyspace@0__:retry:*\n"
	if err == nil || !strings.HasSuffix(printed, want) {
		t.Errorf("%v, printed %q", err, printed)
	}
}
