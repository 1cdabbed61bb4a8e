package broker

import (
	"context"
	"maps"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/brokertest"
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
