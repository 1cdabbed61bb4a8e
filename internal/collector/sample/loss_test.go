package sample

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// A lossyBroker acks in two queues. Its nodes count each ack at once, its queues in ticks of 5 s, and what a channel that
// died had not told by then is lost.
type lossyBroker struct {
	at      time.Time
	node    int64
	counted [2]int64
	pending [2]int64
	lost    int64
	// waiting are the acks that are not counted yet, lostOf those that never will be, by the second of the ack.
	waiting [2]map[int64]int64
	lostOf  map[int64]int64
}

func (b *lossyBroker) ack(queue int, n int64) {
	b.node += n
	b.pending[queue] += n
	b.waiting[queue][b.at.Unix()] += n
}

// die loses what has not been counted of a queue.
func (b *lossyBroker) die(queue int) {
	b.lost += b.pending[queue]
	for second, n := range b.waiting[queue] {
		b.lostOf[second] += n
	}
	clear(b.waiting[queue])
	b.pending[queue] = 0
}

func (b *lossyBroker) pass(d time.Duration) {
	for until := b.at.Add(d); b.at.Before(until); {
		b.at = b.at.Add(time.Second)
		if b.at.Unix()%5 == 0 {
			for i, n := range b.pending {
				b.counted[i], b.pending[i] = b.counted[i]+n, 0
				clear(b.waiting[i])
			}
		}
	}
}

// sample is the broker as it is read now; change may spoil the reading.
func (b *lossyBroker) sample(change func(*dedup.BrokerSample)) *dedup.BrokerSample {
	s := dedup.BrokerSample{
		At: b.at, Took: 100 * time.Millisecond, Info: dedup.BrokerInfo{RatesMode: "basic"}, QueuesTotal: count(2), ChannelsClosed: count(0),
		State: dedup.BrokerState{Nodes: []dedup.Node{{Name: "n1", Running: true}}}, Totals: []dedup.NodeTotals{{URL: "http://n1", Acked: b.node}},
		Queues: []dedup.Queue{
			listed("orders", func(q *dedup.Queue) { q.Counters.Ack = count(b.counted[0]) }), listed("emails", func(q *dedup.Queue) { q.Counters.Ack = count(b.counted[1]) }),
		},
	}
	if change != nil {
		change(&s)
	}
	return &s
}

// readBy has a meter read the broker.
func (b *lossyBroker) readBy(m *LossMeter, change func(*dedup.BrokerSample)) *dedup.BrokerSample {
	s := b.sample(change)
	m.Observe(s, !s.Info.StatsDisabled && s.Info.RatesMode != "none", SameNodes)
	return s
}

func newLossyBroker() *lossyBroker {
	return &lossyBroker{at: time.Unix(1_800_000_000, 0), node: 1000, counted: [2]int64{300, 200}, waiting: [2]map[int64]int64{{}, {}}, lostOf: map[int64]int64{}}
}

func TestTheMeterIsExactBetweenTwoRests(t *testing.T) {
	for _, deaths := range []int{0, 3} {
		b, m := newLossyBroker(), NewLossMeter()
		read := func(n int) {
			for range n {
				b.readBy(&m, nil)
				b.pass(5 * time.Second)
			}
		}
		read(4)
		from := b.at
		read(2)
		for i := range 20 {
			b.ack(i%2, 100)
			b.pass(2 * time.Second)
			b.ack(0, 7)
			if i < deaths {
				b.die(0)
			}
			b.readBy(&m, nil)
			b.pass(3 * time.Second)
		}
		b.pass(5 * time.Second)
		to := b.at
		read(4)
		low, high, ok := m.acks.frames.Lost(from, to)
		if !ok || low != float64(b.lost) || high != float64(b.lost) || (deaths == 0) != (b.lost == 0) {
			t.Errorf("%d deaths lost %d: %v..%v, %v", deaths, b.lost, low, high, ok)
		}
		words, exact := m.Words(from, to)
		if exact != (deaths == 0) || deaths > 0 && !strings.Contains(words, "lost the counts of") || !strings.Contains(words, "channels were closed") {
			t.Errorf("%d deaths: %q, %v", deaths, words, exact)
		}
	}
}

func TestTheMeterHoldsTheTruthInAnyTraffic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		interval := time.Duration(rapid.SampledFrom([]int{2, 5, 15}).Draw(t, "interval")) * time.Second
		b, m := newLossyBroker(), NewLossMeter()
		due := b.at
		for range rapid.IntRange(60, 300).Draw(t, "seconds") {
			if random.IntN(3) > 0 {
				b.ack(random.IntN(2), int64(random.IntN(200)))
			}
			if random.IntN(10) == 0 {
				b.die(random.IntN(2))
			}
			if !b.at.Before(due) {
				b.readBy(&m, nil)
				due = b.at.Add(interval)
			}
			b.pass(time.Second)
		}
		first := time.Unix(1_800_000_000, 0)
		total := b.at.Sub(first)
		from := first.Add(time.Duration(random.Int64N(int64(total / 2)))).Truncate(time.Second)
		to := from.Add(time.Duration(random.Int64N(int64(total / 2)))).Truncate(time.Second)
		low, high, ok := m.acks.frames.Lost(from, to)
		truth := 0.0 // of the acks in between, whenever their channel died
		for second, n := range b.lostOf {
			if second > from.Unix() && second <= to.Unix() {
				truth += float64(n)
			}
		}
		if ok && (truth < low-1e-9 || truth > high+1e-9 || low > high) {
			t.Fatalf("lost %v between %s and %s: %v..%v", truth, from, to, low, high)
		}
	})
}

func TestTheMeterRefusesWhatItCannotMeasure(t *testing.T) {
	renamed := func(s *dedup.BrokerSample) {
		s.Totals[0] = dedup.NodeTotals{URL: "http://n1", Err: "it has no counter rabbitmq_global_messages_acknowledged_total"}
	}
	for _, tt := range []struct {
		name   string
		change func(i int, s *dedup.BrokerSample)
		ok     bool
		words  string
	}{
		{"a metric that was renamed", func(i int, s *dedup.BrokerSample) { renamed(s) }, false, "has no counter rabbitmq_global"},
		{"renamed in mid-run: nothing is said of the time since", func(i int, s *dedup.BrokerSample) {
			if i > 4 {
				renamed(s)
			}
		}, false, "has no counter rabbitmq_global"},
		{"a node that is not listed", func(_ int, s *dedup.BrokerSample) {
			s.State.Nodes = append(s.State.Nodes, dedup.Node{Name: "n2", Running: true})
		}, false, "lists 1 of 2 nodes"},
		{"statistics that are disabled", func(_ int, s *dedup.BrokerSample) { s.Info.StatsDisabled = true }, false, "gives no counters"},
		{"rates_mode none", func(_ int, s *dedup.BrokerSample) { s.Info.RatesMode = "none" }, false, "gives no counters"},
		{"nodes that cannot be listed", func(_ int, s *dedup.BrokerSample) { s.State.Nodes = nil }, false, "the nodes cannot be listed"},
		{"nodes of another cluster", func(_ int, s *dedup.BrokerSample) { s.Totals[0].Acked = 5 }, false, "is not known yet"},
		{"nobody asks", func(_ int, s *dedup.BrokerSample) { s.Totals = nil }, false, "may have lost"},
		{"a node that restarts resets its counters in part", func(i int, s *dedup.BrokerSample) {
			if i > 6 {
				s.Totals[0].Acked -= 900
				*s.Queues[0].Counters.Ack -= 300
			}
		}, false, "is not known yet"},
		{"a node that does not answer for a while", func(i int, s *dedup.BrokerSample) {
			if i == 5 || i == 6 {
				s.Totals[0].Err = "no answer within 2s"
			}
		}, true, "no count of an ack was lost"},
	} {
		b, m := newLossyBroker(), NewLossMeter()
		from := b.at.Add(10 * time.Second)
		for i := range 14 {
			b.readBy(&m, func(s *dedup.BrokerSample) { tt.change(i, s) })
			if i > 3 && i < 10 {
				b.ack(0, 50)
			}
			b.pass(5 * time.Second)
		}
		to := b.at.Add(-5 * time.Second)
		_, _, ok := m.Lost().Acks.Lost(from, to)
		words, exact := m.Words(from, to)
		if ok != tt.ok || exact != tt.ok || !strings.Contains(words, tt.words) {
			t.Errorf("%s: %v, %q", tt.name, ok, words)
		}
	}
}

// TestPublishesHaveAMeterOfTheirOwn: a publisher's channel dies with 30 counts, and no consumer's does.
func TestPublishesHaveAMeterOfTheirOwn(t *testing.T) {
	for _, told := range []bool{true, false} {
		b, m := newLossyBroker(), NewLossMeter()
		from, published, routed := b.at.Add(12*time.Second), int64(70), int64(900)
		for i := range 14 {
			b.readBy(&m, func(s *dedup.BrokerSample) {
				s.Queues[0].Counters.Publish = count(published)
				if told {
					s.Totals[0].Routed = count(routed)
				}
			})
			if i > 3 && i < 9 {
				published, routed = published+44, routed+50
				b.ack(0, 44)
			}
			b.pass(5 * time.Second)
		}
		low, high, ok := m.publishes.frames.Lost(from, b.at.Add(-5*time.Second))
		if ok != told || told && (low != 30 || high != 30) {
			t.Errorf("told %v: lost publishes %v..%v, %v, want 30", told, low, high, ok)
		}
		if low, high, ok := m.acks.frames.Lost(from, b.at.Add(-5*time.Second)); !ok || low != 0 || high != 0 {
			t.Errorf("told %v: lost acks %v..%v, %v, want none", told, low, high, ok)
		}
	}
}

func TestAQueueThatVanishesProvesNoLoss(t *testing.T) {
	b, m := newLossyBroker(), NewLossMeter()
	from := b.at.Add(25 * time.Second)
	for i := range 16 {
		if i == 6 {
			b.ack(1, 500)
		}
		b.readBy(&m, func(s *dedup.BrokerSample) {
			if i >= 6 {
				s.Queues, s.QueuesTotal = s.Queues[:1], count(1) // deleted with its last counts
			}
		})
		b.pass(5 * time.Second)
	}
	low, high, ok := m.acks.frames.Lost(from, b.at.Add(-10*time.Second))
	if !ok || low != 0 || high != 500 {
		t.Errorf("%v..%v, %v", low, high, ok)
	}
}
