package broker

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/brokertest"
)

func TestTopologyComesWithConsumersOrWithoutKnowingThem(t *testing.T) {
	for version, consumers := range map[brokertest.Version]int{brokertest.V310: 1, brokertest.V310StatsDisabled: -1, brokertest.V42: 1} {
		server := brokertest.NewServer(t, version)
		topology, err := newClient(t, server.URL).Topology(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		binding := dedup.Binding{Vhost: "/", Source: "dead", Destination: "shipping.dead", DestinationType: "queue", RoutingKey: "shipping"}
		if !slices.ContainsFunc(topology.Bindings, func(b dedup.Binding) bool { return cmp.Equal(b, binding) }) {
			t.Errorf("%s: bindings %+v", version, topology.Bindings)
		}
		if !slices.ContainsFunc(topology.Exchanges, func(x dedup.Exchange) bool { return x.Name == "dead" && x.Type == "direct" }) {
			t.Errorf("%s: exchanges %+v", version, topology.Exchanges)
		}
		if consumers < 0 {
			if topology.Consumers != nil {
				t.Errorf("%s: consumers %+v, want unknown", version, topology.Consumers)
			}
			continue
		}
		want := []dedup.Consumer{{Queue: dedup.QueueRef{Vhost: "/", Name: "orders"}, Channel: "127.0.0.1:40000 -> 127.0.0.1:40000 (1)", Connection: "127.0.0.1:40000 -> 127.0.0.1:40000", Tag: "scene", Prefetch: 3, AckRequired: true}}
		if diff := cmp.Diff(want, topology.Consumers); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
	}
}

func TestThePolicyOfAnExchangeIsReadWhereOneHasSuch(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	client := newClient(t, server.URL)
	asked := func() bool {
		return slices.ContainsFunc(server.Requests(), func(r string) bool { return strings.HasPrefix(r, "/api/policies") })
	}
	if _, err := client.Topology(t.Context()); err != nil || asked() {
		t.Fatalf("policies were asked for although no exchange has one (%v)", err)
	}
	server.Reply("exchanges", `[{"vhost":"/","name":"dead","type":"direct","policy":"spare"},{"vhost":"v","name":"dead","type":"direct","policy":"spare"},{"vhost":"/","name":"plain","type":"direct"}]`)
	server.Reply("policies", `[{"vhost":"/","name":"spare","definition":{"alternate-exchange":"unrouted"}}]`)
	topology, err := client.Topology(t.Context())
	if err != nil || len(topology.Exchanges) != 3 {
		t.Fatalf("%+v, %v", topology.Exchanges, err)
	}
	if got := topology.Exchanges[0].Policy["alternate-exchange"]; got != "unrouted" || topology.Exchanges[1].Policy != nil || topology.Exchanges[2].Policy != nil {
		t.Errorf("%+v; want the definition of the same vhost on the first alone", topology.Exchanges)
	}
}

func TestAConsumerWithoutChannelDetailsIsKept(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.Reply("consumers", `[{"queue":{"name":"q","vhost":"/"},"channel_details":[],"prefetch_count":"undefined"}]`)
	topology, err := newClient(t, server.URL).Topology(t.Context())
	want := []dedup.Consumer{{Queue: dedup.QueueRef{Vhost: "/", Name: "q"}}}
	if diff := cmp.Diff(want, topology.Consumers); err != nil || diff != "" {
		t.Error(diff, err)
	}
}

func TestConnectionsComeWithTheEarliestTimeOfTheirOpening(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	if topology, err := newClient(t, server.URL).Topology(t.Context()); err != nil || topology.Connections != nil {
		t.Fatalf("connections of a broker that does not tell: %+v, %v", topology.Connections, err)
	}
	// The broker's clock is a day behind ours; the connection was opened an hour before its date.
	date := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	opened := date.Add(-time.Hour)
	server.SetDate(date)
	before := time.Now()
	server.Reply("connections", fmt.Sprintf(`[{"name":"a","connected_at":%d},{"name":"b"},{"name":"c","connected_at":"undefined"}]`, opened.UnixMilli()))
	topology, err := newClient(t, server.URL).Topology(t.Context())
	after := time.Now()
	if err != nil || len(topology.Connections) != 3 {
		t.Fatalf("%+v, %v", topology.Connections, err)
	}
	// By our clock it was opened an hour before the request at the latest, and earlier by the lag of the broker's date.
	got, lag := topology.Connections[0].Opened, time.Hour+dateLag
	if got.Before(before.Add(-lag)) || got.After(after.Add(-lag)) {
		t.Errorf("opened at %s, want between %s and %s", got, before.Add(-lag), after.Add(-lag))
	}
	if !topology.Connections[1].Opened.IsZero() || !topology.Connections[2].Opened.IsZero() || topology.Connections[1].Name != "b" {
		t.Errorf("%+v, want unknown times", topology.Connections[1:])
	}
	server.Fail("connections", 1, brokertest.Status(http.StatusForbidden, "not_authorised", "no"))
	if topology, err := newClient(t, server.URL).Topology(t.Context()); err != nil || topology.Connections != nil {
		t.Errorf("connections that the account may not see: %+v, %v", topology.Connections, err)
	}
}
