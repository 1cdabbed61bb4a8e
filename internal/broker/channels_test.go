package broker

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/brokertest"
)

func TestChannelsAreListedWithWhoConsumesOnThem(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.Reply("channels", `[{"name":"a -> b (1)","vhost":"/","node":"rabbit@n1","connection_details":{"name":"a -> b"}},
		{"name":"odd","vhost":7,"connection_details":[]},[1],{"name":"a -> b (2)","vhost":"mail","node":"rabbit@n1","connection_details":{"name":"a -> b"}}]`)
	list, err := newClient(t, server.URL).Channels(t.Context())
	if err != nil || list.At.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	want := []dedup.Channel{{Name: "a -> b (1)", Connection: "a -> b", Vhost: "/", Node: "rabbit@n1"}, {Name: "odd"},
		{Name: "a -> b (2)", Connection: "a -> b", Vhost: "mail", Node: "rabbit@n1"}}
	if diff := cmp.Diff(want, list.Channels); diff != "" {
		t.Error(diff)
	}
	if len(list.Consumers) != 1 || list.Consumers[0].Channel == "" {
		t.Errorf("consumers %+v", list.Consumers)
	}
}

func TestChannelsThatTheBrokerWithholdsAreNotKnown(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310StatsDisabled) // it answers 400
	list, err := newClient(t, server.URL).Channels(t.Context())
	if err != nil || list.Channels != nil || list.Consumers != nil {
		t.Errorf("%+v, %v", list, err)
	}
	server = brokertest.NewServer(t, brokertest.V310)
	server.Reply("channels", `{"not":"a list"}`)
	if list, err = newClient(t, server.URL).Channels(t.Context()); err == nil {
		t.Errorf("%+v was taken for a list", list)
	}
	var failure *Error
	if !errors.As(err, &failure) {
		t.Errorf("%v is no *Error", err)
	}
}

// channels sees a channel come with its consumer and go again, while its connection and another channel stay.
func (b *realBroker) channels(t *testing.T, watcher *Client) {
	connection, channel := b.dial(t)
	defer connection.Close()
	idle, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if _, err := channel.Consume("orders", "lister", false, false, false, false, amqp.Table{}); err != nil {
		t.Fatal(err)
	}
	list := func() dedup.ChannelList {
		l, err := watcher.Channels(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var consumer dedup.Consumer
	eventually(t, "the consumer's channel and the idle one are listed", func() bool {
		l := list()
		found := 0
		for _, c := range l.Consumers {
			if c.Tag == "lister" {
				consumer = c
			}
		}
		for _, c := range l.Channels {
			if consumer.Connection != "" && c.Connection == consumer.Connection && c.Vhost == "/" && c.Node != "" {
				found++
			}
		}
		return found == 2
	})
	before, err := watcher.Sample(b.ctx)
	if err != nil || before.ChannelsOpen == nil || before.ChannelsClosed == nil {
		t.Fatalf("open %v, closed %v, %v", before.ChannelsOpen, before.ChannelsClosed, err)
	}
	if err := channel.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "only the closed one is gone", func() bool {
		gone, stays := true, false
		for _, c := range list().Channels {
			gone = gone && c.Name != consumer.Channel
			stays = stays || c.Connection == consumer.Connection
		}
		return gone && stays
	})
	b.until(t, watcher, func(s dedup.BrokerSample) bool {
		return s.ChannelsClosed != nil && *s.ChannelsClosed > *before.ChannelsClosed
	})
}
