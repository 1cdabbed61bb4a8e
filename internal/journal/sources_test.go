package journal

import (
	"io"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestHowSourcesWereIsReplacedAndSurvives(t *testing.T) {
	dir, log := t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := Open(t.Context(), dir, log)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := db.Sources().SourceRecords(t.Context()); err != nil || !reflect.DeepEqual(r, dedup.SourceRecords{}) {
		t.Fatalf("before the first: %+v, %v", r, err)
	}
	at := time.Date(2026, 11, 22, 2, 0, 0, 123456789, time.UTC)
	first := dedup.SourceRecords{Kept: at, Sources: []dedup.SourceRecord{{Name: "broker main", OK: true, LastSuccess: at, Since: at}, {Name: "store of old"}}}
	second := dedup.SourceRecords{Kept: at.Add(time.Minute), Sources: []dedup.SourceRecord{{
		Name: "broker main", Place: "http://rabbit'; DROP TABLE source_records; --", LastSuccess: at, Since: at.Add(15 * time.Second),
		Away: dedup.Absence{From: at.Add(20 * time.Second), Until: at.Add(50 * time.Second)},
	}}}
	for _, r := range []dedup.SourceRecords{first, second} {
		if err := db.Sources().KeepSourceRecords(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(t.Context(), dir, log); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if got, err := db.Sources().SourceRecords(t.Context()); err != nil || !reflect.DeepEqual(got, second) {
		t.Errorf("got %+v, %v, want %+v", got, err, second)
	}
}
