package collector

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestAStatementTapeHoldsOneEpoch(t *testing.T) {
	var tape statementTape
	at := time.Unix(1000, 0)
	tape.add(&dedup.StatementStats{At: at, Epoch: 1, Inserts: 5})
	tape.add(&dedup.StatementStats{At: at, Epoch: 1, Inserts: 5})
	tape.add(&dedup.StatementStats{At: at.Add(time.Second), Epoch: 1, Inserts: 6})
	if len(tape.readings) != 2 {
		t.Fatalf("%d readings", len(tape.readings))
	}
	tape.add(&dedup.StatementStats{At: at.Add(2 * time.Second), Epoch: 2})
	if len(tape.readings) != 1 {
		t.Fatalf("%d readings after a gap", len(tape.readings))
	}
	tape.add(&dedup.StatementStats{At: at.Add(3 * time.Second), Why: "off", Better: "on"})
	if len(tape.readings) != 0 || tape.why != "off" || tape.better != "on" {
		t.Fatalf("%+v", tape)
	}
}
