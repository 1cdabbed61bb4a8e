package broker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/brokertest"
)

func ptr[T any](v T) *T { return &v }

// find returns the named queue of a list.
func find(t testing.TB, queues []dedup.Queue, name string) dedup.Queue {
	t.Helper()
	i := slices.IndexFunc(queues, func(q dedup.Queue) bool { return q.Name == name })
	if i < 0 {
		t.Fatalf("no queue %q among %d", name, len(queues))
	}
	return queues[i]
}

func kinds(problems []dedup.Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Kind)
	}
	return all
}

func TestEveryVersionIsReadAsFarAsItTells(t *testing.T) {
	counters := dedup.QueueCounters{
		Publish: ptr(int64(10)), Deliver: ptr(int64(7)), DeliverNoAck: ptr(int64(0)), Get: ptr(int64(0)), GetNoAck: ptr(int64(0)),
		Redeliver: ptr(int64(1)), Ack: ptr(int64(2)),
	}
	minority := []dedup.QueueRef{{Vhost: "/", Name: "payments"}}
	cases := map[brokertest.Version]struct {
		counters  dedup.QueueCounters
		consumers *int64
		minority  []dedup.QueueRef
		problems  []string
		nodes     int
	}{
		brokertest.V310:              {counters, ptr(int64(1)), nil, nil, 1},
		brokertest.V310RatesNone:     {dedup.QueueCounters{}, ptr(int64(1)), nil, []string{ProblemRatesNone}, 1},
		brokertest.V310StatsDisabled: {dedup.QueueCounters{}, nil, nil, []string{ProblemQueueTotalsOnly}, 1},
		brokertest.V313:              {counters, ptr(int64(1)), nil, nil, 1},
		brokertest.V42:               {counters, ptr(int64(1)), minority, []string{ProblemPartialAnswer}, 2},
	}
	for _, version := range brokertest.Versions() {
		want := cases[version]
		t.Run(string(version), func(t *testing.T) {
			server := brokertest.NewServer(t, version)
			sample, err := newClient(t, server.URL).Sample(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			orders := find(t, sample.Queues, "orders")
			for field, diff := range map[string]string{
				"counters":  cmp.Diff(want.counters, orders.Counters),
				"messages":  cmp.Diff(ptr(int64(7)), orders.Messages),
				"ready":     cmp.Diff(ptr(int64(4)), orders.Ready),
				"unacked":   cmp.Diff(ptr(int64(3)), orders.Unacked),
				"consumers": cmp.Diff(want.consumers, orders.Consumers),
				"arguments": cmp.Diff(map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.dead"}, orders.Arguments),
				"problems":  cmp.Diff(want.problems, kinds(sample.Problems)),
				"minority":  cmp.Diff(want.minority, sample.State.QueuesMinority),
				"nodes":     cmp.Diff(want.nodes, len(sample.State.Nodes)),
				"total":     cmp.Diff(ptr(int64(7)), sample.QueuesTotal),
				"node":      cmp.Diff("rabbit@node1", find(t, sample.Queues, "payments").Node),
				"limit":     cmp.Diff(any(int64(5)), find(t, sample.Queues, "payments").Arguments["x-delivery-limit"]),
			} {
				if diff != "" {
					t.Errorf("%s: %s", field, diff)
				}
			}
			if !strings.HasPrefix(string(version), sample.Info.Version) || sample.Info.Node == "" || sample.Took <= 0 {
				t.Errorf("info %+v, took %s", sample.Info, sample.Took)
			}
		})
	}
}

func TestAPolicyIsReadWhereTheBrokerGivesItsDefinition(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	sample, err := newClient(t, server.URL).Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"dead-letter-exchange": "dead", "max-length": int64(1000)}
	if diff := cmp.Diff(want, find(t, sample.Queues, "shipping").Policy); diff != "" {
		t.Error(diff)
	}
	if p := find(t, sample.Queues, "orders").Policy; p != nil {
		t.Errorf("an empty policy became %v", p)
	}
	if h := find(t, sample.Queues, "orders").HeadTimestamp; h == nil || h.Unix() != 1700000000 {
		t.Errorf("head timestamp %v", h)
	}
}

func TestFieldsOfUnexpectedTypesAreAbsentAndNeverZero(t *testing.T) {
	cases := map[string]*int64{
		`5`: ptr(int64(5)), `0`: ptr(int64(0)), `5.0`: ptr(int64(5)), `1e3`: ptr(int64(1000)),
		`5.5`: nil, `-1`: nil, `1e300`: nil, `9223372036854775808`: nil, `null`: nil, `"undefined"`: nil, `""`: nil, `"5"`: nil, `[]`: nil, `{}`: nil, `true`: nil,
	}
	for text, want := range cases {
		row := queueRow{}
		fields := `"messages":` + text + `,"consumers":` + text + `,"message_stats":{"ack":` + text + `}`
		if err := json.Unmarshal(queue("q", fields), &row); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		q := row.queue()
		for _, got := range []*int64{q.Messages, q.Consumers, q.Counters.Ack} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
		}
	}
	for _, text := range []string{`{}`, `[]`, `""`, `null`, `3`} {
		row := queueRow{}
		fields := `"effective_policy_definition":` + text + `,"arguments":` + text + `,"message_stats":` + text + `,"members":` + text +
			`,"state":` + text + `,"durable":` + text + `,"head_message_timestamp":` + text
		if err := json.Unmarshal(queue("q", fields), &row); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if q := row.queue(); q.Policy != nil || q.Arguments != nil || q.Counters != (dedup.QueueCounters{}) || q.State != "" || q.Durable {
			t.Errorf("%s became %+v", text, q)
		}
	}
}

func TestQueuesThatCannotServeAreNamed(t *testing.T) {
	cases := map[string]struct{ fields, want string }{
		"running":                           {`"state":"running"`, ""},
		"without a state":                   {``, ""},
		"down":                              {`"state":"down"`, "down"},
		"crashed":                           {`"state":"crashed"`, "down"},
		"stopped":                           {`"state":"stopped"`, "down"},
		"minority by state":                 {`"state":"minority"`, "minority"},
		"one of three online":               {`"state":"running","members":["a","b","c"],"online":["a"]`, "minority"},
		"one of two online":                 {`"members":["a","b"],"online":["a"]`, "minority"},
		"two of three online":               {`"members":["a","b","c"],"online":["a","b"]`, ""},
		"no member online":                  {`"members":["a","b","c"],"online":[]`, "down"},
		"members without knowing who is on": {`"members":["a","b","c"]`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			server := brokertest.NewServer(t, brokertest.V310)
			server.SetQueues(queue("q", c.fields))
			sample, err := newClient(t, server.URL).Sample(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Repeat("down", len(sample.State.QueuesDown)) + strings.Repeat("minority", len(sample.State.QueuesMinority))
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPagesAreReadInSequenceAndMovedQueuesOnce(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	var list []json.RawMessage
	for i := range 1001 {
		list = append(list, queue(fmt.Sprintf("q%04d", i), ""))
	}
	list[500] = list[499] // moved to the next page while the list was read
	list[1000] = json.RawMessage(`null`)
	list[999] = json.RawMessage(`"not a queue"`)
	server.SetQueues(list...)
	sample, err := newClient(t, server.URL).Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(sample.Queues) != 998 {
		t.Errorf("%d queues, want 998", len(sample.Queues))
	}
	want := []string{
		"/api/overview", "/api/queues?page=1&page_size=500", "/api/queues?page=2&page_size=500", "/api/queues?page=3&page_size=500",
		"/api/nodes", "/api/health/checks/alarms", "/api/vhosts?columns=name%2Ctracing",
	}
	if diff := cmp.Diff(want, server.Requests()); diff != "" {
		t.Error(diff)
	}
}

func TestAQueueThatMovesToAPageAlreadyReadIsStillFound(t *testing.T) {
	for name, test := range map[string]struct {
		deleted int
		fault   brokertest.Fault
		whole   bool
	}{
		"one deleted":                     {deleted: 1, whole: true},
		"more deleted than are asked for": {deleted: maxLookups + 5},
		"the broker does not say":         {deleted: 1, fault: brokertest.Status(503, "unavailable", "")},
	} {
		t.Run(name, func(t *testing.T) {
			server := brokertest.NewServer(t, brokertest.V310)
			server.Reply("overview", `{"rabbitmq_version":"3.10.8","object_totals":{"queues":900}}`)
			var list []json.RawMessage
			for i := range 1000 {
				list = append(list, queue(fmt.Sprintf("q%04d", i), ""))
			}
			server.SetQueues(list...)
			client := newClient(t, server.URL)
			if _, err := client.Sample(t.Context()); err != nil {
				t.Fatal(err)
			}
			// Queues of the first page are deleted once it was sent.
			page, err := json.Marshal(map[string]any{"items": list[:500], "page_count": 2})
			if err != nil {
				t.Fatal(err)
			}
			server.Fail("queues", 1, brokertest.Then(brokertest.Body("application/json", string(page)), func() { server.SetQueues(list[test.deleted:]...) }))
			if test.fault != nil {
				server.Fail("queue", 1, test.fault)
			}
			sample, err := client.Sample(t.Context())
			if err != nil || (sample.QueuesTotal != nil) != test.whole || test.whole && len(sample.Queues) != 1000 {
				t.Errorf("%d queues of %v, %v", len(sample.Queues), sample.QueuesTotal, err)
			}
			for range 2 {
				if sample, err = client.Sample(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if len(sample.Queues) != 1000-test.deleted || sample.QueuesTotal == nil {
				t.Errorf("afterwards %d queues of %v", len(sample.Queues), sample.QueuesTotal)
			}
		})
	}
}

func TestQueuesThatComeAndGoByDesignAreNotLookedFor(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	var list []json.RawMessage
	for i := range 1000 {
		list = append(list, queue(fmt.Sprintf("q%04d", i), `"exclusive":true`))
	}
	server.SetQueues(list...)
	client := newClient(t, server.URL)
	for range 2 {
		if _, err := client.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
		server.SetQueues(list[100:]...)
	}
	if i := slices.IndexFunc(server.Requests(), func(r string) bool { return strings.HasPrefix(r, "/api/queues/") }); i >= 0 {
		t.Errorf("asked for %s", server.Requests()[i])
	}
}

func TestAListThatShrinksOrRepeatsItselfEnds(t *testing.T) {
	pages := map[string]brokertest.Fault{
		"the last page is gone": brokertest.Status(400, "page_out_of_range", "Page out of range"),
		"the same page again":   brokertest.Body("application/json", `{"items":[{"name":"q","vhost":"/"}],"page_count":1000000}`),
	}
	for name, second := range pages {
		t.Run(name, func(t *testing.T) {
			server := brokertest.NewServer(t, brokertest.V310)
			client := newClient(t, server.URL)
			first := brokertest.Body("application/json", `{"items":[{"name":"q","vhost":"/"}],"page_count":1000000}`)
			server.Fail("queues", 1, brokertest.Then(first, func() { server.Fail("queues", 0, second) }))
			sample, err := client.Sample(t.Context())
			if err != nil || len(sample.Queues) != 1 {
				t.Errorf("%d queues, %v", len(sample.Queues), err)
			}
		})
	}
}

func TestAQueueDeletedWhileTheListIsMadeCostsOneMoreTry(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.Fail("queues", 1, brokertest.Status(500, "internal_server_error", "badmatch"))
	sample, err := newClient(t, server.URL).Sample(t.Context())
	if err != nil || len(sample.Queues) != 7 {
		t.Errorf("%d queues, %v", len(sample.Queues), err)
	}
}

func TestAnEmptyBrokerIsReadable(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.SetQueues()
	server.Reply("overview", `{"rabbitmq_version":"3.10.8","object_totals":{"queues":0},"churn_rates":{},"message_stats":[]}`)
	sample, err := newClient(t, server.URL).Sample(t.Context())
	if err != nil || len(sample.Queues) != 0 || len(sample.Problems) != 0 || sample.ChannelsClosed != nil {
		t.Errorf("%+v, %v", sample, err)
	}
}

func TestNodesAreUnknownRatherThanWellWhenTheyCannotBeRead(t *testing.T) {
	cases := map[string]struct {
		resource string
		fault    brokertest.Fault
		kind     string
	}{
		"without the tag":      {"nodes", brokertest.Status(401, "not_authorised", "Not monitor user"), ProblemTagMissing},
		"with a broken node":   {"nodes", brokertest.Status(500, "internal_server_error", "timeout"), ProblemNodesUnreadable},
		"without their alarms": {"health", brokertest.Status(500, "internal_server_error", "timeout"), ProblemNodesUnreadable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			server := brokertest.NewServer(t, brokertest.V310)
			server.Fail(c.resource, 0, c.fault)
			sample, err := newClient(t, server.URL).Sample(t.Context())
			if err != nil || sample.State.Nodes != nil || !slices.Equal(kinds(sample.Problems), []string{c.kind}) {
				t.Errorf("%+v %+v, %v", sample.State.Nodes, sample.Problems, err)
			}
		})
	}
}

func TestAlarmsAndPartitionsAreSeen(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.Reply("nodes", `[{"name":"rabbit@a","running":true,"mem_alarm":false,"disk_free_alarm":true,"partitions":["rabbit@b"]},{"name":"rabbit@b","running":true}]`)
	server.Reply("alarms", `[{"node":"rabbit@b","resource":"memory"},{"node":"rabbit@b","resource":"disk"},7]`)
	sample, err := newClient(t, server.URL).Sample(t.Context())
	want := []dedup.Node{
		{Name: "rabbit@a", Running: true, DiskAlarm: true, Partitions: []string{"rabbit@b"}},
		{Name: "rabbit@b", Running: true, MemoryAlarm: true, DiskAlarm: true},
	}
	if diff := cmp.Diff(want, sample.State.Nodes); err != nil || diff != "" {
		t.Error(diff, err)
	}
}

func TestStatisticsAreLateOnlyIfTheBacklogStays(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	client := newClient(t, server.URL)
	backlogs := []int{5, 5, 5, 5, 0, 5}
	want := []bool{false, false, true, true, false, false}
	for i, backlog := range backlogs {
		server.Reply("overview", fmt.Sprintf(`{"rabbitmq_version":"3.10.8","statistics_db_event_queue":%d}`, backlog))
		sample, err := client.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(kinds(sample.Problems), ProblemStatsLate); got != want[i] {
			t.Errorf("reading %d: late %v, want %v", i, got, want[i])
		}
	}
}

func TestTotalsAreOneRequestWithDepthsAndNoCounters(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	totals, err := newClient(t, server.URL).Totals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	orders := find(t, totals.Queues, "orders")
	if *orders.Ready != 4 || *orders.Unacked != 3 || orders.Counters != (dedup.QueueCounters{}) {
		t.Errorf("%+v", orders)
	}
	if diff := cmp.Diff([]string{"/api/queues?disable_stats=true&enable_queue_totals=true"}, server.Requests()); diff != "" {
		t.Error(diff)
	}
}

func TestCheckReportsAccountSampleAndTopology(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V42)
	report, err := newClient(t, server.URL).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.User != "admin" || !slices.Equal(report.Tags, []string{"administrator"}) || len(report.Sample.Queues) != 7 || len(report.Topology.Exchanges) == 0 {
		t.Errorf("%+v", report)
	}
}
