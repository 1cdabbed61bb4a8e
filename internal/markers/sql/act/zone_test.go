package act_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

// Half past one, for the second time, of the days on which the hour from 01:00 to 02:00 comes twice in New York: once in summer time and
// once in winter time. They are the last of these days and the next one.
var (
	lastFold = foldBefore(time.Now())
	nextFold = fold(lastFold.Year() + 1)
)

// fold is half past one, for the second time, of the first Sunday in November.
func fold(year int) time.Time {
	return sunday(year, time.November, 1).Add(6*time.Hour + 30*time.Minute)
}

func foldBefore(at time.Time) time.Time {
	if last := fold(at.Year()); last.Before(at) {
		return last
	}
	return fold(at.Year() - 1)
}

// sunday is the first one of a month, or the second one and so on.
func sunday(year int, month time.Month, nth int) time.Time {
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, (7-int(first.Weekday()))%7+7*(nth-1))
}

// loadNewYork fills the server's time zone tables, which are empty in a new MariaDB.
func loadNewYork(t *testing.T, db *markerstest.Database) {
	t.Helper()
	transitions := []string{}
	for year := lastFold.Year() - 1; year <= nextFold.Year()+1; year++ {
		spring, autumn := sunday(year, time.March, 2).Add(7*time.Hour), sunday(year, time.November, 1).Add(6*time.Hour)
		transitions = append(transitions, fmt.Sprintf("(77, %d, 1), (77, %d, 0)", spring.Unix(), autumn.Unix()))
	}
	db.Exec(t, "INSERT INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (77, 'N')",
		"INSERT INTO mysql.time_zone_name (Name, Time_zone_id) VALUES ('America/New_York', 77)",
		"INSERT INTO mysql.time_zone_transition_type (Time_zone_id, Transition_type_id, `Offset`, Is_DST, Abbreviation) VALUES (77, 0, -18000, 0, 'EST'), (77, 1, -14400, 1, 'EDT')",
		"INSERT INTO mysql.time_zone_transition (Time_zone_id, Transition_time, Transition_type_id) VALUES "+strings.Join(transitions, ", "))
}

// zonedTable is a table whose times are of one type, on a server in one zone, with accounts of which the acting one is in
// another zone.
type zonedTable struct {
	*acted
	typ, zone string
}

func (z zonedTable) moment() bool { return z.typ == "TIMESTAMP" || z.typ == "TIMESTAMPTZ" }

func openZoned(t *testing.T, db *markerstest.Database, zone, typ string) zonedTable {
	t.Helper()
	null := ""
	if db.Driver == "mysql" {
		null = " NULL"
	}
	db.Exec(t, "CREATE TABLE zoned (message_id VARCHAR(64) PRIMARY KEY, status INT NOT NULL, touched "+typ+null+", until "+typ+null+")")
	cfg, _ := markers.Preset("sql-status-code")
	cfg.Table, cfg.Columns = "zoned", markers.Columns{ID: markers.ColumnList{"message_id"}, Status: "status", Updated: "touched", Expires: "until"}
	watch := db.User(t, "GRANT SELECT ON zoned TO ACCOUNT")
	grants := []string{"GRANT SELECT, INSERT, DELETE, UPDATE ON zoned TO ACCOUNT"}
	params := "?time_zone=%27-03%3A00%27"
	if db.Driver == "postgres" {
		// The zone of an account is a setting of its own.
		grants, params = append(grants, "ALTER ROLE ACCOUNT SET timezone = 'Asia/Tokyo'"), "&timezone=America/Sao_Paulo"
		if zone == "UTC" {
			params = ""
		}
	}
	return zonedTable{openActed(t, db, cfg, watch, db.User(t, grants...)+params), typ, zone}
}

// seconds returns a column of the only row in seconds since 1970, as the server's own sessions mean it.
func (z zonedTable) seconds(t *testing.T, column string) int64 {
	t.Helper()
	query := "SELECT CAST(UNIX_TIMESTAMP(" + column + ") AS SIGNED) FROM zoned"
	if z.Driver == "postgres" {
		query = "SELECT EXTRACT(EPOCH FROM " + column + "::timestamptz)::bigint FROM zoned"
	}
	n, err := strconv.ParseInt(z.one(t, query), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// put writes the only row; a moment is exact, and without a zone it is what a clock on the wall shows.
func (z zonedTable) put(t *testing.T, at time.Time) {
	t.Helper()
	value := "'" + at.In(z.location(t)).Format(time.DateTime) + "'"
	switch {
	case z.typ == "TIMESTAMP":
		value = fmt.Sprintf("TIMESTAMPADD(SECOND, %d, '1970-01-01')", at.Unix())
	case z.typ == "TIMESTAMPTZ":
		value = fmt.Sprintf("to_timestamp(%d)", at.Unix())
	}
	statements := []string{"DELETE FROM zoned", "INSERT INTO zoned VALUES ('m1', 0, " + value + ", NULL)"}
	if z.Driver == "mysql" && z.moment() {
		statements = append([]string{"SET time_zone = '+00:00'"}, statements...)
	}
	z.Exec(t, statements...)
}

func (z zonedTable) location(t *testing.T) *time.Location {
	t.Helper()
	if z.zone == "+05:30" || z.zone == "Asia/Kolkata" {
		return time.FixedZone(z.zone, 5*3600+1800)
	}
	location, err := time.LoadLocation(strings.Replace(z.zone, "+00:00", "UTC", 1))
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func TestTimesAreTheSameForBothAccountsWhateverTheirZones(t *testing.T) {
	var own markerstest.SQLServers
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	zones := map[string][]string{"mysql": {"+00:00", "+05:30", "America/New_York"}, "postgres": {"UTC", "Asia/Kolkata", "America/New_York"}}
	types := map[string][]string{"mysql": {"DATETIME", "TIMESTAMP"}, "postgres": {"TIMESTAMP(0)", "TIMESTAMPTZ"}}
	loadNewYork(t, own.Database(t, "mysql"))
	for driver, zones := range zones {
		for _, zone := range zones {
			for _, typ := range types[driver] {
				t.Run(driver+" "+zone+" "+typ, func(t *testing.T) {
					db := own.Database(t, driver)
					set := "SET GLOBAL time_zone = '" + zone + "'"
					if driver == "postgres" {
						set = "ALTER DATABASE " + db.Name + " SET timezone = '" + zone + "'"
					}
					db.Exec(t, set)
					z := openZoned(t, db, zone, typ)
					t.Run("a row is cleared and restored to the second", func(t *testing.T) { clearAndRestore(t, z) })
					t.Run("a row gets the expiry that was meant", func(t *testing.T) { expireIn(t, z) })
					t.Run("an expiry in the hour that comes twice", func(t *testing.T) { expireInFold(t, z) })
					if z.moment() {
						t.Run("an hour later is a change though the clock shows the same", func(t *testing.T) { changeByAnHour(t, z) })
					}
				})
			}
		}
	}
}

func clearAndRestore(t *testing.T, z zonedTable) {
	for _, at := range []time.Time{lastFold, lastFold.Add(-time.Hour), time.Date(lastFold.Year(), 7, 1, 0, 0, 0, 0, time.UTC)} {
		z.put(t, at)
		before, seen := z.seconds(t, "touched"), z.look(t, "m1")
		if seen.Since.Unix() != before {
			t.Errorf("read %s, the server means %s", seen.Since, time.Unix(before, 0).UTC())
		}
		if z.moment() && before != at.Unix() {
			t.Fatalf("the row holds %s, want %s", time.Unix(before, 0).UTC(), at)
		}
		var kept keeper
		wantResult(t, z.actor.Clear(t.Context(), seen, false, kept.keep), dedup.Cleared, "")
		wantResult(t, z.actor.Restore(t.Context(), kept.images[0]), dedup.Restored, "")
		if after := z.seconds(t, "touched"); after != before {
			t.Errorf("restored %s, was %s", time.Unix(after, 0).UTC(), time.Unix(before, 0).UTC())
		}
	}
}

func expireIn(t *testing.T, z zonedTable) {
	z.put(t, lastFold)
	wantResult(t, z.actor.Expire(t.Context(), z.look(t, "m1"), 90*time.Second), dedup.ExpirySet, "expires")
	if left := time.Until(time.Unix(z.seconds(t, "until"), 0)); left < 60*time.Second || left > 92*time.Second {
		t.Errorf("for the consumers it expires in %s", left)
	}
	if touched := z.look(t, "m1").Since; touched.Unix() != z.seconds(t, "touched") {
		t.Errorf("touched is read as %s", touched)
	}
}

// expireInFold: a column without a zone can hold one of the two hours only, MySQL the first and PostgreSQL the second.
func expireInFold(t *testing.T, z zonedTable) {
	refused := 0
	for _, meant := range []time.Time{nextFold.Add(-time.Hour), nextFold} {
		z.put(t, lastFold)
		outcome := z.actor.Expire(t.Context(), z.look(t, "m1"), time.Until(meant))
		if outcome.Result == dedup.Refused {
			wantResult(t, outcome, dedup.Refused, "clock repeats")
			if until := z.one(t, "SELECT until FROM zoned"); until != "" {
				t.Errorf("it has the expiry %s", until)
			}
			refused++
			continue
		}
		wantResult(t, outcome, dedup.ExpirySet, "expires "+meant.Format("2006-01-02 15:"))
		if off := time.Unix(z.seconds(t, "until"), 0).Sub(meant).Abs(); off > 10*time.Minute {
			t.Errorf("the expiry is off by %s", off)
		}
	}
	want := 0
	if z.zone == "America/New_York" && !z.moment() {
		want = 1
	}
	if refused != want {
		t.Errorf("%d of 2 hours refused, want %d", refused, want)
	}
}

func changeByAnHour(t *testing.T, z zonedTable) {
	z.put(t, lastFold.Add(-time.Hour))
	seen := z.look(t, "m1")
	z.put(t, lastFold)
	wantResult(t, z.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Changed, "touched")
}

func TestAZoneThatTheServerDoesNotKnowIsNamed(t *testing.T) {
	t.Parallel()
	db := sqlServers.Database(t, "mysql")
	db.Exec(t, markerstest.DedupTables["mysql"])
	cfg, _ := markers.Preset("sql-status-code")
	for _, param := range []string{"time_zone", "TIME_ZONE"} {
		a := openActed(t, db, cfg, db.AdminDSN()+"?"+param+"=%27Mars%2FOlympus%27", db.AdminDSN())
		if _, err := a.reader.Look(t.Context(), []string{"1"}); err == nil || !strings.Contains(err.Error(), "Mars/Olympus") {
			t.Errorf("%s: error %v, want one that names the zone", param, err)
		}
	}
	// The server's own, whatever it is, is known.
	a := openActed(t, db, cfg, db.AdminDSN()+"?time_zone=DEFAULT", db.AdminDSN())
	wantResult(t, a.actor.Clear(t.Context(), a.look(t, a.insert(t, "m1", 0)), false, markerstest.KeepNothing), dedup.Cleared, "")
}
