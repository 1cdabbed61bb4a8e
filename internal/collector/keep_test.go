package collector

import (
	"testing"

	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

func TestTheBalanceNeedsThatOnlyWhatIsPublishedEnters(t *testing.T) {
	arguments := func(pairs ...any) func(*dedup.Queue) {
		return func(q *dedup.Queue) {
			q.Arguments = map[string]any{}
			for i := 0; i < len(pairs); i += 2 {
				q.Arguments[pairs[i].(string)] = pairs[i+1]
			}
		}
	}
	dies := func(exchange, key string) func(*dedup.Queue) {
		return arguments("x-dead-letter-exchange", exchange, "x-dead-letter-routing-key", key)
	}
	declared := &dedup.Topology{
		Exchanges: []dedup.Exchange{{Vhost: "/", Name: "retry", Type: "direct"}, {Vhost: "/", Name: "odd", Type: "headers"}},
		Bindings: []dedup.Binding{
			{Vhost: "/", Source: "retry", Destination: "orders", DestinationType: "queue", RoutingKey: "again"},
			{Vhost: "/", Source: "odd", Destination: "orders", DestinationType: "queue"},
		},
	}
	for name, tt := range map[string]struct {
		queues []dedup.Queue
		want   bool
	}{
		"its own dead letters go elsewhere":              {[]dedup.Queue{queue("orders", dies("", "orders.dead")), queue("orders.dead", nil)}, false},
		"a delay queue hands back by the default route":  {[]dedup.Queue{queue("orders", nil), queue("delay", dies("", "orders"))}, true},
		"a delay queue hands back by an exchange":        {[]dedup.Queue{queue("orders", nil), queue("delay", dies("retry", "again"))}, true},
		"a delay queue of others":                        {[]dedup.Queue{queue("orders", nil), queue("emails", nil), queue("delay", dies("", "emails"))}, false},
		"a key that leads elsewhere":                     {[]dedup.Queue{queue("orders", nil), queue("delay", dies("retry", "never"))}, false},
		"an exchange that routes by more than the key":   {[]dedup.Queue{queue("orders", nil), queue("delay", dies("odd", "again"))}, true},
		"a full queue that refuses what is published":    {[]dedup.Queue{queue("orders", arguments("x-max-length", 5, "x-overflow", "reject-publish"))}, true},
		"a full queue that dead-letters what it refuses": {[]dedup.Queue{queue("orders", arguments("x-max-length", 5, "x-overflow", "reject-publish-dlx"))}, true},
		"a full queue that drops its oldest":             {[]dedup.Queue{queue("orders", arguments("x-max-length", 5))}, false},
		"nothing is known yet":                           {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			queues := make(map[dedup.QueueRef]*dedup.Queue)
			for i := range tt.queues {
				queues[tt.queues[i].QueueRef] = &tt.queues[i]
			}
			p := &pipeline{refs: []dedup.QueueRef{{Vhost: "/", Name: "orders"}}, broker: &brokerWatch{queues: queues, index: topology.NewIndex(queues, declared, "")}}
			if got := p.refusesOrIsFed(); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
			p.found.Complete, p.found.Targets = true, []topology.Target{{}}
			if tt.want && p.deadLettersKept(nil) != keepsNot {
				t.Error("a balance is struck all the same")
			}
		})
	}
}
