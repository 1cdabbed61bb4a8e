package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// payloadIn returns the files that hold the payload of the images of these tests.
func payloadIn(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for name, text := range contents(t, dir) {
		if strings.Contains(text, "order 4711") {
			names = append(names, name)
		}
	}
	return names
}

func keepPayload(t *testing.T, o *Operations, item int, until time.Time) {
	t.Helper()
	image := dedup.Sighting{Marker: dedup.Marker{Key: fmt.Sprint("msg:", item)}, Type: "string", Value: bytes.Repeat([]byte("the payload of order 4711. "), 4000)}
	if err := o.Keep(t.Context(), "a", item, image, until); err != nil {
		t.Fatal(err)
	}
}

// reading returns a reader that sees the journal as it is now until it is released.
func reading(t *testing.T, db *DB) (release func()) {
	t.Helper()
	tx, err := db.main.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM images").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// actUntil notes items until a purge has ended that could not empty the log. A note must not be held up by it for half as long
// as notes are refused after, on a busy machine either.
func actUntil(t *testing.T, o *Operations, purged <-chan error) {
	t.Helper()
	var slowest time.Duration
	for tries := 0; ; tries++ {
		select {
		case err := <-purged:
			if !errors.Is(err, errStillRead) {
				t.Errorf("a purge whose values are still in the log says %v", err)
			}
			t.Logf("%d items were noted meanwhile, the slowest within %s", tries, slowest.Round(time.Millisecond))
			if slowest > patience/2 {
				t.Errorf("a note was held up for %s", slowest)
			}
			return
		default:
		}
		start := time.Now()
		if err := o.Try(t.Context(), "a", tries, start); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(start))
	}
}

// holdsUp is for how long emptying the log may hold up who is about to act, as its connection knows it: how long it truly takes depends
// on the machine.
func holdsUp(t *testing.T, db *DB) time.Duration {
	t.Helper()
	var millis int64
	if err := db.waste.db.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&millis); err != nil {
		t.Fatal(err)
	}
	return time.Duration(millis) * time.Millisecond
}

func TestAPurgeDuringALongReadHoldsUpNobodyAndIsMadeGoodLater(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	o := db.Operations()
	begun(t, o, "a", 1)
	until := time.Now().Add(time.Hour)
	for i := range 2*purgeBatch + 3 {
		keepPayload(t, o, i, until)
	}
	release := reading(t, db)
	purged := make(chan error, 1)
	go func() { purged <- o.Purge(context.Background(), until) }()
	actUntil(t, o, purged)
	if long := holdsUp(t, db); long > patience/20 {
		t.Errorf("who is about to act may wait for %s until the log is given up", long)
	}
	if len(payloadIn(t, dir)) == 0 {
		t.Error("the reader kept nothing in the log: the test proves nothing")
	}
	release()
	if err := o.Purge(t.Context(), until); err != nil { // nothing is left to delete, only to empty
		t.Fatal(err)
	}
	if left := payloadIn(t, dir); left != nil {
		t.Errorf("%v still hold the payload", left)
	}
	if images, err := o.Images(t.Context(), "a"); err != nil || len(images) != 0 {
		t.Errorf("%d images are left, %v", len(images), err)
	}
}

func TestAPurgeMakesGoodWhatAnEarlierRunLeftInTheLog(t *testing.T) {
	dir := t.TempDir()
	earlier, _ := open(t, dir)
	until := time.Now()
	keepPayload(t, earlier.Operations(), 0, until)
	release := reading(t, earlier)
	if err := earlier.Operations().Purge(t.Context(), until); !errors.Is(err, errStillRead) {
		t.Fatal(err)
	}
	release() // and the earlier run crashes: it never closes its files, and empties nothing
	db, _ := open(t, dir)
	if len(payloadIn(t, dir)) == 0 {
		t.Fatal("the log holds nothing: the test proves nothing")
	}
	if err := db.Operations().Purge(t.Context(), until); err != nil {
		t.Fatal(err)
	}
	if left := payloadIn(t, dir); left != nil {
		t.Errorf("%v still hold the payload", left)
	}
}
