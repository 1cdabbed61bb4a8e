package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
)

// aged lets the last reading of the whole chain be longer ago.
func aged(a *Audit, by time.Duration) {
	known := <-a.checking
	known.at = known.at.Add(-by)
	a.checking <- known
}

// changed changes an entry in the file, as somebody who can write it would.
func changed(t *testing.T, a *Audit, number int) {
	t.Helper()
	tamper(t, a.db, fmt.Sprintf("UPDATE audit SET entry = replace(entry, '\"who\":\"', '\"who\":\"x') WHERE number = %d", number))
}

// TestALookAtTheAuditHashesWhatIsNewAlone: the whole chain was hashed at each view of the page, for any operator.
func TestALookAtTheAuditHashesWhatIsNewAlone(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Audit()
	record(t, db, 20)
	first, err := a.Check(t.Context())
	if err != nil || first.Entries != 20 {
		t.Fatalf("%+v, %v", first, err)
	}
	changed(t, a, 5) // what a check that reads the whole would find
	record(t, db, 3)
	again, err := a.Check(t.Context())
	if err != nil || again.Entries != 23 || !again.Whole.Equal(first.Whole) {
		t.Errorf("the second check has read what the first one had read: %+v, %v", again, err)
	}
	if _, err := a.Verify(t.Context()); !errors.Is(err, admin.ErrBroken) {
		t.Errorf("reading the whole does not find the changed entry: %v", err)
	}
	aged(a, wholeEvery)
	for range 2 { // and what it found stays found
		if state, err := a.Check(t.Context()); !errors.Is(err, admin.ErrBroken) || !strings.Contains(fmt.Sprint(err), "entry 5") || !state.Whole.After(first.Whole) {
			t.Errorf("a check after %s does not find the changed entry: %+v, %v", wholeEvery, state, err)
		}
	}
}

func TestALookAtTheAuditFindsWhatIsWrongWithNewEntriesAtOnce(t *testing.T) {
	for name, harm := range map[string]func(db *DB){
		"a new entry was changed": func(db *DB) { record(t, db, 2); changed(t, db.Audit(), 11) },
		"the newest that was checked was changed and the next one with it": func(db *DB) {
			tamper(t, db.Audit().db, "UPDATE audit SET hash = zeroblob(32) WHERE number = 10")
		},
		"a new entry is missing": func(db *DB) {
			record(t, db, 3)
			tamper(t, db.Audit().db, "DELETE FROM audit WHERE number = 12")
		},
		"the end was cut off": func(db *DB) {
			tamper(t, db.Audit().db, "DELETE FROM audit WHERE number > 7")
		},
	} {
		db, _ := open(t, t.TempDir())
		a := db.Audit()
		record(t, db, 10)
		if _, err := a.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		harm(db)
		if state, err := a.Check(t.Context()); !errors.Is(err, admin.ErrBroken) {
			t.Errorf("%s: %+v, %v", name, state, err)
		}
	}
}

func TestACheckThatCouldNotReadIsNotRemembered(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Audit()
	record(t, db, 5)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Check(ended); err == nil || errors.Is(err, admin.ErrBroken) {
		t.Errorf("a context that has ended: %v", err)
	}
	if state, err := a.Check(t.Context()); err != nil || state.Entries != 5 {
		t.Errorf("after it: %+v, %v", state, err)
	}
}

func TestManyLooksAtTheAuditWhileItGrowsAgree(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Audit()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				if _, err := a.Check(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	record(t, db, 40)
	all.Wait()
	if state, err := a.Check(t.Context()); err != nil || state.Entries != 40 {
		t.Errorf("%+v, %v", state, err)
	}
}
