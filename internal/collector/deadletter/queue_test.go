package deadletter

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

var (
	orders = dedup.QueueRef{Vhost: "/", Name: "orders.dead"}
	common = dedup.QueueRef{Vhost: "/", Name: "common.dead"}
)

// following is a watch of a pipeline with these dead-letter queues.
func following(name string, b *counter.Book, refs ...dedup.QueueRef) *Watch {
	w := NewWatch(dedup.Pipeline{Name: name}, nil, b)
	for _, ref := range refs {
		w.Targets = append(w.Targets, topology.Target{QueueRef: ref})
	}
	return &w
}

// holding are the dead-letter queues with so many messages; a negative number is a queue that is not listed.
func holding(own, shared int64) map[dedup.QueueRef]*dedup.Queue {
	queues := make(map[dedup.QueueRef]*dedup.Queue)
	for ref, n := range map[dedup.QueueRef]int64{orders: own, common: shared} {
		if n >= 0 {
			queues[ref] = &dedup.Queue{QueueRef: ref, Type: "classic", Messages: &n, Unacked: new(int64), Consumers: new(int64)}
		}
	}
	return queues
}

func TestWhatArrivesInASharedQueueIsCountedOnce(t *testing.T) {
	b := counter.NewBook()
	a, other := following("orders", b, orders, common), following("emails", b, common)
	sharing := FindShared("main", nil, []*Watch{a, other}, b)
	if sharing.Of(orders) != nil || sharing.Of(common) == nil || len(a.Shared(sharing)) != 1 {
		t.Fatalf("shared are %+v", sharing.All)
	}
	for i, n := range []int64{4, 7, 9} {
		for _, w := range []*Watch{a, other} {
			w.Observe(&sample.Frame{Whole: true}, Reading{Broker: Broker{Queues: holding(2*n, n), Complete: true, Shared: sharing}, At: now.Add(time.Duration(i) * time.Minute), Counting: true})
		}
	}
	if own, shared, none := a.arrived.Total, sharing.Of(common).arrived.Total, other.arrived.Total; own != 10 || shared != 5 || none != 0 {
		t.Errorf("%v arrived in its own queue, %v in the shared one and %v for the other; want 10, 5 and 0", own, shared, none)
	}
}

func TestABalanceIsStruckWhereDeadLettersAreKeptAndKnown(t *testing.T) {
	for name, tt := range map[string]struct {
		keeps           Keeping
		own             int64
		counting        bool
		whole, presumed bool
	}{
		"they are kept":               {KeepsAll, 3, true, true, false},
		"they may be kept":            {KeepsPerhaps, 3, true, false, true},
		"they are not":                {KeepsNot, 3, true, false, false},
		"a queue of theirs is gone":   {KeepsAll, -1, true, false, false},
		"the broker gives no numbers": {KeepsAll, 3, false, false, false},
	} {
		w := following("orders", counter.NewBook(), orders)
		w.keeps = tt.keeps
		f := sample.Frame{Whole: true}
		w.Observe(&f, Reading{Broker: Broker{Queues: holding(tt.own, 0)}, At: now, Counting: tt.counting})
		if f.Whole != tt.whole || f.Presumed != tt.presumed || f.Dead != float64(max(tt.own, 0)) {
			t.Errorf("%s: whole %v, presumed %v, %v dead letters", name, f.Whole, f.Presumed, f.Dead)
		}
	}
}

func TestAQueueThatWasDeletedIsAGapAndItsSumsGoOn(t *testing.T) {
	w := following("orders", counter.NewBook(), orders)
	read := func(queues map[dedup.QueueRef]*dedup.Queue, acks int64) (f sample.Frame) {
		if q := queues[orders]; q != nil {
			q.Counters.Ack = &acks
		}
		w.Observe(&f, Reading{Broker: Broker{Queues: queues, Complete: true}, At: now, Counting: true})
		return f
	}
	read(holding(3, 0), 0)
	if f := read(holding(3, 0), 5); f.DeadSettled != 5 || f.DeadGaps != 0 {
		t.Errorf("%v were settled with %v gaps; want 5", f.DeadSettled, f.DeadGaps)
	}
	if f := read(nil, 0); f.DeadSettled != 5 || f.DeadGaps != 1 {
		t.Errorf("after it was deleted %v with %v gaps", f.DeadSettled, f.DeadGaps)
	}
}

// TestADepthIsOfTheNewestReading: what a sample says of a depth can be 11 s old.
func TestADepthIsOfTheNewestReading(t *testing.T) {
	live := holding(4, 9)
	live[common].Type = "quorum"
	sampled := holding(2, 7)
	sampled[common].Type = "quorum" // such a queue is not asked itself
	w := following("orders", counter.NewBook(), orders, common)
	listed := Broker{Name: "main", Queues: sampled, At: now, Live: sample.LiveDepths{At: now.Add(-time.Second), Queues: live}, Index: &topology.Index{}}
	var st dedup.PipelineStatus
	w.Show(&st, listed, "")
	if own, other, all := st.DeadLetterQueues[0].Depth, st.DeadLetterQueues[1].Depth, st.DeadLetters; own.Value != 4 || !own.At.Equal(listed.Live.At) ||
		other.Value != 7 || !other.At.Equal(now) || all.Value != 11 || !all.At.Equal(listed.Live.At) {
		t.Errorf("%v at %v, %v at %v, %v at %v in all", own.Value, own.At, other.Value, other.At, all.Value, all.At)
	}
	listed.Live.At = now.Add(-time.Minute)
	if d := Depth(orders, listed).Depth; d.Value != 2 || !d.At.Equal(now) {
		t.Errorf("with a live depth of a minute ago: %v at %v", d.Value, d.At)
	}
}

// TestArrivalsAreCountedByLiveDepths: those of a sample are up to 11 s old, and a return to them is a dip that is made up for.
func TestArrivalsAreCountedByLiveDepths(t *testing.T) {
	w := following("orders", counter.NewBook(), orders)
	for i, tt := range []struct{ sampled, live, want int64 }{{2, 2, 0}, {2, 5, 3}, {2, -1, 3}, {5, 6, 4}, {6, 6, 4}} {
		at, sampled := now.Add(time.Duration(i)*5*time.Second), holding(tt.sampled, 0)
		var live sample.LiveDepths
		if tt.live >= 0 {
			live = sample.LiveDepths{At: at, Queues: holding(tt.live, 0)}
		}
		w.Observe(&sample.Frame{}, Reading{Broker: Broker{Queues: sampled, Complete: true}, At: at, Counting: true,
			Depths: sample.DepthsOf(live, at, []dedup.QueueRef{orders}, sampled)})
		if w.arrived.Total != float64(tt.want) {
			t.Errorf("after reading %d %v arrived, want %d", i, w.arrived.Total, tt.want)
		}
	}
}

func TestDepthsOfSharedQueuesAreAnInterval(t *testing.T) {
	b := counter.NewBook()
	a, other := following("orders", b, orders, common), following("emails", b, common)
	listed := Broker{Name: "main", Queues: holding(2, 7), Index: &topology.Index{}, Shared: FindShared("main", nil, []*Watch{a, other}, b)}
	var st dedup.PipelineStatus
	if a.Show(&st, listed, ""); st.DeadLetters.Low != 2 || st.DeadLetters.High != 9 || len(st.DeadLetterQueues) != 2 {
		t.Errorf("of 2 own and 7 shared: %+v", st.DeadLetters)
	}
	var down dedup.PipelineStatus
	if a.Show(&down, listed, "broker main is down"); down.DeadLetters.Known() || down.DeadLetterQueues[0].Depth.Known() || !down.DeadLetterQueues[1].Shared.Any() {
		t.Errorf("while the broker is down: %+v", down.DeadLetterQueues)
	}
	var none dedup.PipelineStatus
	if following("none", b).Show(&none, listed, ""); none.DeadLetters.Known() || none.DeadLetters.Why == "" {
		t.Errorf("without a queue: %+v", none.DeadLetters)
	}
}
