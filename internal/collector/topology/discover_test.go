package topology

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

func queue(name string, change func(*dedup.Queue)) dedup.Queue {
	q := dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: name}, Type: "classic", State: "running", Durable: true}
	if change != nil {
		change(&q)
	}
	return q
}

func TestDiscover(t *testing.T) {
	exchange := func(name, kind string) dedup.Exchange { return dedup.Exchange{Vhost: "/", Name: name, Type: kind} }
	bind := func(from, to, key string) dedup.Binding {
		return dedup.Binding{Vhost: "/", Source: from, Destination: to, DestinationType: "queue", RoutingKey: key}
	}
	with := func(name string, arguments, policy map[string]any) dedup.Queue {
		return queue(name, func(q *dedup.Queue) { q.Arguments, q.Policy = arguments, policy })
	}
	type m = map[string]any
	tests := map[string]struct {
		queues     []dedup.Queue
		topology   dedup.Topology
		want       string
		findings   string
		incomplete bool
	}{
		"an argument to the default exchange": {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "a.dead"}, nil), queue("a.dead", nil)}, want: "a.dead"},
		"a policy to a direct exchange": {queues: []dedup.Queue{with("a", nil, m{"dead-letter-exchange": "dlx", "dead-letter-routing-key": "k"}), queue("a.dead", nil), queue("b.dead", nil)},
			topology: dedup.Topology{Exchanges: []dedup.Exchange{exchange("dlx", "direct")}, Bindings: []dedup.Binding{bind("dlx", "a.dead", "k"), bind("dlx", "b.dead", "other")}}, want: "a.dead"},
		"the argument beats the policy for the exchange alone": {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": ""}, m{"dead-letter-exchange": "dlx", "dead-letter-routing-key": "a.dead"}), queue("a.dead", nil)}, want: "a.dead", findings: "dead_letter_policy_overridden"},
		"a routing key without an exchange disables it":        {queues: []dedup.Queue{with("a", m{"x-dead-letter-routing-key": "a.dead"}, nil), queue("a.dead", nil)}, findings: "dead_letter_key_alone", incomplete: true},
		"a missing exchange drops":                             {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": "gone", "x-dead-letter-routing-key": "k"}, nil)}, findings: "dead_letter_exchange_missing", incomplete: true},
		"a missing queue drops":                                {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "gone"}, nil)}, findings: "dead_letter_route_missing", incomplete: true},
		"a topic exchange with a fixed key": {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": "dlx", "x-dead-letter-routing-key": "k"}, nil), queue("a.dead", nil)},
			topology: dedup.Topology{Exchanges: []dedup.Exchange{exchange("dlx", "topic")}, Bindings: []dedup.Binding{bind("dlx", "a.dead", "#")}}, want: "a.dead"},
		"a headers exchange may lead to its only queue": {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": "dlx", "x-dead-letter-routing-key": "k"}, nil), queue("a.dead", nil)},
			topology: dedup.Topology{Exchanges: []dedup.Exchange{exchange("dlx", "headers")}, Bindings: []dedup.Binding{bind("dlx", "a.dead", "")}}, want: "a.dead", findings: "dead_letter_queue_unsure", incomplete: true},
		"a headers exchange with two queues needs pinning": {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": "dlx"}, nil), queue("a.dead", nil), queue("b.dead", nil)},
			topology: dedup.Topology{Exchanges: []dedup.Exchange{exchange("dlx", "headers")}, Bindings: []dedup.Binding{bind("dlx", "a.dead", ""), bind("dlx", "b.dead", "")}}, findings: "dead_letter_queue_unsure", incomplete: true},
		"two copies are not complete": {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": "dlx"}, nil), queue("a.dead", nil), queue("b.dead", nil)},
			topology: dedup.Topology{Exchanges: []dedup.Exchange{exchange("dlx", "fanout")}, Bindings: []dedup.Binding{bind("dlx", "a.dead", ""), bind("dlx", "b.dead", "")}}, want: "a.deadb.dead", incomplete: true},
		"a delay queue leads back and is none": {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "a.retry"}, nil),
			with("a.retry", m{"x-message-ttl": 5000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "a"}, nil)}, incomplete: true},
		"exchanges that bind each other end": {queues: []dedup.Queue{with("a", m{"x-dead-letter-exchange": "x", "x-dead-letter-routing-key": "k"}, nil)},
			topology: dedup.Topology{Exchanges: []dedup.Exchange{exchange("x", "direct"), exchange("y", "direct")}, Bindings: []dedup.Binding{
				{Vhost: "/", Source: "x", Destination: "y", DestinationType: "exchange", RoutingKey: "k"}, {Vhost: "/", Source: "y", Destination: "x", DestinationType: "exchange", RoutingKey: "k"}}},
			findings: "dead_letter_route_missing", incomplete: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			queues := map[dedup.QueueRef]*dedup.Queue{}
			for i := range tt.queues {
				queues[tt.queues[i].QueueRef] = &tt.queues[i]
			}
			d := Discover(NewIndex(queues, &tt.topology, ""), []dedup.QueueRef{{Vhost: "/", Name: "a"}}, nil)
			got, kinds := "", ""
			for _, target := range d.Targets {
				got += target.Name
			}
			for _, f := range d.Findings {
				kinds += f.Kind
			}
			if got != tt.want || kinds != tt.findings || d.Complete == tt.incomplete {
				t.Errorf("found %q, findings %q, complete %v; want %q, %q, %v", got, kinds, d.Complete, tt.want, tt.findings, !tt.incomplete)
			}
		})
	}
}

// TestPatternsMeetWhenSomeKeyMatchesBoth compares the answer with a search over short keys.
func TestPatternsMeetWhenSomeKeyMatchesBoth(t *testing.T) {
	var keys [][]string
	for frontier, n := [][]string{{}}, 0; n < 6; n++ {
		var next [][]string
		for _, k := range frontier {
			for _, w := range []string{"a", "b", "z"} {
				next = append(next, append(append([]string(nil), k...), w))
			}
		}
		keys, frontier = append(keys, next...), next
	}
	var matches func(p, k []string) bool
	matches = func(p, k []string) bool {
		switch {
		case len(p) == 0:
			return len(k) == 0
		case p[0] == "#":
			return matches(p[1:], k) || (len(k) > 0 && matches(p, k[1:]))
		}
		return len(k) > 0 && (p[0] == "*" || p[0] == k[0]) && matches(p[1:], k[1:])
	}
	word := rapid.SampledFrom([]string{"a", "b", "*", "#"})
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.SliceOfN(word, 1, 3).Draw(t, "x"), rapid.SliceOfN(word, 1, 3).Draw(t, "y")
		want := matches(x, nil) && matches(y, nil)
		for _, k := range keys {
			want = want || (matches(x, k) && matches(y, k))
		}
		if got := patternsMeet(strings.Join(x, "."), strings.Join(y, ".")); got != want {
			t.Fatalf("%v and %v meet: %v, want %v", x, y, got, want)
		}
	})
	if !patternsMeet(strings.Repeat("#.a.", 60)+"#", strings.Repeat("#.b.", 60)+"#") {
		t.Error("long patterns of many # meet in the key that holds the words of both")
	}
}
