package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A told is what a node of 3.10 tells: its channels' rows, as "channel queue acked", and how many channels came and went.
func told(scrapes, opened, closed int, rows ...string) string {
	var b strings.Builder
	b.WriteString("# TYPE rabbitmq_detailed_channel_messages_acked_total counter\n")
	for _, row := range rows {
		var channel, queue string
		var acked int
		if _, err := fmt.Sscan(row, &channel, &queue, &acked); err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "rabbitmq_detailed_channel_messages_acked_total{channel=%q,vhost=\"/\",queue=%q} %d\n", channel, queue, acked)
	}
	fmt.Fprintf(&b, "rabbitmq_detailed_channels_opened_total %d\nrabbitmq_detailed_channels_closed_total %d\n", opened, closed)
	b.WriteString("rabbitmq_build_info{rabbitmq_version=\"3.10.8\"} 1\nrabbitmq_identity_info{rabbitmq_node=\"a@b\"} 1\n")
	fmt.Fprintf(&b, "telemetry_scrape_duration_seconds_count{registry=\"detailed\"} %d\n", scrapes)
	return b.String()
}

func acks(n int64) *Counts { return &Counts{Acked: n} }

// did checks how many acks of a queue a node has found, with what it may have lost.
func did(t *testing.T, n *node, queue string, low, high int64) {
	t.Helper()
	gotLow, gotHigh := n.total(n.queues[ref(queue)]).Range()
	if gotLow[Acked] != low || gotHigh[Acked] != high {
		t.Errorf("%s did %d to %d, want %d to %d", queue, gotLow[Acked], gotHigh[Acked], low, high)
	}
}

func TestTheFirstAnswerIsTheBaseAndARowThatIsNewCountsWhole(t *testing.T) {
	n := nodeOf(t, "a", "b")
	take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 b 7"))
	did(t, n, "a", 0, 0)
	take(t, n, 2, acks(109), acks(109), told(2, 10, 3, "1 a 53", "2 b 8", "3 a 5"))
	did(t, n, "a", 8, 8)
	did(t, n, "b", 1, 1)
}

func TestWhatARowTookAlongIsKnownWhereOneQueueAloneLostRows(t *testing.T) {
	n := nodeOf(t, "a", "b")
	take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 b 7"))
	take(t, n, 2, acks(109), acks(109), told(2, 9, 4, "2 b 9"))
	did(t, n, "a", 7, 7)
	did(t, n, "b", 2, 2)
	// And again: the first loss stays known.
	take(t, n, 3, nil, nil, told(3, 10, 4, "2 b 9", "3 a 1"))
	take(t, n, 4, nil, acks(115), told(4, 10, 5, "2 b 9"))
	did(t, n, "a", 8, 13)
	take(t, n, 5, acks(115), nil, told(5, 10, 5, "2 b 9"))
	did(t, n, "a", 13, 13)
}

func TestWhatRowsOfSeveralQueuesTookAlongMayBeOfEach(t *testing.T) {
	n := nodeOf(t, "a", "b", "c")
	take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 b 7", "3 c 1"))
	take(t, n, 2, acks(104), acks(104), told(2, 9, 5, "3 c 1"))
	did(t, n, "a", 0, 4)
	did(t, n, "b", 0, 4)
	did(t, n, "c", 0, 0)
}

func TestARowOfAQueueThatIsNotWatchedMayHaveTakenItAlong(t *testing.T) {
	n := nodeOf(t, "a")
	take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 x 7"))
	take(t, n, 2, acks(104), acks(104), told(2, 9, 4, "1 a 50"))
	did(t, n, "a", 0, 0)
	take(t, n, 3, acks(109), acks(109), told(3, 9, 5))
	did(t, n, "a", 5, 5)
}

func TestWhatAChannelDidThatNobodySawMayBeOfEachQueue(t *testing.T) {
	for name, answer := range map[string]string{
		"the node tells that one came and went":         told(2, 10, 4, "1 a 50", "2 b 7"),
		"only its count tells that somebody acked":      told(2, 9, 3, "1 a 50", "2 b 7"),
		"while a queue lost a row, which may hide more": told(2, 10, 5, "2 b 7"),
	} {
		t.Run(name, func(t *testing.T) {
			n := nodeOf(t, "a", "b")
			take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 b 7"))
			take(t, n, 2, acks(104), acks(104), answer)
			did(t, n, "a", 0, 4)
			did(t, n, "b", 0, 4)
		})
	}
}

func TestWhatIsLostIsUnboundedUntilTheNodeHasTold(t *testing.T) {
	n := nodeOf(t, "a", "b")
	take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 b 7"))
	take(t, n, 2, nil, nil, told(2, 9, 4, "2 b 7"))
	did(t, n, "a", 0, Unbounded)
	did(t, n, "b", 0, 0)
	// Before it tells b loses a row, too: which of both it was nobody knows.
	take(t, n, 3, nil, nil, told(3, 9, 5))
	take(t, n, 4, acks(106), acks(106), told(4, 9, 5))
	did(t, n, "a", 0, 6)
	did(t, n, "b", 0, 6)
}

func TestANodeThatWasStartedAnewCountsFromThere(t *testing.T) {
	base := told(50, 9, 3, "1 a 50", "2 b 7")
	for name, again := range map[string]string{
		"fewer channels were opened":     told(51, 2, 0, "1 a 60"),
		"it has answered fewer times":    told(1, 9, 3, "1 a 60"),
		"it answered once, as before it": told(50, 9, 3, "1 a 60"),
	} {
		t.Run(name, func(t *testing.T) {
			n := nodeOf(t, "a", "b")
			take(t, n, 1, acks(100), acks(100), base)
			take(t, n, 2, acks(60), acks(60), again)
			if got := n.total(n.queues[ref("a")]); !got.Since.Equal(time.Unix(2, 0)) || got.Counts[Acked] != 60 {
				t.Errorf("%+v", got)
			}
			take(t, n, 3, acks(63), acks(63), told(52, 9, 3, "1 a 63"))
			did(t, n, "a", 63, 63)
		})
	}
}

func TestANodeWhoseOwnCountFellCountsAnew(t *testing.T) {
	n := nodeOf(t, "a")
	take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50"))
	take(t, n, 2, acks(5), acks(5), told(2, 9, 3, "1 a 55"))
	if got := n.total(n.queues[ref("a")]); !got.Since.Equal(time.Unix(2, 0)) {
		t.Errorf("%+v", got)
	}
}

// ofQueues is an answer of 4.0: a row for each queue.
func ofQueues(scrapes int, rows ...string) string {
	return strings.ReplaceAll(told(scrapes, 9, 3, rows...), "_channel_messages", "_queue_messages")
}

func TestAQueueThatWasDeletedCountsAnewAndNoOtherDoes(t *testing.T) {
	n := nodeOf(t, "a", "b")
	take(t, n, 1, nil, nil, ofQueues(1, "- a 50", "- b 7"))
	take(t, n, 2, nil, nil, ofQueues(2, "- a 2", "- b 9"))
	take(t, n, 3, nil, nil, ofQueues(3, "- b 9"))
	take(t, n, 4, nil, nil, ofQueues(4, "- a 1", "- b 10"))
	a, b := n.total(n.queues[ref("a")]), n.total(n.queues[ref("b")])
	if !a.Since.Equal(time.Unix(3, 0)) || a.Counts[Acked] != 3 || !b.Since.Equal(time.Unix(1, 0)) || b.Counts[Acked] != 3 {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestAQueueThatIsWatchedLaterCountsFromThere(t *testing.T) {
	n := nodeOf(t, "a")
	take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 b 7"))
	n.watch(map[dedup.QueueRef]bool{ref("b"): true})
	take(t, n, 2, acks(103), acks(103), told(2, 9, 3, "1 a 50", "2 b 10"))
	if got := n.total(n.queues[ref("b")]); !got.Since.Equal(time.Unix(2, 0)) {
		t.Errorf("%+v", got)
	}
	take(t, n, 3, acks(105), acks(105), told(3, 9, 3, "1 a 51", "2 b 11"))
	did(t, n, "b", 4, 4)
	if n.queues[ref("a")] != nil || n.others.counts[Acked] != 1 {
		t.Errorf("%v of others", n.others.counts)
	}
}

func TestANodeOfANewerVersionIsFoundOutAfterItsRestart(t *testing.T) {
	n := nodeOf(t, "a")
	take(t, n, 1, acks(100), acks(100), told(5, 9, 3, "1 a 50"))
	take(t, n, 2, acks(1), acks(1), told(1, 2, 0, "1 a 1"))
	if !n.unsure {
		t.Fatal("it does not ask again")
	}
	take(t, n, 3, nil, nil, told(2, 2, 0, "1 a 2")+ofQueues(0, "- a 2"))
	take(t, n, 4, nil, nil, ofQueues(4, "- a 5"))
	if got := n.total(n.queues[ref("a")]); n.family != queueRows || n.unsure || !got.Since.Equal(time.Unix(3, 0)) || got.Counts[Acked] != 1+3 {
		t.Errorf("%v, %+v", n.family, got)
	}
}

func TestOneAddressOfSeveralNodesIsRefused(t *testing.T) {
	n := nodeOf(t, "a")
	take(t, n, 1, acks(100), acks(100), told(5, 9, 3, "1 a 50"))
	n.begin()
	other := strings.ReplaceAll(told(6, 9, 3, "1 a 50"), "a@b", "c@d")
	if err := readRows(strings.NewReader(other), n); err != nil {
		t.Fatal(err)
	}
	if err := n.commit(time.Unix(2, 0)); err != errOtherNode {
		t.Fatal(err)
	}
	// It may have been given to another for good.
	take(t, n, 3, acks(7), acks(7), strings.Replace(other, "} 6", "} 7", 1))
	if got := n.total(n.queues[ref("a")]); got.Counts[Acked] != 0 || !got.Since.Equal(time.Unix(3, 0)) {
		t.Errorf("%+v", got)
	}
}

func TestChannelsThatGoAreCountedForTheQueuesThatTheyTookFrom(t *testing.T) {
	for name, perQueue := range map[string]string{
		"where rows are of channels":              "",
		"where the node counts queues, in 4.0 on": "# TYPE rabbitmq_detailed_queue_messages_acked_total counter\nrabbitmq_detailed_queue_messages_acked_total{vhost=\"/\",queue=\"a\"} 50\n",
	} {
		t.Run(name, func(t *testing.T) {
			n := nodeOf(t, "a", "b")
			closed := func(a, b, unseen int64) {
				t.Helper()
				ofA, ofB := n.total(n.queues[ref("a")]), n.total(n.queues[ref("b")])
				if ofA.Closed != a || ofB.Closed != b || ofA.Unseen != unseen || ofB.Unseen != unseen {
					t.Errorf("of a %d and %d unseen, of b %d and %d, want %d, %d and %d unseen", ofA.Closed, ofA.Unseen, ofB.Closed, ofB.Unseen, a, b, unseen)
				}
			}
			take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 b 7", "3 a 1")+perQueue)
			closed(0, 0, 0)
			take(t, n, 2, acks(100), acks(100), told(2, 9, 4, "2 b 7", "3 a 1")+perQueue)
			closed(1, 0, 0)
			take(t, n, 3, acks(100), acks(100), told(3, 10, 6, "4 b 1")+perQueue)
			closed(2, 1, 0)
			take(t, n, 4, acks(100), acks(100), told(4, 12, 8, "4 b 1")+perQueue)
			take(t, n, 5, acks(100), acks(100), told(5, 12, 8, "4 b 1")+perQueue)
			closed(2, 1, 0) // the two that nobody saw had taken nothing
		})
	}
}

// TestAChannelThatHadSettledAllThatItTookHeldNothing unless it took more, which no row of its own tells of.
func TestAChannelThatHadSettledAllThatItTookHeldNothing(t *testing.T) {
	row := func(family string, taken, acked int) string {
		return fmt.Sprintf("# TYPE rabbitmq_detailed_%[1]s_messages_acked_total counter\nrabbitmq_detailed_%[1]s_messages_delivered_ack_total{%[4]svhost=\"/\",queue=\"a\"} %[2]d\nrabbitmq_detailed_%[1]s_messages_acked_total{%[4]svhost=\"/\",queue=\"a\"} %[3]d\n",
			family, taken, acked, map[string]string{"channel": `channel="1",`}[family])
	}
	totals := func(taken, acked int64) *Counts { return &Counts{Delivered: taken, Acked: acked} }
	for _, tt := range []struct {
		name     string
		perQueue bool
		// The row says that the channel took and acked so many, and more was taken in the end.
		taken, acked, more int
		least, most        int64
	}{
		{"it had settled all", false, 7, 7, 0, 0, 0},
		{"it had settled all, as the row of its queue shows", true, 7, 7, 0, 0, 0},
		{"it held one", false, 7, 6, 0, 1, 1},
		{"it held one, as the row of its queue shows", true, 7, 6, 0, 1, 1},
		{"it took more", false, 7, 7, 2, 0, 1},
		{"it took more, as the row of its queue shows", true, 7, 7, 2, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := nodeOf(t, "a")
			for i := 1; i <= 5; i++ {
				closed, taken, text := 3, tt.taken, row("channel", tt.taken, tt.acked)
				if i > 2 {
					closed, taken, text = 4, tt.taken+tt.more, ""
				}
				if tt.perQueue {
					text += row("queue", taken, tt.acked)
				}
				all := totals(int64(taken), int64(tt.acked))
				take(t, n, int64(i), all, all, told(i, 9, closed)+text)
			}
			if got := n.total(n.queues[ref("a")]); got.Closed != tt.least || got.Closed+got.MayBeClosed != tt.most {
				t.Errorf("%d, and perhaps %d more, want %d to %d", got.Closed, got.MayBeClosed, tt.least, tt.most)
			}
		})
	}
}

// TestAChannelThatDiedUnseenIsToldOfLater: the node's own counters are not read each time, and another channel may be closed until they are.
func TestAChannelThatDiedUnseenIsToldOfLater(t *testing.T) {
	n, died := nodeOf(t, "a"), 0
	for i := 1; i <= 60; i++ {
		totals, wanted := &Counts{}, n.wantsTotals()
		if died == 0 && i > 40 && !wanted {
			died = i
		}
		closed := 3
		if died > 0 {
			closed, *totals = 4, Counts{Delivered: 5, Acked: 4}
		}
		if !wanted {
			totals = nil
		}
		take(t, n, int64(i), totals, totals, told(i, 9, closed))
	}
	if got := n.total(n.queues[ref("a")]); died == 0 || got.Closed+got.Unseen+got.MayBeClosed != 1 {
		t.Errorf("died at %d: %d channels were closed, %d unseen, perhaps %d more, want 1", died, got.Closed, got.Unseen, got.MayBeClosed)
	}
}

// TestAChannelMayBeClosedAlthoughItsRowIsStillThere: brokers clear rows away each few seconds. One that counted something since was open.
func TestAChannelMayBeClosedAlthoughItsRowIsStillThere(t *testing.T) {
	n := nodeOf(t, "a", "b")
	mayBe := func(a, b int64) {
		t.Helper()
		if gotA, gotB := n.total(n.queues[ref("a")]).MayBeClosed, n.total(n.queues[ref("b")]).MayBeClosed; gotA != a || gotB != b {
			t.Errorf("%d of a and %d of b, want %d and %d", gotA, gotB, a, b)
		}
	}
	take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 a 7", "3 b 1")+open("1", "2", "3"))
	mayBe(0, 0)
	take(t, n, 2, acks(102), acks(102), told(2, 9, 4, "1 a 51", "2 a 7", "3 b 2")+open("1", "2", "3"))
	mayBe(1, 1)
	take(t, n, 3, acks(103), acks(103), told(3, 9, 4, "1 a 51", "2 a 7", "3 b 3")+open("1", "2", "3"))
	mayBe(1, 0)
	take(t, n, 4, acks(103), acks(103), told(4, 9, 4, "1 a 51", "3 b 3")+open("1", "3"))
	mayBe(0, 0)
}

// open lists the channels that are open.
func open(channels ...string) string {
	var b strings.Builder
	for _, channel := range channels {
		fmt.Fprintf(&b, "rabbitmq_detailed_channel_process_reductions_total{channel=%q} 17\n", channel)
	}
	return b.String()
}

func TestAChannelThatOpensInPlaceOfOneThatDiedIsNoneThatNobodySaw(t *testing.T) {
	n := nodeOf(t, "a", "b")
	take(t, n, 1, acks(100), acks(100), told(1, 9, 3, "1 a 50", "2 b 7")+open("1", "2"))
	take(t, n, 2, acks(104), acks(104), told(2, 10, 4, "2 b 7")+open("2", "3"))
	did(t, n, "a", 4, 4)
	did(t, n, "b", 0, 0)
	// But one that came and went while it did is.
	take(t, n, 3, acks(104), acks(104), told(3, 11, 5, "2 b 7")+open("2", "3"))
	take(t, n, 4, acks(109), acks(109), told(4, 13, 6, "2 b 7")+open("2", "3", "5"))
	did(t, n, "a", 4, 9)
	did(t, n, "b", 0, 5)
}

// TestARowThatOutlivesItsChannelTakesNothingAlong: brokers list open channels before rows, and keep these for some seconds, so that three queues
// whose consumers die again and again stay apart.
func TestARowThatOutlivesItsChannelTakesNothingAlong(t *testing.T) {
	n := nodeOf(t, "a", "b", "c")
	row := func(channel, queue string, acked int64) string {
		return fmt.Sprintf("rabbitmq_detailed_channel_messages_delivered_ack_total{channel=%[1]q,vhost=\"/\",queue=%[2]q} %[3]d\nrabbitmq_detailed_channel_messages_acked_total{channel=%[1]q,vhost=\"/\",queue=%[2]q} %[4]d\n",
			channel, queue, acked+1, acked)
	}
	lives, acked, died, queues := map[string]int{}, map[string]int64{}, "", []string{"a", "b", "c"}
	deaths, total := 0, int64(1000)
	for i := range 60 {
		text, rows := open("publisher"), died
		for _, queue := range queues {
			channel := fmt.Sprint(queue, lives[queue])
			total += 5
			acked[queue] += 5
			text, rows = text+open(channel), rows+row(channel, queue, acked[queue])
		}
		// The counters of the node go on while it answers.
		take(t, n, int64(i), acks(total-4), acks(total+4), text+rows+told(i+1, 9+deaths, 3+deaths))
		// One dies and is replaced; its row stays for one answer.
		queue := queues[i%3]
		total += 2
		died = row(fmt.Sprint(queue, lives[queue]), queue, acked[queue]+2)
		acked[queue], lives[queue], deaths = 0, lives[queue]+1, deaths+1
	}
	for i, queue := range queues {
		last := int64(2) // of the one that died last nothing was read since
		did(t, n, queue, 59*5+20*2-last*int64(i/2), 59*5+20*2-last*int64(i/2))
		if got := n.total(n.queues[ref(queue)]); got.Closed != int64(20-i/2) || got.MayBeClosed != 0 {
			t.Errorf("%s: %d channels were closed, perhaps %d more, want %d", queue, got.Closed, got.MayBeClosed, 20-i/2)
		}
	}
}
