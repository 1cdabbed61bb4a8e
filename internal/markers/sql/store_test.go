package sql_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

// onEach runs a test on an empty database of each server.
func onEach(t *testing.T, run func(t *testing.T, db *markerstest.Database)) {
	for _, driver := range markerstest.Drivers() {
		t.Run(markerstest.DriverName(driver), func(t *testing.T) { run(t, sqlServers.Database(t, driver)) })
	}
}

// by returns the value for the driver of the database.
func by(db *markerstest.Database, mysql, postgres string) string {
	if db.Driver == "mysql" {
		return mysql
	}
	return postgres
}

// series is a source of the numbers 1 to n in their order, as column seq. It ends its statement. MySQL has none of its own, so that it is made of digits.
func series(db *markerstest.Database, n int) string {
	seq, digits := "1", []string(nil)
	for place := 1; place < n; place *= 10 {
		digit := fmt.Sprintf("d%d", place)
		seq += fmt.Sprintf(" + %d * %s.n", place, digit)
		digits = append(digits, "(SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) "+digit)
	}
	return by(db, fmt.Sprintf("(SELECT %s seq FROM %s HAVING seq <= %d) series ORDER BY seq", seq, strings.Join(digits, ", "), n), fmt.Sprintf("generate_series(1, %d) seq", n))
}

// TestAnEmptyTextIsNoNULL reads a row that has nothing but empty texts before its status, and an empty one there.
func TestAnEmptyTextIsNoNULL(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, "CREATE TABLE m (id VARCHAR(64) PRIMARY KEY, status VARCHAR(20), owner VARCHAR(20))", "INSERT INTO m VALUES ('', '', NULL)")
		store := openTable(t, db, "sql-status-name", func(c *markers.Config) {
			c.Table, c.Columns = "m", markers.Columns{ID: markers.ColumnList{"id"}, Status: "status", Owner: "owner"}
		})
		report, err := store.Check(t.Context(), 5)
		if err != nil || len(report.Samples) != 1 || report.Pass.Matched != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		if m := report.Samples[0]; m.State != dedup.StateUnknown || !strings.Contains(m.Detail, "no state has the status") {
			t.Errorf("read as %+v", m)
		}
		seen, err := store.Look(t.Context(), []string{""})
		if err != nil || len(seen) != 1 || seen[0] == nil {
			t.Fatalf("looked at %+v, %v", seen, err)
		}
		if got := string(seen[0].Value); !strings.Contains(got, `"status":""`) || !strings.Contains(got, `"owner":null`) {
			t.Errorf("its value is %s", got)
		}
	})
}

func TestATableOfManyPagesIsReadOnceWhateverItsKey(t *testing.T) {
	const rows = 3000
	keys := map[string][2]string{
		"a number":        {`CREATE TABLE m (k BIGINT PRIMARY KEY, id VARCHAR(64))`, `INSERT INTO m SELECT seq * 7, CONCAT('id-', seq) FROM `},
		"a text":          {`CREATE TABLE m (k VARCHAR(40) PRIMARY KEY, id VARCHAR(64))`, `INSERT INTO m SELECT CONCAT(seq, '''"\\|', seq % 10), CONCAT('id-', seq) FROM `},
		"two columns":     {`CREATE TABLE m (a VARCHAR(20), b BIGINT, id VARCHAR(64), PRIMARY KEY (a, b))`, `INSERT INTO m SELECT CONCAT('consumer ', seq % 3), seq, CONCAT('id-', seq) FROM `},
		"three columns":   {`CREATE TABLE m (a INT, b INT, c INT, id VARCHAR(64), PRIMARY KEY (a, b, c))`, `INSERT INTO m SELECT seq % 2, seq % 7, seq, CONCAT('id-', seq) FROM `},
		"a unique key":    {`CREATE TABLE m (id VARCHAR(64) NOT NULL UNIQUE)`, `INSERT INTO m SELECT CONCAT('id-', seq) FROM `},
		"a moment":        {`CREATE TABLE m (k TIMESTAMP(6) PRIMARY KEY, id VARCHAR(64))`, ``},
		"a byte string":   {``, ``},
		"a decimal below": {`CREATE TABLE m (k DECIMAL(20,4) PRIMARY KEY, id VARCHAR(64))`, `INSERT INTO m SELECT -seq / 4.0, CONCAT('id-', seq) FROM `},
	}
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		keys["a byte string"] = [2]string{by(db, `CREATE TABLE m (k BINARY(16) PRIMARY KEY, id VARCHAR(64))`, `CREATE TABLE m (k BYTEA PRIMARY KEY, id VARCHAR(64))`),
			by(db, `INSERT INTO m SELECT UNHEX(LEFT(SHA2(seq, 224), 32)), CONCAT('id-', seq) FROM `, `INSERT INTO m SELECT decode(md5(seq::text), 'hex'), CONCAT('id-', seq) FROM `)}
		keys["a moment"] = [2]string{keys["a moment"][0],
			by(db, `INSERT INTO m SELECT '2026-01-01 00:00:00' + INTERVAL seq * 1003 MICROSECOND, CONCAT('id-', seq) FROM `, `INSERT INTO m SELECT '2026-01-01'::timestamp + seq * interval '1003 microseconds', CONCAT('id-', seq) FROM `)}
		for name, key := range keys {
			t.Run(name, func(t *testing.T) {
				db.Exec(t, "DROP TABLE IF EXISTS m", key[0], strings.ReplaceAll(key[1], `\\`, by(db, `\\`, `\`))+series(db, rows))
				store := openTable(t, db, "sql-unique-row", func(c *markers.Config) {
					c.Table, c.Columns = "m", markers.Columns{ID: markers.ColumnList{"id"}}
					c.Sweep.Count = 170
				})
				pass := markerstest.MustPass(t, store)
				if pass.Examined != rows || pass.Matched != rows {
					t.Errorf("examined %d, matched %d of %d", pass.Examined, pass.Matched, rows)
				}
				browseTable(t, store, rows)
			})
		}
	})
}

// browseTable pages through the store and looks each marker up by its key.
func browseTable(t *testing.T, store markers.Store, rows int) {
	t.Helper()
	reader := store.(markers.Reader)
	seen := map[string]bool{}
	for cursor, pages := "", 0; ; pages++ {
		page, err := reader.Browse(t.Context(), dedup.MarkerQuery{Cursor: cursor, Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, m := range page.Markers {
			if seen[m.ID] {
				t.Fatalf("%s is on two pages", m.ID)
			}
			seen[m.ID] = true
			list = append(list, m.Key)
		}
		if pages%5 == 0 {
			found, err := reader.Look(t.Context(), list)
			if err != nil || slices.Contains(found, nil) {
				t.Fatalf("look at %d keys such as %q: %v", len(list), list[0], err)
			}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(seen) != rows {
		t.Errorf("%d of %d markers on pages", len(seen), rows)
	}
}

func TestALongKeyOfSeveralColumnsIsFoundInItsIndexByEachQuery(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, `CREATE TABLE m (a VARCHAR(20), b BIGINT, id VARCHAR(64), PRIMARY KEY (a, b))`,
			`INSERT INTO m SELECT 'one', seq, 'x' FROM `+series(db, 60_000))
		store := openTable(t, db, "sql-unique-row", func(c *markers.Config) {
			c.Table, c.Columns, c.Sweep.Count = "m", markers.Columns{ID: markers.ColumnList{"id"}}, 100
		})
		// A query that began at the first row each time would read 18 million rows.
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		if pass, err := store.Pass(ctx); err != nil || pass.Examined != 60_000 {
			t.Fatalf("examined %d: %v", pass.Examined, err)
		}
		if db.Driver == "mysql" {
			var name string
			var read int64
			if err := db.Admin.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Handler_read_next'").Scan(&name, &read); err != nil || read > 5_000_000 {
				t.Errorf("the server read %d rows along indexes: %v", read, err)
			}
		}
	})
}

func TestAPassCountsWhatAnOperatorAsksFor(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, by(db, `CREATE TABLE inbox (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) COLLATE utf8mb4_bin UNIQUE, biz VARCHAR(64), status VARCHAR(10), changed DATETIME(3), expires DATETIME, tries INT, holder VARCHAR(20))`,
			`CREATE TABLE inbox (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) UNIQUE, biz VARCHAR(64), status VARCHAR(10), changed TIMESTAMP(3), expires TIMESTAMP, tries INT, holder VARCHAR(20))`))
		for _, row := range []string{
			`('d41d8cd98f00b204e9800998ecf8427e', 'order:1', 'OK', AGO(5), IN(30), 0, NULL)`,
			`('m2', 'order:1', 'OK', AGO(5), IN(3000), 0, NULL)`,
			`('m3', 'order:2', 'RUN', AGO(700), AGO(100), 2, 'host-a')`,
			`('m4', 'order:3', 'RUN', AGO(600), NULL, 0, 'host-b')`,
			`('m5', NULL, 'BAD', AGO(4000), IN(900000), 5, NULL)`,
			`('an id that is the longest 日本', 'order:4', 'OK', AGO(200000), IN(100), 9, NULL)`,
			`(NULL, 'order:4', 'OK', AGO(1), IN(100), 0, NULL)`,
			`('m8', '', NULL, NULL, NULL, NULL, NULL)`,
		} {
			db.Exec(t, moments(db.Driver, "INSERT INTO inbox (message_id, biz, status, changed, expires, tries, holder) VALUES "+row))
		}
		store := openTable(t, db, "sql-status-name", func(c *markers.Config) {
			c.Table = "inbox"
			c.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, BusinessKey: "biz", Status: "status", Updated: "changed", Expires: "expires", Attempts: "tries", Owner: "holder"}
			c.States = map[dedup.State][]string{dedup.Processing: {"RUN"}, dedup.Done: {"OK"}, dedup.Failed: {"BAD"}}
			c.Retry.GiveUp = 3
		})
		p := markerstest.MustPass(t, store)
		markerstest.WantStates(t, p, map[dedup.State]int64{dedup.Done: 3, dedup.Processing: 2, dedup.Failed: 1, dedup.StateUnknown: 1})
		now := time.Now().Add(p.ClockOffset)
		for what, c := range map[string][2]any{
			"examined": {p.Examined, int64(8)}, "hash ids": {p.HashIDs, int64(1)}, "longest id": {p.LongestID, int64(32)}, "expired": {p.Expired, int64(1)},
			"processing without expiry": {p.NoExpiry[dedup.Processing], int64(1)}, "unknown without expiry": {p.NoExpiry[dedup.StateUnknown], int64(1)},
			"permanent": {len(p.Permanent), 2}, "expiries": {fmt.Sprint(p.Expiries), "[1 1 1 0 0 0 0 1]"},
			"completions": {p.Completions.Between(now.Add(-time.Minute), now), int64(2)}, "completions of years": {p.Completions.Total(), int64(2)},
			"gave up": {p.GaveUp.Between(now.Add(-2*time.Hour), now), int64(1)}, "retrying": {p.Retrying, int64(1)},
			"repeated keys": {p.RepeatedKeys, int64(1)}, "repeats": {fmt.Sprint(p.Repeated), "[{order:1 [d41d8cd98f00b204e9800998ecf8427e m2] 2}]"},
			"oldest": {fmt.Sprint(p.OldestProcessing[0].ID, p.OldestProcessing[1].ID, p.OldestProcessing[1].Owner, *p.OldestProcessing[1].Attempts), "m4m3host-a2"},
			"failed": {p.FailedMarkers[0].ID, "m5"}, "gave up list": {p.GaveUpMarkers[0].ID, "m5"},
		} {
			if c[0] != c[1] {
				t.Errorf("%s: %v, want %v", what, c[0], c[1])
			}
		}
		if p.LongID == "" || p.Undecodable[0].ID != "m8" {
			t.Errorf("longest %q, undecodable %+v", p.LongID, p.Undecodable)
		}
	})
}

func TestAMarkerThatStaysAsItIsKeepsTheMomentItWasFirstSeen(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, markerstest.DedupTables[db.Driver], "INSERT INTO message_dedup (message_id) VALUES ('stays'), ('changes')")
		store := openTable(t, db, "sql-status-code", func(c *markers.Config) { c.Sweep.Every = time.Second })
		passes := passesOf(t, store)
		first := listed(passes())
		db.Exec(t, moments(db.Driver, "UPDATE message_dedup SET updated_at = AGO(77) WHERE message_id = 'changes'"))
		passes()
		second := listed(passes())
		if first["stays"].IsZero() || !first["stays"].Equal(second["stays"]) {
			t.Errorf("first seen %v, then %v", first["stays"], second["stays"])
		}
		if !second["changes"].After(first["changes"]) {
			t.Errorf("a changed marker was first seen %v, then %v", first["changes"], second["changes"])
		}
	})
}

func listed(p *dedup.Pass) map[string]time.Time {
	seen := map[string]time.Time{}
	for _, m := range p.OldestProcessing {
		seen[m.ID] = m.FirstSeen
	}
	return seen
}

// passesOf starts the store's walk and returns a function that waits for the next complete pass.
func passesOf(t *testing.T, store markers.Store) func() *dedup.Pass {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); store.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	var last *dedup.Pass
	return func() *dedup.Pass {
		t.Helper()
		eventually(t, func() string {
			stats, err := store.Stats(t.Context())
			if err != nil || stats.Pass == nil || stats.Pass == last {
				return fmt.Sprintf("no new pass: %v, %+v", err, stats.Progress)
			}
			last = stats.Pass
			return ""
		})
		return last
	}
}

// eventually waits until problem is empty. It asks so seldom because InnoDB renews what it tells of transactions only when
// nobody asked for a tenth of a second.
func eventually(t *testing.T, problem func() string) {
	t.Helper()
	deadline := time.NewTimer(90 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		text := problem()
		if text == "" {
			return
		}
		select {
		case <-deadline.C:
			t.Fatal(text)
		case <-tick.C:
		}
	}
}

func TestTimesAreReadInTheZoneOfTheSession(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, by(db, "CREATE TABLE m (id VARCHAR(9) PRIMARY KEY, plain DATETIME, zoned TIMESTAMP NULL)", "CREATE TABLE m (id VARCHAR(9) PRIMARY KEY, plain TIMESTAMP, zoned TIMESTAMPTZ)"))
		conn, err := db.Admin.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{by(db, "SET time_zone = '+08:00'", "SET timezone = 'Asia/Shanghai'"), moments(db.Driver, "INSERT INTO m VALUES ('x', AGO(100), AGO(100))")} {
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		_ = conn.Close()
		zone := by(db, "time_zone=%27%2B08%3A00%27", "timezone=Asia%2FShanghai")
		for _, c := range []struct {
			name, column, parameter string
			right                   bool
		}{
			{"a moment is right in every session", "zoned", "", true},
			{"a plain time is wrong in a session of another zone, and the check says so", "plain", "", false},
			{"a plain time is right in a session of its zone", "plain", zone, true},
			{"a moment is right in that zone too", "zoned", zone, true},
		} {
			t.Run(c.name, func(t *testing.T) {
				store := openTable(t, db, "sql-unique-row", func(cfg *markers.Config) {
					cfg.Table, cfg.Columns = "m", markers.Columns{ID: markers.ColumnList{"id"}, Created: c.column}
					dsn := cfg.SQL.DSN.Reveal()
					if c.parameter != "" {
						dsn += map[bool]string{true: "&", false: "?"}[strings.Contains(dsn, "?")] + c.parameter
					}
					cfg.SQL.DSN = secret.New(dsn)
				})
				report, err := store.Check(t.Context(), 5)
				if err != nil {
					t.Fatal(err)
				}
				age := time.Now().Add(report.Pass.ClockOffset).Sub(report.Samples[0].Since)
				if right := (age - 100*time.Second).Abs() < 10*time.Minute; right != c.right {
					t.Errorf("age %v", age)
				}
				if said := finding(report, "times_in_the_future"); said == c.right {
					t.Errorf("the check says %+v", report.Findings)
				}
			})
		}
	})
}

func finding(r markers.Report, kind string) bool {
	return slices.ContainsFunc(r.Findings, func(f dedup.Finding) bool { return f.Kind == kind })
}

func TestTimesThatAreNoneDoNotDisturb(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, by(db, "CREATE TABLE m (id VARCHAR(20) PRIMARY KEY, made DATETIME, until DATETIME)", "CREATE TABLE m (id VARCHAR(20) PRIMARY KEY, made TIMESTAMP, until TIMESTAMPTZ)"))
		rows := by(db, `('zero', '0000-00-00 00:00:00', '9999-12-31 23:59:59'), ('old', '1969-07-20 20:17:40', '2100-01-01'), ('null', NULL, NULL)`,
			`('zero', '-infinity', 'infinity'), ('old', '1969-07-20 20:17:40', '2100-01-01'), ('null', NULL, NULL)`)
		db.Exec(t, by(db, "SET SESSION sql_mode = ''", "SELECT 1"), "INSERT INTO m VALUES "+rows)
		store := openTable(t, db, "sql-unique-row", func(c *markers.Config) {
			c.Table, c.Columns = "m", markers.Columns{ID: markers.ColumnList{"id"}, Created: "made", Expires: "until"}
		})
		pass := markerstest.MustPass(t, store)
		if pass.Matched != 3 || pass.Expired != 0 || pass.UndatedCompletions != 2 {
			t.Errorf("pass %+v", pass)
		}
		page, err := store.(markers.Reader).Browse(t.Context(), dedup.MarkerQuery{Limit: 10})
		if err != nil || len(page.Markers) != 3 {
			t.Fatal(page, err)
		}
		for _, m := range page.Markers {
			if (m.ID == "old") == m.Since.IsZero() || m.ID == "old" && m.Since.Year() != 1969 || m.ID == "old" && m.Expires.Year() != 2100 && m.Expires.Year() != 2099 {
				t.Errorf("marker %+v", m)
			}
		}
	})
}
