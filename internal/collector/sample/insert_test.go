package sample

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestATapeOfInsertsHoldsOneEpochAndThinsOut(t *testing.T) {
	gapNow := time.Unix(1_800_000_000, 0)
	all := Inserts{}
	add := func(at time.Time, epoch int64, why string) {
		all.Add(&dedup.InsertStats{At: at, Epoch: epoch, Why: why, IDs: int64(at.Sub(gapNow) / time.Second)})
	}
	for i := range 12_000 {
		add(gapNow.Add(time.Duration(i)*15*time.Second), 1, "")
	}
	if n := len(all.Readings); n < 1700 || n > 2100 {
		t.Errorf("%d readings are kept", n)
	}
	end := all.Newest().At
	for _, ago := range []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour} {
		if got := end.Sub(all.At(end.Add(-ago)).At) - ago; got < 0 || got > OldStep+15*time.Second {
			t.Errorf("the reading of %s ago is off by %s", ago, got)
		}
		if got := ago - end.Sub(all.Since(end.Add(-ago)).At); got < 0 || got > OldStep+15*time.Second {
			t.Errorf("the first reading of the last %s is off by %s", ago, got)
		}
	}
	add(end, 1, "")
	n := len(all.Readings)
	if add(end.Add(time.Second), 2, ""); n < 2 || len(all.Readings) != 1 {
		t.Errorf("after a new epoch %d readings of %d are left", len(all.Readings), n)
	}
	if add(end.Add(2*time.Second), 2, "rows were deleted"); len(all.Readings) != 0 || all.Why == "" {
		t.Errorf("after a refusal: %+v", all)
	}
	if all.Add(nil); !all.Told {
		t.Error("what was told is forgotten")
	}
}
