package servers_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"dedup-dashboard/lab/servers"
)

// sqlServer is what the two private SQL servers have in common.
type sqlServer interface {
	Addr() string
	DSN(user, password, database string) string
	AdminDSN(database string) string
	Exec(ctx context.Context, database string, statements ...string) error
	CreateDatabase(ctx context.Context, name string) error
	CreateUser(ctx context.Context, name, password string) error
	PID() int
	Stop(ctx context.Context) error
	Kill()
	Restart(ctx context.Context) error
}

// sqlDir returns a folder that the account of PostgreSQL can reach.
func sqlDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "private-sql-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func TestSQLServersKeepTheirRowsAcrossAKillAndLetAnAccountDoOnlyWhatWasGranted(t *testing.T) {
	starts := map[string]func(dir string) (sqlServer, error){
		"mysql": func(dir string) (sqlServer, error) {
			return servers.StartMariaDB(t.Context(), servers.SQLOptions{Dir: dir, Args: []string{"--lock-wait-timeout=7"}})
		},
		"pgx": func(dir string) (sqlServer, error) {
			return servers.StartPostgres(t.Context(), servers.SQLOptions{Dir: dir, Args: []string{"-c", "lock_timeout=7s"}})
		},
	}
	for driver, start := range starts {
		t.Run(driver, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			ctx := t.Context()
			server, err := start(sqlDir(t))
			must(t, err)
			t.Cleanup(server.Kill)

			must(t, server.CreateDatabase(ctx, "shop"))
			must(t, server.CreateUser(ctx, "reader", "pw"))
			must(t, server.Exec(ctx, "shop", "CREATE TABLE m (id VARCHAR(9) PRIMARY KEY)",
				"INSERT INTO m VALUES ('é')", "GRANT SELECT ON m TO reader"))
			server.Kill()
			must(t, server.Restart(ctx))

			pool, err := sql.Open(driver, server.DSN("reader", "pw", "shop"))
			must(t, err)
			defer pool.Close()
			var id string
			must(t, pool.QueryRowContext(ctx, "SELECT id FROM m").Scan(&id))
			if id != "é" {
				t.Errorf("after a kill and a restart id = %q", id)
			}
			if _, err := pool.ExecContext(ctx, "DELETE FROM m"); err == nil {
				t.Error("the reader could delete")
			}
			if err := server.Exec(ctx, "shop", "SELECT no_such_column FROM m"); err == nil || !strings.Contains(err.Error(), "no_such_column") {
				t.Errorf("error of a wrong statement = %v", err)
			}
			must(t, pool.Close())
			mustBeGone(t, server)
		})
	}
}

// mustBeGone stops the server and looks for what it could have left behind.
func mustBeGone(t *testing.T, server sqlServer) {
	t.Helper()
	pid, addr := server.PID(), server.Addr()
	must(t, server.Stop(t.Context()))
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
	if connection, err := net.Dial("tcp", addr); err == nil {
		connection.Close()
		t.Errorf("%s still accepts connections", addr)
	}
}

func TestAnSQLServerThatCannotStartSaysWhyWithItsLog(t *testing.T) {
	if _, err := servers.StartMariaDB(t.Context(), servers.SQLOptions{Dir: sqlDir(t), Args: []string{"--no-such-setting"}}); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("MariaDB: error = %v, want one that shows the end of the log", err)
	}
	if _, err := servers.StartPostgres(t.Context(), servers.SQLOptions{Dir: sqlDir(t), Args: []string{"-c", "no_such_setting=1"}}); err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("PostgreSQL: error = %v, want one that shows the end of the log", err)
	}
}
