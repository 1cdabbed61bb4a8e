package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"dedup-dashboard/lab/servers"
)

const shopDatabase = "shop"

// rowServer is a private MariaDB or PostgreSQL.
type rowServer interface {
	AdminDSN(database string) string
	DSN(user, password, database string) string
	Exec(ctx context.Context, database string, statements ...string) error
	CreateDatabase(ctx context.Context, name string) error
	CreateUser(ctx context.Context, name, password string) error
	Kill()
}

// brand is what differs between the two databases.
type brand struct {
	name string
	// store is the driver in the configuration of a store, driver the one of database/sql.
	store, driver string
	start         func(ctx context.Context, dir string) (rowServer, error)
	// statements make and fill the table.
	statements []string
	// logged makes the server note how long each query of the dashboard's account takes.
	logged []string
	// param is the placeholder of argument n.
	param func(n int) string
	// waits counts the lock waits since the server's start, longest is the dashboard's longest query in seconds.
	waits   func(context.Context, *rowTable) (float64, error)
	longest func(context.Context, *rowTable) (float64, error)
}

// fill makes the table and the account of the dashboard, and returns its password.
func (b brand) fill(ctx context.Context, server rowServer) (password string, err error) {
	password = rand.Text()
	if err := server.CreateDatabase(ctx, shopDatabase); err != nil {
		return "", err
	}
	if err := server.CreateUser(ctx, watchedAs, password); err != nil {
		return "", err
	}
	grant := "GRANT SELECT (id, message_id, business_key, status, created_at, updated_at) ON message_dedup TO " + watchedAs
	statements := append(append(b.statements, grant), b.logged...)
	return password, server.Exec(ctx, shopDatabase, statements...)
}

// countsWaits makes somebody wait for a lock, and fails when that is not counted: then 0 waits would prove nothing.
func (t *rowTable) countsWaits(ctx context.Context) error {
	others, err := t.connect()
	if err != nil {
		return err
	}
	defer others.close()
	before, err := t.brand.waits(ctx, t)
	if err != nil {
		return err
	}
	first, err := others.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer first.Rollback()
	if _, err := first.ExecContext(ctx, completeRow+t.brand.param(1), rowID(1)); err != nil {
		return err
	}
	second := make(chan error, 1)
	go func() { second <- others.complete(ctx, rowID(1)) }()
	for deadline := time.Now().Add(10 * time.Second); ; {
		after, err := t.brand.waits(ctx, t)
		if err == nil && after <= before && time.Now().After(deadline) {
			err = fmt.Errorf("a lock wait was made on purpose and is not counted")
		}
		if err != nil || after > before {
			rolledBack := first.Rollback()
			if waited := <-second; err == nil {
				err = waited
			}
			if err == nil {
				err = rolledBack
			}
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func mariaDB() brand {
	return brand{
		name: "MariaDB", store: "mysql", driver: "mysql",
		start: func(ctx context.Context, dir string) (rowServer, error) {
			return servers.StartMariaDB(ctx, servers.SQLOptions{Dir: dir})
		},
		statements: []string{
			`CREATE TABLE message_dedup (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE,
				business_key VARCHAR(128), status TINYINT NOT NULL DEFAULT 0, result TEXT, created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
				updated_at DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)`,
			`INSERT INTO message_dedup (message_id, business_key, status, result, created_at, updated_at)
				SELECT CONCAT('message-', LPAD(seq, 12, '0')), CONCAT('order:', seq DIV 2), IF(seq % 100 = 0, 0, 1), REPEAT('x', 100),
				NOW() - INTERVAL seq % 86400 SECOND, NOW() - INTERVAL seq % 86400 SECOND FROM seq_1_to_` + strconv.Itoa(manyRows),
			`ANALYZE TABLE message_dedup`,
		},
		// An account with all rights, as that of the other clients, is spared init_connect.
		logged: []string{"SET GLOBAL log_output = 'TABLE'", "SET GLOBAL init_connect = 'SET SESSION long_query_time = 0'", "SET GLOBAL slow_query_log = ON"},
		param:  func(int) string { return "?" },
		waits: func(ctx context.Context, t *rowTable) (float64, error) {
			return ask(ctx, t, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_row_lock_waits'")
		},
		longest: func(ctx context.Context, t *rowTable) (float64, error) {
			return ask(ctx, t, "SELECT MAX(TIME_TO_SEC(query_time)) FROM mysql.slow_log WHERE user_host LIKE '"+watchedAs+"[%'")
		},
	}
}

func postgreSQL() brand {
	var log string
	return brand{
		name: "PostgreSQL", store: "postgres", driver: "pgx",
		start: func(ctx context.Context, dir string) (rowServer, error) {
			// Run as root, the server works under another account, which must pass through our folder.
			if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
				return nil, err
			}
			log = filepath.Join(dir, "postgres.log")
			// A wait is logged once it has lasted deadlock_timeout, whose least value is 1 ms.
			return servers.StartPostgres(ctx, servers.SQLOptions{Dir: dir, Args: []string{"-c", "log_lock_waits=on", "-c", "deadlock_timeout=1ms"}})
		},
		statements: []string{
			`CREATE TABLE message_dedup (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE,
				business_key VARCHAR(128), status SMALLINT NOT NULL DEFAULT 0, result TEXT, created_at TIMESTAMP DEFAULT now(), updated_at TIMESTAMP DEFAULT now())`,
			`INSERT INTO message_dedup (message_id, business_key, status, result, created_at, updated_at)
				SELECT 'message-' || lpad(seq::text, 12, '0'), 'order:' || seq / 2, CASE WHEN seq % 100 = 0 THEN 0 ELSE 1 END, repeat('x', 100),
				now() - seq % 86400 * interval '1 second', now() - seq % 86400 * interval '1 second' FROM generate_series(1, ` + strconv.Itoa(manyRows) + `) seq`,
			`VACUUM ANALYZE message_dedup`,
		},
		logged: []string{"ALTER ROLE " + watchedAs + " SET log_min_duration_statement = 0"},
		param:  func(n int) string { return "$" + strconv.Itoa(n) },
		waits: func(context.Context, *rowTable) (float64, error) {
			found, err := inLog(log, regexp.MustCompile(`still waiting for (\S+) on `))
			return float64(len(found)), err
		},
		longest: func(context.Context, *rowTable) (float64, error) {
			found, err := inLog(log, regexp.MustCompile(`duration: ([0-9.]+) ms`))
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("no query of %s is in the log", watchedAs)
			}
			var longest float64
			for _, match := range found {
				took, err := strconv.ParseFloat(match[1], 64)
				if err != nil {
					return 0, err
				}
				longest = max(longest, took/1000)
			}
			return longest, err
		},
	}
}

// ask runs a query for one number; NULL is an error.
func ask(ctx context.Context, t *rowTable, query string) (number float64, err error) {
	db, err := sql.Open(t.brand.driver, t.server.AdminDSN(shopDatabase))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	if err := db.QueryRowContext(ctx, query).Scan(&number); err != nil {
		return 0, fmt.Errorf("%.100s: %w", query, err)
	}
	return number, nil
}

func inLog(name string, pattern *regexp.Regexp) ([][]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return pattern.FindAllStringSubmatch(string(text), -1), nil
}
