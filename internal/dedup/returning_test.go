package dedup

import (
	"strings"
	"testing"
)

func TestReturningSaysWhetherMessagesMayBeTakenAndGivenBack(t *testing.T) {
	var few, none int64 = 90, 0
	queue := func(kind string, change ...func(*Queue)) Queue {
		q := Queue{Type: kind, Durable: true, Messages: &few, Ready: &few, Consumers: &none}
		for _, c := range change {
			c(&q)
		}
		return q
	}
	argument := func(key string, v any) func(*Queue) {
		return func(q *Queue) { q.Arguments = map[string]any{key: v} }
	}
	policy := func(key string, v any) func(*Queue) {
		return func(q *Queue) { q.Policy = map[string]any{key: v} }
	}
	cases := map[string]struct {
		version string
		queue   Queue
		refused string // part of the reason; empty when harmless
		effect  string // part of an effect
	}{
		"a classic queue on 3.8":                          {"3.8.34", queue("classic"), "", "redelivered"},
		"a classic queue on 3.10":                         {"3.10.8", queue("classic"), "", "redelivered"},
		"a classic queue on 3.13":                         {"3.13.7", queue("classic"), "", "redelivered"},
		"a classic queue on 4.0":                          {"4.0.9", queue("classic"), "", "redelivered"},
		"a classic queue on 4.3":                          {"4.3.5", queue("classic"), "", "redelivered"},
		"a classic queue on a prerelease":                 {"4.2.0-rc.1", queue("classic"), "", "redelivered"},
		"a classic queue on 3.7":                          {"3.7.28", queue("classic"), "not known to this program", ""},
		"a classic queue on 5.0":                          {"5.0.0", queue("classic"), "not known to this program", ""},
		"a classic queue on a broker without version":     {"", queue("classic"), "version \"\" is not known", ""},
		"a version that is no number":                     {"three.ten", queue("classic"), "is not known", ""},
		"a classic queue that is bounded, with room":      {"3.10.8", queue("classic", argument("x-max-length", int64(100))), "", "more than 10 messages"},
		"a classic queue that is full":                    {"3.10.8", queue("classic", argument("x-max-length", int64(90))), "holds 90 of at most 90", ""},
		"a classic queue bounded by policy":               {"3.10.8", queue("classic", policy("max-length", int64(50))), "holds 90 of at most 50", ""},
		"the lesser bound of two holds":                   {"3.10.8", queue("classic", argument("x-max-length", int64(1000)), policy("max-length", int64(50))), "at most 50", ""},
		"a bound that is no number":                       {"3.10.8", queue("classic", argument("x-max-length", "many")), "is not known", ""},
		"a bounded queue of unknown depth":                {"3.10.8", queue("classic", argument("x-max-length", int64(9)), func(q *Queue) { q.Ready = nil }), "is not known", ""},
		"a classic queue bounded by bytes":                {"3.10.8", queue("classic", policy("max-length-bytes", int64(50))), "max-length-bytes", ""},
		"a classic queue with a time to live":             {"3.10.8", queue("classic", policy("message-ttl", int64(50))), "", "expire after 50 ms"},
		"a classic queue that expires":                    {"3.10.8", queue("classic", argument("x-expires", int64(50))), "", "deletes itself"},
		"a classic queue with a single active consumer":   {"3.10.8", queue("classic", argument("x-single-active-consumer", true)), "", "single active consumer"},
		"a classic queue with consumers":                  {"3.10.8", queue("classic", func(q *Queue) { q.Consumers = &few }), "", "90 consumers"},
		"a classic queue of unknown consumers":            {"3.10.8", queue("classic", func(q *Queue) { q.Consumers = nil }), "", "is not known"},
		"a classic queue of unknown policy":               {"3.10.8", queue("classic", func(q *Queue) { q.PolicyUnknown = true }), "does not tell its policy", ""},
		"a classic queue without statistics":              {"3.10.8", queue("classic", func(q *Queue) { q.Messages = nil }), "", "redelivered"},
		"a classic queue of one connection":               {"3.10.8", queue("classic", func(q *Queue) { q.Exclusive = true }), "one connection", ""},
		"a classic queue that is down":                    {"3.10.8", queue("classic", func(q *Queue) { q.State = "down" }), "it is down", ""},
		"a quorum queue on 3.10 without a limit":          {"3.10.8", queue("quorum"), "", "end of the queue"},
		"a quorum queue on 3.10 with limit -1":            {"3.10.8", queue("quorum", argument("x-delivery-limit", int64(-1))), "first one destroys", ""},
		"a quorum queue on 3.10 with a limit":             {"3.10.8", queue("quorum", argument("x-delivery-limit", int64(5))), "limit is 5", ""},
		"a quorum queue on 3.10 with a limit by policy":   {"3.10.8", queue("quorum", policy("delivery-limit", int64(7))), "limit is 7", ""},
		"a quorum queue on 3.10 with -1 beside a policy":  {"3.10.8", queue("quorum", argument("x-delivery-limit", int64(-1)), policy("delivery-limit", int64(7))), "limit is -1", ""},
		"a quorum queue on 3.10 with a limit of words":    {"3.10.8", queue("quorum", argument("x-delivery-limit", "five")), "cannot be read", ""},
		"a quorum queue on 3.10 that is bounded":          {"3.10.8", queue("quorum", policy("max-length", int64(1000))), "bounded by max-length", ""},
		"a quorum queue on 3.10 with one active consumer": {"3.10.8", queue("quorum", argument("x-single-active-consumer", true)), "single active consumer", ""},
		"a quorum queue in minority":                      {"3.10.8", queue("quorum", func(q *Queue) { q.State = "minority" }), "it is minority", ""},
		"a quorum queue on 3.9":                           {"3.9.29", queue("quorum"), "tried on 3.10 and on 4 alone", ""},
		"a quorum queue on 3.11":                          {"3.11.28", queue("quorum"), "tried on 3.10 and on 4 alone", ""},
		"a quorum queue on 3.13":                          {"3.13.7", queue("quorum"), "tried on 3.10 and on 4 alone", ""},
		"a quorum queue on 4.0":                           {"4.0.9", queue("quorum"), "limit is 20: each return counts", ""},
		"a quorum queue on 4.0 without limit":             {"4.0.9", queue("quorum", argument("x-delivery-limit", int64(-1))), "", "end of the queue"},
		"a quorum queue on 4.0 with one active consumer":  {"4.0.9", queue("quorum", policy("delivery-limit", int64(-1)), argument("x-single-active-consumer", true)), "single active consumer", ""},
		"a quorum queue on 4.3":                           {"4.3.5", queue("quorum"), "brings the count", ""},
		"a quorum queue on 4.3 with a limit":              {"4.3.5", queue("quorum", argument("x-delivery-limit", int64(50))), "limit is 50", ""},
		"a quorum queue on 4.3 without limit":             {"4.3.5", queue("quorum", argument("x-delivery-limit", int64(-1))), "", "end of the queue"},
		"a stream":                                        {"3.10.8", queue("stream"), "it is a stream", ""},
		"a queue of an unknown type":                      {"4.3.5", queue("x-delayed"), "are not known", ""},
		"a queue without a type":                          {"3.10.8", queue(""), "are not known", ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			risk := Returning(BrokerInfo{Version: test.version}, test.queue)
			if risk.Harmless != (test.refused == "") || !strings.Contains(risk.Why, test.refused) || risk.Harmless != (risk.Why == "") {
				t.Errorf("%+v", risk)
			}
			if !strings.Contains(strings.Join(risk.Effects, "\n"), test.effect) || risk.Harmless && len(risk.Effects) == 0 {
				t.Errorf("effects %q", risk.Effects)
			}
		})
	}
}

func TestDeliveryLimitsMergeAsTheBrokerMergesThem(t *testing.T) {
	for name, test := range map[string]struct {
		version          string
		argument, policy any
		limit            int64
		limited, known   bool
	}{
		"none on 3.10":                         {"3.10.8", nil, nil, 0, false, true},
		"none on 3.13":                         {"3.13.7", nil, nil, 0, false, true},
		"20 on 4.0":                            {"4.0.1", nil, nil, 20, true, true},
		"20 on 4.3":                            {"4.3.5", nil, nil, 20, true, true},
		"the argument":                         {"4.0.1", int64(5), nil, 5, true, true},
		"the policy":                           {"4.0.1", nil, int64(6), 6, true, true},
		"the lesser":                           {"4.0.1", int64(5), int64(6), 5, true, true},
		"off by argument":                      {"4.0.1", int64(-1), nil, 0, false, true},
		"off by policy":                        {"4.0.1", nil, int64(-1), 0, false, true},
		"a limit beats off on 4.0":             {"4.0.1", int64(20), int64(-1), 20, true, true},
		"a limit by policy beats off on 4.0":   {"4.0.1", int64(-1), int64(9), 9, true, true},
		"off twice":                            {"4.0.1", int64(-1), int64(-1), 0, false, true},
		"a negative one is a limit up to 3.13": {"3.13.7", int64(-1), nil, -1, true, true},
		"words":                                {"4.0.1", "x", nil, 0, false, false},
		"a fraction":                           {"4.0.1", nil, 1.5, 0, false, false},
		"a broker without version":             {"", nil, nil, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := Queue{Type: "quorum"}
			if test.argument != nil {
				q.Arguments = map[string]any{"x-delivery-limit": test.argument}
			}
			if test.policy != nil {
				q.Policy = map[string]any{"delivery-limit": test.policy}
			}
			limit, limited, known := DeliveryLimit(BrokerInfo{Version: test.version}, q)
			if limit != test.limit || limited != test.limited || known != test.known {
				t.Errorf("%d, %t, %t", limit, limited, known)
			}
		})
	}
	if _, limited, known := DeliveryLimit(BrokerInfo{Version: "4.0.1"}, Queue{Type: "classic"}); limited || !known {
		t.Error("a classic queue has a delivery limit")
	}
}

func TestWholeQueuesAreMovedWhereAFailureDestroysNothing(t *testing.T) {
	var some int64 = 5
	for name, test := range map[string]struct {
		version  string
		kind     string
		limit    any
		harmless bool
	}{
		"classic":                  {"3.8.0", "classic", nil, true},
		"quorum without limit":     {"3.10.8", "quorum", nil, true},
		"quorum of 4.0":            {"4.0.9", "quorum", nil, true},
		"quorum with 9 on 4.0":     {"4.0.9", "quorum", int64(9), false},
		"quorum of 4.1":            {"4.1.8", "quorum", nil, false},
		"quorum of 4.3":            {"4.3.6", "quorum", nil, false},
		"quorum off on 4.3":        {"4.3.6", "quorum", int64(-1), true},
		"quorum with 50 on 4.3":    {"4.3.0", "quorum", int64(50), false},
		"quorum off on 4.0":        {"4.0.9", "quorum", int64(-1), true},
		"quorum -1 on 3.10":        {"3.10.8", "quorum", int64(-1), false},
		"quorum with limit 9":      {"3.10.8", "quorum", int64(9), false},
		"quorum with limit 10":     {"3.10.8", "quorum", int64(10), true},
		"quorum of unknown limit":  {"3.10.8", "quorum", "x", false},
		"stream":                   {"3.10.8", "stream", nil, false},
		"unknown type":             {"3.10.8", "other", nil, false},
		"broker without a version": {"", "classic", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := Queue{Type: test.kind, Messages: &some}
			if test.limit != nil {
				q.Arguments = map[string]any{"x-delivery-limit": test.limit}
			}
			if risk := MovesWhole(BrokerInfo{Version: test.version}, q); risk.Harmless != test.harmless || risk.Harmless != (risk.Why == "") {
				t.Errorf("%+v", risk)
			}
		})
	}
}

func TestMayDropFindsEachWayToLoseAMessage(t *testing.T) {
	var none int64
	good := Queue{Type: "classic", Durable: true, Messages: &none, Arguments: map[string]any{"x-queue-type": "classic"}}
	if why := MayDrop(good); why != "" {
		t.Fatalf("a plain durable queue: %s", why)
	}
	for says, change := range map[string]func(*Queue){
		`type "quorum"`:                  func(q *Queue) { q.Type = "quorum" },
		"survive a restart":              func(q *Queue) { q.Durable = false },
		"last consumer":                  func(q *Queue) { q.AutoDelete = true },
		"connection":                     func(q *Queue) { q.Exclusive = true },
		"policy is not known":            func(q *Queue) { q.Messages = nil },
		"max-length 5":                   func(q *Queue) { q.Policy = map[string]any{"max-length": int64(5)} },
		"max-length-bytes 6":             func(q *Queue) { q.Policy = map[string]any{"max-length-bytes": int64(6)} },
		"message-ttl 7":                  func(q *Queue) { q.Policy = map[string]any{"message-ttl": int64(7)} },
		"expires 8":                      func(q *Queue) { q.Arguments = map[string]any{"x-expires": int64(8)} },
		"overflow drop-head":             func(q *Queue) { q.Policy = map[string]any{"overflow": "drop-head"} },
		"dead-letter-exchange x":         func(q *Queue) { q.Policy = map[string]any{"dead-letter-exchange": "x"} },
		"dead-letter-routing-key y":      func(q *Queue) { q.Arguments = map[string]any{"x-dead-letter-routing-key": "y"} },
		"dead-letter-strategy at-least-": func(q *Queue) { q.Policy = map[string]any{"dead-letter-strategy": "at-least-once"} },
		"delivery-limit 3":               func(q *Queue) { q.Policy = map[string]any{"delivery-limit": int64(3)} },
	} {
		t.Run(says, func(t *testing.T) {
			q := good
			change(&q)
			if why := MayDrop(q); !strings.Contains(why, says) {
				t.Errorf("got %q", why)
			}
		})
	}
}

func TestParkingQueuesAreNamedAfterTheirDeadLetterQueues(t *testing.T) {
	dead := QueueRef{Vhost: "v", Name: "orders.dead"}
	parking, err := ParkingQueue(dead)
	if err != nil || parking != (QueueRef{Vhost: "v", Name: "dedup.parking.orders.dead"}) {
		t.Errorf("%+v, %v", parking, err)
	}
	if from, ok := ParkedFrom(parking); !ok || from != dead {
		t.Errorf("%+v, %t", from, ok)
	}
	if _, ok := ParkedFrom(dead); ok {
		t.Error("a dead-letter queue passes for a parking queue")
	}
	if _, err := ParkingQueue(QueueRef{Name: strings.Repeat("q", 241)}); err != nil {
		t.Error(err)
	}
	if _, err := ParkingQueue(QueueRef{Name: strings.Repeat("q", 242)}); KindOf(err) != Invalid {
		t.Errorf("a name of 256 bytes: %v", err)
	}
}
