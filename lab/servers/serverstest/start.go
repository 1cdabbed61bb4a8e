// Package serverstest starts the servers of tests: each lives as long as its test, and a test that needs one is skipped by go test -short,
// which is make check.
package serverstest

import (
	"os"
	"path/filepath"
	"testing"

	"dedup-dashboard/lab/servers"
)

// Needed skips a test in short mode: it starts servers or programs.
func Needed(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a server: left to make test")
	}
}

// RabbitMQ starts a private broker, in a folder of the test's unless the options name one.
func RabbitMQ(t testing.TB, options servers.RabbitMQOptions) *servers.RabbitMQ {
	t.Helper()
	Needed(t)
	if options.Dir == "" {
		options.Dir = t.TempDir()
	}
	server, err := servers.StartRabbitMQ(t.Context(), options)
	return kept(t, server, err)
}

// RabbitCluster starts a private cluster of brokers.
func RabbitCluster(t testing.TB, options servers.RabbitMQOptions, nodes int) *servers.RabbitCluster {
	t.Helper()
	Needed(t)
	options.Dir = t.TempDir()
	cluster, err := servers.StartRabbitCluster(t.Context(), options, nodes)
	return kept(t, cluster, err)
}

// Redis starts a private Redis with these further arguments.
func Redis(t testing.TB, args ...string) *servers.Redis {
	t.Helper()
	Needed(t)
	server, err := servers.StartRedis(t.Context(), servers.RedisOptions{Dir: t.TempDir(), Args: args})
	return kept(t, server, err)
}

// RedisGroup starts a private primary, a replica and three Sentinels.
func RedisGroup(t testing.TB) *servers.RedisGroup {
	t.Helper()
	Needed(t)
	group, err := servers.StartRedisGroup(t.Context(), servers.RedisOptions{Dir: t.TempDir()})
	return kept(t, group, err)
}

// RedisCluster starts a private Redis Cluster of three primaries with a replica each.
func RedisCluster(t testing.TB) *servers.RedisCluster {
	t.Helper()
	Needed(t)
	cluster, err := servers.StartRedisCluster(t.Context(), servers.RedisOptions{Dir: t.TempDir()})
	return kept(t, cluster, err)
}

// MariaDB starts a private MariaDB with these further arguments.
func MariaDB(t testing.TB, args ...string) *servers.MariaDB {
	t.Helper()
	Needed(t)
	server, err := servers.StartMariaDB(t.Context(), servers.SQLOptions{Dir: sqlFolder(t), Args: args})
	return kept(t, server, err)
}

// Postgres starts a private PostgreSQL with these further arguments.
func Postgres(t testing.TB, args ...string) *servers.Postgres {
	t.Helper()
	Needed(t)
	server, err := servers.StartPostgres(t.Context(), servers.SQLOptions{Dir: sqlFolder(t), Args: args})
	return kept(t, server, err)
}

// kept ends a server with its test.
func kept[S interface{ Kill() }](t testing.TB, server S, err error) S {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return server
}

// sqlFolder returns a folder that the account of PostgreSQL can pass through, unlike that of t.TempDir.
func sqlFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sql-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "server")
}
