package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func known(delta float64) sample.Increase {
	return sample.Increase{Delta: delta, Covered: 15 * time.Minute, At: time.Unix(1000, 0), Known: true}
}

// TestAPaceOfRestartsIsOverTheTimeThatIsCovered, as it says, though it is a lower bound.
func TestAPaceOfRestartsIsOverTheTimeThatIsCovered(t *testing.T) {
	six := sample.Increase{Delta: 6, Covered: 10 * time.Minute, At: time.Unix(1000, 0), Known: true}
	restarts := restartFigure(restartSample{Window: 24 * time.Hour, Restarted: six, Closed: six})
	if restarts.Low < 35.9 || restarts.Low > 36.1 || !restarts.AtLeast || restarts.N != 6 {
		t.Errorf("restarts %+v", restarts)
	}
}

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
		a := newAckTimeouts(counter.NewBook(), "main")
		a.absorb(&dedup.BrokerSample{At: time.Unix(1_800_000_000, 0), State: dedup.BrokerState{Nodes: nodes}, Log: &dedup.BrokerLog{Listening: true, Epoch: 1, Heard: tt.heard}})
		if (a.silent == "") != (tt.want == "") || !strings.Contains(a.silent, tt.want) {
			t.Errorf("%s: %q", tt.name, a.silent)
		}
	}
}

func TestWhatTheLogToldIsCountedOnceAcrossGaps(t *testing.T) {
	orders := dedup.QueueRef{Vhost: "/", Name: "orders"}
	a := newAckTimeouts(counter.NewBook(), "main")
	at := time.Unix(1_800_000_000, 0)
	read := func(l *dedup.BrokerLog) int64 {
		at = at.Add(15 * time.Second)
		return a.absorb(&dedup.BrokerSample{At: at, Log: l})
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
	if a.store(stored); len(stored) != 2 {
		t.Errorf("stored %v", stored)
	}
}

func TestAnAckTimeoutReachesThePageOfItsPipeline(t *testing.T) {
	log := dedup.BrokerLog{Listening: true, Epoch: 1, Named: map[dedup.QueueRef]int64{}}
	duringFrom(t, func(b *testBench) { b.broker.sample.Info.Version, b.broker.sample.Log = "3.13.7", &log }, func(t *testing.T, b *testBench) {
		pass(2 * time.Minute)
		if f := b.pipeline(t, "orders").Windows[0].AckTimeouts; f.Known() || !strings.Contains(f.Why, "no line of") {
			t.Errorf("before a node was heard: %+v", f)
		}
		more := log
		more.Heard = map[string]bool{}
		for _, n := range b.broker.sample.State.Nodes {
			more.Heard[n.Name] = true
		}
		more.Heard["any"] = true
		more.Named = map[dedup.QueueRef]int64{{Vhost: "/", Name: "orders"}: 2}
		b.broker.set(func(f *fakeSource) { f.sample.Log = &more })
		pass(2 * time.Minute)
		f := b.pipeline(t, "orders").Windows[0].AckTimeouts
		if f.Quality != dedup.Measured || f.N != 2 || f.Value < 25 || f.Value > 45 {
			t.Errorf("%+v", f)
		}
		if other := b.pipeline(t, "emails").Windows[0].AckTimeouts; other.Quality != dedup.Measured || other.Value != 0 {
			t.Errorf("of another pipeline: %+v", other)
		}
		if !hasEvent(b.pipeline(t, "orders"), "ack_timeout", "2 consumers of queue orders") || hasEvent(b.pipeline(t, "emails"), "ack_timeout", "") {
			t.Errorf("%+v", b.pipeline(t, "orders").Events)
		}
		b.broker.set(func(f *fakeSource) { f.sample.Log = nil })
		pass(time.Minute)
		if f := b.pipeline(t, "orders").Windows[0].AckTimeouts; f.Known() || !strings.Contains(f.Why, "not observable on this broker") || !strings.Contains(f.Better, "log.exchange = true") {
			t.Errorf("without a log: %+v", f)
		}
		b.broker.set(func(f *fakeSource) {
			f.topology.Exchanges = []dedup.Exchange{{Vhost: "/", Name: "amq.rabbitmq.log", Type: "topic"}}
		})
		pass(4 * time.Minute)
		if f := b.pipeline(t, "orders").Windows[0].AckTimeouts; f.Known() || !strings.Contains(f.Why, "nobody listens") || !strings.Contains(f.Better, "brokers[].log") {
			t.Errorf("with a log that nobody listens to: %+v", f)
		}
	})
}

func hasEvent(p *dedup.PipelineStatus, kind, text string) bool {
	for _, e := range p.Events {
		if e.Kind == kind && strings.Contains(e.Text, text) {
			return true
		}
	}
	return false
}
