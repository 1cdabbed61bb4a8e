package live

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// recorded reads an answer of a real broker.
func recorded(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func ref(name string) dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: name} }

// nodeOf returns a node that watches queues of "/", and has read an answer without rows.
func nodeOf(t testing.TB, queues ...string) *node {
	t.Helper()
	n := newNode()
	watched := map[dedup.QueueRef]bool{}
	for _, name := range queues {
		watched[ref(name)] = true
	}
	n.watch(watched)
	return n
}

// take lets a node count an answer, between two readings of its own counters.
func take(t testing.TB, n *node, at int64, before, after *Counts, answer string) {
	t.Helper()
	n.begin()
	if err := readRows(strings.NewReader(answer), n); err != nil {
		t.Fatal(err)
	}
	if err := n.commit(time.Unix(at, 0)); err != nil {
		t.Fatal(err)
	}
	n.settle(time.Unix(at, 0), before, after)
}

// noRows is an answer as it was before anything happened.
func noRows(answer string) string {
	var kept strings.Builder
	for line := range strings.Lines(answer) {
		if !strings.HasPrefix(line, detailed) && !strings.HasPrefix(line, "telemetry") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

const hostile = `quote"d\ und Umläute zweite`

func TestAnAnswerOfARealBrokerIsReadWhole(t *testing.T) {
	// The same was done three times, each by channels that were closed before the next: rows of channels tell of the last alone.
	for version, want := range map[string]map[string]Counts{
		"3.10.8": {
			"orders": {Acked: 4, Delivered: 12, Redelivered: 7}, hostile: {Acked: 4, Delivered: 12, Redelivered: 7},
			`q{a="b",c} 7`: {Acked: 4, Delivered: 12, Redelivered: 7}, "quorum": {Acked: 4, Delivered: 12, Redelivered: 5},
			"auto": {DeliveredAuto: 10}, "got": {Acked: 3, Got: 3, GotAuto: 3}, "idle": {Got: 4, Redelivered: 4},
		},
		"4.0.5": {
			"orders": {Acked: 12, Delivered: 36, Redelivered: 16, Published: 39}, hostile: {Acked: 8, Delivered: 24, Redelivered: 9, Published: 20},
			`q{a="b",c} 7`: {Acked: 8, Delivered: 24, Redelivered: 9, Published: 30}, "quorum": {Acked: 8, Delivered: 24, Redelivered: 9, Published: 30},
			"auto": {DeliveredAuto: 30, Published: 30}, "got": {Acked: 6, Got: 6, GotAuto: 6, Published: 30}, "idle": {Got: 8, Redelivered: 4, Published: 30},
		},
	} {
		t.Run(version, func(t *testing.T) {
			n := nodeOf(t, "orders", hostile, `q{a="b",c} 7`, "quorum", "auto", "got", "idle")
			answer := recorded(t, "detailed-"+version)
			take(t, n, 1, nil, nil, noRows(answer))
			take(t, n, 2, nil, nil, answer)
			for name, counts := range want {
				if got := n.total(n.queues[ref(name)]).Counts; got != counts {
					t.Errorf("%s: %v, want %v", name, got, counts)
				}
			}
			if n.answer.unreadable != 0 || n.others.counts != (Counts{}) {
				t.Errorf("%d lines unreadable, %v of other queues", n.answer.unreadable, n.others.counts)
			}
			if n.answer.opened != 21 || n.answer.closed != 14 || n.answer.version != version || n.name == "" || n.answer.scrapes < 20 {
				t.Errorf("of the node: %+v", n.answer)
			}
		})
	}
}

func TestTheCountersOfARealNodeAreReadOfTheProtocolThatRowsCount(t *testing.T) {
	for _, version := range []string{"3.10.8", "4.0.5"} {
		totals, ok, err := readTotals(strings.NewReader(recorded(t, "metrics-"+version)))
		if want := (Counts{Acked: 42, Delivered: 108, DeliveredAuto: 30, Got: 14, GotAuto: 8}); totals != want || !ok || err != nil {
			t.Errorf("%s: %v, %v, %v", version, totals, ok, err)
		}
	}
	text := recorded(t, "metrics-4.0.5")
	for name, broken := range map[string]string{
		"renamed":   strings.ReplaceAll(text, "messages_acknowledged_total", "messages_acked_total"),
		"no count":  strings.ReplaceAll(text, "} 34\n", "} NaN\n"),
		"negative":  strings.ReplaceAll(text, "} 34\n", "} -1\n"),
		"too large": strings.ReplaceAll(text, "} 34\n", "} 1e300\n"),
		"absent":    "",
	} {
		if totals, ok, err := readTotals(strings.NewReader(broken)); ok || err != nil {
			t.Errorf("%s: %v, %v, %v", name, totals, ok, err)
		}
	}
}

func TestAQueueIsKnownByItsLabels(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		how        escaping
		want       labels
		ok         bool
	}{
		{"plain", `channel="<0.1.0>",vhost="/",queue="a"`, escapes, labels{"<0.1.0>", "/", "a"}, true},
		{"in another order", `queue="a",vhost="/"`, escapes, labels{"", "/", "a"}, true},
		{"escaped", `vhost="v\\w",queue="a\"b\nc"`, escapes, labels{"", `v\w`, "a\"b\nc"}, true},
		{"not escaped", `channel="<0.1.0>",vhost="v\w",queue="a"b\nc"`, escapesNothing, labels{"<0.1.0>", `v\w`, `a"b\nc`}, true},
		{"not escaped, and looks so", `channel="<0.1.0>",vhost="/",queue="a\\b"`, escapesNothing, labels{"<0.1.0>", "/", `a\\b`}, true},
		{"not escaped in 3.12", `channel="<0.1.0>",vhost="/",queue="a"b"`, escapesUnknown, labels{"<0.1.0>", "/", `a"b`}, true},
		{"escaped in 3.12", `channel="<0.1.0>",vhost="/",queue="a\"b"`, escapesUnknown, labels{"<0.1.0>", "/", `a"b`}, true},
		{"a vhost twice", `vhost="/",vhost="other",queue="a"`, escapes, labels{"", "/", "a"}, true},
		{"a queue without a name", `vhost="/",queue=""`, escapes, labels{"", "/", ""}, true},
		{"two ways to read it", `channel="<0.1.0>",vhost="a",queue="b"",queue="c"`, escapesNothing, labels{}, false},
		{"broken where all is escaped", `vhost="/",queue="a"b"`, escapes, labels{}, false},
		{"an unknown escape", `vhost="/",queue="a\x"`, escapes, labels{}, false},
		{"ends in an escape", `vhost="/",queue="a\`, escapes, labels{}, false},
		{"no queue", `channel="<0.1.0>",vhost="/"`, escapesNothing, labels{}, false},
		{"nothing", ``, escapesUnknown, labels{}, false},
	} {
		if got, ok := readLabels(tt.text, tt.how); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: %+v, %v", tt.name, got, ok)
		}
	}
}

func TestAVersionTellsWhetherLabelsAreEscaped(t *testing.T) {
	for version, want := range map[string]escaping{
		"3.10.8": escapesNothing, "3.9.1": escapesNothing, "3.11.2": escapesUnknown, "3.12.7": escapesUnknown, "3.13.7": escapes,
		"4.0.5": escapes, "10.1": escapes, "": escapesUnknown, "x.y": escapesUnknown, "4.0.0-rc.1": escapes,
	} {
		if got := escapingOf(version); got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}

func TestWhatCountsNothingIsNotCounted(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "42": 42, "1e3": 1000, "9007199254740992": 1 << 53, "123456789012345678": 123456789012345678,
		"-1": -1, "NaN": -1, "+Inf": -1, "1.5": -1, "": -1, "1 2": -1, "99999999999999999999": -1, "0x10": -1, "1e300": -1,
	} {
		got, ok := wholeCount([]byte(text))
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
}

func TestAnAnswerThatIsCutIsAnError(t *testing.T) {
	answer := recorded(t, "detailed-4.0.5")
	for i := range len(answer) - 1 {
		n := nodeOf(t, "orders")
		n.begin()
		err := readRows(strings.NewReader(answer[:i]), n)
		if err == nil {
			err = n.commit(time.Unix(1, 0))
		}
		if complete := strings.Contains(answer[:i], "rabbitmq_build_info{") && answer[i-1] == '\n'; (err == nil) != complete {
			t.Fatalf("cut at %d of %d: %v", i, len(answer), err)
		}
	}
}

func TestAValueThatCannotBeReadKeepsTheLast(t *testing.T) {
	answer := recorded(t, "detailed-4.0.5")
	n := nodeOf(t, "orders")
	take(t, n, 1, nil, nil, noRows(answer))
	take(t, n, 2, nil, nil, answer)
	acked := `acked_total{vhost="/",queue="orders"} `
	again := func(value string, scrapes int) string {
		text := strings.Replace(answer, acked+"12", acked+value, 1)
		return strings.Replace(text, `plain; version=0.0.4"} 22`, `plain; version=0.0.4"} `+strconv.Itoa(scrapes), -1)
	}
	for i, value := range []string{"NaN", "-5", "1e999", "13"} {
		take(t, n, int64(3+i), nil, nil, again(value, 23+i))
		if got := n.total(n.queues[ref("orders")]); got.Counts[Acked] != 12 && value != "13" || !got.Since.Equal(time.Unix(1, 0)) || (n.answer.unreadable == 0) != (value == "13") {
			t.Errorf("%s: %+v, %d unreadable", value, got, n.answer.unreadable)
		}
	}
	if got := n.total(n.queues[ref("orders")]).Counts[Acked]; got != 13 {
		t.Errorf("%d acked", got)
	}
}

func FuzzAnyAnswerIsReadOrRefused(f *testing.F) {
	f.Add(recorded(f, "detailed-3.10.8"))
	f.Add(recorded(f, "detailed-4.0.5"))
	f.Fuzz(func(t *testing.T, answer string) {
		n := nodeOf(t, "orders", hostile)
		var last Counts
		for i := range 3 {
			n.begin()
			if readRows(strings.NewReader(answer), n) != nil || n.commit(time.Unix(int64(i+1), 0)) != nil {
				n.drop()
				continue
			}
			n.settle(time.Unix(int64(i+1), 0), &last, &last)
			low, high := n.total(n.queues[ref("orders")]).Range()
			for k := range low {
				if low[k] < 0 || high[k] < low[k] {
					t.Errorf("%v to %v", low, high)
				}
			}
		}
		_, _, _ = readTotals(strings.NewReader(answer))
	})
}

// channelsAnswer is an answer of 3.10 with rows of many channels.
func channelsAnswer(channels int, acked func(i int) int) []byte {
	var b bytes.Buffer
	for name, m := range rowMetrics {
		if m.family != channelRows {
			continue
		}
		fmt.Fprintf(&b, "# TYPE %s%s counter\n# HELP %s%s Total number of messages\n", detailed, name, detailed, name)
		for i := range channels {
			fmt.Fprintf(&b, "%s%s{channel=\"<0.%d.0>\",vhost=\"/\",queue=\"orders.%03d\"} %d\n", detailed, name, 10000+i, i%24, acked(i))
		}
	}
	for i := range channels {
		fmt.Fprintf(&b, "%schannel_process_reductions_total{channel=\"<0.%d.0>\"} %d\n", detailed, 10000+i, acked(i))
	}
	b.WriteString("rabbitmq_build_info{rabbitmq_version=\"3.10.8\"} 1\nrabbitmq_identity_info{rabbitmq_node=\"a@b\"} 1\n")
	return b.Bytes()
}

// TestAnAnswerOfKnownChannelsIsReadWithoutAllocating: it comes each second, with some lines for each channel.
func TestAnAnswerOfKnownChannelsIsReadWithoutAllocating(t *testing.T) {
	answer := channelsAnswer(500, func(i int) int { return 1000 + i })
	n := nodeOf(t, "orders.001")
	read := func() {
		n.begin()
		if err := readRows(bytes.NewReader(answer), n); err != nil {
			t.Fatal(err)
		}
		if err := n.commit(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		n.settle(time.Unix(1, 0), nil, nil)
	}
	read()
	if got := testing.AllocsPerRun(5, read); got > 50 {
		t.Errorf("%v allocations for 500 channels", got)
	}
}

// BenchmarkReadingOf500Channels parses and counts one answer: 338 kB of a real broker took it 8 ms to write.
func BenchmarkReadingOf500Channels(b *testing.B) {
	answer := channelsAnswer(500, func(i int) int { return 1000 + i })
	n := nodeOf(b, "orders.001", "orders.002")
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		n.begin()
		if err := readRows(io.Reader(bytes.NewReader(answer)), n); err != nil {
			b.Fatal(err)
		}
		if err := n.commit(time.Unix(1, 0)); err != nil {
			b.Fatal(err)
		}
		n.settle(time.Unix(1, 0), nil, nil)
	}
}
