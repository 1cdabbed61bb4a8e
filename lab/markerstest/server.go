package markerstest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// StartRedis starts a private Redis with these further arguments, for as long as the test runs, and a client for it.
func StartRedis(t testing.TB, args ...string) (*servers.Redis, *redis.Client) {
	t.Helper()
	server := serverstest.Redis(t, args...)
	return server, Client(t, server.URL())
}

// Client returns a client of the server at url, until the test ends.
func Client(t testing.TB, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.ReadTimeout = time.Minute
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Config returns the preset as a store named shop at url.
func Config(t testing.TB, preset, url string) markers.Config {
	t.Helper()
	cfg, ok := markers.Preset(preset)
	if !ok {
		t.Fatalf("no preset %s", preset)
	}
	cfg.Name = "shop"
	cfg.Redis.URL = secret.New(url)
	return cfg
}

// Unthrottled returns cfg without duty cycle and ceilings, and with pages of 500 keys at least: nobody waits for them.
func Unthrottled(cfg markers.Config) markers.Config {
	cfg.Sweep.Duty, cfg.Sweep.MaxKeysPerSecond, cfg.Sweep.MaxBytesPerSecond = 1, 0, 0
	cfg.Sweep.Count = max(cfg.Sweep.Count, 500)
	return cfg
}

// Log returns a logger that writes to the test's log.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}
