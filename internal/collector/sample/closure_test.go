package sample

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

const (
	ordersApp  = "10.0.0.1:4000 -> 10.0.0.9:5672"
	mailApp    = "10.0.0.2:4000 -> 10.0.0.9:5672"
	newsApp    = "10.0.0.4:4000 -> 10.0.0.9:5672"
	billingApp = "10.0.0.3:4000 -> 10.0.0.9:5672"
)

// dawn is the time that the others of these tests are counted from.
var dawn = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// A channelRow is a channel of a list and the queue that it consumes from; empty for none.
type channelRow struct{ connection, number, queue string }

func (r channelRow) name() string { return r.connection + " (" + r.number + ")" }

func channelList(at time.Duration, rows ...channelRow) *dedup.ChannelList {
	l := &dedup.ChannelList{At: dawn.Add(at), Took: 20 * time.Millisecond, Channels: []dedup.Channel{}, Consumers: []dedup.Consumer{}}
	for _, r := range rows {
		vhost := "/"
		if r.connection == billingApp {
			vhost = "billing"
		}
		node := "n1"
		if r.connection == newsApp {
			node = "n2"
		}
		l.Channels = append(l.Channels, dedup.Channel{Name: r.name(), Connection: r.connection, Vhost: vhost, Node: node})
		if r.queue != "" {
			l.Consumers = append(l.Consumers, dedup.Consumer{Queue: dedup.QueueRef{Vhost: vhost, Name: r.queue}, Channel: r.name(), Connection: r.connection})
		}
	}
	return l
}

func closureFrame(at time.Duration, closures float64) *Frame {
	return &Frame{Began: dawn.Add(at), Ended: dawn.Add(at + 20*time.Millisecond), Closures: closures}
}

func TestClosedChannelsOfOthersAreTakenOffAndNoMore(t *testing.T) {
	ours, ours2 := channelRow{ordersApp, "1", "orders"}, channelRow{ordersApp, "2", ""}
	mail, idle := channelRow{mailApp, "1", "mail"}, channelRow{mailApp, "2", "news"}
	news, unused := channelRow{newsApp, "1", "news"}, channelRow{mailApp, "3", ""}
	billing := channelRow{billingApp, "1", ""}
	const second = time.Second
	until := 100 * second
	// The window begins at 10 s; lists come at 0, 30 and 60 s.
	at := func(list *dedup.ChannelList, change func(*dedup.ChannelList)) *dedup.ChannelList {
		change(list)
		return list
	}
	for name, tt := range map[string]struct {
		lists  []*dedup.ChannelList
		closed float64
		until  time.Duration
		want   float64
	}{
		"nothing was listed": {nil, 3, until, 3},
		"a consumer of other queues went": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle), channelList(60*second, ours, idle)},
			1, until, 0},
		"a channel that never consumed went: it may have begun to": {[]*dedup.ChannelList{channelList(0, ours, mail, unused), channelList(30*second, ours, mail, unused), channelList(60*second, ours, mail)},
			1, until, 1},
		"a consumer that was cancelled went": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, channelRow{mailApp, "2", ""}), channelList(60*second, ours, mail)},
			1, until, 1},
		"one that warmed up went before it showed as a consumer": {[]*dedup.ChannelList{channelList(0, ours), channelList(15*second, ours, unused), channelList(30*second, ours, unused), channelList(60*second, ours)},
			1, until, 1},
		"a consumer of the pipeline went": {[]*dedup.ChannelList{channelList(0, ours, mail), channelList(30*second, ours, mail), channelList(60*second, mail)},
			1, until, 1},
		"another channel of the pipeline's connection went": {[]*dedup.ChannelList{channelList(0, ours, ours2), channelList(30*second, ours, ours2), channelList(60*second, ours)},
			1, until, 1},
		"one of each went": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle), channelList(60*second, idle)},
			2, until, 1},
		"a new consumer of other queues on an old connection went": {[]*dedup.ChannelList{channelList(0, ours, mail), channelList(30*second, ours, mail, idle), channelList(60*second, ours, mail)},
			1, until, 0},
		"of a connection that was just opened nobody knows": {[]*dedup.ChannelList{channelList(0, ours), channelList(30*second, ours, mail), channelList(60*second, ours)},
			1, until, 1},
		"another virtual host is another's at once": {[]*dedup.ChannelList{channelList(0, ours), channelList(30*second, ours, billing), channelList(60*second, ours)},
			1, until, 0},
		"a connection that turned to the pipeline's queues": {[]*dedup.ChannelList{channelList(0, ours, mail), channelList(30*second, ours, mail, channelRow{mailApp, "2", "orders"}), channelList(60*second, ours)},
			2, until, 2},
		"and one that was seen doing so by the last list": {[]*dedup.ChannelList{channelList(0, ours, mail), channelList(30*second, ours, mail), channelList(60*second, ours, channelRow{mailApp, "2", "orders"})},
			1, until, 1},
		"it may have gone before the window began": {[]*dedup.ChannelList{channelList(-30*second, ours, mail, idle), channelList(15*second, ours, mail, idle), channelList(60*second, ours, idle)},
			1, until, 1},
		"it may not be counted yet": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle), channelList(60*second, ours, idle)},
			1, 65 * second, 1},
		"a slow list proves nothing": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle),
			at(channelList(60*second, ours, idle), func(l *dedup.ChannelList) { l.Took = 2 * second })}, 1, until, 1},
		"nor one that does not tell the consumers": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle),
			at(channelList(60*second, ours, idle), func(l *dedup.ChannelList) { l.Consumers = nil })}, 1, until, 1},
		"a nameless consumer of the pipeline may be anybody": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle),
			at(channelList(60*second, ours, idle), func(l *dedup.ChannelList) { l.Consumers[0].Channel = "" })}, 1, until, 1},
		"and was, until a while ago": {[]*dedup.ChannelList{channelList(0, ours, mail, idle),
			at(channelList(25*second, ours, mail, idle), func(l *dedup.ChannelList) { l.Consumers[0].Connection = "" }), channelList(30*second, ours, mail, idle), channelList(60*second, ours, idle)}, 1, until, 1},
		"a nameless consumer of other queues is nothing to the pipeline": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle),
			at(channelList(60*second, ours, idle), func(l *dedup.ChannelList) { l.Consumers[1].Channel = "" })}, 1, until, 0},
		"too long after the last list nothing is proved": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle), channelList(151*second, ours, idle)},
			1, 200 * second, 1},
		"a connection that was away is a new one": {[]*dedup.ChannelList{channelList(0, ours, mail), channelList(12*second, ours), channelList(30*second, ours, mail), channelList(60*second, ours)},
			2, until, 2},
		"a node that was restarted did not count": {[]*dedup.ChannelList{channelList(0, ours, mail, news), channelList(30*second, ours, mail, news), channelList(60*second, ours, mail, channelRow{newsApp, "9", "news"})},
			1, until, 1},
		"nor one in which a whole node is missing": {[]*dedup.ChannelList{channelList(0, mail, idle), channelList(30*second, mail, idle), channelList(60 * second)},
			2, until, 2},
		"the next good one does": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle),
			at(channelList(60*second, ours, idle), func(l *dedup.ChannelList) { l.Consumers = nil }), channelList(75*second, ours, idle)}, 1, until, 0},
		"more went than the broker counted": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle), channelList(60*second, ours)},
			1, until, 1},
		"a clock that was set back forgets": {[]*dedup.ChannelList{channelList(0, ours, mail, idle), channelList(30*second, ours, mail, idle), channelList(60*second, ours, idle), channelList(50*second, ours, idle)},
			1, until, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var book ClosureBook
			own := book.Follow("/", []dedup.QueueRef{{Vhost: "/", Name: "orders"}})
			for _, list := range tt.lists {
				book.Observe(list)
			}
			if got, known := own.Most(closureFrame(10*second, 7), closureFrame(tt.until, 7+tt.closed)); got != tt.want || !known {
				t.Errorf("%v of %v closures may be the pipeline's, want %v", got, tt.closed, tt.want)
			}
		})
	}
}

func TestMessagesThatWereFetchedOneByOneLeaveAllClosuresToThePipeline(t *testing.T) {
	own := &OwnClosures{others: []otherClosures{{from: dawn, to: dawn.Add(time.Second), after: 1}}}
	first, later := closureFrame(-time.Minute, 0), closureFrame(time.Minute, 1)
	if got, _ := own.Most(first, later); got != 0 {
		t.Fatalf("%v, want 0", got)
	}
	later.Gets = 1
	if got, _ := own.Most(first, later); got != 1 {
		t.Errorf("%v, want 1: who fetches is not listed as a consumer", got)
	}
}

func TestTheBookOfClosuresStaysSmallAndTrueForDays(t *testing.T) {
	var book ClosureBook
	own := book.Follow("/", []dedup.QueueRef{{Vhost: "/", Name: "orders"}})
	ours := channelRow{ordersApp, "1", "orders"}
	const step, days = 5 * time.Second, 3 * 24 * time.Hour
	n := 0
	for at := time.Duration(0); at < days; at += step {
		n++
		short := channelRow{fmt.Sprintf("10.0.%d.%d:%d -> 10.0.0.9:5672", n>>16, n>>8&255, n&255), "1", ""}
		book.Observe(channelList(at, ours, short, channelRow{mailApp, fmt.Sprint(n), "mail"}, channelRow{mailApp, "0", ""}))
	}
	if k := len(own.others); k > 4000 {
		t.Errorf("%d entries after three days", k)
	}
	if k := len(book.connections); k > 200 {
		t.Errorf("%d connections are remembered", k)
	}
	// A channel of others went with every list; of a day all but those at its ends can be told.
	total := float64((24 * time.Hour) / step)
	got, _ := own.Most(closureFrame(days-24*time.Hour, 0), closureFrame(days, total))
	if got < 4 || got > 40 {
		t.Errorf("%v of %v closures may be the pipeline's", got, total)
	}
}

// A closureWorld is a broker whose channels come and go, and what its lists and counts show of it.
type closureWorld struct {
	t           *rapid.T
	now         time.Duration
	connections []*worldConnection
	ports       int
	closures    []worldClosure
	rows        []*worldChannel // every channel that ever was
}

// Those of a pipeline's connection may consume from its queue at any time. The first channel does so from the start to the end,
// unless the connection warms up: then none consumes from other queues.
type worldConnection struct {
	name, node  string
	ours, warms bool
	channels    map[int]*worldChannel
}

type worldChannel struct {
	name             string
	of               *worldConnection
	opened, closed   time.Duration
	shown, forgotten time.Duration // when lists begin and cease to show it
	queue            string
	since            time.Duration // when lists begin to show what it consumes from
	served           bool
}

type worldClosure struct {
	at, counted time.Duration
	ours        bool
}

func (w *closureWorld) upTo(most time.Duration, name string) time.Duration {
	return time.Duration(rapid.IntRange(0, int(most/time.Millisecond)).Draw(w.t, name)) * time.Millisecond
}

func (w *closureWorld) connect(ours bool) {
	w.ports++
	c := &worldConnection{name: fmt.Sprintf("app:%d -> broker", w.ports), node: fmt.Sprintf("n%d", w.ports%2), ours: ours, channels: map[int]*worldChannel{}}
	c.warms = ours && rapid.Bool().Draw(w.t, "warms up")
	w.connections = append(w.connections, c)
	first := w.open(c, 1)
	if ours && !c.warms {
		w.consume(first, "orders")
	}
}

func (w *closureWorld) open(c *worldConnection, number int) *worldChannel {
	ch := &worldChannel{name: fmt.Sprintf("%s (%d)", c.name, number), of: c, opened: w.now, closed: -1, shown: w.now + w.upTo(5*time.Second, "shown")}
	c.channels[number] = ch
	w.rows = append(w.rows, ch)
	return ch
}

func (w *closureWorld) consume(ch *worldChannel, queue string) {
	ch.queue, ch.since = queue, w.now+w.upTo(5*time.Second, "consumer shown")
	ch.served = ch.served || queue == "orders"
}

func (w *closureWorld) vanish(c *worldConnection, number int) *worldChannel {
	ch := c.channels[number]
	delete(c.channels, number)
	ch.closed, ch.forgotten = w.now, w.now
	return ch
}

// restart takes a node with all its channels at once, which nobody counts as closed, and its clients come back.
func (w *closureWorld) restart(node string) {
	for _, ch := range w.rows {
		if ch.of.node == node {
			ch.forgotten = min(ch.forgotten, w.now)
		}
	}
	for i, c := range w.connections {
		if c.node != node {
			continue
		}
		for n := range 5 {
			if c.channels[n] != nil {
				w.vanish(c, n)
			}
		}
		w.connect(c.ours)
		last := len(w.connections) - 1
		w.connections[i], w.connections = w.connections[last], w.connections[:last]
		w.connections[i].node = node
	}
}

func (w *closureWorld) close(c *worldConnection, number int) {
	ch := w.vanish(c, number)
	ch.forgotten += w.upTo(time.Second, "forgotten")
	w.closures = append(w.closures, worldClosure{at: w.now, counted: w.now + w.upTo(CounterLag, "counted"), ours: ch.served})
}

// act lets one thing happen.
func (w *closureWorld) act() {
	i := rapid.IntRange(0, len(w.connections)-1).Draw(w.t, "connection")
	c, number := w.connections[i], rapid.IntRange(2, 4).Draw(w.t, "channel")
	ch := c.channels[number]
	switch what := rapid.IntRange(0, 9).Draw(w.t, "what"); {
	case what == 0 && number == 2: // the whole connection goes, and another comes
		for n := 1; n <= 4; n++ {
			if c.channels[n] != nil {
				w.close(c, n)
			}
		}
		w.connections = slices.Delete(w.connections, i, i+1)
		w.connect(rapid.Bool().Draw(w.t, "ours"))
	case what == 1 && number == 3 && rapid.IntRange(0, 3).Draw(w.t, "restart") == 0:
		w.restart(c.node)
	case ch == nil:
		w.open(c, number)
	case what < 5:
		w.close(c, number)
	case what < 7 && c.ours:
		w.consume(ch, "orders")
	case what < 9 && !c.warms:
		w.consume(ch, "mail")
	default:
		w.consume(ch, "")
	}
}

func (w *closureWorld) list() *dedup.ChannelList {
	l := &dedup.ChannelList{At: dawn.Add(w.now), Took: time.Millisecond, Channels: []dedup.Channel{}, Consumers: []dedup.Consumer{}}
	missing := rapid.SampledFrom([]string{"", "", "", "", "", "", "", "", "n0", "n1"}).Draw(w.t, "missing node")
	listed := map[string]bool{}
	for _, ch := range w.rows {
		if ch.of.node == missing || ch.shown > w.now || ch.closed >= 0 && ch.forgotten <= w.now || listed[ch.name] {
			continue
		}
		listed[ch.name] = true
		l.Channels = append(l.Channels, dedup.Channel{Name: ch.name, Connection: ch.of.name, Vhost: "/", Node: ch.of.node})
		if ch.queue != "" && ch.since <= w.now {
			l.Consumers = append(l.Consumers, dedup.Consumer{Queue: dedup.QueueRef{Vhost: "/", Name: ch.queue}, Channel: ch.name, Connection: ch.of.name})
		}
	}
	return l
}

func (w *closureWorld) frame() *Frame {
	var n float64
	for _, c := range w.closures {
		if c.counted <= w.now {
			n++
		}
	}
	return &Frame{Began: dawn.Add(w.now), Ended: dawn.Add(w.now), Closures: n}
}

func TestTheClosuresOfAPipelineAreNeverUnderstated(t *testing.T) {
	told, all := 0.0, 0.0
	rapid.Check(t, func(t *rapid.T) {
		w := &closureWorld{t: t}
		var book ClosureBook
		own := book.Follow("/", []dedup.QueueRef{{Vhost: "/", Name: "orders"}})
		for range 2 {
			w.connect(true)
			w.connect(false)
		}
		var frames []*Frame
		for range rapid.IntRange(10, 120).Draw(t, "steps") {
			w.now += time.Millisecond + w.upTo(8*time.Second, "pause")
			if rapid.IntRange(0, 19).Draw(t, "outage") == 0 {
				w.now += w.upTo(10*time.Minute, "outage")
			}
			for range rapid.IntRange(0, 3).Draw(t, "things") {
				w.act()
			}
			frames = append(frames, w.frame())
			if rapid.IntRange(0, 3).Draw(t, "list") > 0 {
				book.Observe(w.list())
			}
		}
		for i, first := range frames {
			for _, later := range frames[i:] {
				var truth float64
				for _, c := range w.closures {
					if at := dawn.Add(c.at); c.ours && at.After(first.Ended) && !at.After(later.Began.Add(-CounterLag)) {
						truth++
					}
				}
				got, _ := own.Most(first, later)
				if got < truth {
					t.Fatalf("%v closures of the pipeline between %v and %v, bounded by %v", truth, first.Began.Sub(dawn), later.Began.Sub(dawn), got)
				}
				told, all = told+later.Closures-first.Closures-got, all+later.Closures-first.Closures
			}
		}
	})
	t.Logf("%.0f %% of the closures were told to be of others", 100*told/all)
	if told == 0 {
		t.Error("no closure was taken off: the property was not tested")
	}
}
