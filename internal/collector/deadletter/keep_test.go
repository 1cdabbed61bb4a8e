package deadletter

import (
	"testing"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/sample"
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
		"its own dead letters go elsewhere":              {[]dedup.Queue{listed("orders", dies("", "orders.dead")), listed("orders.dead", nil)}, false},
		"a delay queue hands back by the default route":  {[]dedup.Queue{listed("orders", nil), listed("delay", dies("", "orders"))}, true},
		"a delay queue hands back by an exchange":        {[]dedup.Queue{listed("orders", nil), listed("delay", dies("retry", "again"))}, true},
		"a delay queue of others":                        {[]dedup.Queue{listed("orders", nil), listed("emails", nil), listed("delay", dies("", "emails"))}, false},
		"a key that leads elsewhere":                     {[]dedup.Queue{listed("orders", nil), listed("delay", dies("retry", "never"))}, false},
		"an exchange that routes by more than the key":   {[]dedup.Queue{listed("orders", nil), listed("delay", dies("odd", "again"))}, true},
		"a full queue that refuses what is published":    {[]dedup.Queue{listed("orders", arguments("x-max-length", 5, "x-overflow", "reject-publish"))}, true},
		"a full queue that dead-letters what it refuses": {[]dedup.Queue{listed("orders", arguments("x-max-length", 5, "x-overflow", "reject-publish-dlx"))}, true},
		"a full queue that drops its oldest":             {[]dedup.Queue{listed("orders", arguments("x-max-length", 5))}, false},
		"nothing is known yet":                           {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			queues := make(map[dedup.QueueRef]*dedup.Queue)
			for i := range tt.queues {
				queues[tt.queues[i].QueueRef] = &tt.queues[i]
			}
			w := NewWatch(dedup.Pipeline{}, []dedup.QueueRef{{Vhost: "/", Name: "orders"}}, counter.NewBook())
			b := Broker{Queues: queues, Index: topology.NewIndex(queues, declared, "")}
			if got := w.refusesOrIsFed(b); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
			w.Found.Complete, w.Found.Targets = true, []topology.Target{{}}
			if tt.want && w.Kept(b, nil) != KeepsNot {
				t.Error("a balance is struck all the same")
			}
		})
	}
}

func listed(name string, change func(*dedup.Queue)) dedup.Queue {
	q := dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: name}, Type: "classic", Messages: new(int64), Unacked: new(int64), Consumers: new(int64)}
	if change != nil {
		change(&q)
	}
	return q
}

// The first readings of young queues tell no consumers of the dead letters: whether they count is decided afterwards.
func TestFramesWaitUntilTheDeadLettersAreKnownToBeKept(t *testing.T) {
	for _, tt := range []struct {
		name string
		then Keeping
		want bool
	}{
		{"nobody consumes them", KeepsAll, true},
		{"somebody consumes them", KeepsNot, false},
		{"still not known", KeepsPerhaps, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, frames := Watch{keeps: KeepsPerhaps}, sample.Frames{{Presumed: true}}
			w.Settle(tt.then, frames, nil)
			if f := frames[0]; f.Whole != tt.want {
				t.Errorf("whole %v, want %v", f.Whole, tt.want)
			}
		})
	}
}

// TestDeadLettersAreKeptWhereTheirQueuesAreKnownAndNobodyTakesThem.
func TestDeadLettersAreKeptWhereTheirQueuesAreKnownAndNobodyTakesThem(t *testing.T) {
	dead := dedup.QueueRef{Vhost: "/", Name: "orders.dead"}
	for name, tt := range map[string]struct {
		change func(*dedup.Queue)
		users  int
		want   Keeping
	}{
		"nobody consumes them":               {nil, 1, KeepsAll},
		"somebody consumes them":             {func(q *dedup.Queue) { *q.Consumers = 1 }, 1, KeepsNot},
		"nobody says yet whether they are":   {func(q *dedup.Queue) { q.Consumers = nil }, 1, KeepsPerhaps},
		"they expire":                        {func(q *dedup.Queue) { q.Policy = map[string]any{"message-ttl": 1000} }, 1, KeepsNot},
		"those of another pipeline go there": {nil, 2, KeepsNot},
	} {
		t.Run(name, func(t *testing.T) {
			q := listed(dead.Name, tt.change)
			target := []topology.Target{{QueueRef: dead}}
			w := Watch{Targets: target, Found: topology.Discovery{Complete: true, Targets: target}}
			b := Broker{Queues: map[dedup.QueueRef]*dedup.Queue{dead: &q}}
			if got := w.Kept(b, map[dedup.QueueRef]int{dead: tt.users}); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if w.Found.Complete = false; w.Kept(b, nil) != KeepsNot {
				t.Error("they are kept although not every way is known")
			}
		})
	}
}
