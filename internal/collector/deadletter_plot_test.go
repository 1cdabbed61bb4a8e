package collector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/lab/servers"
)

// A plot is one topology with one real death. All its names begin with its own prefix, which {} stands for.
type plot struct {
	name string
	// queues, exchanges and bindings are declared: "NAME TYPE" with arguments, "NAME TYPE", and "EXCHANGE KEY DESTINATION", whose
	// destination is an exchange after "x:".
	queues    map[string]amqp.Table
	exchanges []string
	bindings  []string
	// alternates are alternate exchanges by argument; policies are by pattern.
	alternates map[string]string
	policies   map[string]servers.Policy
	// via and key are how the message comes into the source queue {}s; empty for its own name and the default exchange.
	via, key string
	headers  amqp.Table
	// death kills the message, by rejection unless it is set; the broker counts deaths in all.
	death  func(*garden, string) error
	deaths int
	// ends are the queues that hold it in the end, as a real broker decides it. lossy says that the queue at the end refuses it.
	ends  string
	lossy bool
	// goesRound says that it ends nowhere: its queues are deleted once it was seen to die often enough.
	goesRound bool
	// rows and kinds are what must be discovered: "TARGET role", with a question mark where it is not certain.
	rows, kinds string
}

func dlx(exchange string, more ...any) amqp.Table {
	t := amqp.Table{"x-dead-letter-exchange": exchange}
	for i := 0; i < len(more); i += 2 {
		t["x-"+more[i].(string)] = more[i+1]
	}
	return t
}

func leave(*garden, string) error { return nil }

// overflowing publishes another message into a full queue; a refusal is no error here.
func overflowing(g *garden, queue string) error {
	return g.channel.PublishWithContext(context.Background(), "", queue, false, false, amqp.Publishing{Body: []byte("second")})
}

// exhausted closes channels that hold the message until its delivery limit is reached: a return does not count in every version.
func exhausted(g *garden, queue string) error {
	for range 2 {
		channel, err := g.conn.Channel()
		if err != nil {
			return err
		}
		_, err = take(channel, queue)
		if err := errors.Join(err, channel.Close()); err != nil {
			return err
		}
	}
	return nil
}

func refused(g *garden, queue string) error {
	d, err := take(g.channel, queue)
	if err != nil {
		return err
	}
	return d.Nack(false, false)
}

func take(ch *amqp.Channel, queue string) (*amqp.Delivery, error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		d, ok, err := ch.Get(queue, false)
		if err != nil {
			return nil, err
		}
		if ok {
			return &d, nil
		}
	}
	return nil, fmt.Errorf("no message came into %s", queue)
}

// plotsOf are the plots as a version of the broker treats them.
func plotsOf(version string) []plot {
	all := plots()
	if strings.HasPrefix(version, "3.") {
		return all
	}
	for i := range all {
		p := &all[i]
		switch p.name {
		case "a ring of delays that keeps what was rejected before going round": // it no longer does
			p.goesRound, p.deaths = false, 3
		case "a stream":
			p.ends, p.kinds = "d", ""
		case "a stream beside a queue":
			p.ends, p.kinds = "d t", ""
		}
	}
	return all
}

func plots() []plot {
	policy := func(definition map[string]any) map[string]servers.Policy {
		return map[string]servers.Policy{"^{}s$": {ApplyTo: "queues", Definition: definition}}
	}
	return []plot{
		{name: "an argument and a policy are merged key by key", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"x direct", "y fanout"},
			bindings: []string{"x k d", "y - e"}, policies: policy(map[string]any{"dead-letter-exchange": "{}y", "dead-letter-routing-key": "k"}), ends: "d", rows: "d dead-letter", kinds: "dead_letter_policy_overridden"},
		{name: "a policy alone", queues: map[string]amqp.Table{"s": nil, "d": nil}, exchanges: []string{"x direct"}, bindings: []string{"x k d"},
			policies: policy(map[string]any{"dead-letter-exchange": "{}x", "dead-letter-routing-key": "k"}), ends: "d", rows: "d dead-letter"},
		{name: "a fanout exchange makes copies", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"x fanout"},
			bindings: []string{"x - d", "x other e"}, ends: "d e", rows: "d dead-letter, e dead-letter"},
		{name: "a topic exchange with patterns", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "shop.orders.dead"), "d": nil, "e": nil, "f": nil},
			exchanges: []string{"x topic"}, bindings: []string{"x *.orders.# d", "x #.dead.# e", "x shop.* f"}, ends: "d e", rows: "d dead-letter, e dead-letter"},
		{name: "a message that keeps its key", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"in direct", "x direct"},
			bindings: []string{"in k s", "x k d", "x other e"}, via: "in", key: "k", ends: "d", rows: "d dead-letter?"},
		{name: "a message of any key behind a pattern", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"in topic", "x topic"},
			bindings: []string{"in order.* s", "x order.# d", "x # e"}, via: "in", key: "order.paid", ends: "d e", rows: "d dead-letter?, e dead-letter", kinds: "dead_letter_queue_unsure"},
		{name: "an alternate exchange by argument", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "k"), "d": nil, "e": nil}, exchanges: []string{"a fanout", "x direct"},
			alternates: map[string]string{"x": "{}a"}, bindings: []string{"x other e", "a - d"}, ends: "d", rows: "d dead-letter"},
		{name: "an alternate exchange by policy", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "k"), "d": nil}, exchanges: []string{"a fanout", "x direct"},
			policies: map[string]servers.Policy{"^{}x$": {ApplyTo: "exchanges", Definition: map[string]any{"alternate-exchange": "{}a"}}}, bindings: []string{"a - d"}, ends: "d", rows: "d dead-letter"},
		{name: "an exchange behind an exchange", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "k.1"), "d": nil, "e": nil}, exchanges: []string{"x fanout", "y topic"},
			bindings: []string{"x - x:y", "y k.* d", "y *.2 e"}, ends: "d", rows: "d dead-letter"},
		{name: "a headers exchange", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"x headers"}, headers: amqp.Table{"team": "d"},
			bindings: []string{"x team=d d", "x team=e e"}, ends: "d", rows: "d dead-letter?, e dead-letter?", kinds: "dead_letter_queue_unsure"},
		{name: "a missing exchange", queues: map[string]amqp.Table{"s": dlx("{}gone")}, rows: " missing", kinds: "dead_letter_exchange_missing"},
		{name: "no route", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "k"), "d": nil}, exchanges: []string{"x direct"}, bindings: []string{"x other d"},
			rows: " missing", kinds: "dead_letter_route_missing"},
		{name: "a missing queue", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}gone")}, rows: " missing", kinds: "dead_letter_route_missing"},
		{name: "a key without an exchange by policy", queues: map[string]amqp.Table{"s": nil, "d": nil}, policies: policy(map[string]any{"dead-letter-routing-key": "{}d"}), rows: " missing", kinds: "dead_letter_key_alone"},
		{name: "a queue that is its own dead-letter queue", queues: map[string]amqp.Table{"s": dlx("")}, ends: "s", rows: "s source", kinds: "dead_letter_loop"},
		{name: "a delay queue that only consumers fill", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}d"), "d": nil, "w": dlx("", "dead-letter-routing-key", "{}s", "message-ttl", 50)},
			ends: "d", rows: "d dead-letter, s source", kinds: "delay_queue_feeds"},
		{name: "a dead-letter queue that gets what never died", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}d"), "d": nil}, exchanges: []string{"in direct"},
			bindings: []string{"in k s", "in k d"}, ends: "d", rows: "d dead-letter", kinds: "dead_letter_queue_bound"},
		{name: "a time to live of nothing", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}d", "message-ttl", 0), "d": nil}, death: leave,
			ends: "d", rows: "d dead-letter", kinds: "message_ttl_zero"},
		{name: "a delay loop", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}w"), "w": dlx("", "dead-letter-routing-key", "{}s", "message-ttl", 50)}, deaths: 2,
			ends: "s", rows: "w delay, s source"},
		{name: "a delay that leads on to a dead-letter queue", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}w"), "w": dlx("{}x", "message-ttl", 50), "d": nil},
			exchanges: []string{"x fanout"}, bindings: []string{"x - s", "x - d"}, deaths: 2, ends: "d s", rows: "w delay, d dead-letter, s source"},
		{name: "a loop that the broker cuts", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}w", "message-ttl", 50), "w": dlx("", "dead-letter-routing-key", "{}s", "message-ttl", 50)},
			death: leave, deaths: 2, rows: "w delay, s source", kinds: "dead_letter_cycle_cut"},
		{name: "a loop that the broker cuts at a delivery limit", queues: map[string]amqp.Table{"s": dlx("", "queue-type", "quorum", "dead-letter-routing-key", "{}w", "delivery-limit", 1),
			"w": dlx("", "dead-letter-routing-key", "{}s", "message-ttl", 50)}, death: exhausted, deaths: 2, rows: "w delay, s source", kinds: "dead_letter_cycle_cut"},
		{name: "a ring of delays that drops what expired before", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}v", "message-ttl", 50), "v": dlx("", "dead-letter-routing-key", "{}w", "message-ttl", 50),
			"w": dlx("", "dead-letter-routing-key", "{}v", "message-ttl", 50)}, death: leave, deaths: 3, rows: "v delay, w delay, v delay", kinds: "dead_letter_cycle_cut"},
		{name: "a ring of delays that keeps what was rejected before going round", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}v"), "v": dlx("", "dead-letter-routing-key", "{}w", "message-ttl", 50),
			"w": dlx("", "dead-letter-routing-key", "{}v", "message-ttl", 50)}, deaths: 9, goesRound: true, rows: "v delay, w delay, v delay", kinds: "dead_letter_cycle_cut"},
		{name: "a stream", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}d"), "d": {"x-queue-type": "stream"}}, rows: "d stream", kinds: "dead_letter_stream"},
		{name: "a stream beside a queue", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "t": {"x-queue-type": "stream"}}, exchanges: []string{"x fanout"}, bindings: []string{"x - d", "x - t"},
			ends: "d", rows: "d dead-letter, t stream", kinds: "dead_letter_stream"},
		{name: "a stream that is sent to at least once", queues: map[string]amqp.Table{"s": dlx("", "queue-type", "quorum", "dead-letter-routing-key", "{}d", "dead-letter-strategy", "at-least-once", "overflow", "reject-publish"),
			"d": {"x-queue-type": "stream"}}, ends: "d", rows: "d stream"},
		{name: "at least once to a queue", queues: map[string]amqp.Table{"s": dlx("", "queue-type", "quorum", "dead-letter-routing-key", "{}d", "dead-letter-strategy", "at-least-once", "overflow", "reject-publish"), "d": nil},
			ends: "d", rows: "d dead-letter"},
		{name: "at least once without reject-publish and without a route", queues: map[string]amqp.Table{"s": dlx("{}x", "queue-type", "quorum", "dead-letter-strategy", "at-least-once")}, exchanges: []string{"x direct"},
			rows: " missing", kinds: "dead_letter_route_missing dead_letter_strategy_fallback"},
		{name: "reject-publish-dlx", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}d", "max-length", 1, "overflow", "reject-publish-dlx"), "d": nil}, death: overflowing,
			ends: "d s", rows: "d dead-letter", kinds: "reject_publish_dlx"},
		{name: "a full dead-letter queue that refuses", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}d"), "d": {"x-max-length": 0, "x-overflow": "reject-publish"}},
			lossy: true, rows: "d dead-letter", kinds: "dead_letter_queue_drops"},
	}
}
