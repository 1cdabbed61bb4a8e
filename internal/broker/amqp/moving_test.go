package amqp

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// movingBroker is a private broker with an account that may act and one that may watch, and a connection to look at what came of it.
type movingBroker struct {
	rabbit *servers.RabbitMQ
	// dir is its folder, version the broker's.
	dir, version string
	mover        *Mover
	config       broker.Config
}

const actingPassword = "acting-secret-canary"

func startMovingBroker(t *testing.T, options servers.RabbitMQOptions) *movingBroker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	options.Dir = t.TempDir()
	b := withAccounts(ctx, t, serverstest.RabbitMQ(t, options))
	b.dir = options.Dir
	return b
}

// withAccounts makes the accounts on a broker, and opens its mover.
func withAccounts(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ) *movingBroker {
	t.Helper()
	version, err := rabbit.Version(ctx)
	must(t, err)
	must(t, rabbit.PutUser(ctx, "watcher", "right", "monitoring"))
	must(t, rabbit.PutUser(ctx, "mover", actingPassword, ""))
	must(t, rabbit.PutPermissions(ctx, "/", "watcher", nothing()))
	must(t, rabbit.PutPermissions(ctx, "/", "mover", acting()))
	b := &movingBroker{rabbit: rabbit, version: version, config: broker.Config{
		Name: "main", ManagementURL: rabbit.ManagementURL(), Username: "watcher", Password: secret.New("right"), Timeout: 2 * time.Minute,
		Act: broker.Act{AMQPURL: "amqp://" + rabbit.AMQPAddr() + "/", Username: "mover", Password: secret.New(actingPassword)},
	}}
	b.mover = b.open(t, func(*broker.Config) {})
	return b
}

// acting is what the documentation asks for the acting account.
func acting() servers.Permissions {
	return servers.Permissions{Configure: `^dedup\.parking\.`, Write: `^amq\.default$`, Read: `dead|^dedup\.parking\.`}
}

func (b *movingBroker) open(t *testing.T, change func(*broker.Config)) *Mover {
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
func checkAct(t *testing.T, err error, kind broker.ErrorKind, says string) {
	t.Helper()
	if broker.KindOf(err) != kind || !strings.Contains(fmt.Sprint(err), says) {
		t.Errorf("got %s: %v; want %s saying %q", broker.KindOf(err), err, kind, says)
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
	for deadline := time.Now().Add(90 * time.Second); !holds(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

// TestMovesOnARealBroker shares one broker, because starting one takes longer than most cases.
func TestMovesOnARealBroker(t *testing.T) {
	t.Parallel()
	b := startMovingBroker(t, servers.RabbitMQOptions{StatisticsInterval: 500 * time.Millisecond, Plugins: []string{"rabbitmq_shovel", "rabbitmq_shovel_management"}})
	for name, group := range map[string]func(*movingBroker, *testing.T){"ends": (*movingBroker).ends, "runs": (*movingBroker).runs, "a bad network": (*movingBroker).badNetwork} {
		own := *b
		own.mover = b.open(t, func(*broker.Config) {})
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group(&own, t)
		})
	}
}

func (b *movingBroker) ends(t *testing.T) {
	t.Run("a queue is taken from until none is ready", b.takesAll)
	t.Run("what was sent ahead goes back in order when the source is closed", b.givesBack)
	t.Run("a second source of a classic queue is told that it is in use", b.excludes)
	t.Run("a queue with a single active consumer is taken from unless it has one", b.singleActive)
	t.Run("a source that takes single messages holds none that was not asked for", b.takesSingle)
	t.Run("a queue that is deleted under a source ends it with words", b.deletedUnderSource)
	t.Run("a stream gives no single message", b.deniesStreams)
	t.Run("a connection with TLS needs an authority that is trusted", b.securesByTLS)
	t.Run("a broker that asks for a certificate is shown one, behind a node that is away", b.asksForACertificate)
	t.Run("each publish has its own answer among 10,000 that are confirmed and returned in turns", b.tellsReturnsApart)
	t.Run("equal messages of which some are returned are counted right", b.tellsEqualReturnsApart)
	t.Run("a full queue that rejects is told from a missing one", b.tellsRejected)
	t.Run("a message that does not fit is not sent and ends nothing", b.refusesWhatDoesNotFit)
	t.Run("a false confirm after the end is lost, not rejected", b.tellsLost)
	t.Run("a look gives everything back in its place", b.peeks)
	t.Run("ten thousand that were peeked at are ready again at the answer", b.peeksAtTenThousand)
	t.Run("thousands that a source has got one by one are ready again when it is closed", b.givesBackSingles)
	t.Run("a peek holds little more than its bytes, however large the messages", b.peeksWithinBytes)
	t.Run("a peek keeps no large body, and still tells its message", b.leavesLargeBodiesOut)
	t.Run("a peek passes consumers, and leaves the queue to one that appears", b.peeksBesideConsumers)
	t.Run("a queue that deletes itself with its last consumer outlives a peek and a source", b.sparesAutoDelete)
	t.Run("a peek that ends half-way leaves nothing behind", b.peekIsCutShort)
	t.Run("a look is refused where a return can lose a message", b.refusesPeeks)
	t.Run("no dead letter is destroyed where the rules allow it to be given back", b.keepsWhatMayReturn)
	t.Run("a dead letter never says that it came back less often than it did", b.countsReturns)
	t.Run("a UUID of AMQP 1.0 as message id stays that UUID", b.keepsUUIDs)
	t.Run("what is parked is kept", b.parks)
	t.Run("a queue that does not answer keeps nobody beyond their time", b.suspended)
	t.Run("permissions are tried without touching a message", b.triesRights)
	t.Run("failures say what to fix and no password", b.explains)
}

// counts reports whether a quorum queue of the broker has a delivery limit unless it is told otherwise, which it has since 4.0.
func (b *movingBroker) counts() bool { return !strings.HasPrefix(b.version, "3.") }

// nothing is a permission row that lets an account see a vhost and do nothing in it.
func nothing() servers.Permissions {
	return servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}
}
