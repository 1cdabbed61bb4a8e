package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

// TestARowIsTheMessagesOwnOnlyWithItsIDToTheByte: own is the row of the id, other that of another message, perhaps one that the column
// cannot tell from it, and none no row.
func TestARowIsTheMessagesOwnOnlyWithItsIDToTheByte(t *testing.T) {
	const own, other, perhaps, none = "own", "other", "perhaps", "none"
	nfc, nfd := "caf\u00e9", "cafe\u0301"
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		if db.Driver == "postgres" {
			db.Exec(t, "CREATE EXTENSION IF NOT EXISTS citext", "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
		}
		for _, c := range []struct {
			driver, column, row string
			asked               map[string]string
			folds               [][2]string
		}{
			{"mysql", "VARCHAR(12) COLLATE utf8mb4_general_ci", "'x-abc'", map[string]string{"x-abc": own, "x-ABC": other, "x-\u00e0bc": other, "x-abc ": other, "x-abd": none},
				[][2]string{{"x-abc", "X-\u00c0BC  "}, {"neu-\U0001F600", "neu-\U0001F601"}, {"stra\u00dfe", "strase"}, {"\u0131d", "ID"}}},
			{"mysql", "VARCHAR(12) COLLATE utf8mb4_unicode_ci", "'x-abc'", map[string]string{"x-abc": own, "x-\uff41bc": other},
				[][2]string{{"x-abc", "x-\uff21bc"}, {"stra\u00dfe", "strasse"}, {"x-\u200babc", "x-abc"}, {"x-\u0001abc", "x-abc"}}},
			{"mysql", "VARCHAR(12) COLLATE utf8mb4_unicode_520_ci", "'x-abc'", map[string]string{"x-abc": own}, [][2]string{{"\u00f8-1", "O-1"}, {"\u0141-1", "l-1"}}},
			{"mysql", "VARCHAR(12) COLLATE utf8mb4_unicode_ci", "'" + nfc + "'", map[string]string{nfc: own, nfd: other, "cafe": other}, [][2]string{{nfc, nfd}}},
			{"mysql", "VARCHAR(12) COLLATE utf8mb4_bin", "'x-abc'", map[string]string{"x-abc": own, "x-ABC": none, "x-abc  ": other}, [][2]string{{"x-abc", "x-abc "}}},
			{"mysql", "VARCHAR(5) COLLATE utf8mb4_bin", "'x-abc'", map[string]string{"x-abc": own, "x-abcdef": perhaps, "x-abdefg": "unknown"}, [][2]string{{"x-abc", "x-abcdef"}}},
			{"mysql", "CHAR(12) COLLATE utf8mb4_bin", "'x-abc'", map[string]string{"x-abc": own, "x-abc ": perhaps, "x-ABC": none}, nil},
			{"mysql", "VARCHAR(12) CHARACTER SET latin1", "'x-?'", map[string]string{"x-?": own, "x-\u8ba2": perhaps}, nil},
			{"mysql", "INT", "12", map[string]string{"12": own, "012": perhaps, "12abc": perhaps, "13abc": "unknown", "abc": "unknown"}, [][2]string{{"12", "012"}}},
			{"mysql", "DECIMAL(10,2)", "12", map[string]string{"12": own}, nil},
			{"mysql", "VARBINARY(4)", "'ab'", map[string]string{"0x6162": own}, nil},
			{"postgres", "citext", "'x-abc'", map[string]string{"x-abc": own, "x-ABC": other, "x-abc ": none, "x-\u00dfabc": none}, [][2]string{{"x-abc", "x-ABC"}}},
			{"postgres", "TEXT COLLATE loose", "'x-abc'", map[string]string{"x-abc": own, "x-ABC": other, "x-\u00e0bc": other}, [][2]string{{"x-abc", "x-\u00c0BC"}}},
			{"postgres", "TEXT COLLATE loose", "'" + nfc + "'", map[string]string{nfc: own, nfd: other}, [][2]string{{nfc, nfd}}},
			{"postgres", "CHAR(12)", "'x-abc'", map[string]string{"x-abc": own, "x-abc ": perhaps, "x-ABC": none}, [][2]string{{"x-abc", "x-abc "}}},
			{"postgres", "VARCHAR(5)", "'x-abc'", map[string]string{"x-abc": own, "x-abc  ": perhaps, "x-abcdef": "unknown"}, nil},
			{"postgres", "NAME", "'" + strings.Repeat("n", 63) + "'", map[string]string{strings.Repeat("n", 63): own, strings.Repeat("n", 64): perhaps}, nil},
			{"postgres", "UUID", "'6f9619ff-8b86-d011-b42d-00c04fc964ff'", map[string]string{"6f9619ff-8b86-d011-b42d-00c04fc964ff": own, "6F9619FF-8B86-D011-B42D-00C04FC964FF": own},
				[][2]string{{"6f9619ff-8b86-d011-b42d-00c04fc964ff", "{6F9619FF-8B86-D011-B42D-00C04FC964FF}"}}},
			{"postgres", "BIGINT", "12", map[string]string{"12": own, "012": perhaps, "12abc": "unknown"}, nil},
			{"postgres", "TEXT", "'x-abc'", map[string]string{"x-abc": own, "x-ABC": none, "x-abc ": none}, nil},
		} {
			if c.driver != db.Driver {
				continue
			}
			t.Run(c.column+" "+c.row, func(t *testing.T) {
				db.Exec(t, "DROP TABLE IF EXISTS f", "CREATE TABLE f (n INT PRIMARY KEY, id "+c.column+" NOT NULL UNIQUE)", "INSERT INTO f VALUES (1, "+c.row+")")
				store := openTable(t, db, "sql-unique-row", func(cfg *markers.Config) { cfg.Table, cfg.Columns = "f", markers.Columns{ID: markers.ColumnList{"id"}} })
				for id, want := range c.asked {
					if got := ownership(markerstest.Find(t, store, id)[0]); got != want {
						t.Errorf("%q finds a row that is %s, want %s", id, got, want)
					}
				}
				folder := store.(interface{ FoldID(string) string })
				for _, pair := range c.folds {
					db.Exec(t, "DELETE FROM f", fmt.Sprintf("INSERT INTO f VALUES (2, '%s')", pair[0]))
					if s := markerstest.Find(t, store, pair[1])[0]; s == nil || s.State == dedup.StateUnknown {
						t.Errorf("%q does not find the row of %q: %+v", pair[1], pair[0], s)
					}
					if a, b := folder.FoldID(pair[0]), folder.FoldID(pair[1]); a != b {
						t.Errorf("%q and %q are one to the table, and %q and %q to us", pair[0], pair[1], a, b)
					}
				}
				for id, whose := range c.asked {
					if row := strings.Trim(c.row, "'"); whose == none && folder.FoldID(id) == folder.FoldID(row) {
						t.Errorf("%q and %q are two to the table, and one to us", id, row)
					}
				}
			})
		}
	})
}

// ownership says whose row was found.
func ownership(s *dedup.Sighting) string {
	switch {
	case s == nil:
		return "none"
	case s.State == dedup.StateUnknown:
		return "unknown"
	case s.Other == nil:
		return "own"
	case s.Other.MayBeOwn:
		return "perhaps"
	}
	return "other"
}

func TestAllOfSeveralIDsThatFindOneRowAreComparedWithIt(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		column := by(db, "VARCHAR(64) COLLATE utf8mb4_general_ci", "citext")
		if db.Driver == "postgres" {
			db.Exec(t, "CREATE EXTENSION IF NOT EXISTS citext")
		}
		db.Exec(t, "CREATE TABLE f (order_no "+column+" NOT NULL, line BIGINT NOT NULL, PRIMARY KEY (order_no, line))", "INSERT INTO f VALUES ('no-1', 7)")
		store := openTable(t, db, "sql-unique-row", func(cfg *markers.Config) {
			cfg.Table, cfg.Columns = "f", markers.Columns{ID: markers.ColumnList{"order_no", "line"}}
		})
		found := markerstest.Find(t, store, "NO-1:7", "no-1:7", "No-1:07", "NO-1:7", "no-1:8")
		var got []string
		for _, s := range found {
			got = append(got, ownership(s))
		}
		if want := "[other own other other none]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
		if o := found[2].Other; o == nil || o.Asked != "No-1:07" || found[2].ID != "no-1:7" {
			t.Errorf("%+v", found[2])
		}
		stats, err := store.Stats(t.Context())
		if err != nil || stats.Facts == nil || stats.Facts.TwoIDs == nil || stats.Facts.TwoIDs.Row != "no-1:7" || len(stats.Facts.IDIgnores) == 0 || stats.Facts.IDIgnores[0] != dedup.CaseDiffers {
			t.Errorf("facts %+v, %v", stats.Facts, err)
		}
		if s := markerstest.Find(t, store, "no-1:07")[0]; ownership(s) != "perhaps" {
			t.Fatalf("no-1:07 finds %s", ownership(s))
		}
		if stats, err = store.Stats(t.Context()); err != nil || stats.Facts.TwoIDs.MayBeOwn {
			t.Errorf("what may be its own hides what is not: %+v, %v", stats.Facts.TwoIDs, err)
		}
	})
}

func TestALookUpOfATermSaysWhoseRowWasFound(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		column := by(db, "VARCHAR(64) COLLATE utf8mb4_general_ci", "citext")
		if db.Driver == "postgres" {
			db.Exec(t, "CREATE EXTENSION IF NOT EXISTS citext")
		}
		db.Exec(t, "CREATE TABLE f (id "+column+" PRIMARY KEY, business_key VARCHAR(64))", "CREATE INDEX b ON f (business_key)", "INSERT INTO f VALUES ('x-abc', 'order:1')")
		store := openTable(t, db, "sql-unique-row", func(cfg *markers.Config) {
			cfg.Table, cfg.Columns = "f", markers.Columns{ID: markers.ColumnList{"id"}, BusinessKey: "business_key"}
		})
		for term, want := range map[string]string{"x-abc": "own", "x-ABC": "other", "order:1": "own"} {
			found, err := store.Lookup(t.Context(), term)
			if err != nil || len(found) != 1 || ownership(&found[0]) != want {
				t.Errorf("%s: %+v, %v, want %s", term, found, err, want)
			}
		}
	})
}
