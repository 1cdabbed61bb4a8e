package journal

import (
	"io"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestTheRecordOfAnEffectCheckIsReplacedAndSurvives(t *testing.T) {
	dir, log := t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := Open(t.Context(), dir, log)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := db.Effects().EffectRecord(t.Context(), "orders"); err != nil || !r.First.IsZero() || r.Known != nil {
		t.Fatalf("before the first: %+v, %v", r, err)
	}
	at := time.Date(2026, 11, 22, 2, 0, 0, 123456789, time.UTC)
	first := dedup.EffectRecord{Query: "q", First: at, Checks: []time.Time{at}, Known: []dedup.EffectKey{{Key: "a", ID: "1", Count: 2}}, Listed: 1}
	second := first
	second.Checks, second.CutAt, second.Took = []time.Time{at, at.Add(time.Minute)}, at.Add(time.Minute), time.Second
	second.Known = append(second.Known, dedup.EffectKey{Key: "\u202e\x00'; DROP TABLE effect_records; --", ID: "2", Count: 3, Found: at.Add(time.Minute)})
	second.Gone, second.NullRows, second.SingleRows = []string{"1"}, 4, 5
	for _, r := range []dedup.EffectRecord{first, second} {
		if err := db.Effects().KeepEffectRecord(t.Context(), "orders", r); err != nil {
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
	if got, err := db.Effects().EffectRecord(t.Context(), "orders"); err != nil || !reflect.DeepEqual(got, second) {
		t.Errorf("got %+v, %v, want %+v", got, err, second)
	}
}
