package amqp

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
)

func (b *movingBroker) triesRights(t *testing.T) {
	channel := b.admin(t)
	must(t, b.rabbit.PutUser(t.Context(), "none", "none", ""))
	must(t, b.rabbit.PutPermissions(t.Context(), "/", "none", nothing()))
	none := b.open(t, func(c *broker.Config) { c.Act.Username, c.Act.Password = "none", secret.New("none") })
	for _, kind := range []string{"classic", "quorum"} {
		queue := declare(t, channel, "rights.dead."+kind, amqp.Table{"x-queue-type": kind})
		fill(t, channel, queue.Name, "m", 1)
		must(t, b.mover.MayTake(t.Context(), queue))
		checkAct(t, none.MayTake(t.Context(), queue), broker.NoPermission, "read on the dead-letter queues")
		line := regexp.MustCompile(`\[error\].*user: 'mover'.*\n.*basic.consume.*x-priority.*` + regexp.QuoteMeta(queue.Name))
		eventually(t, "the log has what check says of it", func() bool {
			log, err := os.ReadFile(filepath.Join(b.dir, "rabbitmq.log"))
			return err == nil && line.Match(log)
		})
		d, ok, err := channel.Get(queue.Name, true)
		if err != nil || !ok || d.Redelivered {
			t.Errorf("the message was touched: %t, %v", ok, err)
		}
	}
	checkAct(t, b.mover.MayTake(t.Context(), dedup.QueueRef{Vhost: "/", Name: "nowhere.dead"}), broker.NoQueue, "no such queue")
	must(t, b.mover.MayPublish(t.Context(), "/"))
	checkAct(t, none.MayPublish(t.Context(), "/"), broker.NoPermission, "write on amq.default")
	b.namesWhatIsMissing(t)
}

// namesWhatIsMissing takes one permission after the other from an account: only that one is named.
func (b *movingBroker) namesWhatIsMissing(t *testing.T) {
	queue := declare(t, b.admin(t), "rights.dead", nil)
	must(t, b.rabbit.PutUser(t.Context(), "partly", "partly", ""))
	partly := b.open(t, func(c *broker.Config) { c.Act.Username, c.Act.Password = "partly", secret.New("partly") })
	tryAll := func() (remedies []string) {
		_, err := partly.DeclareParking(t.Context(), queue)
		for _, err := range []error{partly.MayTake(t.Context(), queue), partly.MayPublish(t.Context(), "/"), err} {
			var e *broker.Error
			if errors.As(err, &e) {
				remedies = append(remedies, e.Remedy)
			} else if err != nil {
				t.Error(err)
			}
		}
		return remedies
	}
	parking := `it needs configure and read on ^dedup\.parking\.`
	if b.counts() { // since 4.0 the broker says which right it asked for
		parking = `it needs configure on ^dedup\.parking\.`
	}
	for name, c := range map[string]struct {
		take func(*servers.Permissions)
		want []string
	}{
		"nothing":   {func(*servers.Permissions) {}, nil},
		"read":      {func(p *servers.Permissions) { p.Read = "^$" }, []string{"it needs read on the dead-letter queues"}},
		"write":     {func(p *servers.Permissions) { p.Write = "^$" }, []string{"it needs write on amq.default"}},
		"configure": {func(p *servers.Permissions) { p.Configure = "^$" }, []string{parking}},
	} {
		permissions := acting()
		c.take(&permissions)
		must(t, b.rabbit.PutPermissions(t.Context(), "/", "partly", permissions))
		if got := tryAll(); !slices.Equal(got, c.want) {
			t.Errorf("without %s: %q, want %q", name, got, c.want)
		}
	}
}

func TestARefusalNamesThePermissionThatIsMissing(t *testing.T) {
	const every = `read on the dead-letter queues, write on amq.default, configure and read on ^dedup\.parking\.`
	for reason, want := range map[string]string{
		"ACCESS_REFUSED - access to queue 'a.dead' in vhost '/' refused for user 'm'":                    "read on the dead-letter queues",
		"ACCESS_REFUSED - read access to queue 'a.dead' in vhost '/' refused for user 'm'":               "read on the dead-letter queues",
		"ACCESS_REFUSED - access to exchange 'amq.default' in vhost '/' refused for user 'm'":            "write on amq.default",
		"ACCESS_REFUSED - access to queue 'dedup.parking.a' in vhost '/' refused for user 'm'":           `configure and read on ^dedup\.parking\.`,
		"ACCESS_REFUSED - configure access to queue 'dedup.parking.a' in vhost '/' refused for user 'm'": `configure on ^dedup\.parking\.`,
		"ACCESS_REFUSED - access to queue 'access to exchange ' in vhost '/' refused for user 'm'":       "read on the dead-letter queues",
		"NOT_ALLOWED - access to vhost '/' refused for user 'm'":                                         every,
		"": every,
	} {
		if got := neededPermission(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
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
	address := func(a string) *Mover { return b.open(t, func(c *broker.Config) { c.Act.AMQPURL = a }) }
	for name, test := range map[string]struct {
		mover *Mover
		queue dedup.QueueRef
		kind  broker.ErrorKind
		text  string
	}{
		"a wrong password":    {b.open(t, func(c *broker.Config) { c.Act.Password = secret.New("wrong-canary") }), queue, broker.WrongPassword, "check act.username"},
		"a missing queue":     {b.mover, dedup.QueueRef{Vhost: "/", Name: "nowhere.dead"}, broker.NoQueue, "no such queue"},
		"a missing vhost":     {b.mover, dedup.QueueRef{Vhost: "nowhere", Name: "x"}, broker.NoVhost, "no such vhost"},
		"a missing right":     {b.mover, hidden, broker.NoPermission, "it needs read on the dead-letter queues"},
		"a closed port":       {address("amqp://127.0.0.1:1/"), queue, broker.Refused, "usually 5672"},
		"TLS to a plain port": {address("amqps://" + b.rabbit.AMQPAddr() + "/"), queue, broker.TLS, "use amqp:// in act.amqp_url"},
		"an HTTP port":        {address("amqp://" + b.rabbit.ManagementURL()[len("http://"):] + "/"), queue, broker.Interrupted, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the broker answers a wrong password after 3 s
			checkAct(t, source(test.mover, test.queue), test.kind, test.text)
		})
	}
}
