package journal

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/dedup"
)

func TestMeasurementsAreKeptAndTheOldestDropped(t *testing.T) {
	db, _ := open(t, t.TempDir())
	j := db.Measurements()
	start := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	first := dedup.Measurement{ID: "a", Pipeline: "orders", Broker: "main", By: "eve", Started: start, Length: time.Minute, State: dedup.MeasurementRunning}
	if err := j.SaveMeasurement(t.Context(), first, "one"); err != nil {
		t.Fatal(err)
	}
	if id, err := j.MeasurementByToken(t.Context(), "eve", "one"); err != nil || id != "a" {
		t.Errorf("by its token: %q, %v", id, err)
	}
	if id, err := j.MeasurementByToken(t.Context(), "ann", "one"); err != nil || id != "" {
		t.Errorf("by the token of another: %q, %v", id, err)
	}
	done := first
	done.State, done.Ended = dedup.MeasurementDone, start.Add(time.Minute)
	done.Live = &dedup.Calibration{Method: dedup.MethodLive, Value: 0.03, Off: 0.001, Held: true}
	done.Result = &dedup.SessionResult{Messages: 100, Duplicates: 3, Repeated: []dedup.RepeatedID{{ID: "x\x00<b>é", Duplicates: 3,
		Origins: []dedup.Origin{{Exchange: "shop", Headers: map[string]string{"attempt": "2"}}}}}, Origins: []dedup.Origin{{Exchange: "shop"}}}
	if err := j.SaveMeasurement(t.Context(), done, ""); err != nil {
		t.Fatal(err)
	}
	got, ok, err := j.Measurement(t.Context(), "a")
	if diff := cmp.Diff(done, got); diff != "" || !ok || err != nil {
		t.Errorf("%v, %v (-want +got):\n%s", ok, err, diff)
	}
	list, err := j.Measurements(t.Context(), "orders", 10)
	if err != nil || len(list) != 1 || list[0].Result.Duplicates != 3 || list[0].Result.Repeated != nil {
		t.Errorf("list %+v, %v", list, err)
	}
	if _, ok, err := j.Measurement(t.Context(), "none"); ok || err != nil {
		t.Errorf("none: %v, %v", ok, err)
	}
	for i := range measuring.Listed {
		next := done
		next.ID, next.Started = fmt.Sprintf("n%d", i), start.Add(time.Duration(i+1)*time.Hour)
		if err := j.SaveMeasurement(t.Context(), next, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, _ := j.Measurement(t.Context(), "a"); ok {
		t.Error("the oldest is kept")
	}
	if list, err := j.Measurements(t.Context(), "orders", 100); err != nil || len(list) != measuring.Listed || list[0].ID != fmt.Sprintf("n%d", measuring.Listed-1) {
		t.Errorf("%d are kept, %v", len(list), err)
	}
}

func TestMeasurementsThatAnEarlierProcessLeftAreInterrupted(t *testing.T) {
	db, _ := open(t, t.TempDir())
	j := db.Measurements()
	m := dedup.Measurement{ID: "a", Pipeline: "orders", By: "eve", Started: time.Now().UTC(), State: dedup.MeasurementRunning}
	if err := j.SaveMeasurement(t.Context(), m, "one"); err != nil {
		t.Fatal(err)
	}
	if err := j.InterruptMeasurements(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	got, _, err := j.Measurement(t.Context(), "a")
	if err != nil || got.State != dedup.MeasurementInterrupted || got.Why == "" || got.Ended.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
	if id, _ := j.MeasurementByToken(t.Context(), "eve", "one"); id != "a" {
		t.Error("its token is forgotten")
	}
}
