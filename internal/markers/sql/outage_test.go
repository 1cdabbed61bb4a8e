package sql_test

import (
	"context"
	stdsql "database/sql"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// mortal is a server of one test alone, which may be killed.
type mortal interface {
	AdminDSN(database string) string
	Exec(ctx context.Context, database string, statements ...string) error
	CreateDatabase(ctx context.Context, name string) error
	Kill()
	Restart(ctx context.Context) error
	Addr() string
	DSN(user, password, database string) string
	CreateUser(ctx context.Context, name, password string) error
}

func startMortal(t *testing.T, driver string) mortal {
	t.Helper()
	serverstest.Needed(t)
	dir, err := os.MkdirTemp("", "markers-mortal-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	options := servers.SQLOptions{Dir: filepath.Join(dir, "server")}
	var server mortal
	if driver == "mysql" {
		server, err = servers.StartMariaDB(t.Context(), options)
	} else {
		server, err = servers.StartPostgres(t.Context(), options)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return server
}

func TestAServerThatIsKilledIsCalledDownAndItsLastPassStands(t *testing.T) {
	for _, driver := range markerstest.Drivers() {
		t.Run(markerstest.DriverName(driver), func(t *testing.T) {
			server := startMortal(t, driver)
			if err := server.CreateDatabase(t.Context(), "shop"); err != nil {
				t.Fatal(err)
			}
			if err := server.Exec(t.Context(), "shop", markerstest.DedupTables[driver], "INSERT INTO message_dedup (message_id) VALUES ('m-1')"); err != nil {
				t.Fatal(err)
			}
			cfg := sqlConfig("sql-status-code")
			cfg.SQL = markers.SQL{Driver: driver, DSN: secret.New(server.AdminDSN("shop"))}
			cfg.Sweep.Every = time.Second
			store := markerstest.OpenStore(t, cfg)
			passes := passesOf(t, store)
			passes()
			before, err := store.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			awaitUptime(t, server.AdminDSN(""), driver)
			server.Kill()
			eventually(t, func() string {
				stats, err := store.Stats(t.Context())
				if err == nil || !strings.Contains(dedup.PublicText(err), "refused the connection") || strings.Contains(err.Error(), "password") {
					return fmt.Sprintf("stats say %v", err)
				}
				if stats.Pass == nil || stats.Pass.Matched != 1 {
					return "the last pass is gone"
				}
				return ""
			})
			if err := server.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := server.Exec(t.Context(), "shop", "INSERT INTO message_dedup (message_id) VALUES ('m-2')"); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() string {
				stats, err := store.Stats(t.Context())
				if err != nil || stats.Pass == nil || stats.Pass.Matched != 2 {
					return fmt.Sprintf("stats %+v, %v", stats.Pass, err)
				}
				if stats.Health.RunID == before.Health.RunID {
					return "the restart does not show: " + stats.Health.RunID
				}
				return ""
			})
		})
	}
}

// TestACrashOfOneSessionBeginsTheCountsAnew: PostgreSQL then starts all its processes anew but the first, and its sequences may skip ids.
func TestACrashOfOneSessionBeginsTheCountsAnew(t *testing.T) {
	server := startMortal(t, "postgres")
	if err := server.CreateDatabase(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(t.Context(), "shop", markerstest.DedupTables["postgres"], "INSERT INTO message_dedup (message_id) VALUES ('m-1')"); err != nil {
		t.Fatal(err)
	}
	cfg := sqlConfig("sql-status-code")
	cfg.SQL = markers.SQL{Driver: "postgres", DSN: secret.New(server.AdminDSN("shop"))}
	store := markerstest.OpenStore(t, cfg)
	run := ""
	eventually(t, func() string {
		stats, err := store.Stats(t.Context())
		run = stats.Health.RunID
		if again, errAgain := store.Stats(t.Context()); err != nil || errAgain != nil || again.Health.RunID != run {
			return fmt.Sprintf("%v, %v: %s, then %s", err, errAgain, run, again.Health.RunID)
		}
		return ""
	})
	db, err := stdsql.Open("pgx", server.AdminDSN("shop"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var pid int
	if err := db.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		stats, err := store.Stats(t.Context())
		if err != nil || stats.Health.RunID == run {
			return fmt.Sprintf("%v: the crash does not show in %s", err, stats.Health.RunID)
		}
		return ""
	})
}

// relay passes connections on to a server, and breaks them when it is pointed at another.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	target   string
	open     []net.Conn
}

func startRelay(t *testing.T, target string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener, target: target}
	t.Cleanup(func() { _ = listener.Close(); r.point("") })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			to, err := net.Dial("tcp", r.target)
			if err == nil {
				r.open = append(r.open, from, to)
				go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
				go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
			} else {
				_ = from.Close()
			}
			r.mu.Unlock()
		}
	}()
	return r
}

func (r *relay) point(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
	for _, conn := range r.open {
		_ = conn.Close()
	}
	r.open = nil
}

func TestAPassIsNeverMadeOfTwoServers(t *testing.T) {
	for _, driver := range markerstest.Drivers() {
		t.Run(markerstest.DriverName(driver), func(t *testing.T) {
			first, second := startMortal(t, driver), startMortal(t, driver)
			for i, server := range []mortal{first, second} {
				if err := server.CreateDatabase(t.Context(), "shop"); err != nil {
					t.Fatal(err)
				}
				if err := server.CreateUser(t.Context(), "watch", "secret"); err != nil {
					t.Fatal(err)
				}
				ids := strings.Join(slices.Repeat([]string{fmt.Sprintf("(%d)", i)}, 1+2*i), ", ")
				if err := server.Exec(t.Context(), "shop", markerstest.DedupTables[driver], "ALTER TABLE message_dedup DROP "+map[string]string{"mysql": "INDEX message_id", "postgres": "CONSTRAINT message_dedup_message_id_key"}[driver],
					"INSERT INTO message_dedup (message_id) VALUES "+ids, "GRANT SELECT ON message_dedup TO watch"); err != nil {
					t.Fatal(err)
				}
			}
			relay := startRelay(t, first.Addr())
			cfg := sqlConfig("sql-status-code")
			dsn := strings.Replace(first.DSN("watch", "secret", "shop"), first.Addr(), relay.listener.Addr().String(), 1)
			cfg.SQL = markers.SQL{Driver: driver, DSN: secret.New(dsn)}
			cfg.Sweep.Every = time.Second
			store := markerstest.OpenStore(t, cfg)
			if p := passesOf(t, store)(); p.Matched != 1 {
				t.Fatalf("first server: %+v", p)
			}
			relay.point(second.Addr())
			eventually(t, func() string {
				stats, err := store.Stats(t.Context())
				if stats.Pass != nil && err == nil && stats.Pass.Matched == 1 {
					t.Fatal("the pass over the first server is shown as one over the second")
				}
				if err != nil || stats.Pass == nil || stats.Pass.Matched != 3 {
					return fmt.Sprintf("stats %+v, %v", stats.Pass, err)
				}
				return ""
			})
		})
	}
}
