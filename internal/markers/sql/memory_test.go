package sql

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"
	"weak"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// TestAPassDoesNotKeepWhatItsWalkNeeded: the newest pass is held by the store, by snapshots and by whoever compares with it.
func TestAPassDoesNotKeepWhatItsWalkNeeded(t *testing.T) {
	s, l := &store{}, &Layout{business: &dialect.Column{Name: "k"}}
	var held []*dedup.Pass
	var tallies []weak.Pointer[tally]
	tables := map[*repeatSlot]bool{}
	for i := range 20 {
		w := &walk{store: s, layout: l, tally: newTally(l, s.rounds.Last, s.takeSpare())}
		r := w.tally.repeats
		r.add(fmt.Append(nil, "order:", i), []byte("a"), nil)
		r.add(fmt.Append(nil, "order:", i), []byte("b"), nil)
		if r.keys != 1 || len(r.samples) != 1 {
			t.Errorf("walk %d saw %d business keys with several ids: what an earlier walk saw is no part of it", i, r.keys)
		}
		tables[&r.now[0]], tables[&r.old[0]] = true, true
		tallies = append(tallies, weak.Make(w.tally))
		w.tally.finish()
		s.completed(w)
		held = append(held, s.rounds.Last)
	}
	if len(tables) != 2 {
		t.Errorf("20 walks one after the other made %d tables of %d bytes, want 2", len(tables), repeatSlots*unsafe.Sizeof(repeatSlot{}))
	}
	if size := 2 * repeatSlots * unsafe.Sizeof(repeatSlot{}); size > 8<<20 {
		t.Errorf("the tables of a walk take %d bytes, want 8 MiB", size)
	}
	for until := time.Now().Add(30 * time.Second); ; {
		runtime.GC()
		kept := 0
		for _, tally := range tallies {
			if tally.Value() != nil {
				kept++
			}
		}
		if kept == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d of 20 passes keep the whole tally of their walk", kept)
		}
	}
	runtime.KeepAlive(held)
	runtime.KeepAlive(s)
}
