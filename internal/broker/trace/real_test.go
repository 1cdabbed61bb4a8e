package trace

import (
	"context"
	"crypto/md5"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/servers"
)

// TestATraceOfARealBroker shares one broker, and gives each case a vhost of its own.
func TestATraceOfARealBroker(t *testing.T) {
	s := startSite(t)
	for name, test := range map[string]func(*testing.T, *site){
		"each delivery of hostile queues is shown once, and nothing of the bodies stays":   eachDelivery,
		"without live counts the statistics tell whether it is complete":                   byStatistics,
		"tracing that somebody left on is used and stays on":                               alreadyOn,
		"an account that may not switch waits for the operator, whose commands it tells":   byOperator,
		"nobody switches it on: it says by what command, and ends":                         nobodySwitches,
		"a topic permission for other queues is refused with what would help":              refusedTopic,
		"a wrong password, a missing queue, a missing vhost and a long name are each told": toldApart,
		"a second trace of the broker is refused, and the first goes on":                   oneAtATime,
		"a connection that the broker ends ends the trace, and tracing is off":             connectionLost,
		"whoever stops it has what was seen until then":                                    cancelled,
		"somebody who switches tracing off ends it":                                        switchedOff,
		"a policy that dead-letters every queue makes no dead letters of copies":           deadLettering,
		"what is not read waits in a queue that drops the oldest, and is missed":           slowReader,
		"more than is read in time ends the trace":                                         tooMuchWaits,
		"a body that no id stands in does not come into memory":                            noBodies,
		"a guard that ends ends the trace":                                                 guardGone,
		"a trace that a crash cut off is cleared at the next start, and told":              clearedAtStart,
		"what the guard switched off is told, and not touched again":                       toldAfterGuard,
		"a vhost that was deleted meanwhile is not made anew":                              vhostGone,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
	t.Run("a restart of the broker ends a trace", func(t *testing.T) { restarted(t, s) })
}

// hostile are names of queues, of which several are wildcards in a binding.
var hostile = []string{"plain", "a.b.c", "#", "*", "orders.#", "with space", "50%/2F/..", "Grüße 你好 \"q\" `x`", strings.Repeat("x", longestName)}

func eachDelivery(t *testing.T, s *site) {
	const vhost = "hostile/vhost #%"
	connection := s.vhost(t, vhost, append([]string{"orders.others", "bystander"}, hostile...)...)
	tracer := s.tracer(t, s.config())
	before := s.row(t, vhost)
	if r := tracer.Ready(t.Context(), vhost, hostile); !r.OK() || r.Switch != dedup.TraceByUs || len(r.Advice) != 1 {
		t.Fatalf("not ready: %+v", r)
	}
	began, result := traced(t.Context(), t, tracer, request(vhost, 3*time.Second, hostile...))
	awaitBegun(t, began)
	channel, err := connection.Channel()
	must(t, err)
	for _, queue := range append([]string{"orders.others", "bystander"}, hostile...) {
		useInAllWays(t, channel, queue)
	}
	trace, err := result()
	must(t, err)
	if trace.Stopped != "" || math.Abs(trace.Traced-trace.Counted) > trace.Unsure || trace.Traced != float64(5*len(hostile)) {
		t.Errorf("%v traced, %v counted ± %v, %q", trace.Traced, trace.Counted, trace.Unsure, trace.Stopped)
	}
	for _, queue := range hostile {
		var ids []string
		for _, d := range trace.Deliveries {
			if d.Queue.Name == queue {
				ids = append(ids, fmt.Sprintf("%s %t", d.ID, d.Redelivered))
				if d.RoutingKey != queue || d.AppID != "tests" || d.Headers["x-attempt"] == nil || !strings.Contains(d.Consumer, " -> ") {
					t.Errorf("%s: %+v", queue, d)
				}
			}
		}
		md5OfBody := fmt.Sprintf("%x", md5.Sum([]byte(canary)))
		if want := []string{"m0 false", "m0 true", "m1 false", "m2 false", md5OfBody + " false"}; fmt.Sprint(ids) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", queue, ids, want)
		}
	}
	if strings.Contains(asText(t, trace.Deliveries), canary) {
		t.Error("a body is among the deliveries")
	}
	if after := s.row(t, vhost); asText(t, after["metadata"]) != asText(t, before["metadata"]) || after["tracing"] != false {
		t.Errorf("the vhost was %s, and is %s", asText(t, before), asText(t, after))
	}
	s.clean(t)
}

// useInAllWays makes five deliveries of four messages: one comes back, one is fetched, one consumed without ack.
func useInAllWays(t *testing.T, channel *amqp091.Channel, queue string) {
	t.Helper()
	for i, id := range []string{"m0", "m1", "m2", ""} {
		must(t, channel.PublishWithContext(t.Context(), "", queue, false, false, amqp091.Publishing{
			MessageId: id, AppId: "tests", Headers: amqp091.Table{"x-attempt": int32(i)}, Body: []byte(canary)}))
	}
	var got amqp091.Delivery
	eventually(t, "a message is in "+queue, func() bool {
		var ok bool
		var err error
		got, ok, err = channel.Get(queue, false)
		must(t, err)
		return ok
	})
	must(t, got.Nack(false, true))
	again, _, err := channel.Get(queue, true)
	must(t, err)
	if again.MessageId != "m0" {
		t.Fatalf("%s came", again.MessageId)
	}
	must(t, channel.Qos(1, 0, false))
	acked, err := channel.Consume(queue, "acks", false, false, false, false, nil)
	must(t, err)
	must(t, (<-acked).Ack(false))
	last := <-acked
	must(t, channel.Cancel("acks", false))
	must(t, last.Ack(false))
	automatic, err := channel.Consume(queue, "rest", true, false, false, false, nil)
	must(t, err)
	<-automatic
	must(t, channel.Cancel("rest", false))
}

func byStatistics(t *testing.T, s *site) {
	connection := s.vhost(t, "statistics", "q")
	config := s.config()
	config.PrometheusURLs = nil
	began, result := traced(t.Context(), t, s.tracer(t, config), request("statistics", statsAge+4*time.Second, "q"))
	awaitBegun(t, began)
	channel, err := connection.Channel()
	must(t, err)
	useInAllWays(t, channel, "q")
	trace, err := result()
	must(t, err)
	if trace.Traced != 5 || trace.Counted != 5 || math.IsInf(trace.Unsure, 1) || trace.Stopped != "" {
		t.Errorf("%v traced, %v counted ± %v, %q", trace.Traced, trace.Counted, trace.Unsure, trace.Stopped)
	}
	s.clean(t)
}

func alreadyOn(t *testing.T, s *site) {
	s.vhost(t, "on", "q")
	s.switchTracing(t, "on", true)
	tracer := s.tracer(t, s.config())
	if r := tracer.Ready(t.Context(), "on", []string{"q"}); !r.OK() || r.Switch != dedup.TraceIsOn {
		t.Errorf("not ready: %+v", r)
	}
	trace, err := tracer.Trace(t.Context(), request("on", time.Second, "q"))
	must(t, err)
	if trace.Stopped != "" || !s.isTraced(t, "on") {
		t.Errorf("stopped %q; still traced: %t", trace.Stopped, s.isTraced(t, "on"))
	}
	s.clean(t)
}

func byOperator(t *testing.T, s *site) {
	connection := s.vhost(t, "by hand", "q1", "q2")
	tracer := s.tracer(t, s.account(t, "reader", "", "by hand", `^deliver\.(q1|q2)$`))
	r := tracer.Ready(t.Context(), "by hand", []string{"q1", "q2"})
	if !r.OK() || r.Switch != dedup.TraceByOperator || len(r.Advice) != 0 ||
		fmt.Sprint(r.On) != "[rabbitmqctl trace_on -p 'by hand']" || fmt.Sprint(r.Off) != "[rabbitmqctl trace_off -p 'by hand']" {
		t.Errorf("%+v", r)
	}
	began, result := traced(t.Context(), t, tracer, request("by hand", 2*time.Second, "q1", "q2"))
	_, err := s.rabbit.Ctl(t.Context(), "trace_on", "-p", "by hand")
	must(t, err)
	awaitBegun(t, began)
	channel, err := connection.Channel()
	must(t, err)
	useInAllWays(t, channel, "q2")
	trace, err := result()
	must(t, err)
	if trace.Traced != 5 || trace.Counted != 5 || !s.isTraced(t, "by hand") {
		t.Errorf("%v traced, %v counted; still traced: %t", trace.Traced, trace.Counted, s.isTraced(t, "by hand"))
	}
	s.clean(t)
}

func nobodySwitches(t *testing.T, s *site) {
	s.vhost(t, "nobody", "q")
	tracer := s.tracer(t, s.account(t, "waits", "monitoring", "nobody", ""))
	r := request("nobody", time.Second, "q")
	r.Wait = time.Second
	_, err := tracer.Trace(t.Context(), r)
	if err == nil || !strings.Contains(dedup.PublicText(err), "rabbitmqctl trace_on -p 'nobody'") || dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("%v", err)
	}
	s.clean(t)
}

func refusedTopic(t *testing.T, s *site) {
	s.vhost(t, "topics", "mine", "others")
	config := s.account(t, "narrow", "", "topics", topicPattern([]string{"mine"}))
	tracer := s.tracer(t, config)
	if r := tracer.Ready(t.Context(), "topics", []string{"mine"}); !r.OK() {
		t.Errorf("%+v", r)
	}
	r := tracer.Ready(t.Context(), "topics", []string{"mine", "others"})
	if r.OK() || r.Problems[0].Reason != dedup.TraceNoPermission || r.Problems[0].Remedy == "" {
		t.Errorf("%+v", r)
	}
	_, err := tracer.Trace(t.Context(), request("topics", time.Second, "mine", "others"))
	if dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("%v", err)
	}
	must(t, s.rabbit.PutPermissions(t.Context(), "topics", "narrow", noPermissions))
	if r := tracer.Ready(t.Context(), "topics", []string{"mine"}); r.OK() || r.Problems[0].Reason != dedup.TraceNoPermission {
		t.Errorf("%+v", r)
	}
	s.clean(t)
}

func toldApart(t *testing.T, s *site) {
	s.vhost(t, "apart", "q")
	tracer := s.tracer(t, s.config())
	wrong := s.config()
	wrong.Measure.Act.Password = s.account(t, "somebody", "", "apart", "").Measure.Act.Password
	for _, tt := range []struct {
		name   string
		tracer *Tracer
		vhost  string
		queues []string
		want   dedup.TraceReason
	}{
		{"a wrong password", s.tracer(t, wrong), "apart", []string{"q"}, dedup.TraceNoPermission},
		{"a missing queue", tracer, "apart", []string{"q", "missing"}, dedup.TraceNoQueue},
		{"a missing vhost", tracer, "missing", []string{"q"}, dedup.TraceNoQueue},
		{"a name too long", tracer, "apart", []string{strings.Repeat("x", longestName+1)}, dedup.TraceBadRequest},
		{"no queue", tracer, "apart", nil, dedup.TraceBadRequest},
	} {
		r := tt.tracer.Ready(t.Context(), tt.vhost, tt.queues)
		if r.OK() || r.Problems[0].Reason != tt.want {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if _, err := tt.tracer.Trace(t.Context(), request(tt.vhost, time.Second, tt.queues...)); err == nil {
			t.Errorf("%s was traced", tt.name)
		}
	}
	s.clean(t)
}

func oneAtATime(t *testing.T, s *site) {
	s.vhost(t, "once", "q")
	tracer := s.tracer(t, s.config())
	began, result := traced(t.Context(), t, tracer, request("once", 2*time.Second, "q"))
	awaitBegun(t, began)
	if !tracer.Tracing("once") {
		t.Error("it is not said to be traced by us")
	}
	_, err := tracer.Trace(t.Context(), request("once", time.Second, "q"))
	if r := tracer.Ready(t.Context(), "once", []string{"q"}); dedup.KindOf(err) != dedup.Conflict || r.OK() || r.Problems[0].Reason != dedup.TraceTaken {
		t.Errorf("%v, %+v", err, r)
	}
	trace, err := result()
	if err != nil || trace.Stopped != "" || s.isTraced(t, "once") {
		t.Errorf("%+v, %v", trace, err)
	}
	s.clean(t)
}

func connectionLost(t *testing.T, s *site) {
	s.vhost(t, "lost", "q")
	began, result := traced(t.Context(), t, s.tracer(t, s.config()), request("lost", time.Minute, "q"))
	awaitBegun(t, began)
	_, err := s.rabbit.Ctl(t.Context(), "close_all_connections", "--vhost", "lost", "for trial")
	must(t, err)
	trace, err := result()
	if err != nil || trace.Stopped == "" || s.isTraced(t, "lost") {
		t.Errorf("%+v, %v", trace, err)
	}
	s.clean(t)
}

func cancelled(t *testing.T, s *site) {
	connection := s.vhost(t, "stopped", "q")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, result := traced(ctx, t, s.tracer(t, s.config()), request("stopped", time.Minute, "q"))
	awaitBegun(t, began)
	channel, err := connection.Channel()
	must(t, err)
	useInAllWays(t, channel, "q")
	cancel()
	trace, err := result()
	if err != nil || trace.Stopped == "" || trace.Traced > 5 || math.Abs(trace.Traced-trace.Counted) > trace.Unsure || s.isTraced(t, "stopped") {
		t.Errorf("%+v, %v", trace, err)
	}
	s.clean(t)
}

func switchedOff(t *testing.T, s *site) {
	s.vhost(t, "off", "q")
	began, result := traced(t.Context(), t, s.tracer(t, s.config()), request("off", time.Minute, "q"))
	awaitBegun(t, began)
	s.switchTracing(t, "off", false)
	trace, err := result()
	if err != nil || trace.Stopped != "somebody switched tracing off" {
		t.Errorf("%+v, %v", trace, err)
	}
	s.clean(t)
}

func deadLettering(t *testing.T, s *site) {
	connection := s.vhost(t, "policy", "q", "grave", "other")
	channel, err := connection.Channel()
	must(t, err)
	must(t, s.rabbit.PutPolicy(t.Context(), "policy", "all", everyQueueDies))
	tracer := s.tracer(t, s.config())
	p, err := tracer.openTap(t.Context(), "policy", []string{"q"}, true)
	must(t, err)
	defer p.close()
	for _, queue := range []string{p.queue, "other"} { // in which each message dies at once
		must(t, channel.PublishWithContext(t.Context(), "", queue, false, false, amqp091.Publishing{MessageId: queue, Body: []byte(canary)}))
	}
	var died amqp091.Delivery
	eventually(t, "a message of another queue has died", func() bool {
		var ok bool
		died, ok, err = channel.Get("grave", true)
		must(t, err)
		return ok
	})
	eventually(t, "the copy has gone", func() bool {
		looking, err := p.conn.Another()
		must(t, err)
		depth, err := p.depthOn(looking)
		must(t, err)
		return depth == 0
	})
	_, more, err := channel.Get("grave", true)
	must(t, err)
	if died.MessageId != "other" || more {
		t.Errorf("%s died, and another: %t", died.MessageId, more)
	}
	must(t, s.rabbit.API(t.Context(), http.MethodDelete, "/api/vhosts/policy", nil, nil))
}

// slowReader has a trace that is read only once everything was delivered, and a queue of the trace that holds few: a policy makes it smaller than
// it asked for.
func slowReader(t *testing.T, s *site) {
	const holds, sent = 50, 3 * unread
	connection := s.vhost(t, "slow", "q")
	must(t, s.rabbit.PutPolicy(t.Context(), "slow", "small", servers.Policy{Pattern: `^amq\.gen-`, ApplyTo: "queues", Definition: map[string]any{"max-length": holds}}))
	channel, err := connection.Channel()
	must(t, err)
	deliveries, err := channel.Consume("q", "", false, false, false, false, nil)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := request("slow", time.Minute, "q")
	r.Queues[0].ID, err = message.ParseIDSource("message_id")
	must(t, err)
	read, last := make(chan struct{}), make(chan struct{})
	r.Delivered = func(d dedup.TracedDelivery) {
		<-read
		if d.ID == "last" {
			close(last)
		}
	}
	began, result := traced(ctx, t, s.tracer(t, s.config()), r)
	awaitBegun(t, began)
	pass := func(id string) {
		must(t, channel.PublishWithContext(ctx, "", "q", false, false, amqp091.Publishing{MessageId: id, Body: []byte(canary)}))
		must(t, (<-deliveries).Ack(false))
	}
	for range sent {
		pass("early")
	}
	eventually(t, "the queue of the trace holds what it can", func() bool {
		depths, err := s.rabbit.Eval(t.Context(), `[rabbit_amqqueue:info(Q, [messages_ready, messages_unacknowledged]) || Q <- rabbit_amqqueue:list(<<"slow">>)].`)
		must(t, err)
		return strings.Contains(strings.ReplaceAll(depths, " ", ""), fmt.Sprintf("{messages_ready,%d},{messages_unacknowledged,%d}", holds, unread))
	})
	close(read)
	pass("last")
	<-last
	cancel()
	trace, err := result()
	must(t, err)
	if missed := trace.Counted - trace.Traced; missed < sent-unread-holds || trace.Traced < unread {
		t.Errorf("%.0f traced, %.0f counted ± %.0f", trace.Traced, trace.Counted, trace.Unsure)
	}
	s.clean(t)
}

// tooMuchWaits has a trace that is never read.
func tooMuchWaits(t *testing.T, s *site) {
	connection := s.vhost(t, "waits", "q")
	channel, err := connection.Channel()
	must(t, err)
	tracer := s.tracer(t, s.config())
	p, err := tracer.openTap(t.Context(), "waits", []string{"q"}, false)
	must(t, err)
	defer p.close()
	_, err = p.consume()
	must(t, err)
	for range unread + MaxDepth + 1 {
		must(t, channel.PublishWithContext(t.Context(), "", p.queue, false, false, amqp091.Publishing{Body: []byte(canary)}))
	}
	ctx, cancel := context.WithCancel(t.Context())
	watching := &session{t: tracer, tap: p, stopped: make(chan string, 1)}
	ended := make(chan struct{})
	go func() { defer close(ended); watching.watchItself(ctx) }()
	select {
	case why := <-watching.stopped:
		if !strings.Contains(why, "wait to be read") {
			t.Errorf("it ended for another reason: %s", why)
		}
	case <-time.After(2 * time.Minute):
		t.Error("it goes on though nobody reads it")
	}
	cancel()
	<-ended
	s.clean(t)
}

func noBodies(t *testing.T, s *site) {
	connection := s.vhost(t, "bodies", "q")
	channel, err := connection.Channel()
	must(t, err)
	for _, needed := range []bool{false, true} {
		p, err := s.tracer(t, s.config()).openTap(t.Context(), "bodies", []string{"q"}, needed)
		must(t, err)
		from, err := p.consume()
		must(t, err)
		must(t, channel.PublishWithContext(t.Context(), "", p.queue, false, false, amqp091.Publishing{MessageId: "m", Body: []byte(canary)}))
		d := <-from
		m := p.conn.Message(&d)
		if there := string(m.Body) == canary; there != needed || m.MessageID != "m" || m.BodySize() != int64(len(canary)) || strings.Contains(string(d.Body), canary) != needed {
			t.Errorf("needed %t: %q of %d bytes", needed, m.Body, m.BodySize())
		}
		p.close()
	}
	s.clean(t)
}
