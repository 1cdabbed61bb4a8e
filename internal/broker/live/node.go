package live

import (
	"bytes"
	"errors"
	"maps"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A node counts what the queues of one node did, from the answers of its endpoint: begin, what readRows calls for each line, commit or
// nothing, and after a commit settle. An answer that is not committed changes nothing.
type node struct {
	// since is when the node was first read, and again after each restart: before it nothing is known. It is zero before that.
	since  time.Time
	name   string // of the node, as it says itself
	family family // whose rows count; noFamily until an answer has told
	// unsure asks for all families again: a node that was started anew may be of another version.
	unsure bool

	rows     map[string]*row           // by the text of their labels
	channels map[string]int            // rows of each channel
	there    map[string]*span          // the channels that are open, whatever they do
	counted  int64                     // the number of the last answer that was committed
	queues   map[dedup.QueueRef]*tally // those that are watched
	others   tally                     // all others together, and rows whose queue cannot be told
	sum      Counts
	repair   repair

	answer answer // the answer that is being read
	// rowless are the channels that went from the list before, and whose rows went with the last answer.
	rowless int64
	// lingering are the channels that were closed and still have their rows, as far as is known, recent those closed since the answer before.
	// The count of those closed is read before the list: early are those that the last list lacked already and the count did not have yet.
	lingering, recent, early int64

	last vitals // of the last answer that was committed
	gone event  // what the last commit found gone
}

// vitals tell a node that went on from one that was started anew.
type vitals struct{ opened, closed, scrapes int64 }

// An answer is one that is being read.
type answer struct {
	vitals
	number    int64
	name      string
	version   string
	announced [queueRows + 1]bool
	rows      int
	// listed is set once a channel was listed, listedFirst where that was before any row: what the list lacks had ended by the time that its row was read.
	listed, listedFirst bool
	unreadable          int
}

// A span is the numbers of the first and the last answer that had something.
type span struct{ first, last int64 }

// An event is what went between two answers.
type event struct {
	// queues are those whose rows went, with the channels among them that had settled all that they were known to have taken: such a
	// channel held something only if it took more, which is lost then.
	queues map[*tally]int64
	// anyone is set where channels came and went without ever having had a row, so many.
	anyone bool
	unseen int64
	// closed are all channels that the node closed.
	closed int64
}

func (e *event) any() bool { return e.anyone || len(e.queues) > 0 }

// Errors of commit.
var (
	errNoMetrics  = errors.New("the answer is not one of RabbitMQ's Prometheus plugin")
	errOtherNode  = errors.New("another node answers than before; give each node's own address in prometheus_urls, not one for all")
	errNoFamilies = errors.New("it has no counters of single queues; they come with RabbitMQ 3.10 and its plugin rabbitmq_prometheus")
)

func newNode() *node {
	return &node{rows: map[string]*row{}, channels: map[string]int{}, there: map[string]*span{}, queues: map[dedup.QueueRef]*tally{}}
}

// begin starts an answer.
func (n *node) begin() { n.answer = answer{number: n.answer.number + 1} }

// announce notes that an answer has a family, which it has without rows, too.
func (n *node) announce(f family) { n.answer.announced[f] = true }

// spoiled notes a line that cannot be read.
func (n *node) spoiled([]byte) { n.answer.unreadable++ }

// noteNode takes what a line tells of the node as a whole.
func (n *node) noteNode(name, labels, value []byte) {
	count, _ := wholeCount(value)
	switch string(name) {
	case "channels_opened_total":
		n.answer.opened = count
	case "channels_closed_total":
		n.answer.closed = count
	case "telemetry_scrape_duration_seconds_count":
		if bytes.Contains(labels, []byte(`registry="detailed"`)) {
			n.answer.scrapes += count
		}
	case "rabbitmq_build_info":
		n.answer.version = labelOf(labels, "rabbitmq_version")
	case "rabbitmq_identity_info":
		n.answer.name = labelOf(labels, "rabbitmq_node")
	}
}

// channelThere notes that a channel is open.
func (n *node) channelThere(labels []byte) {
	if !n.answer.listed {
		n.answer.listed, n.answer.listedFirst = true, n.answer.rows == 0
	}
	channel := labelIn(labels, "channel")
	known := n.there[string(channel)]
	if known == nil {
		known = &span{first: n.answer.number}
		n.there[string(channel)] = known
	}
	known.last = n.answer.number
}

// opened counts the channels that are open and were not with the last answer that was committed, and those that went, of whose rows nothing
// is open; false where the node does not list them.
func (n *node) opened() (appeared, went int64, listed bool) {
	ended := map[string]bool{}
	for channel, seen := range n.there {
		switch {
		case seen.last != n.answer.number:
			delete(n.there, channel)
			if ended[channel] = n.answer.listedFirst; n.channels[channel] == 0 || ended[channel] {
				went++
			}
		case seen.first > n.counted:
			appeared++
		}
	}
	n.finish(ended)
	n.counted = n.answer.number
	return appeared, went, len(n.there) > 0
}

// commit counts what the answer adds, which was complete at a moment.
func (n *node) commit(at time.Time) error {
	if err := n.choose(); err != nil {
		n.drop()
		return err
	}
	first, restarted := n.since.IsZero(), n.restarted()
	n.unsure = restarted
	if first || restarted {
		n.restart(at)
	}
	for _, t := range n.queues {
		t.still, t.moving, t.quiet = 0, 0, time.Time{}
		if n.answer.announced[channelRows] {
			t.quiet = at
		}
		if t.since.IsZero() {
			t.since = at
		}
	}
	appeared, unlisted := n.nameRows()
	n.rowless = 0
	n.gone = event{queues: map[*tally]int64{}}
	for key, r := range n.rows {
		n.count(key, r, at, first, restarted)
	}
	opened, closed := n.answer.opened-n.last.opened, n.answer.closed-n.last.closed
	all, went, listed := n.opened()
	if listed { // from the moment they open, whatever they do
		appeared = all + unlisted
	}
	n.gone.unseen = max(0, min(opened-appeared, closed))
	n.gone.anyone, n.gone.closed = n.gone.unseen > 0, closed
	n.recent = closed
	late := closed - min(closed, n.early)
	n.early = max(0, went-late)
	n.lingering = max(0, n.lingering+late-went-n.rowless)
	if listed {
		n.lingering = max(0, n.lingering-n.gone.unseen)
	}
	if first || restarted {
		n.gone, n.recent, n.lingering, n.early = event{}, 0, 0, 0
	}
	if n.family == queueRows {
		for _, t := range n.queues {
			t.watch.look(t, n.gone.queues[t]+n.gone.unseen)
		}
	}
	n.last = n.answer.vitals
	return nil
}

// choose settles whose rows count: those of queues where the node has them. A node that no longer has what it had starts anew.
func (n *node) choose() error {
	announced := n.answer.announced
	switch {
	case n.answer.version == "":
		return errNoMetrics
	case !announced[channelRows] && !announced[queueRows]:
		n.unsure = true
		return errNoFamilies
	case n.name != n.answer.name && n.name != "" && n.answer.name != "":
		n.name, n.since, n.unsure = n.answer.name, time.Time{}, true
		return errOtherNode
	case announced[queueRows] && n.family != queueRows:
		n.use(queueRows)
	case !announced[queueRows] && n.family != channelRows:
		n.use(channelRows)
	}
	n.name = n.answer.name
	return nil
}

// restarted reports whether a counter fell that never does, or that of answers did not grow by the last one.
func (n *node) restarted() bool {
	now, last := n.answer.vitals, n.last
	return now.opened < last.opened || now.closed < last.closed || now.scrapes <= last.scrapes && last.scrapes > 0
}

// restart begins to count anew, at a moment before which nothing is known. Counts go on from where they were.
func (n *node) restart(at time.Time) {
	n.since = at
	maps.DeleteFunc(n.there, func(_ string, seen *span) bool { return seen.last != n.answer.number })
	for _, t := range n.queues {
		t.lost, t.watch = Lost{}, takenWatch{}
	}
	n.repair = repair{turn: n.repair.turn}
}

// settle finds out how much was lost, from the node's own counters before and after the rows were read; either may be nil.
func (n *node) settle(at time.Time, before, after *Counts) {
	if n.family == channelRows && !n.repair.observe(&n.gone, before, after, &n.sum) {
		n.restart(at)
	}
	n.gone = event{}
}

// wantsTotals reports whether the node's own counters should be read with this answer.
func (n *node) wantsTotals() bool {
	return n.family != queueRows && (n.gone.any() || n.repair.wants())
}
