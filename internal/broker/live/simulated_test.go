package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// simulated is a node of RabbitMQ 3.10 whose truth is known: rows come with the first ack of a channel, and go with it at once or later.
type simulated struct {
	truth    map[string]int64 // acks of each queue, which nothing resets
	holding  map[string]int64 // channels of each queue that were closed while they held something
	channels map[int]*simulatedChannel
	pid      int
	taken    int64
	acked    int64
	vitals   vitals
	perQueue bool // 4.0: a row per queue
	lists    bool // it lists open channels
	rows     map[string][2]int64
	// between happens after an answer has listed open channels, and before it tells rows.
	between func()
}

type simulatedChannel struct {
	queue string
	taken int64
	acked int64
	ended bool // its row is still there
	idle  bool // it takes nothing out of queues
}

func newSimulated(perQueue, lists bool) *simulated {
	return &simulated{lists: lists, truth: map[string]int64{}, holding: map[string]int64{}, channels: map[int]*simulatedChannel{}, vitals: vitals{scrapes: 100}, rows: map[string][2]int64{}, perQueue: perQueue}
}

// open opens a channel that takes and acks, as all do that are not publishers'.
func (s *simulated) open(queue string, takes, acks int64) int {
	s.pid++
	s.vitals.opened++
	s.channels[s.pid] = &simulatedChannel{queue: queue}
	s.work(s.pid, takes, acks)
	return s.pid
}

// work takes messages out of the queue of a channel, and acks so many of those that it holds.
func (s *simulated) work(pid int, takes, acks int64) {
	c := s.channels[pid]
	acks = min(acks, c.taken+takes-c.acked)
	c.taken, c.acked = c.taken+takes, c.acked+acks
	s.truth[c.queue] += acks
	s.rows[c.queue] = [2]int64{s.rows[c.queue][0] + takes, s.rows[c.queue][1] + acks}
	s.taken, s.acked = s.taken+takes, s.acked+acks
}

func (s *simulated) end(pid int, lingers bool) {
	s.vitals.closed++
	if c := s.channels[pid]; c.taken > c.acked {
		s.holding[c.queue]++
	}
	s.channels[pid].ended = true
	if !lingers {
		delete(s.channels, pid)
	}
}

func (s *simulated) restart() {
	s.taken, s.acked, s.vitals = 0, 0, vitals{}
	clear(s.channels)
	clear(s.rows)
}

// alive are the channels that are open, in order.
func (s *simulated) alive() []int {
	pids := slices.Sorted(maps.Keys(s.channels))
	return slices.DeleteFunc(pids, func(pid int) bool { return s.channels[pid].ended || s.channels[pid].idle })
}

func (s *simulated) answer() string {
	s.vitals.scrapes++
	var b strings.Builder
	opened, closed := s.vitals.opened, s.vitals.closed
	for pid, c := range s.channels {
		if s.lists && !c.ended {
			fmt.Fprintf(&b, "rabbitmq_detailed_channel_process_reductions_total{channel=\"<0.%d.0>\"} 17\n", pid)
		}
	}
	s.between()
	b.WriteString("# TYPE rabbitmq_detailed_channel_messages_acked_total counter\n")
	for pid, c := range s.channels {
		if c.idle {
			continue
		}
		fmt.Fprintf(&b, "rabbitmq_detailed_channel_messages_acked_total{channel=\"<0.%d.0>\",vhost=\"/\",queue=%q} %d\n", pid, c.queue, c.acked)
		fmt.Fprintf(&b, "rabbitmq_detailed_channel_messages_delivered_ack_total{channel=\"<0.%d.0>\",vhost=\"/\",queue=%q} %d\n", pid, c.queue, c.taken)
	}
	if s.perQueue {
		b.WriteString("# TYPE rabbitmq_detailed_queue_messages_acked_total counter\n")
		for queue, n := range s.rows {
			fmt.Fprintf(&b, "rabbitmq_detailed_queue_messages_acked_total{vhost=\"/\",queue=%q} %d\n", queue, n[1])
			fmt.Fprintf(&b, "rabbitmq_detailed_queue_messages_delivered_ack_total{vhost=\"/\",queue=%q} %d\n", queue, n[0])
		}
	}
	fmt.Fprintf(&b, "rabbitmq_detailed_channels_opened_total %d\nrabbitmq_detailed_channels_closed_total %d\n", opened, closed)
	b.WriteString("rabbitmq_build_info{rabbitmq_version=\"3.10.8\"} 1\nrabbitmq_identity_info{rabbitmq_node=\"a@b\"} 1\n")
	fmt.Fprintf(&b, "telemetry_scrape_duration_seconds_count{registry=\"detailed\",content_type=\"text/plain; version=0.0.4\"} %d\n", s.vitals.scrapes)
	return b.String()
}

// sees is a reading of a node beside the truth.
type sees struct {
	at     time.Time
	counts map[string]Count
	// truth are the acks, holding the channels that were closed while they held something: before the answer, and when all was read.
	truth, holding, held map[string]int64
}

// look reads a simulated node, which goes on meanwhile; more may happen between its list of channels and its rows.
func look(t *rapid.T, n *node, s *simulated, at time.Time, meanwhile, more func()) sees {
	totals := func() *Counts {
		if !n.wantsTotals() || rapid.IntRange(0, 9).Draw(t, "totals fail") == 0 {
			return nil
		}
		return &Counts{Delivered: s.taken, Acked: s.acked}
	}
	before := totals()
	meanwhile()
	n.begin()
	var holding map[string]int64
	s.between = func() {
		holding = maps.Clone(s.holding)
		more()
	}
	err := readRows(strings.NewReader(s.answer()), n)
	truth := maps.Clone(s.truth)
	meanwhile()
	if err == nil {
		err = n.commit(at)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.settle(at, before, totals())
	seen := sees{at: at, counts: map[string]Count{}, truth: truth, holding: holding, held: maps.Clone(s.holding)}
	for queue, tally := range n.queues {
		seen.counts[queue.Name] = n.total(tally)
	}
	return seen
}

// TestTheTruthIsAlwaysWithinWhatIsCounted whatever channels and nodes do between two readings, however far apart.
func TestTheTruthIsAlwaysWithinWhatIsCounted(t *testing.T) {
	for name, of := range map[string][2]bool{"rows of channels": {false, false}, "rows of channels beside a list of them": {false, true}, "rows of queues": {true, false}, "rows of queues beside a list of channels": {true, true}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkTruth(t, newSimulated(of[0], of[1])) })
		})
	}
}

func checkTruth(t *rapid.T, s *simulated) {
	queues := []string{"a", "b", "c"}
	n := newNode()
	n.watch(map[dedup.QueueRef]bool{{Vhost: "/", Name: "a"}: true, {Vhost: "/", Name: "b"}: true}) // c is not
	work := func() {
		for _, pid := range s.alive() {
			s.work(pid, rapid.Int64Range(0, 3).Draw(t, "takes"), rapid.Int64Range(0, 4).Draw(t, "acks"))
		}
	}
	opened := func() int {
		return s.open(rapid.SampledFrom(queues).Draw(t, "queue"), rapid.Int64Range(0, 5).Draw(t, "takes"), rapid.Int64Range(0, 5).Draw(t, "acks"))
	}
	happen := func() {
		work()
		alive := s.alive()
		switch rapid.IntRange(0, 11).Draw(t, "event") {
		case 0, 1, 2:
			opened()
		case 3, 4, 5, 6:
			if len(alive) > 0 {
				s.end(rapid.SampledFrom(alive).Draw(t, "dies"), rapid.Bool().Draw(t, "lingers"))
			}
		case 7: // a channel that nobody sees
			s.end(opened(), false)
		case 8: // a publisher's
			s.vitals.opened++
			s.pid++
			s.channels[s.pid] = &simulatedChannel{idle: true}
		case 9:
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				s.restart()
			}
		case 10: // the rows of ended channels are cleared away
			maps.DeleteFunc(s.channels, func(_ int, c *simulatedChannel) bool { return c.ended })
		}
	}
	var earlier []sees
	for i := range rapid.IntRange(2, 30).Draw(t, "readings") {
		for range rapid.IntRange(0, 3).Draw(t, "events") {
			happen()
		}
		if i == 0 { // a row that outlives its channel from before the first reading hides another for a moment
			maps.DeleteFunc(s.channels, func(_ int, c *simulatedChannel) bool { return c.ended })
		}
		now := look(t, n, s, time.Unix(int64(i+1), 0), work, func() {
			work()
			if alive := s.alive(); len(alive) > 0 && rapid.IntRange(0, 3).Draw(t, "torn") == 0 {
				s.end(rapid.SampledFrom(alive).Draw(t, "dies between"), true)
			}
		})
		for _, then := range earlier {
			for queue, count := range now.counts {
				if count.Since.After(then.at) {
					continue
				}
				low, high := Between(then.counts[queue], count)
				if did := now.truth[queue] - then.truth[queue]; did < low[Acked] || did > high[Acked] {
					t.Fatalf("%s did %d from %d to %d, and not %d to %d", queue, did, then.at.Unix(), now.at.Unix(), low[Acked], high[Acked])
				}
				was := then.counts[queue]
				most := plus(plus(count.Closed, count.Unseen), count.MayBeClosed) - was.Closed - was.Unseen
				if closed := now.holding[queue] - then.held[queue]; closed > most {
					t.Fatalf("%d channels of %s were closed that held something, from %d to %d, and not at most %d", closed, queue, then.at.Unix(), now.at.Unix(), most)
				}
			}
		}
		earlier = append(earlier, now)
	}
}
