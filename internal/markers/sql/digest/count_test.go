package digest_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/markers/sql/digest"
)

func reading(place, reset string, writes int64, rows ...digest.Row) digest.Reading {
	return digest.Reading{At: time.Unix(1, 0), Place: place, Reset: reset, Writes: &writes, Rows: rows}
}

func plain(calls, errs int64) digest.Row {
	return digest.Row{Key: "plain", Born: "1", Schema: "shop", Text: "INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ", Calls: calls, Errors: errs, Rows: calls - errs}
}

func TestCountsGoOnFromReadingToReading(t *testing.T) {
	var b digest.Book
	b.Take(mysql, reading("a", "", 100, plain(50, 5)))
	if b.Counts != (digest.Counts{}) || b.Epoch != 1 {
		t.Fatalf("the first reading counts: %+v", b)
	}
	ignore := digest.Row{Key: "ignore", Born: "2", Schema: "shop", Text: "INSERT IGNORE INTO `message_dedup` ( `message_id` ) VALUES (?) ", Calls: 10, Rows: 7, Errors: 1}
	other := digest.Row{Key: "other", Schema: "other", Text: ignore.Text, Calls: 500, Rows: 1}
	b.Take(mysql, reading("a", "", 170, plain(110, 8), ignore, other))
	if want := (digest.Counts{Tries: 70, Hits: 5, Failed: 3, Refused: 1, Writes: 70}); b.Counts != want {
		t.Fatalf("got %+v, want %+v", b.Counts, want)
	}
}

func TestRowsThatAreReturnedCountAsInserted(t *testing.T) {
	var b digest.Book
	b.Take(mysql, reading("a", "", 0))
	b.Take(mysql, reading("a", "", 9, digest.Row{Key: "r", Schema: "shop", Text: "INSERT IGNORE INTO `message_dedup` ( `message_id` ) VALUES (?) RETURNING ID ", Calls: 9, Sent: 6}))
	if b.Counts.Hits != 3 {
		t.Fatalf("%+v", b.Counts)
	}
}

// TestPostgreSQLCountsInsertsThatWroteARow: what a trigger put aside is not told, and a row may bring its id along.
func TestPostgreSQLCountsInsertsThatWroteARow(t *testing.T) {
	table := postgres
	table.Auto = "id"
	row := func(key, text string, calls, rows int64) digest.Row {
		return digest.Row{Key: key, Text: text, Calls: calls, Rows: rows, Sent: rows}
	}
	var b digest.Book
	b.Take(table, digest.Reading{At: time.Unix(1, 0), IDs: &[2]int64{100, 100}})
	rows := []digest.Row{
		row("plain", "INSERT INTO message_dedup (message_id) VALUES ($1)", 40, 40),
		row("aside", "INSERT INTO message_dedup (message_id, status) VALUES ($1, $2)", 5, 2),
		row("own", `INSERT INTO message_dedup ("id", message_id) VALUES ($1, $2)`, 3, 3),
		row("all", "INSERT INTO message_dedup VALUES ($1, $2) ON CONFLICT DO NOTHING", 2, 1),
	}
	b.Take(table, digest.Reading{At: time.Unix(2, 0), IDs: &[2]int64{160, 161}, Rows: rows})
	if want := (digest.Counts{Blind: 48, Unclear: 3, Own: 5, Tries: 2, Hits: 1}); b.Counts != want || b.Epoch != 1 {
		t.Fatalf("epoch %d, %+v, want %+v", b.Epoch, b.Counts, want)
	}
	b.Take(table, digest.Reading{At: time.Unix(3, 0), IDs: &[2]int64{120, 120}, Rows: rows})
	if b.Epoch != 2 || b.Gap == "" {
		t.Errorf("ids that were set back: epoch %d", b.Epoch)
	}
}

func TestWhatBreaksTheCountBeginsAnEpoch(t *testing.T) {
	before := reading("a", "r", 100, plain(50, 5))
	foreign := digest.Row{Key: "f", Schema: "shop", Text: "UPDATE `message_dedup` SET STATUS = ? ", Calls: 9}
	for name, now := range map[string]digest.Reading{
		"another server": reading("b", "r", 100, plain(50, 5)), "a reset": reading("a", "s", 100, plain(50, 5)), "a row is gone": reading("a", "r", 100),
		"calls fell": reading("a", "r", 100, plain(49, 5)), "errors fell": reading("a", "r", 100, plain(50, 4)), "the table was reset": reading("a", "r", 99, plain(50, 5)),
		"the row was made anew": reading("a", "r", 100, digest.Row{Key: "plain", Born: "2", Schema: "shop", Text: before.Rows[0].Text, Calls: 80, Errors: 9, Rows: 71}),
	} {
		var b digest.Book
		b.Take(mysql, before)
		b.Take(mysql, now)
		if b.Epoch != 2 || b.Counts != (digest.Counts{}) || b.Gap == "" {
			t.Errorf("%s: epoch %d, %+v, %q", name, b.Epoch, b.Counts, b.Gap)
		}
	}
	var b digest.Book
	b.Take(mysql, reading("a", "r", 100, plain(50, 5), foreign))
	b.Take(mysql, before)
	if b.Epoch != 1 {
		t.Errorf("the row of another statement was dropped, and the count began anew: %s", b.Gap)
	}
}
