package redis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/markerstest"
)

func TestMarkersAreReadByteForByte(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	big := strings.Repeat("x", 1<<20)
	at := time.UnixMicro(1734400000123456)
	if got, want := markerstest.JSONDone("支付 😀", at),
		`{"status": "success", "result": "\u652f\u4ed8 \ud83d\ude00", "time": 1734400000.123456}`; got != want {
		t.Fatalf("json.dumps writes %s, not %s", want, got)
	}
	for key, c := range map[string]struct {
		value string
		ttl   time.Duration
		want  dedup.State
	}{
		"msg:dedup:claimed":    {"processing", 300 * time.Second, dedup.Processing},
		"msg:dedup:forever":    {"processing", 0, dedup.Processing},
		"msg:dedup:done":       {markerstest.JSONDone("ok", at), 24 * time.Hour, dedup.Done},
		"msg:dedup:old":        {markerstest.JSONDone("支付", at), 100 * time.Second, dedup.Done},
		"msg:dedup:big":        {markerstest.JSONDone(big, at), 100 * time.Second, dedup.Done},
		"msg:dedup:late":       {`{"result": "` + big + `", "status": "success"}`, 100 * time.Second, dedup.StateUnknown},
		"msg:dedup:broken":     {`{"status": "succ`, 0, dedup.StateUnknown},
		"msg:dedup:other":      {`{"status": "paused"}`, 0, dedup.StateUnknown},
		"msg:dedup:array":      {`["success"]`, 0, dedup.StateUnknown},
		"msg:dedup:deep":       {strings.Repeat("[", 400), 0, dedup.StateUnknown},
		"msg:dedup:empty":      {"", 0, dedup.StateUnknown},
		"msg:dedup:java":       {"\xac\xed\x00\x05t\x00\x04done", 0, dedup.StateUnknown},
		"msg:dedup:":           {"processing", 0, ""}, // no id
		"msg:dedup":            {"processing", 0, ""},
		"msg:text":             {"processing", 0, ""},
		"message:dedup:x":      {"processing", 0, ""},
		"msg:dedup:nested":     {`{"a": {"status": "no"}, "status": "success"}`, 0, dedup.Done},
		"msg:dedup:number":     {`{"status": 1}`, 0, dedup.StateUnknown},
		"msg:dedup:null":       {`{"status": null}`, 0, dedup.StateUnknown},
		"msg:dedup:done alone": {"success", 0, dedup.Done},
	} {
		t.Run(key, func(t *testing.T) {
			if err := rdb.FlushDB(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			if err := rdb.Set(ctx, key, c.value, c.ttl).Err(); err != nil {
				t.Fatal(err)
			}
			store := markerstest.OpenStore(t, markerstest.Config(t, "redis-json-status", server.URL()))
			pass := markerstest.MustPass(t, store)
			want := map[dedup.State]int64{}
			if c.want != "" {
				want[c.want] = 1
			}
			markerstest.WantStates(t, pass, want)
			for _, m := range pass.Undecodable {
				if m.Key != key || m.Detail == "" || len(m.Detail) > 400 {
					t.Errorf("sample %+v", m)
				}
			}
		})
	}
}

func TestKeysOfOtherTypesAndHostileNamesAreCountedAsUnknown(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	names := []string{"msg:<script>", "msg:a/b%c?d#e&f\"", "msg:\u202egnp.exe", "msg:line\nbreak", "msg:nul\x00", "msg:\xff\xfe", "msg:" + strings.Repeat("k", 1<<20)}
	for _, name := range names {
		if err := rdb.Set(ctx, name, "processing", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	rdb.HSet(ctx, "msg:hash", "a", "b")
	rdb.LPush(ctx, "msg:list", "a")
	rdb.SAdd(ctx, "retry:set", "a")
	rdb.Set(ctx, "retry:text", "many\u202e\n", 0)
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	pass := markerstest.MustPass(t, store)
	markerstest.WantStates(t, pass, map[dedup.State]int64{dedup.Processing: 7, dedup.StateUnknown: 4})
	var keys []string
	for _, m := range pass.OldestProcessing {
		keys = append(keys, m.Key)
		if m.Key == "" && !strings.Contains(m.Detail, "1048580 bytes") {
			t.Errorf("the long key: %q", m.Detail)
		}
		if strings.TrimPrefix(m.Key, "msg:") != m.ID {
			t.Errorf("id %q of %q", m.ID, m.Key)
		}
	}
	want := append(slices.Clone(names[:6]), "")
	slices.Sort(keys)
	slices.Sort(want)
	if d := cmp.Diff(want, keys); d != "" {
		t.Errorf("keys (-want +got):\n%s", d)
	}
	for _, m := range pass.Undecodable {
		if strings.ContainsAny(m.Detail, "\n\u202e") {
			t.Errorf("detail with raw control characters: %q", m.Detail)
		}
	}
}

func TestTheWiderStoreLeavesTheNarrowerOnesMarkersAlone(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	if err := markerstest.Fill(ctx, rdb, markerstest.TextStatus(), markerstest.Mix{Done: 30}); err != nil {
		t.Fatal(err)
	}
	if err := markerstest.Fill(ctx, rdb, markerstest.JSONStatus(), markerstest.Mix{Done: 20}); err != nil {
		t.Fatal(err)
	}
	rdb.Set(ctx, "msg:processed:1", "1", time.Hour)
	for preset, n := range map[string]int64{"redis-text-status": 30, "redis-json-status": 20} {
		pass := markerstest.MustPass(t, markerstest.OpenStore(t, markerstest.Config(t, preset, server.URL())))
		markerstest.WantStates(t, pass, map[dedup.State]int64{dedup.Done: n})
	}
}

func TestAServerWithoutPexpiretimeGivesTheSameDates(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t, "--rename-command", "PEXPIRETIME", "")
	if err := markerstest.Fill(t.Context(), rdb, markerstest.TextStatus(), markerstest.Mix{Done: 600, Processing: 40, NoExpiry: 3, GaveUp: 2}); err != nil {
		t.Fatal(err)
	}
	pass := markerstest.MustPass(t, markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL())))
	markerstest.WantStates(t, pass, map[dedup.State]int64{dedup.Done: 600, dedup.Processing: 43})
	now := time.Now().Add(pass.ClockOffset)
	if n := pass.Completions.Between(now.Add(-61*time.Minute), now.Add(2*time.Second)); n != 600 {
		t.Errorf("%d completions in the last hour", n)
	}
	if last := pass.OldestProcessing[3]; now.Sub(last.Since) > 10*time.Second || now.Before(last.Since.Add(-2*time.Second)) {
		t.Errorf("since %s, now %s", last.Since, now)
	}
}

func TestDoneMarkersThatOutliveTheirTTLAreNotDatedInTheFuture(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	rdb.Set(ctx, "msg:long", "done", 72*time.Hour)
	rdb.Set(ctx, "msg:never", "done", 0)
	rdb.Set(ctx, "msg:right", "done", 24*time.Hour)
	rdb.Set(ctx, "retry:never", "5", 0)
	rdb.Set(ctx, "retry:long", "5", 72*time.Hour)
	rdb.Set(ctx, "retry:right", "5", 24*time.Hour)
	rdb.Set(ctx, "msg:now", "processing", 300*time.Second)
	rdb.Set(ctx, "msg:stays", "processing", time.Hour)
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	pass := markerstest.MustPass(t, store)
	markerstest.WantStates(t, pass, map[dedup.State]int64{dedup.Done: 4, dedup.Processing: 1})
	if pass.Completions.Total() != 2 || pass.UndatedCompletions != 2 || pass.NoExpiry[dedup.Done] != 1 || pass.GaveUp.Total() != 1 || pass.UndatedGaveUp != 2 {
		t.Errorf("%+v", pass)
	}
	report, err := store.Check(ctx, 20)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, f := range report.Findings {
		kinds = append(kinds, f.Kind)
	}
	if !slices.Contains(kinds, "completions_undated") || !slices.Contains(kinds, "processing_outlives_ttl") || len(report.Samples) != 5 || !strings.Contains(report.Server, ", master") || report.Coverage != 1 {
		t.Errorf("report %+v", report)
	}
	for _, m := range report.Samples {
		age := time.Now().Add(pass.ClockOffset).Sub(m.Since)
		if known := m.ID == "right" || m.ID == "now"; known && (age < 0 || age > time.Minute) || !known && !m.Since.IsZero() {
			t.Errorf("%s is %s since %s, which is %s ago", m.ID, m.State, m.Since, age)
		}
	}
}

func TestReportedCountersAreReadAndBadOnesNamed(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	ctx := t.Context()
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	none, err := store.Reported(ctx, "orders")
	if err != nil || none.Present || len(none.Outcomes) != 0 || none.Ack.Buckets != nil {
		t.Errorf("nothing reported: %+v, %v", none, err)
	}
	rdb.HSet(ctx, "dedupstats:orders", "processed", 9850, "duplicate_done", 150,
		"ack_le_0.005", 3, "ack_le_2.5", 4, "ack_le_inf", 5, "ack_sum_us", 123456, "work_le_5", 7, "work_le_10", "x", "of_another_version", "z")
	got, err := store.Reported(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	want := dedup.Reported{
		At: got.At, Present: true, Outcomes: map[string]int64{"processed": 9850, "duplicate_done": 150},
		Ack: dedup.LatencyCounts{Buckets: []int64{3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 5}, Sum: 123456},
		Bad: []string{"work_le_10", "work_sum_us"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("reported (-want +got):\n%s", d)
	}
	for _, bad := range []string{"1.5", "-1", "", "\u202e1", strings.Repeat("9", 1<<20)} {
		rdb.HSet(ctx, "dedupstats:bad", "processed", 7, "duplicate_done", bad)
		_, err := store.Reported(ctx, "bad")
		wantFault(t, err, "field duplicate_done is not a count")
	}
	rdb.Set(ctx, "dedupstats:text", "x", 0)
	_, err = store.Reported(ctx, "text")
	wantFault(t, err, "is not a hash")
}
