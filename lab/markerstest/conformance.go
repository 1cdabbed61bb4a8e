package markerstest

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
)

// Conform checks that a store opened from cfg counts what the scheme's consumers write through rdb. The database must
// be empty and belong to the test.
func Conform(t *testing.T, cfg markers.Config, rdb redis.UniversalClient, s Scheme) {
	t.Helper()
	store := OpenStore(t, cfg)
	t.Run("an empty store has a pass that counted nothing", func(t *testing.T) {
		pass := MustPass(t, store)
		if pass.Matched != 0 || pass.Examined != 0 || pass.Completions.Total() != 0 {
			t.Errorf("pass of an empty store: %+v", pass)
		}
	})
	t.Run("one message is followed from claim to completion", func(t *testing.T) { conformLife(t, store, rdb, s) })
	t.Run("a crowd is counted to the last marker", func(t *testing.T) { conformCrowd(t, store, rdb, s) })
}

func conformLife(t *testing.T, store markers.Store, rdb redis.UniversalClient, s Scheme) {
	ctx := t.Context()
	if first, err := s.Claim(ctx, rdb, "order:1"); err != nil || !first {
		t.Fatalf("first claim: %v, %v", first, err)
	}
	if again, err := s.Claim(ctx, rdb, "order:1"); err != nil || again {
		t.Fatalf("second claim: %v, %v", again, err)
	}
	pass := MustPass(t, store)
	WantStates(t, pass, map[dedup.State]int64{dedup.Processing: 1})
	m := pass.OldestProcessing[0]
	if m.ID != "order:1" || m.Key != s.Prefix+"order:1" || time.Since(m.Since.Add(-pass.ClockOffset)).Abs() > time.Minute {
		t.Errorf("processing marker: %+v", m)
	}
	if err := s.Complete(ctx, rdb, "order:1", time.Now()); err != nil {
		t.Fatal(err)
	}
	pass = MustPass(t, store)
	WantStates(t, pass, map[dedup.State]int64{dedup.Done: 1})
	now := time.Now().Add(pass.ClockOffset)
	if n := pass.Completions.Between(now.Add(-time.Minute), now.Add(2*time.Second)); n != 1 || pass.ValuesRead != 0 {
		t.Errorf("%d completions in the last minute, %d values read; want 1 and 0", n, pass.ValuesRead)
	}
	if err := s.Fail(ctx, rdb, "order:1", 1); err != nil {
		t.Fatal(err)
	}
	WantStates(t, MustPass(t, store), map[dedup.State]int64{})
	if err := s.clean(ctx, rdb, "order:1"); err != nil {
		t.Fatal(err)
	}
}

func conformCrowd(t *testing.T, store markers.Store, rdb redis.UniversalClient, s Scheme) {
	mix := Mix{Done: 3000, Processing: 300, NoExpiry: 60, Foreign: 1000}
	if s.RetryPrefix != "" {
		mix.GaveUp, mix.Retrying = 65, 40
	}
	if err := Fill(t.Context(), rdb, s, mix); err != nil {
		t.Fatal(err)
	}
	pass := MustPass(t, store)
	WantStates(t, pass, map[dedup.State]int64{dedup.Done: 3000, dedup.Processing: 360})
	if pass.NoExpiry[dedup.Processing] != 60 || pass.Completions.Total() != 3000 || pass.UndatedCompletions != 0 {
		t.Errorf("without expiry %v, dated %d, undated %d", pass.NoExpiry, pass.Completions.Total(), pass.UndatedCompletions)
	}
	if mix.GaveUp > 0 && pass.GaveUpAgain != 2 {
		t.Errorf("given up again %d times, want 2", pass.GaveUpAgain)
	}
	if pass.GaveUp.Total() != int64(mix.GaveUp) || pass.Retrying != int64(mix.Retrying) {
		t.Errorf("gave up %d, retrying %d; want %d, %d", pass.GaveUp.Total(), pass.Retrying, mix.GaveUp, mix.Retrying)
	}
	if want := int64(5*mix.GaveUp + 2*min(mix.GaveUp, 1) + mix.Retrying); pass.RetrySum != want {
		t.Errorf("the retry counters sum up to %d, not %d", pass.RetrySum, want)
	}
	if len(pass.OldestProcessing) != 360 || !pass.OldestProcessing[0].Expires.IsZero() {
		t.Errorf("%d oldest, first %+v", len(pass.OldestProcessing), pass.OldestProcessing[0])
	}
	if want := int64(3360 + 1000 + mix.GaveUp + mix.Retrying); pass.Examined != want {
		t.Errorf("examined %d, want %d", pass.Examined, want)
	}
}

// OpenStore opens the store and closes it when the test ends.
func OpenStore(t testing.TB, cfg markers.Config) markers.Store {
	t.Helper()
	store, err := kinds.Open(cfg, Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// MustPass walks over the store once.
func MustPass(t testing.TB, store markers.Store) dedup.Pass {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pass, err := store.Pass(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return pass
}

// WantStates compares the states of a pass; a state that is not wanted must be absent.
func WantStates(t testing.TB, pass dedup.Pass, want map[dedup.State]int64) {
	t.Helper()
	var sum int64
	for _, state := range dedup.States() {
		if pass.States[state] != want[state] {
			t.Errorf("%s: %d, want %d", state, pass.States[state], want[state])
		}
		sum += want[state]
	}
	if pass.Matched != sum {
		t.Errorf("matched %d, want %d", pass.Matched, sum)
	}
}
