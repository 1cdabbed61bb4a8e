package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/playground/servers"
	"dedup-dashboard/internal/secret"
)

// movingBroker is a private broker with an account that may act and one that may watch, and a connection to look at what came of it.
type movingBroker struct {
	rabbit *servers.RabbitMQ
	mover  *Mover
	config Config
}

const actingPassword = "acting-secret-canary"

func startMovingBroker(t *testing.T, options servers.RabbitMQOptions) *movingBroker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	options.Dir = t.TempDir()
	rabbit, err := servers.StartRabbitMQ(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rabbit.Stop(context.WithoutCancel(ctx)) })
	must(t, rabbit.PutUser(ctx, "watcher", "right", "monitoring"))
	must(t, rabbit.PutUser(ctx, "mover", actingPassword, ""))
	must(t, rabbit.PutPermissions(ctx, "/", "watcher", nothing()))
	must(t, rabbit.PutPermissions(ctx, "/", "mover", acting()))
	b := &movingBroker{rabbit: rabbit, config: Config{
		Name: "main", ManagementURL: rabbit.ManagementURL(), Username: "watcher", Password: secret.New("right"),
		Act: Act{AMQPURL: "amqp://" + rabbit.AMQPAddr() + "/", Username: "mover", Password: secret.New(actingPassword)},
	}}
	b.mover = b.open(t, func(*Config) {})
	return b
}

// acting is what the documentation asks for the acting account.
func acting() servers.Permissions {
	return servers.Permissions{Configure: `^dedup\.parking\.`, Write: `^amq\.default$`, Read: `dead|^dedup\.parking\.`}
}

func (b *movingBroker) open(t *testing.T, change func(*Config)) *Mover {
	t.Helper()
	config := b.config
	change(&config)
	m, err := OpenMover(config, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() { must(t, m.Close()) })
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// admin opens a channel of the account that may do everything.
func (b *movingBroker) admin(t testing.TB) *amqp.Channel {
	t.Helper()
	connection, err := amqp.Dial(b.rabbit.AMQPURL(b.rabbit.Admin()))
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	channel, err := connection.Channel()
	must(t, err)
	return channel
}

func declare(t testing.TB, channel *amqp.Channel, name string, arguments amqp.Table) dedup.QueueRef {
	t.Helper()
	_, err := channel.QueueDeclare(name, true, false, false, false, arguments)
	must(t, err)
	return dedup.QueueRef{Vhost: "/", Name: name}
}

// fill publishes n messages with the ids prefix-0 and so on, and waits until the queue has them.
func fill(t testing.TB, channel *amqp.Channel, queue, prefix string, n int) {
	t.Helper()
	must(t, channel.Confirm(false))
	var last *amqp.DeferredConfirmation
	for i := range n {
		var err error
		last, err = channel.PublishWithDeferredConfirm("", queue, true, false, amqp.Publishing{
			MessageId: fmt.Sprintf("%s-%d", prefix, i), DeliveryMode: amqp.Persistent, Body: []byte("body"),
		})
		must(t, err)
	}
	if last != nil && !last.Wait() {
		t.Fatal("the broker did not take what was to fill the queue")
	}
}

// drainIDs empties a queue and returns how often each message id was in it.
func drainIDs(t testing.TB, channel *amqp.Channel, queue string) map[string]int {
	t.Helper()
	ids := map[string]int{}
	for {
		d, ok, err := channel.Get(queue, true)
		must(t, err)
		if !ok {
			return ids
		}
		ids[d.MessageId]++
	}
}

// depth is the number of messages that nobody holds.
func depth(t testing.TB, channel *amqp.Channel, queue string) int {
	t.Helper()
	q, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	must(t, err)
	return q.Messages
}

// checkAct checks the kind of a failed act, what it says, and that it gives no password away.
func checkAct(t *testing.T, err error, kind ErrorKind, says string) {
	t.Helper()
	if KindOf(err) != kind || !strings.Contains(fmt.Sprint(err), says) {
		t.Errorf("got %s: %v; want %s saying %q", KindOf(err), err, kind, says)
	}
	if public := dedup.PublicText(err); !strings.HasPrefix(public, "broker main: ") || strings.Contains(fmt.Sprintf("%+v %v", err, public), "canary") {
		t.Errorf("not fit to be shown: %q", public)
	}
}

// eventually waits for a condition that a broker brings about.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(30 * time.Second); !holds(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

func TestTheEndsOfAMove(t *testing.T) {
	t.Parallel()
	b := startMovingBroker(t, servers.RabbitMQOptions{StatisticsInterval: 500 * time.Millisecond})
	t.Run("a queue is taken from until none is ready", b.takesAll)
	t.Run("what was sent ahead goes back in order when the source is closed", b.givesBack)
	t.Run("a second source of a classic queue is told that it is in use", b.excludes)
	t.Run("a source that takes single messages holds none that was not asked for", b.takesSingle)
	t.Run("a queue that is deleted under a source ends it with words", b.deletedUnderSource)
	t.Run("each publish has its own answer among 10,000 that are confirmed and returned in turns", b.tellsReturnsApart)
	t.Run("equal messages of which some are returned are counted right", b.tellsEqualReturnsApart)
	t.Run("a full queue that rejects is told from a missing one", b.tellsRejected)
	t.Run("a message that does not fit is not sent and ends nothing", b.refusesWhatDoesNotFit)
	t.Run("a false confirm after the end is lost, not rejected", b.tellsLost)
	t.Run("a look gives everything back in its place", b.peeks)
	t.Run("a look is refused where a return can lose a message", b.refusesPeeks)
	t.Run("what is parked is kept", b.parks)
	t.Run("permissions are tried without touching a message", b.triesRights)
	t.Run("failures say what to mend and no password", b.explains)
}

func (b *movingBroker) takesAll(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "all.dead", nil)
	fill(t, channel, queue.Name, "m", 1000)
	source, err := b.mover.Source(t.Context(), queue, 100, false)
	must(t, err)
	for i := range 1000 {
		d, err := source.Next(t.Context())
		must(t, err)
		if want := fmt.Sprintf("m-%d", i); d.MessageID != want || d.Left != -1 {
			t.Fatalf("got %s with %d left, want %s", d.MessageID, d.Left, want)
		}
		must(t, source.Ack(d.Tag))
	}
	if _, err := source.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("got %v at the end", err)
	}
	if err := source.Ack(1); err == nil {
		t.Error("a delivery was acked twice")
	}
	must(t, source.Close())
	must(t, source.Close())
	if n := depth(t, channel, queue.Name); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

func (b *movingBroker) givesBack(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "back.dead", nil)
	fill(t, channel, queue.Name, "m", 50)
	source, err := b.mover.Source(t.Context(), queue, 20, false)
	must(t, err)
	var tags []uint64
	for range 5 {
		d, err := source.Next(t.Context())
		must(t, err)
		tags = append(tags, d.Tag)
	}
	must(t, source.Ack(tags[1]))
	must(t, source.Release(tags[3]))
	must(t, source.Close())
	eventually(t, "49 messages are back", func() bool { return depth(t, channel, queue.Name) == 49 })
	for i := range 50 {
		if i == 1 {
			continue
		}
		d, _, err := channel.Get(queue.Name, true)
		must(t, err)
		if want := fmt.Sprintf("m-%d", i); d.MessageId != want {
			t.Fatalf("got %s, want %s: the order changed", d.MessageId, want)
		}
	}
}

func (b *movingBroker) excludes(t *testing.T) {
	queue := declare(t, b.admin(t), "two.dead", nil)
	first, err := b.mover.Source(t.Context(), queue, 10, false)
	must(t, err)
	_, err = b.mover.Source(t.Context(), queue, 10, false)
	checkAct(t, err, InUse, "another run has it for itself")
	if dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("kind %s", dedup.KindOf(err))
	}
	must(t, first.Close())
	second, err := b.mover.Source(t.Context(), queue, 10, false)
	must(t, err)
	must(t, second.Close())
}

func (b *movingBroker) takesSingle(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "single.dead", nil)
	fill(t, channel, queue.Name, "m", 10)
	source, err := b.mover.Source(t.Context(), queue, 2, true)
	must(t, err)
	first, err := source.Next(t.Context())
	must(t, err)
	if first.Left != 9 || depth(t, channel, queue.Name) != 9 {
		t.Errorf("%d left, %d ready", first.Left, depth(t, channel, queue.Name))
	}
	second, err := source.Next(t.Context())
	must(t, err)
	if _, err := source.Next(t.Context()); err == nil {
		t.Error("a third was taken, though two may be held")
	}
	must(t, source.Ack(second.Tag))
	must(t, source.Close())
	eventually(t, "nine are back", func() bool { return depth(t, channel, queue.Name) == 9 })
}

func (b *movingBroker) deletedUnderSource(t *testing.T) {
	channel := b.admin(t)
	for _, single := range []bool{false, true} {
		queue := declare(t, channel, "gone.dead", nil)
		source, err := b.mover.Source(t.Context(), queue, 10, single)
		must(t, err)
		_, err = channel.QueueDelete(queue.Name, false, false, false)
		must(t, err)
		for err = io.EOF; errors.Is(err, io.EOF); {
			_, err = source.Next(t.Context())
		}
		checkAct(t, err, NoQueue, "no queue")
		must(t, source.Close())
	}
}

// answers publishes to the given queues in order with a window, and counts the outcomes by queue.
func answers(t *testing.T, sink *Sink, window int, queues []string, m func(i int) dedup.Message) map[string]map[dedup.PublishOutcome]int {
	t.Helper()
	counts := map[string]map[dedup.PublishOutcome]int{}
	answer := func(i int) {
		t.Helper()
		a, err := sink.Answer(t.Context())
		must(t, err)
		if counts[queues[i]] == nil {
			counts[queues[i]] = map[dedup.PublishOutcome]int{}
		}
		counts[queues[i]][a.Outcome]++
	}
	for i, queue := range queues {
		if i >= window {
			answer(i - window)
		}
		must(t, sink.Publish(t.Context(), queue, m(i)))
	}
	for i := max(0, len(queues)-window); i < len(queues); i++ {
		answer(i)
	}
	return counts
}

func (b *movingBroker) tellsReturnsApart(t *testing.T) {
	channel := b.admin(t)
	declare(t, channel, "there", nil)
	const n, window = 10000, 256
	queues := make([]string, n)
	for i := range queues {
		// In runs of changing length, so that a return is for the last, the first or one in the middle of a window.
		queues[i] = []string{"there", "missing"}[(i/(1+i%7))%2]
	}
	sink, err := b.mover.Sink(t.Context(), "/", window)
	must(t, err)
	defer sink.Close()
	counts := answers(t, sink, window, queues, func(i int) dedup.Message {
		return dedup.Message{Properties: dedup.Properties{MessageID: fmt.Sprint(i)}, Body: []byte("x")}
	})
	if len(counts["there"]) != 1 || len(counts["missing"]) != 1 || counts["there"][dedup.Confirmed]+counts["missing"][dedup.Returned] != n {
		t.Fatalf("%v", counts)
	}
	if got := drainIDs(t, channel, "there"); len(got) != counts["there"][dedup.Confirmed] {
		t.Errorf("%d arrived, %d were confirmed", len(got), counts["there"][dedup.Confirmed])
	}
}

// tellsEqualReturnsApart publishes one message again and again to a queue that is deleted and declared meanwhile: as many copies
// must be there as were confirmed since it was there last.
func (b *movingBroker) tellsEqualReturnsApart(t *testing.T) {
	channel := b.admin(t)
	const window = 64
	sink, err := b.mover.Sink(t.Context(), "/", window)
	must(t, err)
	defer sink.Close()
	equal := dedup.Message{Properties: dedup.Properties{MessageID: "same", Headers: map[string]any{"a": []any{int8(1), nil}}}, Body: []byte("same")}
	confirmed, returned := 0, 0
	const rounds, each = 20, 10
	for round := range rounds {
		if round%2 == 0 {
			declare(t, channel, "sometimes", nil)
		}
		for range each {
			must(t, sink.Publish(t.Context(), "sometimes", equal))
		}
		for range each {
			a, err := sink.Answer(t.Context())
			must(t, err)
			switch a.Outcome {
			case dedup.Confirmed:
				confirmed++
			case dedup.Returned:
				returned++
			}
		}
		if round%2 == 0 {
			_, err := channel.QueueDelete("sometimes", false, false, false)
			must(t, err)
		}
	}
	if confirmed != rounds/2*each || returned != rounds/2*each {
		t.Errorf("%d confirmed, %d returned", confirmed, returned)
	}
}

func (b *movingBroker) tellsRejected(t *testing.T) {
	channel := b.admin(t)
	declare(t, channel, "full", amqp.Table{"x-max-length": int32(10), "x-overflow": "reject-publish"})
	sink, err := b.mover.Sink(t.Context(), "/", 8)
	must(t, err)
	defer sink.Close()
	queues := make([]string, 60)
	for i := range queues {
		queues[i] = []string{"full", "missing"}[i%2]
	}
	equal := dedup.Message{Body: []byte("equal")}
	counts := answers(t, sink, 8, queues, func(int) dedup.Message { return equal })
	there := depth(t, channel, "full")
	if counts["missing"][dedup.Returned] != 30 || counts["full"][dedup.Confirmed] != there || counts["full"][dedup.Rejected] != 30-there {
		t.Errorf("%v with %d in the queue", counts, there)
	}
}

func (b *movingBroker) refusesWhatDoesNotFit(t *testing.T) {
	channel := b.admin(t)
	declare(t, channel, "fits", nil)
	sink, err := b.mover.Sink(t.Context(), "/", 8)
	must(t, err)
	defer sink.Close()
	deep := any("end")
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	bad := []dedup.Message{
		{Properties: dedup.Properties{Headers: map[string]any{"huge": make([]byte, 131072)}}},
		{Properties: dedup.Properties{Headers: map[string]any{"wide": 7}}},
		{Properties: dedup.Properties{Headers: map[string]any{"deep": deep}}},
		{Properties: dedup.Properties{MessageID: string(make([]byte, 256))}},
	}
	for i, m := range bad {
		must(t, sink.Publish(t.Context(), "fits", m))
		must(t, sink.Publish(t.Context(), "fits", dedup.Message{}))
		a, err := sink.Answer(t.Context())
		if err != nil || a.Outcome != dedup.Rejected || a.Text == "" {
			t.Errorf("%d: %+v, %v", i, a, err)
		}
		if a, err := sink.Answer(t.Context()); err != nil || a.Outcome != dedup.Confirmed {
			t.Errorf("the one after %d: %+v, %v", i, a, err)
		}
	}
}

func (b *movingBroker) tellsLost(t *testing.T) {
	declare(t, b.admin(t), "lost", nil)
	sink, err := b.mover.Sink(t.Context(), "/", 8)
	must(t, err)
	defer sink.Close()
	must(t, sink.Publish(t.Context(), "lost", dedup.Message{Properties: dedup.Properties{UserID: "somebody else"}}))
	a, err := sink.Answer(t.Context())
	if err != nil || a.Outcome != dedup.AnswerLost {
		t.Errorf("%+v, %v", a, err)
	}
	if err := sink.Publish(t.Context(), "lost", dedup.Message{}); err == nil {
		t.Error("a channel that has ended took a message")
	} else {
		checkAct(t, err, Declined, "user_id")
	}
}

// described waits until the broker has statistics of a queue, without which its policy is not known.
func (b *movingBroker) described(t *testing.T, queue dedup.QueueRef) {
	t.Helper()
	eventually(t, "the queue is described", func() bool {
		q, err := b.mover.watch.Queue(t.Context(), queue)
		must(t, err)
		return q.Messages != nil
	})
}

func (b *movingBroker) peeks(t *testing.T) {
	channel := b.admin(t)
	queue := declare(t, channel, "peek.dead", nil)
	fill(t, channel, queue.Name, "m", 30)
	b.described(t, queue)
	peek, err := b.mover.Peek(t.Context(), queue, 20, 1<<20)
	if err != nil || len(peek.Messages) != 20 || peek.Ready != 30 || peek.Short != "" || peek.Took <= 0 {
		t.Fatalf("%d messages of %d, %q, %v", len(peek.Messages), peek.Ready, peek.Short, err)
	}
	if n := depth(t, channel, queue.Name); n != 30 {
		t.Errorf("%d are back right after the look", n)
	}
	if peek, err = b.mover.Peek(t.Context(), queue, 20, 60); err != nil || len(peek.Messages) >= 20 || peek.Short == "" {
		t.Errorf("%d messages, %q, %v", len(peek.Messages), peek.Short, err)
	}
	for i := range 30 {
		d, _, err := channel.Get(queue.Name, true)
		must(t, err)
		if want := fmt.Sprintf("m-%d", i); d.MessageId != want {
			t.Fatalf("got %s, want %s: a look changed the order", d.MessageId, want)
		}
	}
	if peek, err = b.mover.Peek(t.Context(), queue, 20, 1<<20); err != nil || len(peek.Messages) != 0 || peek.Ready != 0 {
		t.Errorf("%d messages of %d, %v in an empty queue", len(peek.Messages), peek.Ready, err)
	}
}

func (b *movingBroker) refusesPeeks(t *testing.T) {
	channel := b.admin(t)
	refused := map[string]struct {
		arguments amqp.Table
		why       string
	}{
		"stream.dead":  {amqp.Table{"x-queue-type": "stream"}, "it is a stream"},
		"limit.dead":   {amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(-1)}, "takes as no return at all"},
		"bounded.dead": {amqp.Table{"x-max-length": int32(10)}, "room for 10 more"},
	}
	for name, test := range refused {
		declare(t, channel, name, test.arguments) // all at once: the broker describes new queues every 5 s
	}
	quorum := declare(t, channel, "quorum.dead", amqp.Table{"x-queue-type": "quorum"})
	fill(t, channel, quorum.Name, "m", 3)
	for name, test := range refused {
		queue := dedup.QueueRef{Vhost: "/", Name: name}
		b.described(t, queue)
		_, err := b.mover.Peek(t.Context(), queue, 20, 1<<20)
		checkAct(t, err, NotPossible, test.why)
	}
	b.described(t, quorum)
	for range 25 {
		if peek, err := b.mover.Peek(t.Context(), quorum, 20, 1<<20); err != nil || len(peek.Messages) != 3 {
			t.Fatalf("%d messages, %v", len(peek.Messages), err)
		}
	}
	_, err := b.mover.Peek(t.Context(), dedup.QueueRef{Vhost: "/", Name: "nowhere.dead"}, 20, 1<<20)
	checkAct(t, err, NoQueue, "no such queue")
}

func (b *movingBroker) parks(t *testing.T) {
	dead := dedup.QueueRef{Vhost: "/", Name: "orders.dead"}
	for range 2 {
		parking, err := b.mover.DeclareParking(t.Context(), dead)
		if err != nil || parking.Name != "dedup.parking.orders.dead" || !parking.Durable || parking.Type != "classic" {
			t.Fatalf("%+v, %v", parking, err)
		}
	}
	must(t, b.rabbit.PutPolicy(t.Context(), "/", "ttl", servers.Policy{Pattern: "parking", Definition: map[string]any{"message-ttl": 1000}, ApplyTo: "queues"}))
	defer b.rabbit.API(t.Context(), http.MethodDelete, "/api/policies/"+apiPath("/", "ttl"), nil, nil)
	var err error
	eventually(t, "the policy applies", func() bool { _, err = b.mover.DeclareParking(t.Context(), dead); return err != nil })
	checkAct(t, err, NotPossible, "message-ttl 1000")
}

func (b *movingBroker) triesRights(t *testing.T) {
	channel := b.admin(t)
	must(t, b.rabbit.PutUser(t.Context(), "none", "none", ""))
	must(t, b.rabbit.PutPermissions(t.Context(), "/", "none", nothing()))
	none := b.open(t, func(c *Config) { c.Act.Username, c.Act.Password = "none", secret.New("none") })
	for _, kind := range []string{"classic", "quorum"} {
		queue := declare(t, channel, "rights.dead."+kind, amqp.Table{"x-queue-type": kind})
		fill(t, channel, queue.Name, "m", 1)
		must(t, b.mover.MayTake(t.Context(), queue))
		checkAct(t, none.MayTake(t.Context(), queue), NoPermission, "read on the dead-letter queues")
		d, ok, err := channel.Get(queue.Name, true)
		if err != nil || !ok || d.Redelivered {
			t.Errorf("the message was touched: %t, %v", ok, err)
		}
	}
	checkAct(t, b.mover.MayTake(t.Context(), dedup.QueueRef{Vhost: "/", Name: "nowhere.dead"}), NoQueue, "no such queue")
	must(t, b.mover.MayPublish(t.Context(), "/"))
	checkAct(t, none.MayPublish(t.Context(), "/"), NoPermission, "write on amq.default")
}

func (b *movingBroker) explains(t *testing.T) {
	queue := declare(t, b.admin(t), "explain.dead", nil)
	hidden := declare(t, b.admin(t), "hidden", nil)
	source := func(m *Mover, ref dedup.QueueRef) error {
		s, err := m.Source(t.Context(), ref, 1, false)
		if err == nil {
			must(t, s.Close())
		}
		return err
	}
	address := func(a string) *Mover { return b.open(t, func(c *Config) { c.Act.AMQPURL = a }) }
	for name, test := range map[string]struct {
		mover *Mover
		queue dedup.QueueRef
		kind  ErrorKind
		text  string
	}{
		"a wrong password":    {b.open(t, func(c *Config) { c.Act.Password = secret.New("wrong-canary") }), queue, WrongPassword, "check act.username"},
		"a missing queue":     {b.mover, dedup.QueueRef{Vhost: "/", Name: "nowhere.dead"}, NoQueue, "no such queue"},
		"a missing vhost":     {b.mover, dedup.QueueRef{Vhost: "nowhere", Name: "x"}, NoVhost, "no such vhost"},
		"a missing right":     {b.mover, hidden, NoPermission, "it needs read on the dead-letter queues"},
		"a closed port":       {address("amqp://127.0.0.1:1/"), queue, Refused, "usually 5672"},
		"TLS to a plain port": {address("amqps://" + b.rabbit.AMQPAddr() + "/"), queue, TLS, "use amqp:// in act.amqp_url"},
		"an HTTP port":        {address("amqp://" + b.rabbit.ManagementURL()[len("http://"):] + "/"), queue, Interrupted, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the broker answers a wrong password after 3 s
			checkAct(t, source(test.mover, test.queue), test.kind, test.text)
		})
	}
}
