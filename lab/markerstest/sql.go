package markerstest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// sqlServer is a private SQL server.
type sqlServer interface {
	Addr() string
	DSN(user, password, database string) string
	AdminDSN(database string) string
	Exec(ctx context.Context, database string, statements ...string) error
	CreateDatabase(ctx context.Context, name string) error
	CreateUser(ctx context.Context, name, password string) error
	Kill()
}

// SQLServers are a private MariaDB and a private PostgreSQL that the tests of one package share: each is started when
// it is first asked for, because starting takes longer than most tests. TestMain must call Stop.
type SQLServers struct {
	mariadb  lazyServer
	postgres lazyServer
	count    atomic.Int64
}

// lazyServer is a server that is started once.
type lazyServer struct {
	mu     sync.Mutex
	dir    string
	server sqlServer
	err    error
}

func (l *lazyServer) get(start func(dir string) (sqlServer, error)) (sqlServer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server == nil && l.err == nil {
		if l.dir, l.err = os.MkdirTemp("", "markers-sql-"); l.err == nil {
			l.server, l.err = start(filepath.Join(l.dir, "server"))
		}
	}
	return l.server, l.err
}

func (l *lazyServer) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil && l.err == nil {
		l.server.Kill()
	}
	if l.dir == "" {
		return nil
	}
	return os.RemoveAll(l.dir)
}

// Stop ends the servers that were started and removes their folders.
func (s *SQLServers) Stop() error { return errors.Join(s.mariadb.stop(), s.postgres.stop()) }

// Drivers are the values of sql.driver, in the order in which tests use them.
func Drivers() []string { return []string{"mysql", "postgres"} }

// Database is an empty database of a shared server, for one test.
type Database struct {
	// Driver is the value of sql.driver.
	Driver string
	Name   string
	// Admin may do everything in the database.
	Admin  *sql.DB
	server sqlServer
	serial int64
	users  int
}

// Database makes an empty database, which is dropped when the test ends. MySQL's statements are run by MariaDB.
func (s *SQLServers) Database(t testing.TB, driver string) *Database {
	t.Helper()
	serverstest.Needed(t)
	lazy, start, name := &s.mariadb, startMariaDB, "mysql"
	if driver == "postgres" {
		lazy, start, name = &s.postgres, startPostgres, "pgx"
	}
	server, err := lazy.get(start)
	if err != nil {
		t.Fatal(err)
	}
	d := &Database{Driver: driver, server: server, serial: s.count.Add(1)}
	d.Name = fmt.Sprintf("test_%d", d.serial)
	if err := server.CreateDatabase(t.Context(), d.Name); err != nil {
		t.Fatal(err)
	}
	if d.Admin, err = sql.Open(name, server.AdminDSN(d.Name)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.Admin.Close()
		drop := "DROP DATABASE " + d.Name
		if driver == "postgres" {
			drop += " WITH (FORCE)"
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		if err := server.Exec(ctx, "", drop); err != nil {
			t.Errorf("drop the database of the test: %v", err)
		}
	})
	return d
}

func startMariaDB(dir string) (sqlServer, error) {
	return servers.StartMariaDB(context.Background(), servers.SQLOptions{Dir: dir, Args: []string{"--performance-schema=ON", "--performance-schema-digests-size=10000"}})
}

func startPostgres(dir string) (sqlServer, error) {
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		return nil, err
	}
	return servers.StartPostgres(context.Background(), servers.SQLOptions{Dir: dir, Args: []string{"-c", "shared_preload_libraries=pg_stat_statements"}})
}

// Exec runs statements as the administrator.
func (d *Database) Exec(t testing.TB, statements ...string) {
	t.Helper()
	if err := d.server.Exec(t.Context(), d.Name, statements...); err != nil {
		t.Fatal(err)
	}
}

// Addr is the host and port of the server.
func (d *Database) Addr() string { return d.server.Addr() }

// AdminDSN is the address of the database for an account that may do everything.
func (d *Database) AdminDSN() string { return d.server.AdminDSN(d.Name) }

// User makes an account with these grants, in which ACCOUNT stands for its name, and returns its address.
func (d *Database) User(t testing.TB, grants ...string) string {
	t.Helper()
	d.users++
	name := fmt.Sprintf("user_%d_%d", d.serial, d.users)
	if err := d.server.CreateUser(t.Context(), name, "secret"); err != nil {
		t.Fatal(err)
	}
	for _, grant := range grants {
		d.Exec(t, strings.ReplaceAll(grant, "ACCOUNT", name))
	}
	return d.server.DSN(name, "secret", d.Name)
}
