package markers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/markerstest"
	"dedup-dashboard/internal/playground/servers"
	"dedup-dashboard/internal/secret"
)

// mortal is a server of one test alone, which may be killed.
type mortal interface {
	AdminDSN(database string) string
	Exec(ctx context.Context, database string, statements ...string) error
	CreateDatabase(ctx context.Context, name string) error
	Kill()
	Restart(ctx context.Context) error
}

func startMortal(t *testing.T, driver string) mortal {
	t.Helper()
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
		t.Run(driverName(driver), func(t *testing.T) {
			server := startMortal(t, driver)
			if err := server.CreateDatabase(t.Context(), "shop"); err != nil {
				t.Fatal(err)
			}
			if err := server.Exec(t.Context(), "shop", dedupTables[driver], "INSERT INTO message_dedup (message_id) VALUES ('m-1')"); err != nil {
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
			if driver == "mysql" {
				// MariaDB counts its uptime in seconds: a restart shows by that.
				eventually(t, func() string {
					err := server.Exec(t.Context(), "", "BEGIN NOT ATOMIC IF (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME') < 4 THEN SIGNAL SQLSTATE '45000'; END IF; END")
					if err != nil {
						return err.Error()
					}
					return ""
				})
			}
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
