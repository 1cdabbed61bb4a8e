package collector_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/playground/servers"
	"dedup-dashboard/internal/secret"
)

// A plot is one topology with one real death. All its names begin with its own prefix, which {} stands for.
type plot struct {
	name string
	// queues, exchanges and bindings are declared: "NAME TYPE" with arguments, "NAME TYPE", and "EXCHANGE KEY DESTINATION", whose
	// destination is an exchange after "x:".
	queues    map[string]amqp.Table
	exchanges []string
	bindings  []string
	// alternates are alternate exchanges by argument; policies are by pattern.
	alternates map[string]string
	policies   map[string]servers.Policy
	// via and key are how the message comes into the source queue {}s; empty for its own name and the default exchange.
	via, key string
	headers  amqp.Table
	// death kills the message, by rejection unless it is set; the broker counts deaths in all.
	death  func(*amqp.Channel, string) error
	deaths int
	// ends are the queues that hold it in the end, as a real broker decides it. lossy says that the queue at the end refuses it.
	ends  string
	lossy bool
	// goesRound says that it ends nowhere: its queues are deleted once it was seen to die often enough.
	goesRound bool
	// rows and kinds are what must be discovered: "TARGET role", with a question mark where it is not certain.
	rows, kinds string
}

func dlx(exchange string, more ...any) amqp.Table {
	t := amqp.Table{"x-dead-letter-exchange": exchange}
	for i := 0; i < len(more); i += 2 {
		t["x-"+more[i].(string)] = more[i+1]
	}
	return t
}

func leave(*amqp.Channel, string) error { return nil }

// overflowing publishes another message into a full queue; a refusal is no error here.
func overflowing(ch *amqp.Channel, queue string) error {
	return ch.PublishWithContext(context.Background(), "", queue, false, false, amqp.Publishing{Body: []byte("second")})
}

// exhausted returns the message until its delivery limit is reached.
func exhausted(ch *amqp.Channel, queue string) error {
	for range 2 {
		if err := settle(ch, queue, true); err != nil {
			return err
		}
	}
	return nil
}

func refused(ch *amqp.Channel, queue string) error { return settle(ch, queue, false) }

func settle(ch *amqp.Channel, queue string, requeue bool) error {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		d, ok, err := ch.Get(queue, false)
		if err != nil {
			return err
		}
		if ok {
			return d.Nack(false, requeue)
		}
	}
	return fmt.Errorf("no message came into %s", queue)
}

func plots() []plot {
	policy := func(definition map[string]any) map[string]servers.Policy {
		return map[string]servers.Policy{"^{}s$": {ApplyTo: "queues", Definition: definition}}
	}
	return []plot{
		{name: "an argument and a policy are merged key by key", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"x direct", "y fanout"},
			bindings: []string{"x k d", "y - e"}, policies: policy(map[string]any{"dead-letter-exchange": "{}y", "dead-letter-routing-key": "k"}), ends: "d", rows: "d dead-letter"},
		{name: "a policy alone", queues: map[string]amqp.Table{"s": nil, "d": nil}, exchanges: []string{"x direct"}, bindings: []string{"x k d"},
			policies: policy(map[string]any{"dead-letter-exchange": "{}x", "dead-letter-routing-key": "k"}), ends: "d", rows: "d dead-letter"},
		{name: "a fanout exchange makes copies", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"x fanout"},
			bindings: []string{"x - d", "x other e"}, ends: "d e", rows: "d dead-letter, e dead-letter"},
		{name: "a topic exchange with patterns", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "shop.orders.dead"), "d": nil, "e": nil, "f": nil},
			exchanges: []string{"x topic"}, bindings: []string{"x *.orders.# d", "x #.dead.# e", "x shop.* f"}, ends: "d e", rows: "d dead-letter, e dead-letter"},
		{name: "a message that keeps its key", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"in direct", "x direct"},
			bindings: []string{"in k s", "x k d", "x other e"}, via: "in", key: "k", ends: "d", rows: "d dead-letter?"},
		{name: "a message of any key behind a pattern", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"in topic", "x topic"},
			bindings: []string{"in order.* s", "x order.# d", "x # e"}, via: "in", key: "order.paid", ends: "d e", rows: "d dead-letter?, e dead-letter", kinds: "dead_letter_queue_unsure"},
		{name: "an alternate exchange by argument", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "k"), "d": nil, "e": nil}, exchanges: []string{"a fanout", "x direct"},
			alternates: map[string]string{"x": "{}a"}, bindings: []string{"x other e", "a - d"}, ends: "d", rows: "d dead-letter"},
		{name: "an alternate exchange by policy", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "k"), "d": nil}, exchanges: []string{"a fanout", "x direct"},
			policies: map[string]servers.Policy{"^{}x$": {ApplyTo: "exchanges", Definition: map[string]any{"alternate-exchange": "{}a"}}}, bindings: []string{"a - d"}, ends: "d", rows: "d dead-letter"},
		{name: "an exchange behind an exchange", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "k.1"), "d": nil, "e": nil}, exchanges: []string{"x fanout", "y topic"},
			bindings: []string{"x - x:y", "y k.* d", "y *.2 e"}, ends: "d", rows: "d dead-letter"},
		{name: "a headers exchange", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "e": nil}, exchanges: []string{"x headers"}, headers: amqp.Table{"team": "d"},
			bindings: []string{"x team=d d", "x team=e e"}, ends: "d", rows: "d dead-letter?, e dead-letter?", kinds: "dead_letter_queue_unsure"},
		{name: "a missing exchange", queues: map[string]amqp.Table{"s": dlx("{}gone")}, rows: " missing", kinds: "dead_letter_exchange_missing"},
		{name: "no route", queues: map[string]amqp.Table{"s": dlx("{}x", "dead-letter-routing-key", "k"), "d": nil}, exchanges: []string{"x direct"}, bindings: []string{"x other d"},
			rows: " missing", kinds: "dead_letter_route_missing"},
		{name: "a missing queue", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}gone")}, rows: " missing", kinds: "dead_letter_route_missing"},
		{name: "a key without an exchange by policy", queues: map[string]amqp.Table{"s": nil, "d": nil}, policies: policy(map[string]any{"dead-letter-routing-key": "{}d"}), rows: " missing", kinds: "dead_letter_key_alone"},
		{name: "a queue that is its own dead-letter queue", queues: map[string]amqp.Table{"s": dlx("")}, ends: "s", rows: "s source"},
		{name: "a delay loop", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}w"), "w": dlx("", "dead-letter-routing-key", "{}s", "message-ttl", 50)}, deaths: 2,
			ends: "s", rows: "w delay, s source"},
		{name: "a delay that leads on to a dead-letter queue", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}w"), "w": dlx("{}x", "message-ttl", 50), "d": nil},
			exchanges: []string{"x fanout"}, bindings: []string{"x - s", "x - d"}, deaths: 2, ends: "d s", rows: "w delay, d dead-letter, s source"},
		{name: "a loop that the broker cuts", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}w", "message-ttl", 50), "w": dlx("", "dead-letter-routing-key", "{}s", "message-ttl", 50)},
			death: leave, deaths: 2, rows: "w delay, s source", kinds: "dead_letter_cycle_cut"},
		{name: "a loop that the broker cuts at a delivery limit", queues: map[string]amqp.Table{"s": dlx("", "queue-type", "quorum", "dead-letter-routing-key", "{}w", "delivery-limit", 1),
			"w": dlx("", "dead-letter-routing-key", "{}s", "message-ttl", 50)}, death: exhausted, deaths: 2, rows: "w delay, s source", kinds: "dead_letter_cycle_cut"},
		{name: "a ring of delays that drops what expired before", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}v", "message-ttl", 50), "v": dlx("", "dead-letter-routing-key", "{}w", "message-ttl", 50),
			"w": dlx("", "dead-letter-routing-key", "{}v", "message-ttl", 50)}, death: leave, deaths: 3, rows: "v delay, w delay, v delay", kinds: "dead_letter_cycle_cut"},
		{name: "a ring of delays that keeps what was rejected before going round", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}v"), "v": dlx("", "dead-letter-routing-key", "{}w", "message-ttl", 50),
			"w": dlx("", "dead-letter-routing-key", "{}v", "message-ttl", 50)}, deaths: 9, goesRound: true, rows: "v delay, w delay, v delay", kinds: "dead_letter_cycle_cut"},
		{name: "a stream", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}d"), "d": {"x-queue-type": "stream"}}, rows: "d stream", kinds: "dead_letter_stream"},
		{name: "a stream beside a queue", queues: map[string]amqp.Table{"s": dlx("{}x"), "d": nil, "t": {"x-queue-type": "stream"}}, exchanges: []string{"x fanout"}, bindings: []string{"x - d", "x - t"},
			ends: "d", rows: "d dead-letter, t stream", kinds: "dead_letter_stream"},
		{name: "a stream that is sent to at least once", queues: map[string]amqp.Table{"s": dlx("", "queue-type", "quorum", "dead-letter-routing-key", "{}d", "dead-letter-strategy", "at-least-once", "overflow", "reject-publish"),
			"d": {"x-queue-type": "stream"}}, ends: "d", rows: "d stream"},
		{name: "at least once to a queue", queues: map[string]amqp.Table{"s": dlx("", "queue-type", "quorum", "dead-letter-routing-key", "{}d", "dead-letter-strategy", "at-least-once", "overflow", "reject-publish"), "d": nil},
			ends: "d", rows: "d dead-letter"},
		{name: "at least once without reject-publish and without a route", queues: map[string]amqp.Table{"s": dlx("{}x", "queue-type", "quorum", "dead-letter-strategy", "at-least-once")}, exchanges: []string{"x direct"},
			rows: " missing", kinds: "dead_letter_route_missing dead_letter_strategy_fallback"},
		{name: "reject-publish-dlx", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}d", "max-length", 1, "overflow", "reject-publish-dlx"), "d": nil}, death: overflowing,
			ends: "d s", rows: "d dead-letter", kinds: "reject_publish_dlx"},
		{name: "a full dead-letter queue that refuses", queues: map[string]amqp.Table{"s": dlx("", "dead-letter-routing-key", "{}d"), "d": {"x-max-length": 0, "x-overflow": "reject-publish"}},
			lossy: true, rows: "d dead-letter", kinds: "dead_letter_queue_drops"},
	}
}

// A garden is a real broker in which messages die.
type garden struct {
	rabbit  *servers.RabbitMQ
	conn    *amqp.Connection
	channel *amqp.Channel
	client  *broker.Client
}

func newGarden(t *testing.T) *garden {
	t.Helper()
	rabbit, err := servers.StartRabbitMQ(t.Context(), servers.RabbitMQOptions{Dir: t.TempDir(), StatisticsInterval: time.Second, Prometheus: true})
	must(t, err)
	t.Cleanup(rabbit.Kill)
	user, password := rabbit.Admin()
	conn, err := amqp.Dial(rabbit.AMQPURL(user, password))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	must(t, err)
	client, err := broker.New(broker.Config{Name: "main", ManagementURL: rabbit.ManagementURL(), Username: user, Password: secret.New(password)})
	must(t, err)
	t.Cleanup(client.Close)
	return &garden{rabbit, conn, channel, client}
}

// plant declares a plot under a prefix.
func (g *garden) plant(t *testing.T, p plot, prefix string) {
	t.Helper()
	full := func(s string) string { return strings.ReplaceAll(s, "{}", prefix) }
	for pattern, policy := range p.policies {
		definition := map[string]any{}
		for k, v := range policy.Definition {
			definition[k] = full(v.(string))
		}
		policy.Pattern, policy.Definition = full(pattern), definition
		must(t, g.rabbit.PutPolicy(t.Context(), "/", prefix, policy))
	}
	for _, x := range p.exchanges {
		name, kind, _ := strings.Cut(x, " ")
		arguments := amqp.Table{}
		if alternate, ok := p.alternates[name]; ok {
			arguments["alternate-exchange"] = full(alternate)
		}
		must(t, g.channel.ExchangeDeclare(prefix+name, kind, true, false, false, false, arguments))
	}
	for name, arguments := range p.queues {
		own := amqp.Table{}
		for k, v := range arguments {
			if s, ok := v.(string); ok {
				v = full(s)
			}
			own[k] = v
		}
		_, err := g.channel.QueueDeclare(prefix+name, true, false, false, false, own)
		must(t, err)
	}
	for _, b := range p.bindings {
		parts := strings.Fields(b)
		key, arguments := strings.TrimPrefix(parts[1], "-"), amqp.Table{}
		if name, value, ok := strings.Cut(key, "="); ok {
			key, arguments = "", amqp.Table{"x-match": "all", name: value}
		}
		if to, ok := strings.CutPrefix(parts[2], "x:"); ok {
			must(t, g.channel.ExchangeBind(prefix+to, key, prefix+parts[0], false, arguments))
			continue
		}
		must(t, g.channel.QueueBind(prefix+parts[2], key, prefix+parts[0], false, arguments))
	}
}

// deaths is how many messages have died in all, as the broker itself counts them.
func (g *garden) deaths(t *testing.T) float64 {
	t.Helper()
	return scraped(t, g.rabbit.PrometheusURL(), "rabbitmq_global_messages_dead_lettered_")
}

// ends are the queues of a plot that hold messages, in order.
func (g *garden) ends(t *testing.T, p plot, prefix string) string {
	t.Helper()
	var held []string
	for name, arguments := range p.queues {
		var messages int64
		if arguments["x-queue-type"] == "stream" { // which says 0 to AMQP
			var q struct{ Messages int64 }
			must(t, g.rabbit.API(t.Context(), http.MethodGet, "/api/queues/%2F/"+prefix+name, nil, &q))
			messages = q.Messages
		} else {
			state, err := g.channel.QueueDeclarePassive(prefix+name, true, false, false, false, nil)
			must(t, err)
			messages = int64(state.Messages)
		}
		if messages > 0 {
			held = append(held, name)
		}
	}
	slices.Sort(held)
	return strings.Join(held, " ")
}

// TestDeadLettersAreFoundWhereARealBrokerSendsThem lets one message die in each of the plots and compares where it ended with what
// was discovered before.
func TestDeadLettersAreFoundWhereARealBrokerSendsThem(t *testing.T) {
	g := newGarden(t)
	all := plots()
	for i, p := range all {
		g.plant(t, p, fmt.Sprintf("p%d.", i))
	}
	var sample dedup.BrokerSample
	eventually(t, 30*time.Second, "the policies are listed", func() bool {
		var err error
		sample, err = g.client.Sample(t.Context())
		must(t, err)
		return policiesShown(sample.Queues, all)
	})
	topology, err := g.client.Topology(t.Context())
	must(t, err)
	t.Run("a topic exchange routes as the matcher says", g.matchTopics)
	for i, p := range all {
		prefix := fmt.Sprintf("p%d.", i)
		t.Run(p.name, func(t *testing.T) { g.compare(t, p, prefix, sample, topology) })
	}
	for i, p := range all { // streams count late
		if p.goesRound {
			continue
		}
		if ends := g.ends(t, p, fmt.Sprintf("p%d.", i)); ends != p.ends {
			t.Errorf("%s: the message is in %q later, want %q", p.name, ends, p.ends)
		}
	}
}

// matchTopics publishes keys to topic exchanges of one pattern each and compares what the broker routes.
func (g *garden) matchTopics(t *testing.T) {
	must(t, g.channel.Confirm(false))
	defer func() {
		var err error
		g.channel, err = g.conn.Channel()
		must(t, err)
	}()
	returned := g.channel.NotifyReturn(make(chan amqp.Return, 1))
	_, err := g.channel.QueueDeclare("topics", true, false, false, false, nil)
	must(t, err)
	words := []string{"a", "b", "", "*", "#"}
	var keys []string
	for _, x := range words {
		keys = append(keys, x)
		for _, y := range words {
			keys = append(keys, x+"."+y, x+"."+y+".a", "a."+x+"."+y)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	pairs := 0
	for i, pattern := range keys {
		exchange := fmt.Sprintf("topics.%d", i)
		must(t, g.channel.ExchangeDeclare(exchange, "topic", false, true, false, false, nil))
		must(t, g.channel.QueueBind("topics", pattern, exchange, false, nil))
		for j := i % 3; j < len(keys); j += 3 {
			confirmed, err := g.channel.PublishWithDeferredConfirmWithContext(t.Context(), exchange, keys[j], true, false, amqp.Publishing{})
			must(t, err)
			_, err = confirmed.WaitContext(t.Context())
			must(t, err)
			routed := true
			select {
			case <-returned: // it comes before the confirm
				routed = false
			default:
			}
			if pairs++; collector.TopicMatches(pattern, keys[j]) != routed {
				t.Errorf("pattern %q and key %q: the broker routes %v", pattern, keys[j], routed)
			}
		}
	}
	t.Logf("%d pairs of pattern and key agree", pairs)
}

func policiesShown(queues []dedup.Queue, all []plot) bool {
	for i, p := range all {
		for pattern := range p.policies {
			name := strings.ReplaceAll(strings.Trim(pattern, "^$"), "{}", fmt.Sprintf("p%d.", i))
			for _, q := range queues {
				if q.Name == name && len(q.Policy) == 0 {
					return false
				}
			}
		}
	}
	return true
}

func (g *garden) compare(t *testing.T, p plot, prefix string, sample dedup.BrokerSample, topology dedup.Topology) {
	pipeline := dedup.Pipeline{Name: "p", Broker: "main", Vhost: "/", Queues: []string{prefix + "s"}, DiscoverDeadLetters: true}
	routes, _ := collector.DeadLetterRoutes(pipeline, sample.Queues, topology)
	_, findings := collector.DeadLetters(pipeline, sample.Queues, topology)
	if got := rowsOf(routes, prefix); got != p.rows {
		t.Errorf("the table says %q, want %q", got, p.rows)
	}
	if got := kindsIn(findings); got != p.kinds {
		t.Errorf("found %q, want %q: %+v", got, p.kinds, findings)
	}
	g.kill(t, p, prefix)
	if p.goesRound {
		for name := range p.queues {
			_, err := g.channel.QueueDelete(prefix+name, false, false, false)
			must(t, err)
		}
		return
	}
	ends := ""
	eventually(t, 20*time.Second, "the message is in "+p.ends, func() bool { ends = g.ends(t, p, prefix); return ends == p.ends })
	agree(t, routes, prefix, strings.Fields(ends), p.lossy)
}

// kill publishes the message and waits until the broker has counted its deaths.
func (g *garden) kill(t *testing.T, p plot, prefix string) {
	t.Helper()
	before := g.deaths(t)
	exchange, key := "", prefix+"s"
	if p.via != "" {
		exchange, key = prefix+p.via, p.key
	}
	must(t, g.channel.PublishWithContext(t.Context(), exchange, key, false, false, amqp.Publishing{Body: []byte("first"), Headers: p.headers, DeliveryMode: amqp.Persistent}))
	death := p.death
	if death == nil {
		death = refused
	}
	must(t, death(g.channel, prefix+"s"))
	eventually(t, 20*time.Second, "the broker counts the deaths", func() bool { return g.deaths(t) >= before+float64(max(1, p.deaths)) })
}

// agree checks that the message ended where the table leads it: at every end that is certain, and nowhere else.
func agree(t *testing.T, routes []dedup.DeadLetterRoute, prefix string, ends []string, lossy bool) {
	t.Helper()
	told := map[string]bool{}
	for _, r := range routes {
		target := strings.TrimPrefix(r.Target.Name, prefix)
		told[target] = true
		if r.Role == dedup.RouteDeadLetter && r.Certain && !lossy && !slices.Contains(ends, target) {
			t.Errorf("%s is certain to get the dead letter, which is in %v", target, ends)
		}
	}
	for _, end := range ends {
		if !told[end] && end != "s" {
			t.Errorf("the dead letter is in %s, which the table does not tell: %+v", end, routes)
		}
	}
}

func rowsOf(routes []dedup.DeadLetterRoute, prefix string) string {
	var rows []string
	for _, r := range routes {
		row := strings.TrimPrefix(r.Target.Name, prefix) + " " + string(r.Role)
		if !r.Certain {
			row += "?"
		}
		rows = append(rows, row)
	}
	return strings.Join(rows, ", ")
}

func kindsIn(findings []dedup.Finding) string {
	var kinds []string
	for _, f := range findings {
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	return strings.Join(kinds, " ")
}

// scraped is the sum of the samples of a Prometheus endpoint whose names begin with a prefix.
func scraped(t *testing.T, url, prefix string) float64 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
	must(t, err)
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer answer.Body.Close()
	sum := 0.0
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, prefix) && !strings.Contains(line, "_confirmed_") {
			value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			must(t, err)
			sum += value
		}
	}
	return sum
}
