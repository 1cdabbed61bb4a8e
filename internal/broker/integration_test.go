package broker

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// nothing is a permission row that lets an account see a vhost and do nothing in it.
func nothing() servers.Permissions {
	return servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}
}

// awkward are names that break escaping, HTML, terminals and reading direction.
func awkward() []string {
	return []string{`a/b`, `50%`, `50%2F`, `what?`, `#1`, `<script>alert(1)</script>`, `"quoted"`, "evil\u202etxt", ` spaced `, `日本`}
}

func TestARealBrokerIsReadThroughItsLife(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{StatisticsInterval: time.Second})
	for user, tags := range map[string]string{"watcher": "monitoring", "it's me": "monitoring", "untagged": "", "limited": "management"} {
		if err := rabbit.PutUser(ctx, user, "right", tags); err != nil {
			t.Fatal(err)
		}
	}
	client := func(user, password string) *Client {
		return newClient(t, rabbit.ManagementURL(), patient, func(c *Config) { c.Username, c.Password = user, secret.New(password) })
	}
	watcher := client("watcher", "right")
	b := &realBroker{ctx: ctx, rabbit: rabbit}

	t.Run("an empty broker has no queues and no problems", func(t *testing.T) { b.empty(t, watcher) })
	b.fill(t)
	t.Run("a vhost without permission is named", func(t *testing.T) { b.hidden(t, client("it's me", "right")) })
	for _, vhost := range append(awkward(), "/") {
		if err := rabbit.PutPermissions(ctx, vhost, "watcher", nothing()); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("awkward names come through unharmed", func(t *testing.T) { b.names(t, watcher) })
	t.Run("counters, depths and quorum members are read", func(t *testing.T) { b.numbers(t, watcher) })
	t.Run("totals of classic queues are live", func(t *testing.T) { b.totals(t, watcher) })
	t.Run("the topology is read", func(t *testing.T) { b.topology(t, watcher) })
	t.Run("channels come and go", func(t *testing.T) { b.channels(t, watcher) })
	t.Run("an account with the tag management only lacks nodes", func(t *testing.T) { b.limited(t, client("limited", "right")) })
	t.Run("an alarm shows at once", func(t *testing.T) { b.alarm(t, watcher) })
	t.Run("a wrong password is told from a missing tag", func(t *testing.T) {
		_, err := client("watcher", "wrong").Sample(ctx)
		checkFailure(t, err, WrongPassword, "login failed for user")
		_, err = client("untagged", "right").Sample(ctx)
		checkFailure(t, err, TagMissing, "Not management user")
	})
	t.Run("the AMQP port is named", func(t *testing.T) {
		_, err := newClient(t, "http://"+rabbit.AMQPAddr()).Sample(ctx)
		checkFailure(t, err, NotManagement, "this is an AMQP port")
	})
	t.Run("a broker that went away comes back", func(t *testing.T) { b.restart(t, watcher) })
}

// patient lets a busy machine answer in its own time.
func patient(c *Config) { c.Timeout = 2 * time.Minute }

// realBroker is a private broker with what the subtests ask of it.
type realBroker struct {
	ctx    context.Context
	rabbit *servers.RabbitMQ
}

func (b *realBroker) empty(t *testing.T, watcher *Client) {
	if err := b.rabbit.PutPermissions(b.ctx, "/", "watcher", nothing()); err != nil {
		t.Fatal(err)
	}
	sample, err := watcher.Sample(b.ctx)
	if err != nil || len(sample.Queues) != 0 || len(sample.Problems) != 0 || len(sample.State.Nodes) != 1 || !sample.State.Nodes[0].Running {
		t.Errorf("%+v, %v", sample, err)
	}
	if totals, err := watcher.Totals(b.ctx); err != nil || len(totals.Queues) != 0 {
		t.Errorf("%+v, %v", totals, err)
	}
}

// fill declares queues with awkward names in the vhost "/" and one queue in each vhost with such a name.
func (b *realBroker) fill(t *testing.T) {
	t.Helper()
	put := func(vhost, queue string, arguments map[string]any) {
		t.Helper()
		body := map[string]any{"durable": true}
		if arguments != nil {
			body["arguments"] = arguments // the API fails on null
		}
		if err := b.rabbit.API(b.ctx, http.MethodPut, "/api/queues/"+APIPath(vhost, queue), body, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range awkward() {
		if err := b.rabbit.API(b.ctx, http.MethodPut, "/api/vhosts/"+APIPath(name), nil, nil); err != nil {
			t.Fatal(err)
		}
		user, _ := b.rabbit.Admin()
		all := servers.Permissions{Configure: ".*", Write: ".*", Read: ".*"}
		if err := b.rabbit.API(b.ctx, http.MethodPut, "/api/permissions/"+APIPath(name, user), all, nil); err != nil {
			t.Fatal(err)
		}
		put("/", name, nil)
		put(name, "in another vhost", nil)
	}
	put("/", "orders", map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.dead"})
	put("/", "payments", map[string]any{"x-queue-type": "quorum"})
}

func (b *realBroker) hidden(t *testing.T, nobody *Client) {
	if err := b.rabbit.PutPermissions(b.ctx, "/", "it's me", nothing()); err != nil {
		t.Fatal(err)
	}
	sample, err := nobody.Sample(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(sample.Problems) != maxVhostNamed {
		t.Fatalf("%+v", sample.Problems)
	}
	for _, p := range sample.Problems {
		if p.Kind != ProblemPermissionMissing {
			t.Errorf("%+v", p)
		}
	}
	i := slices.IndexFunc(sample.Problems, func(p dedup.Problem) bool {
		return p.Remedy == `rabbitmqctl set_permissions -p '"quoted"' 'it'\''s me' '^$' '^$' '^$'`
	})
	if i < 0 {
		t.Errorf("no command for the vhost %q in %+v", `"quoted"`, sample.Problems)
	}
}

func (b *realBroker) names(t *testing.T, watcher *Client) {
	sample, err := watcher.Sample(b.ctx)
	if err != nil || len(sample.Problems) != 0 {
		t.Fatalf("%+v, %v", sample.Problems, err)
	}
	for _, name := range awkward() {
		for _, want := range []dedup.QueueRef{{Vhost: "/", Name: name}, {Vhost: name, Name: "in another vhost"}} {
			if !slices.ContainsFunc(sample.Queues, func(q dedup.Queue) bool { return q.QueueRef == want }) {
				t.Errorf("%+v is missing", want)
			}
		}
	}
	if got := int64(len(sample.Queues)); sample.QueuesTotal == nil || *sample.QueuesTotal != got {
		t.Errorf("%d queues, the broker counts %v", got, sample.QueuesTotal)
	}
}

// until repeats a reading until it satisfies, because statistics are collected once a second.
func (b *realBroker) until(t *testing.T, watcher *Client, ok func(dedup.BrokerSample) bool) dedup.BrokerSample {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last dedup.BrokerSample
	var err error
	for {
		if last, err = watcher.Sample(b.ctx); err == nil && ok(last) {
			return last
		}
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			t.Fatalf("the broker never showed it: %+v, %v", last, err)
		}
	}
}

func (b *realBroker) numbers(t *testing.T, watcher *Client) {
	connection, channel := b.dial(t)
	defer connection.Close()
	for range 3 {
		if err := channel.PublishWithContext(b.ctx, "", "orders", false, false, amqp.Publishing{}); err != nil {
			t.Fatal(err)
		}
	}
	message := b.receive(t, channel)
	if err := message.Ack(false); err != nil {
		t.Fatal(err)
	}
	message = b.receive(t, channel)
	if err := message.Nack(false, true); err != nil {
		t.Fatal(err)
	}
	b.receive(t, channel)
	sample := b.until(t, watcher, func(s dedup.BrokerSample) bool {
		q, quorum := find(t, s.Queues, "orders"), find(t, s.Queues, "payments")
		// Publishes and deliveries are collected each in their own time.
		return count(q.Counters.Publish) > 2 && count(q.Counters.Ack) > 0 && count(q.Counters.Redeliver) > 0 && q.Unacked != nil && *q.Unacked == 1 &&
			s.ChannelsClosed != nil && quorum.Messages != nil && quorum.State == "running"
	})
	q := find(t, sample.Queues, "orders")
	if *q.Counters.Publish != 3 || *q.Counters.Ack != 1 || *q.Counters.Redeliver != 1 || *q.Counters.Deliver+*q.Counters.Get != 3 || *q.Ready != 1 {
		t.Errorf("%+v", q.Counters)
	}
	if quorum := find(t, sample.Queues, "payments"); quorum.Type != "quorum" || quorum.Node == "" || sample.State.QueuesMinority != nil {
		t.Errorf("%+v %+v", quorum, sample.State)
	}
	if c := find(t, sample.Queues, "50%").Counters; c != (dedup.QueueCounters{}) {
		t.Errorf("a queue without traffic has counters: %+v", c)
	}
}

func (b *realBroker) totals(t *testing.T, watcher *Client) {
	connection, channel := b.dial(t)
	defer connection.Close()
	if err := channel.Confirm(false); err != nil {
		t.Fatal(err)
	}
	confirmation, err := channel.PublishWithDeferredConfirmWithContext(b.ctx, "", "50%", false, false, amqp.Publishing{DeliveryMode: amqp.Persistent})
	if err != nil {
		t.Fatal(err)
	}
	if acked, err := confirmation.WaitContext(b.ctx); !acked || err != nil {
		t.Fatal(acked, err)
	}
	message := b.receive(t, channel)
	totals, err := watcher.Totals(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(totals.Queues, func(q dedup.Queue) bool { return q.QueueRef == dedup.QueueRef{Vhost: "/", Name: "50%"} })
	if q := totals.Queues[i]; q.Messages == nil || *q.Messages != 1 {
		t.Errorf("a confirmed message is not in the totals: %+v", q)
	}
	if q := find(t, totals.Queues, "orders"); q.Unacked == nil || *q.Unacked < 1 {
		t.Errorf("an unacked message is not in the totals: %+v", q)
	}
	if err := message.Ack(false); err != nil {
		t.Fatal(err)
	}
}

func (b *realBroker) topology(t *testing.T, watcher *Client) {
	before := time.Now()
	connection, channel := b.dial(t)
	defer connection.Close()
	if err := channel.Qos(7, 0, false); err != nil {
		t.Fatal(err)
	}
	if _, err := channel.Consume("orders", "a/b", false, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	b.until(t, watcher, func(s dedup.BrokerSample) bool {
		n := find(t, s.Queues, "orders").Consumers
		return n != nil && *n == 1
	})
	var topology dedup.Topology
	eventually(t, "the consumer and its connection are listed", func() bool {
		var err error
		if topology, err = watcher.Topology(b.ctx); err != nil {
			t.Fatal(err)
		}
		return len(topology.Consumers) > 0 && slices.ContainsFunc(topology.Connections, func(c dedup.Connection) bool {
			return c.Name == topology.Consumers[0].Connection
		})
	})
	want := dedup.Binding{Vhost: "/", Destination: "a/b", DestinationType: "queue", RoutingKey: "a/b"}
	if !slices.Contains(topology.Bindings, want) {
		t.Errorf("no default binding of a/b among %d", len(topology.Bindings))
	}
	if !slices.ContainsFunc(topology.Exchanges, func(x dedup.Exchange) bool { return x.Vhost == "50%2F" && x.Name == "amq.topic" }) {
		t.Errorf("no exchanges of the vhost 50%%2F among %d", len(topology.Exchanges))
	}
	if len(topology.Consumers) != 1 || topology.Consumers[0].Prefetch != 7 || !topology.Consumers[0].AckRequired {
		t.Errorf("%+v", topology.Consumers)
	}
	ours := func(c dedup.Connection) bool { return c.Name == topology.Consumers[0].Connection }
	if i := slices.IndexFunc(topology.Connections, ours); before.Sub(topology.Connections[i].Opened) > 20*time.Second {
		t.Errorf("the consumer's connection %q, just opened, among %+v", topology.Consumers[0].Connection, topology.Connections)
	}
}

func (b *realBroker) limited(t *testing.T, limited *Client) {
	if err := b.rabbit.PutPermissions(b.ctx, "/", "limited", nothing()); err != nil {
		t.Fatal(err)
	}
	sample, err := limited.Sample(b.ctx)
	if err != nil || sample.State.Nodes != nil || !slices.Equal(kinds(sample.Problems), []string{ProblemTagMissing}) {
		t.Errorf("%+v %+v, %v", sample.State, sample.Problems, err)
	}
	find(t, sample.Queues, "orders")
}

func (b *realBroker) alarm(t *testing.T, watcher *Client) {
	if _, err := b.rabbit.Eval(b.ctx, "vm_memory_monitor:set_vm_memory_high_watermark(0.00001)."); err != nil {
		t.Fatal(err)
	}
	b.until(t, watcher, func(s dedup.BrokerSample) bool { return s.State.Nodes[0].MemoryAlarm })
	if _, err := b.rabbit.Eval(b.ctx, "vm_memory_monitor:set_vm_memory_high_watermark(0.4)."); err != nil {
		t.Fatal(err)
	}
	b.until(t, watcher, func(s dedup.BrokerSample) bool { return !s.State.Nodes[0].MemoryAlarm })
}

func (b *realBroker) restart(t *testing.T, watcher *Client) {
	if err := b.rabbit.Stop(b.ctx); err != nil {
		t.Fatal(err)
	}
	_, err := watcher.Sample(b.ctx)
	if kind := KindOf(err); kind != Refused && kind != Interrupted {
		t.Errorf("a stopped broker gave %v", err)
	}
	if err := b.rabbit.Restart(b.ctx); err != nil {
		t.Fatal(err)
	}
	sample := b.until(t, watcher, func(s dedup.BrokerSample) bool { return find(t, s.Queues, "payments").Messages != nil })
	if c := find(t, sample.Queues, "orders").Counters; c != (dedup.QueueCounters{}) {
		t.Errorf("counters survived a restart: %+v", c)
	}
}

func (b *realBroker) dial(t *testing.T) (*amqp.Connection, *amqp.Channel) {
	t.Helper()
	connection, err := amqp.Dial(b.rabbit.AMQPURL(b.rabbit.Admin()))
	if err != nil {
		t.Fatal(err)
	}
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return connection, channel
}

// receive gets one message of orders.
func (b *realBroker) receive(t *testing.T, channel *amqp.Channel) amqp.Delivery {
	t.Helper()
	for {
		message, ok, err := channel.Get("orders", false)
		if err != nil || b.ctx.Err() != nil {
			t.Fatal(err, b.ctx.Err())
		}
		if ok {
			return message
		}
	}
}
