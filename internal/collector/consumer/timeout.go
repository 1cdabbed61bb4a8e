package consumer

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/text"
)

// Where RabbitMQ publishes its log, and how to make it do so.
const (
	logExchangeVhost = "/"
	logExchangeName  = "amq.rabbitmq.log"
	betterExchange   = "Set log.exchange = true and log.exchange.level = warning in rabbitmq.conf, restart the node, and give brokers[].log an account (docs/figures.md)."
	betterLogAccount = "Give brokers[].log an account that may read the broker's log (docs/figures.md)."
)

// Timeouts follow what the log of one broker tells of ack timeouts.
type Timeouts struct {
	broker string
	// asked: somebody listens. why says why the log is not followed now, better what to do.
	asked       bool
	why, better string
	first       time.Time
	epoch       int64
	// gapAt is when lines were last missed, or may have been.
	gapAt time.Time
	// overran: lines were missed then because they came faster than they were read.
	overran bool
	// silent says why nothing that is counted proves nothing: nodes that have not been heard. Empty when all were.
	silent string
	named  map[dedup.QueueRef]int64
	// nameless is the raw count of those whose queue the log does not name.
	nameless int64
	// gained are the timeouts of each queue since the reading before.
	gained       map[dedup.QueueRef]int64
	all, unnamed *counter.Tally
}

// NewTimeouts counts those of a broker.
func NewTimeouts(b *counter.Book, broker string) Timeouts {
	return Timeouts{
		broker:  broker,
		all:     b.Tally(series.BrokerAckTimeouts, "broker", broker, "named", "any"),
		unnamed: b.Tally(series.BrokerAckTimeouts, "broker", broker, "named", "no"),
	}
}

// observe takes a sample. Counts go on over a gap: what was heard was heard.
func (t *Timeouts) observe(s *dedup.BrokerSample) (gained int64) {
	t.asked, t.gained = s.Log != nil, nil
	if !t.asked {
		return 0
	}
	l := s.Log
	if t.first.IsZero() {
		t.first = s.At
	}
	t.why, t.better = l.Why, l.Better
	switch {
	case !l.Listening && (t.epoch > 0 || s.At.Sub(t.first) > time.Minute):
		t.gapAt, t.overran = s.At, false
	case l.Epoch > t.epoch && t.epoch > 0:
		t.gapAt, t.overran = l.Since, false
	}
	if l.Overflowed.After(t.gapAt) {
		t.gapAt, t.overran = l.Overflowed, true
	}
	t.epoch = max(t.epoch, l.Epoch)
	t.silent = silentNodes(l, s.State.Nodes)
	t.gained = make(map[dedup.QueueRef]int64)
	for ref, n := range l.Named {
		if more := n - t.named[ref]; more > 0 {
			t.gained[ref] = more
			gained += more
		}
	}
	unnamed := max(0, l.Unnamed-t.nameless)
	t.named, t.nameless = l.Named, l.Unnamed
	gained += unnamed
	t.unnamed.Total += float64(unnamed)
	t.all.Total += float64(gained)
	if l.Listening {
		t.unnamed.Open, t.all.Open = true, true
	}
	return gained
}

// silentNodes names the running nodes that no line of the log came from; empty when all were heard.
func silentNodes(l *dedup.BrokerLog, nodes []dedup.Node) string {
	if len(l.Heard) == 0 {
		return "no line of the broker's log has come yet, and the exchange stands though a node may not publish its log there"
	}
	silent := 0
	first := ""
	for _, n := range nodes {
		if n.Running && !l.Heard[n.Name] {
			if silent++; first == "" {
				first = n.Name
			}
		}
	}
	switch {
	case silent == 0:
		return ""
	case silent == 1:
		return fmt.Sprintf("no line of the log of node %s has come yet, which may not publish it", text.Name(first))
	}
	return fmt.Sprintf("no line of the log of %d nodes has come yet, which may not publish it: node %s, for one", silent, text.Name(first))
}

// Store adds the counters, while the log is followed.
func (t *Timeouts) Store(into counter.Batch) {
	if t.Followed() {
		into.Tallies(t.all, t.unnamed)
	}
}

// Note takes a sample, and tells of timeouts whose queue the log does not name.
func (t *Timeouts) Note(s *dedup.BrokerSample, events *event.Log) {
	was := t.unnamed.Total
	t.observe(s)
	if n := int64(t.unnamed.Total - was); n > 0 {
		events.AddCounted(s.At, kindTimeout, n, fmt.Sprintf("Broker %s: %s held a delivery for longer than consumer_timeout; its log does not name the queue", text.Name(t.broker), text.Counted(n, "consumer")))
	}
}

// Followed reports whether every timeout in the log is counted now.
func (t *Timeouts) Followed() bool { return t.asked && t.why == "" }

// count adds to a tally what the newest sample told of some queues, and tells of it.
func (t *Timeouts) count(refs []dedup.QueueRef, own *counter.Tally, events *event.Log, at time.Time) {
	if !t.asked {
		return
	}
	own.Open = own.Open || t.all.Open
	for _, ref := range refs {
		n := t.gained[ref]
		if n == 0 {
			continue
		}
		own.Total += float64(n)
		events.AddCounted(at, kindTimeout, n, fmt.Sprintf("%s of queue %s held a delivery for longer than consumer_timeout: the broker closed the channel and delivers again", text.Counted(n, "consumer"), text.Name(ref.Name)))
	}
}

// Figure computes the ack timeouts per hour of a pipeline: own are those of its queues. ix is nil until the topology of the broker was read.
func (t *Timeouts) Figure(past *counter.Past, own *counter.Tally, info dedup.BrokerInfo, ix *topology.Index, now time.Time, w time.Duration) dedup.Figure {
	s := figure.AckTimeouts{
		Now: now, Window: w, Own: past.Gain(w, own), All: past.Gain(w, t.all), Unnamed: past.Gain(w, t.unnamed),
		Named: info.TimeoutsNamed(), Logged: info.TimeoutsLogged(), Gap: t.gapAt, Overran: t.overran, Silent: t.silent, Why: t.why, Better: t.better,
	}
	if !t.asked {
		s.Why, s.Better = noLog(ix)
	}
	return s.Figure()
}

// noLog says why nobody listens to a broker's log, and what to do about it.
func noLog(ix *topology.Index) (why, better string) {
	if ix == nil {
		return "not observable: nobody listens to the broker's log", betterLogAccount
	}
	if !ix.HasExchange(logExchangeVhost, logExchangeName) {
		return "not observable on this broker: it does not publish its log, or the watching account may not see the virtual host / of it", betterExchange
	}
	return "not observable yet: the broker publishes its log, and nobody listens to it", betterLogAccount
}
