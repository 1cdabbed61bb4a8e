package shop

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/lab/servers/serverstest"
)

func TestAStoreOfItsOwnIsSharedWithNobodyAndStopsWithTheOthers(t *testing.T) {
	serverstest.Needed(t)
	f, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.close() })
	config := Config{Pipelines: []PipelineConfig{{Name: "orders", OwnStore: true}, {Name: "payments"}, {Name: "emails"}}}
	var accounts access
	s, err := startStores(t.Context(), config, &accounts, f)
	t.Cleanup(func() { _ = s.stop(context.Background()) })
	if err != nil {
		t.Fatal(err)
	}
	if own, shared := s.of("orders"), s.of("payments"); own == shared || shared != s.of("emails") || len(s.all()) != 2 {
		t.Fatalf("orders on %s, payments on %s, emails on %s", own.Addr(), shared.Addr(), s.of("emails").Addr())
	}
	ping := func(pipeline string) error {
		options, err := redis.ParseURL(accounts.redisURL(s.of(pipeline).Addr(), 0))
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(options)
		defer client.Close()
		return client.Ping(t.Context()).Err()
	}
	answer := func(when string, want bool) {
		t.Helper()
		for _, pipeline := range []string{"orders", "payments"} {
			if err := ping(pipeline); (err == nil) != want {
				t.Errorf("%s the store of %s: %v", when, pipeline, err)
			}
		}
	}
	answer("at first", true)
	for range 2 { // what is stopped twice is stopped
		if err := s.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	answer("stopped", false)
	if err := s.restart(t.Context()); err != nil {
		t.Error(err)
	}
	answer("started again", true)
}

func TestNoServerIsStartedThatNobodyUses(t *testing.T) {
	f, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.close() })
	s, err := startStores(t.Context(), Config{Pipelines: []PipelineConfig{{Name: "orders", OwnStore: true}}}, new(access), f)
	t.Cleanup(func() { _ = s.stop(context.Background()) })
	if err != nil || s.shared != nil || len(s.all()) != 1 {
		t.Errorf("%d servers, shared %v: %v", len(s.all()), s.shared, err)
	}
}
