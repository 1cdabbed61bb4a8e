package sample

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestAStatementTapeHoldsOneEpoch(t *testing.T) {
	var all Statements
	at := time.Unix(1000, 0)
	all.Add(&dedup.StatementStats{At: at, Epoch: 1, Inserts: 5})
	all.Add(&dedup.StatementStats{At: at, Epoch: 1, Inserts: 5})
	all.Add(&dedup.StatementStats{At: at.Add(time.Second), Epoch: 1, Inserts: 6})
	if len(all.Readings) != 2 {
		t.Fatalf("%d readings", len(all.Readings))
	}
	all.Add(&dedup.StatementStats{At: at.Add(2 * time.Second), Epoch: 2})
	if len(all.Readings) != 1 {
		t.Fatalf("%d readings after a gap", len(all.Readings))
	}
	all.Add(&dedup.StatementStats{At: at.Add(3 * time.Second), Why: "off", Better: "on"})
	if len(all.Readings) != 0 || all.Why != "off" || all.Better != "on" {
		t.Fatalf("%+v", all)
	}
}
