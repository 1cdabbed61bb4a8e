package broker

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/brokertest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// policyServer is a broker with statistics disabled and one queue of a type.
func policyServer(t *testing.T, kind, user, operator string) *brokertest.Server {
	server := brokertest.NewServer(t, brokertest.V310StatsDisabled)
	server.SetQueues([]byte(`{"name":"orders","vhost":"/","type":"` + kind + `","durable":true,"arguments":{},"messages":1}`))
	server.Reply("policies", user)
	server.Reply("operator-policies", operator)
	return server
}

func TestWithoutStatisticsTheEffectivePolicyComesFromTheListsOfPolicies(t *testing.T) {
	const none = `[]`
	one := func(definition string) string {
		return `[{"vhost":"/","name":"dlx","pattern":"^ord","apply-to":"queues","priority":0,"definition":` + definition + `}]`
	}
	for name, test := range map[string]struct {
		kind, user, operator string
		policy               map[string]any
		unknown              bool
	}{
		"no policy":                       {"classic", none, none, nil, false},
		"a policy":                        {"classic", one(`{"dead-letter-exchange":"dlx"}`), none, map[string]any{"dead-letter-exchange": "dlx"}, false},
		"a policy of another queue":       {"classic", `[{"vhost":"/","pattern":"^pay","apply-to":"queues","priority":0,"definition":{"expires":1}}]`, none, nil, false},
		"a policy of another vhost":       {"classic", `[{"vhost":"shop","pattern":".*","apply-to":"all","priority":0,"definition":{"expires":1}}]`, none, nil, false},
		"a policy of exchanges":           {"classic", `[{"vhost":"/","pattern":".*","apply-to":"exchanges","priority":0,"definition":{"alternate-exchange":"x"}}]`, none, nil, false},
		"a policy of quorum queues":       {"quorum", `[{"vhost":"/","pattern":".*","apply-to":"quorum_queues","priority":0,"definition":{"delivery-limit":-1}}]`, none, map[string]any{"delivery-limit": int64(-1)}, false},
		"quorum queues, and it is none":   {"classic", `[{"vhost":"/","pattern":".*","apply-to":"quorum_queues","priority":0,"definition":{"expires":1}}]`, none, nil, false},
		"a key that the queue refuses":    {"classic", one(`{"delivery-limit":5,"expires":7}`), none, nil, false},
		"a key of which nobody knows":     {"quorum", one(`{"expires":7,"max-priority":5}`), none, nil, true},
		"the higher priority":             {"classic", `[{"vhost":"/","pattern":".*","apply-to":"all","priority":1.5,"definition":{"expires":1}},{"vhost":"/","pattern":".*","apply-to":"all","priority":-2,"definition":{"expires":2}}]`, none, map[string]any{"expires": int64(1)}, false},
		"two of one priority":             {"classic", `[{"vhost":"/","pattern":".*","apply-to":"all","priority":1,"definition":{"expires":1}},{"vhost":"/","pattern":".*","apply-to":"all","priority":1,"definition":{"expires":2}}]`, none, nil, true},
		"a pattern that Go does not know": {"classic", `[{"vhost":"/","pattern":"^(?!pay)","apply-to":"all","priority":1,"definition":{"expires":1}}]`, none, nil, true},
		"an operator's limit is lower":    {"classic", one(`{"expires":7,"overflow":"drop-head"}`), one(`{"expires":5,"max-length":9}`), map[string]any{"expires": int64(5), "overflow": "drop-head", "max-length": int64(9)}, false},
		"an operator's limit is higher":   {"classic", one(`{"expires":7}`), one(`{"expires":9}`), map[string]any{"expires": int64(7)}, false},
		"an operator's limit against off": {"quorum", one(`{"delivery-limit":-1}`), one(`{"delivery-limit":9}`), map[string]any{"delivery-limit": int64(9)}, false},
		"an operator's word":              {"classic", one(`{"overflow":"drop-head"}`), one(`{"overflow":"reject-publish"}`), map[string]any{"overflow": "reject-publish"}, false},
		"lists that are no lists":         {"classic", `{"error":"x"}`, none, nil, true},
		"rows that make no sense":         {"classic", `[{"vhost":7,"pattern":null,"apply-to":[],"priority":"high","definition":"x"},null,3]`, none, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, policyServer(t, test.kind, test.user, test.operator).URL)
			sample, err := client.Sample(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			q := sample.Queues[0]
			if q.PolicyUnknown != test.unknown || !maps.Equal(q.Policy, test.policy) || (q.OperatorPolicy != "") != (test.operator != none) {
				t.Errorf("%+v", q)
			}
		})
	}
}

func TestAQueueThatWasJustDeclaredHasAnUnknownPolicy(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V42)
	server.SetQueues([]byte(`{"name":"new","vhost":"/","type":"classic"}`), []byte(`{"name":"old","vhost":"/","type":"classic","messages":0}`))
	sample, err := newClient(t, server.URL).Sample(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	unknown := func(q dedup.Queue) bool { return q.PolicyUnknown }
	if !unknown(sample.Queues[0]) || unknown(sample.Queues[1]) {
		t.Errorf("%+v", sample.Queues)
	}
}

// TestARealBrokerWithoutStatisticsHasThePoliciesThatItHasWithThem compares what the lists of policies come to with what the broker itself says
// applies to its queues, which rabbitmqctl tells in every mode.
func TestARealBrokerWithoutStatisticsHasThePoliciesThatItHasWithThem(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{Config: []string{"management_agent.disable_metrics_collector = true"}})
	policy := func(list, name, pattern, applyTo string, priority int, definition map[string]any) {
		body := map[string]any{"pattern": pattern, "apply-to": applyTo, "priority": priority, "definition": definition}
		must(t, rabbit.API(ctx, http.MethodPut, "/api/"+list+"/%2F/"+name, body, nil))
	}
	policy("policies", "dlx", "^orders", "queues", 1, map[string]any{"dead-letter-exchange": "dlx", "expires": 900000})
	policy("policies", "lower", "^orders", "all", 0, map[string]any{"dead-letter-exchange": "other"})
	policy("policies", "limit", "^(orders|quorum)", "queues", 2, map[string]any{"delivery-limit": 50}) // classic queues refuse it
	policy("operator-policies", "bound", "s$", "queues", 0, map[string]any{"max-length": 100, "expires": 800000})
	queues := map[string]string{"orders": "classic", "orders.dead": "classic", "quorum": "quorum", "quorums": "quorum", "plain": "classic"}
	for name, kind := range queues {
		body := map[string]any{"durable": true, "arguments": map[string]any{"x-queue-type": kind}}
		must(t, rabbit.API(ctx, http.MethodPut, "/api/queues/%2F/"+name, body, nil))
	}
	user, password := rabbit.Admin()
	client, err := New(Config{Name: "main", ManagementURL: rabbit.ManagementURL(), Username: user, Password: secret.New(password), Timeout: time.Minute})
	must(t, err)
	defer client.Close()
	sample, err := client.Sample(ctx)
	must(t, err)
	if len(sample.Queues) != len(queues) || !sample.Info.StatsDisabled {
		t.Fatalf("%+v", sample)
	}
	for _, q := range sample.Queues {
		told, err := rabbit.Eval(ctx, fmt.Sprintf(`{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"%s">>)), [{_, D}] = rabbit_amqqueue:info(Q, [effective_policy_definition]), `+
			`lists:sort(case D of '' -> []; undefined -> []; M when is_map(M) -> maps:to_list(M); L -> L end).`, q.Name))
		must(t, err)
		one, err := client.Queue(ctx, q.QueueRef)
		must(t, err)
		for _, q := range []dedup.Queue{q, one} {
			if q.PolicyUnknown || erlang(q.Policy) != strings.Join(strings.Fields(told), "") {
				t.Errorf("%s: %v (unknown %v), the broker says %s", q.Name, q.Policy, q.PolicyUnknown, told)
			}
		}
	}
}

// erlang writes a definition as erl_call prints a sorted list of its pairs, without spaces.
func erlang(definition map[string]any) string {
	binary := func(text string) string {
		return "#Bin<" + strings.ReplaceAll(strings.Trim(fmt.Sprint([]byte(text)), "[]"), " ", ",") + ">"
	}
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(definition)) {
		value := fmt.Sprint(definition[key])
		if text, ok := definition[key].(string); ok {
			value = binary(text)
		}
		pairs = append(pairs, "{"+binary(key)+","+value+"}")
	}
	return "[" + strings.Join(pairs, ",") + "]"
}
