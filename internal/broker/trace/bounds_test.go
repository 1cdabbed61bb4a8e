package trace

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/brokertest"
)

// fake opens a tracer of a broker that answers as the test says, whose AMQP port is dead.
func fake(t *testing.T) (*brokertest.Server, broker.Config) {
	t.Helper()
	server := brokertest.NewServer(t, brokertest.V310)
	return server, broker.Config{Name: "main", ManagementURL: server.URL, Username: brokertest.User, Password: secret.New(brokertest.Password), Timeout: time.Second,
		Act: broker.Act{AMQPURL: "amqp://127.0.0.1:1", Username: brokertest.User, Password: secret.New(brokertest.Password)}}
}

func open(t *testing.T, config broker.Config) *Tracer {
	t.Helper()
	must(t, config.Validate())
	tracer, err := OpenTracer(config, Options{DataDir: t.TempDir(), Guard: []string{os.Args[0], guardWord}})
	must(t, err)
	t.Cleanup(func() { must(t, tracer.Close()) })
	return tracer
}

func vhosts(rate, bytes float64) string {
	return fmt.Sprintf(`[{"name":"/","tracing":false,"message_stats":{"publish_details":{"rate":%f},"deliver_get_details":{"rate":%f}},
		"recv_oct_details":{"rate":%f},"send_oct_details":{"rate":%f}}]`, rate/2, rate/2, bytes/2, bytes/2)
}

func reasons(r dedup.TraceReadiness) string {
	var all []string
	for _, p := range r.Problems {
		all = append(all, string(p.Reason))
		if p.Text == "" {
			all = append(all, "without a text")
		}
	}
	return strings.Join(all, " ")
}

func TestATraceBeginsOnACalmBrokerAlone(t *testing.T) {
	const calm = "unreachable" // by AMQP, which is tried last
	for name, tt := range map[string]struct {
		prepare func(*brokertest.Server, *broker.Config)
		want    string
	}{
		"at the limit":                {func(s *brokertest.Server, _ *broker.Config) { s.Reply("vhosts", vhosts(2000, 16<<20)) }, calm},
		"a message a second too many": {func(s *brokertest.Server, _ *broker.Config) { s.Reply("vhosts", vhosts(2001, 0)) }, "too_fast"},
		"too many bytes":              {func(s *brokertest.Server, _ *broker.Config) { s.Reply("vhosts", vhosts(1, 17<<20)) }, "too_fast"},
		"a rate that is no number": {func(s *brokertest.Server, _ *broker.Config) {
			s.Reply("vhosts", strings.ReplaceAll(vhosts(1, 1), "0.5", `"x"`))
		}, calm},
		"a node in alarm": {func(s *brokertest.Server, _ *broker.Config) {
			s.Reply("nodes", `[{"name":"n","running":true,"mem_alarm":true}]`)
		}, "alarm"},
		"a node that is down": {func(s *brokertest.Server, _ *broker.Config) { s.Reply("nodes", `[{"name":"n","running":false}]`) }, "alarm"},
		"a queue in flow":     {func(s *brokertest.Server, _ *broker.Config) { s.SetQueues(inFlow(t)) }, "alarm"},
		"no statistics": {func(s *brokertest.Server, _ *broker.Config) {
			s.Reply("overview", `{"rabbitmq_version":"3.10.8","disable_stats":true,"rates_mode":"none"}`)
		}, "rate_unknown"},
		"a list of vhosts that is cut": {func(s *brokertest.Server, _ *broker.Config) { s.Fail("vhosts", 0, brokertest.Cut(0.5)) }, "unreachable"},
		"a list that never comes":      {func(s *brokertest.Server, _ *broker.Config) { s.Fail("vhosts", 0, brokertest.Hang()) }, "unreachable"},
		"a server that is dead":        {func(_ *brokertest.Server, c *broker.Config) { c.ManagementURL = "http://127.0.0.1:1" }, "unreachable"},
		"measurements off":             {func(_ *brokertest.Server, c *broker.Config) { c.Measurements = "off" }, "forbidden"},
		"no account":                   {func(_ *brokertest.Server, c *broker.Config) { c.Act = broker.Act{} }, "no_account"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, config := fake(t)
			server.Reply("vhosts", vhosts(0, 0))
			server.Reply("whoami", `{"name":"watcher","tags":["administrator"]}`)
			server.SetQueues(brokertest.Queues(t, 1)...)
			tt.prepare(server, &config)
			tracer := open(t, config)
			if r := tracer.Ready(t.Context(), "/", []string{"orders.00000"}); reasons(r) != tt.want {
				t.Errorf("%+v, want %s", r.Problems, tt.want)
			}
			if _, err := tracer.Trace(t.Context(), request("/", time.Minute, "orders.00000")); err == nil || tracer.busy.Load() != 0 {
				t.Errorf("it was traced: %v", err)
			}
			for _, line := range server.Requests() {
				if config.Measurements == "off" {
					t.Errorf("though measurements are off: %s", line)
				}
			}
		})
	}
}

func inFlow(t *testing.T) json.RawMessage {
	return json.RawMessage(strings.Replace(string(brokertest.Queues(t, 1)[0]), `"state":"running"`, `"state":"flow"`, 1))
}

func TestWhereMeasurementsAreOffNoAccountIsKept(t *testing.T) {
	_, config := fake(t)
	config.Measurements = "off"
	tracer := open(t, config)
	if tracer.mover != nil || tracer.nodes != nil || tracer.account.Username != "" || tracer.account.Password.Reveal() != "" {
		t.Errorf("it holds %+v", tracer.account)
	}
}

func TestALengthOutsideTheBoundsIsRefused(t *testing.T) {
	_, config := fake(t)
	tracer := open(t, config)
	for _, length := range []time.Duration{0, -1, time.Minute - 1, dedup.MaxTrace + 1} {
		if _, err := tracer.Trace(t.Context(), request("/", length, "q")); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("%s: %v", length, err)
		}
	}
	several := request("/", time.Minute, "q")
	several.Queues = append(several.Queues, ref("other", "q"))
	if _, err := tracer.Trace(t.Context(), several); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("queues of two vhosts: %v", err)
	}
}

func TestATraceEndsWhereItCouldHarm(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(*brokertest.Server)
		own     load
		want    string
	}{
		"calm":                          {func(*brokertest.Server) {}, load{}, ""},
		"its own messages count not":    {func(s *brokertest.Server) { s.Reply("vhosts", tracedVhosts(5000, 0)) }, load{messages: 1000}, ""},
		"twice the messages":            {func(s *brokertest.Server) { s.Reply("vhosts", tracedVhosts(4001, 0)) }, load{}, "4001 messages a second"},
		"twice the bytes":               {func(s *brokertest.Server) { s.Reply("vhosts", tracedVhosts(0, 33<<20+2)) }, load{}, "MB a second"},
		"somebody switched it off":      {func(s *brokertest.Server) { s.Reply("vhosts", vhosts(0, 0)) }, load{}, "somebody switched tracing off"},
		"the vhost is gone":             {func(s *brokertest.Server) { s.Reply("vhosts", "[]") }, load{}, "the vhost is gone"},
		"an alarm":                      {func(s *brokertest.Server) { s.Reply("nodes", `[{"name":"n","running":true,"disk_free_alarm":true}]`) }, load{}, "in alarm"},
		"flow":                          {func(s *brokertest.Server) { s.SetQueues(inFlow(t)) }, load{}, "in flow"},
		"a backlog of more than double": {func(s *brokertest.Server) { s.SetQueues(with(t, "messages_ready", 2*100+slack+1)) }, load{}, "wait in the queues"},
		"a backlog of double":           {func(s *brokertest.Server) { s.SetQueues(with(t, "messages_ready", 2*100+slack)) }, load{}, ""},
		"bytes that wait":               {func(s *brokertest.Server) { s.SetQueues(with(t, "message_bytes", maxDepthBytes+1)) }, load{}, "MB of the trace wait"},
	} {
		t.Run(name, func(t *testing.T) {
			server, config := fake(t)
			server.Reply("vhosts", tracedVhosts(0, 0))
			server.SetQueues(brokertest.Queues(t, 1)...)
			tt.prepare(server)
			s := &session{t: open(t, config), vhost: "/", queues: []dedup.QueueRef{{Vhost: "/", Name: "orders.00000"}}, tap: &tap{queue: "orders.00000"}}
			s.backlog = 100
			why, err := s.harm(t.Context(), tt.own)
			if err != nil || !strings.Contains(why, tt.want) || (why == "") != (tt.want == "") {
				t.Errorf("%q, %v, want %q", why, err, tt.want)
			}
		})
	}
}

func tracedVhosts(rate, bytes float64) string {
	return strings.Replace(vhosts(rate, bytes), `"tracing":false`, `"tracing":true`, 1)
}

// with is a queue with one number changed.
func with(t *testing.T, key string, n int) json.RawMessage {
	t.Helper()
	var queue map[string]any
	must(t, json.Unmarshal(brokertest.Queues(t, 1)[0], &queue))
	queue[key] = n
	text, err := json.Marshal(queue)
	must(t, err)
	return text
}

func TestAGuardTakesNoOrderThatItCannotCarryOut(t *testing.T) {
	for _, in := range []string{"", "\n", "{}", "{broken\n", `{"nodes":["no url"],"password":"` + canary + `"}` + "\n", strings.Repeat("x", maxOrder+1) + "\n"} {
		var out strings.Builder
		if err := RunGuard(strings.NewReader(in), &out); err == nil || out.Len() > 0 || strings.Contains(err.Error(), canary) {
			t.Errorf("%.20q: %v, %q", in, err, out.String())
		}
	}
	for _, command := range [][]string{nil, {"/nonexistent"}, {"/bin/true"}, {"/bin/echo", "hello"}} {
		if _, err := startGuard(command, order{}); err == nil {
			t.Errorf("%v is a guard", command)
		}
	}
}

// TestSwitchingOffGoesOnUntilItIsSeen: whatever else was asked before may still be under way.
func TestSwitchingOffGoesOnUntilItIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, told := time.Now(), 0
		if err := (nodes{}).offForGood(t.Context(), "/", looks(), func() { told++ }); err != nil || told != 1 || time.Since(started) < nodeTimeout {
			t.Errorf("%v after %s, told %d times", err, time.Since(started), told)
		}
	})
}
