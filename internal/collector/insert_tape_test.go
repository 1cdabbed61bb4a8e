package collector

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestATapeOfInsertsHoldsOneEpochAndThinsOut(t *testing.T) {
	gapNow := time.Unix(1_800_000_000, 0)
	tape := insertTape{}
	add := func(at time.Time, epoch int64, why string) {
		tape.add(&dedup.InsertStats{At: at, Epoch: epoch, Why: why, IDs: int64(at.Sub(gapNow) / time.Second)})
	}
	for i := range 12_000 {
		add(gapNow.Add(time.Duration(i)*15*time.Second), 1, "")
	}
	if n := len(tape.readings); n < 1700 || n > 2100 {
		t.Errorf("%d readings are kept", n)
	}
	end := tape.newest().At
	for _, ago := range []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour} {
		if got := end.Sub(tape.at(end.Add(-ago)).At) - ago; got < 0 || got > tapeStep+15*time.Second {
			t.Errorf("the reading of %s ago is off by %s", ago, got)
		}
		if got := ago - end.Sub(tape.since(end.Add(-ago)).At); got < 0 || got > tapeStep+15*time.Second {
			t.Errorf("the first reading of the last %s is off by %s", ago, got)
		}
	}
	add(end, 1, "")
	n := len(tape.readings)
	if add(end.Add(time.Second), 2, ""); n < 2 || len(tape.readings) != 1 {
		t.Errorf("after a new epoch %d readings of %d are left", len(tape.readings), n)
	}
	if add(end.Add(2*time.Second), 2, "rows were deleted"); len(tape.readings) != 0 || tape.why == "" {
		t.Errorf("after a refusal: %+v", tape)
	}
	if tape.add(nil); !tape.told {
		t.Error("what was told is forgotten")
	}
}
