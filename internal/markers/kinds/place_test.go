package kinds

import (
	"log/slog"
	"strings"
	"testing"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
)

func TestAPlaceNamesTheServerAndNoSecret(t *testing.T) {
	of := func(preset string, change func(*markers.Config)) string {
		cfg, ok := markers.Preset(preset)
		if !ok {
			t.Fatalf("there is no preset %s", preset)
		}
		cfg.Name = "orders"
		change(&cfg)
		store, err := Open(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store.Place()
	}
	redis := func(url string) string {
		return of("redis-text-status", func(c *markers.Config) { c.Redis.URL = secret.New(url) })
	}
	cluster := func(addresses ...string) string {
		return of("redis-text-status", func(c *markers.Config) {
			c.Redis = markers.Redis{URL: secret.New("redis://me:hush@x/0"), Cluster: addresses}
		})
	}
	sql := func(dsn string) string {
		return of("sql-status-code", func(c *markers.Config) { c.SQL = markers.SQL{Driver: markers.MySQL, DSN: secret.New(dsn)} })
	}
	for name, tt := range map[string]struct{ place, sameServer, another string }{
		"redis":   {redis("redis://me:hush@a:6379/1"), redis("redis://you:other@a:6379/1"), redis("redis://me:hush@b:6379/1")},
		"cluster": {cluster("a:6379", "b:6379"), cluster("b:6379", "a:6379"), cluster("c:6379")},
		"sql":     {sql("me:hush@tcp(a:3306)/shop"), sql("you:other@tcp(a:3306)/shop"), sql("me:hush@tcp(b:3306)/shop")},
	} {
		if tt.place == "" || strings.Contains(tt.place, "hush") || tt.place != tt.sameServer || tt.place == tt.another {
			t.Errorf("%s: the place is %q, that of the same server %q, that of another one %q", name, tt.place, tt.sameServer, tt.another)
		}
	}
}
