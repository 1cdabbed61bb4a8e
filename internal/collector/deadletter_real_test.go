package collector_test

import (
	"bufio"
	"fmt"
	amqp "github.com/rabbitmq/amqp091-go"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// A garden is a real broker in which messages die.
type garden struct {
	rabbit  *servers.RabbitMQ
	conn    *amqp.Connection
	channel *amqp.Channel
	client  *broker.Client
}

func newGarden(t *testing.T) *garden {
	t.Helper()
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{StatisticsInterval: time.Second, Prometheus: true})
	user, password := rabbit.Admin()
	conn, err := amqp.Dial(rabbit.AMQPURL(user, password))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	must(t, err)
	client, err := broker.New(broker.Config{Name: "main", ManagementURL: rabbit.ManagementURL(), Username: user, Password: secret.New(password), Timeout: time.Minute})
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
	t.Parallel()
	g := newGarden(t)
	version, err := g.rabbit.Version(t.Context())
	must(t, err)
	all := plotsOf(version)
	for i, p := range all {
		g.plant(t, p, fmt.Sprintf("p%d.", i))
	}
	var sample dedup.BrokerSample
	eventually(t, 2*time.Minute, "the queues are listed with their policies", func() bool {
		var err error
		sample, err = g.client.Sample(t.Context())
		must(t, err)
		return allShown(sample.Queues, all)
	})
	declared, err := g.client.Topology(t.Context())
	must(t, err)
	t.Run("a topic exchange routes as the matcher says", g.matchTopics)
	for i, p := range all {
		prefix := fmt.Sprintf("p%d.", i)
		t.Run(p.name, func(t *testing.T) { g.compare(t, p, prefix, sample, declared) })
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
			if pairs++; topology.TopicMatches(pattern, keys[j]) != routed {
				t.Errorf("pattern %q and key %q: the broker routes %v", pattern, keys[j], routed)
			}
		}
	}
	t.Logf("%d pairs of pattern and key agree", pairs)
}

// allShown reports whether every queue of the plots is listed, and with its policy where it has one.
func allShown(queues []dedup.Queue, all []plot) bool {
	shown := map[string]bool{} // with a policy
	for _, q := range queues {
		if !q.PolicyUnknown {
			shown[q.Name] = len(q.Policy) > 0
		}
	}
	for i, p := range all {
		prefix := fmt.Sprintf("p%d.", i)
		for name := range p.queues {
			withPolicy, listed := shown[prefix+name]
			if _, wanted := p.policies["^{}"+name+"$"]; !listed || wanted && !withPolicy {
				return false
			}
		}
	}
	return true
}

func (g *garden) compare(t *testing.T, p plot, prefix string, sample dedup.BrokerSample, declared dedup.Topology) {
	pipeline := dedup.Pipeline{Name: "p", Broker: "main", Vhost: "/", Queues: []string{prefix + "s"}, DiscoverDeadLetters: true}
	routes, _ := topology.RoutesOf(pipeline, &sample, declared)
	_, findings := topology.DeadLetters(pipeline, &sample, declared)
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
	eventually(t, time.Minute, "the message is in "+p.ends, func() bool { ends = g.ends(t, p, prefix); return ends == p.ends })
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
	must(t, death(g, prefix+"s"))
	eventually(t, time.Minute, "the broker counts the deaths", func() bool { return g.deaths(t) >= before+float64(max(1, p.deaths)) })
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
