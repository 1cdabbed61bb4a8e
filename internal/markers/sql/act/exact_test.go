package act_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/lab/markerstest"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
)

// oddTables hold every kind of value that a text form could lose, in a marker table with a binary id.
var oddTables = map[string][]string{
	"mysql": {`CREATE TABLE odd (id BINARY(16) PRIMARY KEY, status VARCHAR(10) NOT NULL, created_at DATETIME(6), seen_at TIMESTAMP(6) NULL,
			biz MEDIUMTEXT, note MEDIUMTEXT, old VARCHAR(20) CHARACTER SET latin1, f FLOAT, d DOUBLE, m DECIMAL(30,10), b BIT(12), e ENUM('a','b'),
			s SET('x','y'), j JSON, ti TIME(3), y YEAR, blb BLOB, zero DATE, pad CHAR(8), twice INT AS (y * 2) STORED, hid INT INVISIBLE DEFAULT 7,
			up TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)`,
		`SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ALLOW_INVALID_DATES'`,
		`INSERT INTO odd (id, status, created_at, seen_at, biz, note, old, f, d, m, b, e, s, j, ti, y, blb, zero, pad, hid, up) VALUES
			(UNHEX('00FF27225C0A0D1A8081828384858600'), 'PROCESSING', '2026-03-29 02:30:00.123456', '2026-10-25 01:30:00.654321',
			REPEAT('é', 500000), REPEAT('it''s \ "x" 😀', 60000), 'café', 0.123456789, 1e0/3, 12345678901234567890.0123456789, b'101010101010', 'b', 'x,y',
			'{"a": 1,  "b": [null]}', '-12:34:56.789', 2026, UNHEX('00DEADBEEF0027'), '2026-02-31', 'ab', 42, '2026-01-01 00:00:00')`},
	"postgres": {`CREATE TYPE mood AS ENUM ('a', 'b')`,
		`CREATE TABLE odd (id BYTEA PRIMARY KEY, status VARCHAR(10) NOT NULL, created_at TIMESTAMP(6), seen_at TIMESTAMPTZ, biz TEXT, note TEXT,
			f REAL, d DOUBLE PRECISION, m NUMERIC(30,10), b BIT(12), e mood, j JSON, jb JSONB, ti INTERVAL, arr TEXT[], u UUID, pad CHAR(8), n SERIAL,
			al BIGINT GENERATED ALWAYS AS IDENTITY, twice INT GENERATED ALWAYS AS (7 * 2) STORED, ip INET, inf TIMESTAMPTZ)`,
		`INSERT INTO odd (id, status, created_at, seen_at, biz, note, f, d, m, b, e, j, jb, ti, arr, u, pad, ip, inf) VALUES
			('\x00ff27225c0a0d1a80', 'PROCESSING', '2026-03-29 02:30:00.123456', '2026-10-25 01:30:00.654321+00', repeat('é', 500000),
			repeat('it''s \ "x" 😀', 60000), 0.1, 1e0/3, 12345678901234567890.0123456789, B'101010101010', 'b', '{"a": 1,  "b": [null]}', '{"z": 1}',
			'-1 mon 3 days 04:05:06.789', ARRAY['a,b', NULL, '"'], 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'ab', '10.0.0.1/8', 'infinity')`},
}

// wholeTable is every value of every column.
var wholeTable = map[string]string{
	"mysql": `SELECT CONCAT_WS('|', HEX(id), status, created_at, UNIX_TIMESTAMP(seen_at), biz, note, HEX(old), f + 0e0, d, m, b + 0, e, s, j, ti, y,
		HEX(blb), zero, pad, twice, hid, UNIX_TIMESTAMP(up)) FROM odd`,
	"postgres": `SELECT md5(odd::text) FROM odd`,
}

func openOdd(t *testing.T, driver, watchParams string) (*acted, dedup.Sighting) {
	t.Helper()
	db := sqlServers.Database(t, driver)
	db.Exec(t, oddTables[driver]...)
	cfg, _ := markers.Preset("sql-status-name")
	cfg.Table = "odd"
	cfg.Columns = markers.Columns{ID: markers.ColumnList{"id"}, BusinessKey: "biz", Status: "status", Created: "created_at", Updated: "seen_at"}
	a := openActed(t, db, cfg, db.AdminDSN()+watchParams, db.AdminDSN())
	page, err := a.reader.Browse(t.Context(), dedup.MarkerQuery{Limit: 5})
	if err != nil || len(page.Markers) != 1 {
		t.Fatalf("browse: %+v, %v", page, err)
	}
	return a, a.look(t, page.Markers[0].Key)
}

func TestEveryKindOfValueIsComparedAndRestoredExactly(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a, seen := openOdd(t, driver, "")
		before := a.one(t, wholeTable[driver])
		var kept keeper
		wantResult(t, a.actor.Clear(t.Context(), seen, false, kept.keep), dedup.Cleared, "")
		wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Restored, "")
		if after := a.one(t, wholeTable[driver]); after != before {
			t.Error("the restored row differs")
		}
		a.Exec(t, "DELETE FROM odd")
		image := kept.images[0]
		image.ExpiresMillis = time.Now().Add(-time.Minute).UnixMilli()
		wantResult(t, a.actor.Restore(t.Context(), image), dedup.Refused, "already expired, nothing restored")
		a.Exec(t, "ALTER TABLE odd DROP COLUMN note")
		wantResult(t, newActor(t, a.cfg).Restore(t.Context(), kept.images[0]), dedup.Refused, `no column "note"`)
	})
}

func TestTheZoneOfTheWatchingSessionsShiftsNothing(t *testing.T) {
	t.Parallel()
	params := map[string]string{"mysql": "?time_zone=" + url.QueryEscape("'+08:00'"), "postgres": "&timezone=Asia/Shanghai"}
	onBoth(t, func(t *testing.T, driver string) {
		a, seen := openOdd(t, driver, params[driver])
		if !strings.Contains(string(seen.Value), "2026-10-25 01:30:00.654321") || !strings.Contains(string(seen.Value), "2026-03-29 02:30:00.123456") {
			t.Fatal("the sighting is not as it stands in the table")
		}
		before := a.one(t, wholeTable[driver])
		var kept keeper
		wantResult(t, a.actor.Clear(t.Context(), seen, false, kept.keep), dedup.Cleared, "")
		if !strings.Contains(string(kept.images[0].Value), "2026-10-25 01:30:00.654321") {
			t.Error("the image is not in universal time")
		}
		wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Restored, "")
		if after := a.one(t, wholeTable[driver]); after != before {
			t.Error("the restored row differs")
		}
		wantResult(t, a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Cleared, "")
	})
}

// processLogs are message_process_log (D2): the message id is the primary key, so a row that is taken again has the same key.
var processLogs = map[string]string{
	"mysql": `CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status TINYINT NOT NULL,
		process_time TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), expire_time TIMESTAMP NULL, touched DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)`,
	"postgres": `CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status SMALLINT NOT NULL,
		process_time TIMESTAMP NOT NULL DEFAULT now(), expire_time TIMESTAMPTZ NULL, touched TIMESTAMP DEFAULT now())`,
}

func openLog(t *testing.T, driver string) *acted {
	t.Helper()
	db := sqlServers.Database(t, driver)
	db.Exec(t, processLogs[driver])
	cfg, _ := markers.Preset("sql-status-code")
	cfg.Table = "message_process_log"
	cfg.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, BusinessKey: "business_key", Status: "process_status", Created: "process_time", Expires: "expire_time"}
	grants := map[string]string{
		"mysql":    "GRANT SELECT, INSERT, DELETE, TRIGGER, UPDATE (expire_time, touched) ON message_process_log TO ACCOUNT",
		"postgres": "GRANT SELECT, INSERT, DELETE, UPDATE (expire_time) ON message_process_log TO ACCOUNT",
	}
	return openActed(t, db, cfg, db.AdminDSN(), db.User(t, grants[driver]))
}

func TestARowThatIsTakenAgainBetweenSightingAndClearIsNeverCleared(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openLog(t, driver)
		counts := map[dedup.Result]int{}
		usual := 3 * time.Millisecond // after which the row is taken again, so that either comes first as often
		for i := range 1000 {
			id := fmt.Sprintf("m%d", i)
			a.insertLog(t, id, "'2026-01-01 00:00:00'")
			seen := a.look(t, id)
			var wait sync.WaitGroup
			after := rand.N(2 * usual)
			wait.Go(func() { a.takeAgain(t, id, after) })
			result := a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing).Result
			counts[result]++
			if usual += usual / 16; result == dedup.Cleared {
				usual = max(usual*14/16, time.Microsecond)
			}
			wait.Wait()
			if a.one(t, "SELECT COUNT(*) FROM message_process_log WHERE message_id = '"+id+"' AND process_time > '2026-01-02'") != "1" {
				t.Fatalf("round %d: the live row is gone; outcomes so far %v", i, counts)
			}
		}
		t.Logf("outcomes: %v", counts)
		if counts[dedup.Cleared] < 20 || counts[dedup.Changed] < 20 {
			t.Errorf("outcomes %v: the timings did not try both orders", counts)
		}
	})
}

func (a *acted) insertLog(t *testing.T, id, at string) {
	t.Helper()
	if _, err := a.Admin.ExecContext(t.Context(), "INSERT INTO message_process_log (message_id, business_key, process_status, process_time) VALUES ('"+id+"', 'o', 0, "+at+")"); err != nil {
		t.Error(err)
	}
}

// takeAgain is a purge and a consumer that takes the message again, after a while.
func (a *acted) takeAgain(t *testing.T, id string, after time.Duration) {
	<-time.After(after)
	if _, err := a.Admin.ExecContext(t.Context(), "DELETE FROM message_process_log WHERE message_id = '"+id+"'"); err != nil {
		t.Error(err)
	}
	a.insertLog(t, id, "now()")
}

func TestARowWithoutAnExpiryGetsOneAndNothingElseChanges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openLog(t, driver)
		a.Exec(t, "INSERT INTO message_process_log (message_id, business_key, process_status, process_time, touched) VALUES ('m1', 'o', 0, '2026-01-01', '2026-01-01')")
		seen := a.look(t, "m1")
		outcome := a.actor.Expire(t.Context(), seen, 90*time.Second)
		wantResult(t, outcome, dedup.ExpirySet, "expires 20")
		now := a.look(t, "m1")
		if left := now.Expires.Sub(now.Clock); left < 60*time.Second || left > 91*time.Second {
			t.Errorf("it expires in %s", left)
		}
		if got := a.one(t, "SELECT CAST(touched AS CHAR(19)) FROM message_process_log"); got != "2026-01-01 00:00:00" {
			t.Errorf("touched is %s", got)
		}
		wantResult(t, a.actor.Expire(t.Context(), seen, time.Minute), dedup.Changed, "expire_time")
		wantResult(t, a.actor.Expire(t.Context(), now, time.Minute), dedup.Refused, "has an expiry")
		var kept keeper
		wantResult(t, a.actor.Clear(t.Context(), now, false, kept.keep), dedup.Cleared, "")
		wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Restored, "")
	})
}
