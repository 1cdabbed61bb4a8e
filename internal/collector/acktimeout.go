package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// Where RabbitMQ publishes its log, and how to make it do so.
const (
	logExchangeVhost = "/"
	logExchangeName  = "amq.rabbitmq.log"
	betterExchange   = "Set log.exchange = true and log.exchange.level = warning in rabbitmq.conf, restart the node, and give brokers[].log an account (docs/figures.md)."
	betterLogAccount = "Give brokers[].log an account that may read the broker's log (docs/figures.md)."
)

// ackTimeouts follow what the log of one broker tells of ack timeouts.
type ackTimeouts struct {
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
	count  int64
	// gained are the timeouts of each queue since the reading before.
	gained       map[dedup.QueueRef]int64
	all, unnamed *counter.Tally
}

func newAckTimeouts(b *counter.Book, broker string) ackTimeouts {
	return ackTimeouts{
		all:     b.Tally(series.BrokerAckTimeouts, "broker", broker, "named", "any"),
		unnamed: b.Tally(series.BrokerAckTimeouts, "broker", broker, "named", "no"),
	}
}

// absorb takes a sample. Counts go on over a gap: what was heard was heard.
func (a *ackTimeouts) absorb(s *dedup.BrokerSample) (gained int64) {
	a.asked, a.gained = s.Log != nil, nil
	if !a.asked {
		return 0
	}
	l := s.Log
	if a.first.IsZero() {
		a.first = s.At
	}
	a.why, a.better = l.Why, l.Better
	switch {
	case !l.Listening && (a.epoch > 0 || s.At.Sub(a.first) > time.Minute):
		a.gapAt, a.overran = s.At, false
	case l.Epoch > a.epoch && a.epoch > 0:
		a.gapAt, a.overran = l.Since, false
	}
	if l.Overflowed.After(a.gapAt) {
		a.gapAt, a.overran = l.Overflowed, true
	}
	a.epoch = max(a.epoch, l.Epoch)
	a.silent = silentNodes(l, s.State.Nodes)
	a.gained = make(map[dedup.QueueRef]int64)
	for ref, n := range l.Named {
		if more := n - a.named[ref]; more > 0 {
			a.gained[ref] = more
			gained += more
		}
	}
	unnamed := max(0, l.Unnamed-a.count)
	a.named, a.count = l.Named, l.Unnamed
	gained += unnamed
	a.unnamed.Total += float64(unnamed)
	a.all.Total += float64(gained)
	if l.Listening {
		a.unnamed.Open, a.all.Open = true, true
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
		return fmt.Sprintf("no line of the log of node %s has come yet, which may not publish it", name(first))
	}
	return fmt.Sprintf("no line of the log of %d nodes has come yet, which may not publish it: node %s, for one", silent, name(first))
}

// store adds the counters, while the log is followed.
func (a *ackTimeouts) store(into counter.Batch) {
	if a.asked && a.why == "" {
		into.Tallies(a.all, a.unnamed)
	}
}

// countTimeouts adds what the newest reading told of the pipeline's queues.
func (p *pipeline) countTimeouts(at time.Time) {
	a := &p.broker.timeouts
	if !a.asked {
		return
	}
	p.timeouts.Open = p.timeouts.Open || a.all.Open
	for _, ref := range p.refs {
		n := a.gained[ref]
		if n == 0 {
			continue
		}
		p.timeouts.Total += float64(n)
		p.events.AddCounted(at, "ack_timeout", n, fmt.Sprintf("%s of queue %s held a delivery for longer than consumer_timeout: the broker closed the channel and delivers again", counted(n, "consumer"), name(ref.Name)))
	}
}

// noteTimeouts tells of timeouts whose queue the log does not name.
func (b *brokerWatch) noteTimeouts(s *dedup.BrokerSample) {
	was := b.timeouts.unnamed.Total
	b.timeouts.absorb(s)
	if n := int64(b.timeouts.unnamed.Total - was); n > 0 {
		b.events.AddCounted(s.At, "ack_timeout", n, fmt.Sprintf("Broker %s: %s held a delivery for longer than consumer_timeout; its log does not name the queue", name(b.broker.Name()), counted(n, "consumer")))
	}
}

func (c *Collector) ackTimeouts(p *pipeline, now time.Time, w time.Duration) dedup.Figure {
	a := &p.broker.timeouts
	sample, _ := p.broker.sample.Get()
	s := figure.AckTimeouts{
		Now: now, Window: w, Own: c.past.Gain(w, p.timeouts), All: c.past.Gain(w, a.all), Unnamed: c.past.Gain(w, a.unnamed),
		Named: sample.Info.TimeoutsNamed(), Logged: sample.Info.TimeoutsLogged(), Gap: a.gapAt, Overran: a.overran, Silent: a.silent, Why: a.why, Better: a.better,
	}
	if !a.asked {
		s.Why, s.Better = p.broker.noLog()
	}
	return s.Figure()
}

// noLog says why nobody listens to the broker's log, and what to do about it.
func (b *brokerWatch) noLog() (why, better string) {
	if b.index == nil {
		return "not observable: nobody listens to the broker's log", betterLogAccount
	}
	if !b.index.HasExchange(logExchangeVhost, logExchangeName) {
		return "not observable on this broker: it does not publish its log, or the watching account may not see the virtual host / of it", betterExchange
	}
	return "not observable yet: the broker publishes its log, and nobody listens to it", betterLogAccount
}
