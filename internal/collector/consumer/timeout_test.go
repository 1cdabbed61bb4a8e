package consumer

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/dedup"
)

func TestOnlyNodesThatWereHeardAreKnownToPublishTheirLog(t *testing.T) {
	nodes := []dedup.Node{{Name: "a", Running: true}, {Name: "b", Running: true}, {Name: "c", Running: true}, {Name: "down"}}
	for _, tt := range []struct {
		name  string
		heard map[string]bool
		want  string
	}{
		{"nothing at all", nil, "no line of the broker's log has come yet"},
		{"one of three", map[string]bool{"a": true}, "of 2 nodes has come yet"},
		{"two of three", map[string]bool{"a": true, "c": true}, "of node b has come yet"},
		{"all that run", map[string]bool{"a": true, "b": true, "c": true}, ""},
	} {
		a := NewTimeouts(counter.NewBook(), "main")
		a.observe(&dedup.BrokerSample{At: time.Unix(1_800_000_000, 0), State: dedup.BrokerState{Nodes: nodes}, Log: &dedup.BrokerLog{Listening: true, Epoch: 1, Heard: tt.heard}})
		if (a.silent == "") != (tt.want == "") || !strings.Contains(a.silent, tt.want) {
			t.Errorf("%s: %q", tt.name, a.silent)
		}
	}
}

func TestWhatTheLogToldIsCountedOnceAcrossGaps(t *testing.T) {
	orders := dedup.QueueRef{Vhost: "/", Name: "orders"}
	a := NewTimeouts(counter.NewBook(), "main")
	at := time.Unix(1_800_000_000, 0)
	read := func(l *dedup.BrokerLog) int64 {
		at = at.Add(15 * time.Second)
		return a.observe(&dedup.BrokerSample{At: at, Log: l})
	}
	heard := func(epoch, named, unnamed int64) *dedup.BrokerLog {
		return &dedup.BrokerLog{Listening: true, Epoch: epoch, Since: at, Named: map[dedup.QueueRef]int64{orders: named}, Unnamed: unnamed}
	}
	if read(nil) != 0 || a.asked || a.all.Open {
		t.Errorf("without a log: %+v", a)
	}
	if n := read(&dedup.BrokerLog{Why: "not yet"}); n != 0 || !a.gapAt.IsZero() || a.all.Open {
		t.Errorf("before it listens: %d, %+v", n, a)
	}
	if n := read(heard(1, 0, 0)); n != 0 || !a.gapAt.IsZero() || !a.all.Open {
		t.Errorf("the first time: %d, %+v", n, a)
	}
	if n := read(heard(1, 2, 1)); n != 3 || a.gained[orders] != 2 || a.unnamed.Total != 1 {
		t.Errorf("three timeouts: %d, %+v", n, a)
	}
	if n := read(heard(1, 2, 1)); n != 0 || a.gained[orders] != 0 {
		t.Errorf("no more: %d", n)
	}
	gone := heard(1, 3, 1)
	gone.Listening, gone.Why = false, "lost"
	if n := read(gone); n != 1 || !a.gapAt.Equal(at) || a.overran || a.why != "lost" {
		t.Errorf("what came before the end: %d, %+v", n, a)
	}
	since := at
	if n := read(heard(3, 3, 1)); n != 0 || a.gapAt.Before(since) || a.why != "" || a.all.Total != 4 {
		t.Errorf("after the gap: %d, %+v", n, a)
	}
	full := heard(3, 4, 1)
	full.Overflowed = at.Add(10 * time.Second)
	if n := read(full); n != 1 || !a.gapAt.Equal(full.Overflowed) || !a.overran {
		t.Errorf("after lines that may have been lost: %d, %+v", n, a)
	}
	stored := counter.Batch{}
	if a.Store(stored); len(stored) != 2 {
		t.Errorf("stored %v", stored)
	}
}
