package sql_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

const plainInsert = "INSERT INTO message_dedup (message_id, status) VALUES (ID, 0)"

// withIDs is a PostgreSQL with a table whose ids a sequence gives, and a store on it whose statements are counted.
func withIDs(t *testing.T) (*markerstest.Database, markers.Store, dedup.StatementStats) {
	t.Helper()
	db := sqlServers.Database(t, "postgres")
	db.Exec(t, plainTables["postgres"], "CREATE EXTENSION pg_stat_statements")
	store := openTable(t, db, "sql-status-code", nil)
	return db, store, statementStats(t, store, countsIDs)
}

func countsIDs(s dedup.StatementStats) string {
	if s.IDs == nil || s.IDs[0] != s.IDs[1] {
		return "ids are not counted, or somebody is inserting"
	}
	return countsStatements(s)
}

// metSince says what is wrong with the inserts since a reading, of which so many wrote a row and so many met one.
func metSince(first dedup.StatementStats, wrote, met int64) func(dedup.StatementStats) string {
	return func(s dedup.StatementStats) string {
		if why := countsIDs(s); why != "" {
			return why
		}
		written := s.Unfailed + s.Inserts - s.Met
		if s.Epoch != first.Epoch || written != wrote || s.IDs[1]-first.IDs[1]-written != met || s.Unclear != 0 || s.OwnIDs != 0 || s.Drops != first.Drops {
			return fmt.Sprintf("want %d that wrote and %d that met a row after %+v: ids %v", wrote, met, first, *s.IDs)
		}
		return ""
	}
}

func TestPlainInsertsThatMeetARowAreTheIDsWithoutAnInsert(t *testing.T) {
	db, store, first := withIDs(t)
	stranger := sqlServers.Database(t, "postgres")
	stranger.Exec(t, plainTables["postgres"])
	db.Exec(t, "CREATE TABLE orders (id BIGSERIAL PRIMARY KEY, message_dedup VARCHAR(64) UNIQUE)")
	ours, theirs := client(t, db, db.AdminDSN()), client(t, stranger, stranger.AdminDSN())

	met := ran(t, ours, plainInsert, 40) + ran(t, ours, plainInsert, 9)
	statementStats(t, store, metSince(first, 40, met))

	ran(t, theirs, plainInsert, 30)
	ran(t, theirs, plainInsert, 30)
	ran(t, ours, "INSERT INTO orders (message_dedup) VALUES (ID)", 20)
	ran(t, ours, "INSERT INTO orders (message_dedup) VALUES (ID)", 20)
	statementStats(t, store, metSince(first, 40, 9))

	// A failure takes its row away, and its message is inserted again.
	ran(t, ours, "DELETE FROM message_dedup WHERE message_id = ID", 5)
	met += ran(t, ours, plainInsert, 7)
	statementStats(t, store, metSince(first, 45, met))

	for range 4 { // rolled back: the insert itself wrote its row
		tx, err := ours.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), strings.ReplaceAll(plainInsert, "ID", "'undone'")); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	statementStats(t, store, metSince(first, 49, met))

	met += ran(t, ours, plainInsert+" ON CONFLICT DO NOTHING", 6)
	statementStats(t, store, metSince(first, 49, met))
	if met != 9+2+6 {
		t.Errorf("the test itself: %d met", met)
	}
}

// TestInsertsOfManyAtOnceAddUp: several consumers insert the same ids beside one another, while the counts are read.
func TestInsertsOfManyAtOnceAddUp(t *testing.T) {
	db, store, first := withIDs(t)
	ours := client(t, db, db.AdminDSN())
	var working sync.WaitGroup
	counts := make([]int64, 6)
	for i := range counts {
		working.Go(func() { counts[i] = ran(t, ours, plainInsert, 150) })
	}
	over := make(chan struct{})
	go func() { defer close(over); working.Wait() }()
	for read := false; !read; {
		select {
		case <-over:
			read = true
		default:
		}
		stats, err := store.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := stats.Statements
		if least, most := s.IDs[0]-first.IDs[1]-s.Unfailed, s.IDs[1]-first.IDs[0]-s.Unfailed; most < 0 || least > most || least > 900-150 {
			t.Errorf("%d to %d inserts met a row of %d that wrote one", least, most, s.Unfailed)
		}
	}
	var met int64
	for _, n := range counts {
		met += n
	}
	statementStats(t, store, metSince(first, 150, met))
	if met != 5*150 {
		t.Errorf("the test itself: %d met", met)
	}
}

// TestAnInsertThatWaitsForALockIsNoHitYet: its id is given, and nobody knows yet how it ends.
func TestAnInsertThatWaitsForALockIsNoHitYet(t *testing.T) {
	db, store, first := withIDs(t)
	ours := client(t, db, db.AdminDSN())
	holder, err := ours.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	held := strings.ReplaceAll(plainInsert, "ID", "'held'")
	if _, err := holder.ExecContext(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := ours.ExecContext(context.WithoutCancel(t.Context()), held)
		ended <- err
	}()
	statementStats(t, store, func(s dedup.StatementStats) string {
		if s.IDs == nil || s.IDs[1] != first.IDs[1]+2 || s.Unfailed != 1 {
			return "nobody waits yet"
		}
		if least := s.IDs[0] - first.IDs[1] - s.Unfailed; least != 0 {
			return fmt.Sprintf("%d hits at least", least)
		}
		return ""
	})
	if err := holder.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Fatal("the insert of a row that is there did not fail")
	}
	statementStats(t, store, metSince(first, 1, 1))
}

func TestInsertsThatTakeNoIDOrManyAreToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		before, statement string
		own, unclear      int64
	}{
		"the row brings its id":                                    {"", "INSERT INTO message_dedup (id, message_id) VALUES (900, ID)", 1, 0},
		"no columns are named":                                     {"", "INSERT INTO message_dedup VALUES (901, ID)", 1, 0},
		"the id is left to the sequence":                           {"", "INSERT INTO message_dedup (message_id) VALUES (ID)", 0, 0},
		"several rows at once":                                     {"", "INSERT INTO message_dedup (message_id) VALUES (ID), ('other')", 0, 1},
		"what is there is changed":                                 {"", "INSERT INTO message_dedup (message_id) VALUES (ID) ON CONFLICT (message_id) DO UPDATE SET status = 1", 0, 1},
		"a trigger, which speaks of inserts itself, puts it aside": {"CREATE FUNCTION aside() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER aside BEFORE INSERT ON message_dedup FOR EACH ROW EXECUTE FUNCTION aside()", "INSERT INTO message_dedup (message_id) VALUES (ID)", 0, 2},
		"the row brings its id, or is there":                       {"", "INSERT INTO message_dedup (message_id, id) VALUES (ID, 902) ON CONFLICT DO NOTHING", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			db, store, _ := withIDs(t)
			if c.before != "" {
				db.Exec(t, c.before)
			}
			ran(t, client(t, db, db.AdminDSN()), c.statement, 1)
			statementStats(t, store, func(s dedup.StatementStats) string {
				if s.OwnIDs != c.own || s.Unclear != c.unclear || s.Unfailed+s.Inserts+s.Unclear == 0 {
					return "not counted so"
				}
				return ""
			})
		})
	}
}

func TestIDsAreReadOnlyWhereTheyCountInserts(t *testing.T) {
	reads := []string{"GRANT SELECT ON message_dedup TO ACCOUNT", "GRANT pg_read_all_stats TO ACCOUNT"}
	for name, c := range map[string]struct {
		alter  string
		grants []string
		column string
		counts bool
	}{
		"as a table comes":              {"", append(slices.Clone(reads), "GRANT SELECT ON SEQUENCE message_dedup_id_seq TO ACCOUNT"), "id", true},
		"the sequence may not be read":  {"", reads, "id", false},
		"sessions take ids ahead":       {"ALTER SEQUENCE message_dedup_id_seq CACHE 10", nil, "id", false},
		"ids leave gaps":                {"ALTER SEQUENCE message_dedup_id_seq INCREMENT 2", nil, "id", false},
		"another table takes ids, too":  {"CREATE TABLE orders (id BIGINT DEFAULT nextval('message_dedup_id_seq'))", nil, "id", false},
		"consumers give the ids":        {"ALTER TABLE message_dedup ALTER COLUMN id DROP DEFAULT", nil, "id", false},
		"no column with ids is named":   {"", nil, "", false},
		"the column with ids is no one": {"", nil, "nowhere", false},
		"consumers look first":          {"", nil, "look first", false},
		"a function may insert, too":    {"CREATE FUNCTION mark(text) RETURNS void LANGUAGE sql AS 'INSERT INTO message_dedup (message_id) VALUES ($1)'", nil, "id", false},
		"a function with a parsed body": {"CREATE FUNCTION mark(text) RETURNS void BEGIN ATOMIC INSERT INTO message_dedup (message_id) VALUES ($1); END", nil, "id", false},
		"uniqueness is looked at late":  {"ALTER TABLE message_dedup ADD CONSTRAINT late UNIQUE (message_id) DEFERRABLE INITIALLY DEFERRED", nil, "id", false},
	} {
		t.Run(name, func(t *testing.T) {
			db := sqlServers.Database(t, "postgres")
			db.Exec(t, plainTables["postgres"], "CREATE EXTENSION pg_stat_statements")
			if c.alter != "" {
				db.Exec(t, c.alter)
			}
			dsn := db.AdminDSN()
			if c.grants != nil {
				dsn = db.User(t, c.grants...)
			}
			store := openTable(t, db, "sql-status-code", func(cfg *markers.Config) {
				cfg.SQL.DSN, cfg.Columns.AutoIncrement = secret.New(dsn), c.column
				if cfg.InsertFirst = c.column != "look first"; !cfg.InsertFirst {
					cfg.Columns.AutoIncrement = "id"
				}
			})
			if s := statementStats(t, store, countsStatements); (s.IDs != nil) != c.counts {
				t.Errorf("ids %v", s.IDs)
			}
		})
	}
}

func TestASequenceThatIsSetBackBeginsAnEpoch(t *testing.T) {
	db, store, first := withIDs(t)
	ran(t, client(t, db, db.AdminDSN()), plainInsert, 8)
	statementStats(t, store, metSince(first, 8, 0))
	db.Exec(t, "SELECT setval('message_dedup_id_seq', 3)")
	statementStats(t, store, func(s dedup.StatementStats) string {
		if s.Epoch == first.Epoch || s.Gap == "" {
			return "the same epoch"
		}
		return ""
	})
}

// TestIDsAreReadBeforeTheStatementsAndAfterThem: each reading of the id here takes one itself, and so tells their order.
func TestIDsAreReadBeforeTheStatementsAndAfterThem(t *testing.T) {
	db := sqlServers.Database(t, "postgres")
	db.Exec(t, "CREATE EXTENSION pg_stat_statements", "CREATE SEQUENCE probe")
	rows, err := client(t, db, db.AdminDSN()).QueryContext(t.Context(), sql.CountedStatements("nextval('probe')::text, ''::text"))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var kinds, ids []string
	for rows.Next() {
		var v [10]string
		if err := rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9]); err != nil {
			t.Fatal(err)
		}
		if kinds = append(kinds, v[9]); v[9] == "ids" {
			ids = append(ids, v[4])
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if got := slices.Compact(kinds); !slices.Equal(got, []string{"ids", "underway", "statement", "known", "ids"}) || !slices.Equal(ids, []string{"0", "1"}) {
		t.Errorf("%v with the ids %v", got, ids)
	}
}
