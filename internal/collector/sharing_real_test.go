package collector_test

import (
	"context"
	"fmt"
	amqp "github.com/rabbitmq/amqp091-go"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// watch runs a collector over the garden's broker until the test ends.
func (g *garden) watch(t *testing.T, pipelines ...dedup.Pipeline) *collector.Collector {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	history, err := series.Open(series.Config{Dir: filepath.Join(t.TempDir(), "series"), Retention: 24 * time.Hour, MaxBytes: 1 << 28, Interval: 2 * time.Second}, log)
	must(t, err)
	t.Cleanup(func() { must(t, history.Close()) })
	c, err := collector.New(collector.Config{Interval: 2 * time.Second}, collector.Deps{Brokers: []source.Broker{g.client}, Series: history, Log: log, Pipelines: pipelines})
	must(t, err)
	running, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- c.Run(running) }()
	t.Cleanup(func() { stop(); must(t, <-done) })
	return c
}

// die lets n messages be rejected in a queue.
func (g *garden) die(t *testing.T, queue string, n int) {
	t.Helper()
	for range n {
		must(t, g.channel.PublishWithContext(t.Context(), "", queue, false, false, amqp.Publishing{Body: []byte("letter"), DeliveryMode: amqp.Persistent}))
	}
	for range n {
		must(t, refused(g, queue))
	}
}

// shared is a shared queue of a snapshot; nil where the queue is not shared.
func shared(s *dedup.Snapshot, name string) *dedup.SharedQueue {
	for i := range s.SharedQueues {
		if s.SharedQueues[i].Name == name {
			return &s.SharedQueues[i]
		}
	}
	return nil
}

// TestOnARealBrokerNoPipelineIsBlamedForTheLettersOfASharedQueue: orders and emails dead-letter into one queue, and only orders has
// letters; a queue of no pipeline dead-letters into the queue of bills. Depth and tier are of the queues, once each.
func TestOnARealBrokerNoPipelineIsBlamedForTheLettersOfASharedQueue(t *testing.T) {
	t.Parallel()
	const ofOrders, ofLegacy = 12, 5
	g := newGarden(t)
	for queue, dead := range map[string]string{"orders": "team.dlq", "emails": "team.dlq", "bills": "bills.dlq", "legacy": "bills.dlq", "team.dlq": "", "bills.dlq": ""} {
		var arguments amqp.Table
		if dead != "" {
			arguments = dlx("", "dead-letter-routing-key", dead)
		}
		_, err := g.channel.QueueDeclare(queue, true, false, false, false, arguments)
		must(t, err)
	}
	var pipelines []dedup.Pipeline
	for _, name := range []string{"orders", "emails", "bills"} {
		pipelines = append(pipelines, dedup.Pipeline{Name: name, Broker: "main", Vhost: "/", Queues: []string{name}, DiscoverDeadLetters: true, Limits: dedup.DefaultLimits()})
	}
	c := g.watch(t, pipelines...)
	holds := func(name string, n float64) bool {
		q := shared(c.Snapshot(), name)
		return q != nil && q.Depth.Known() && q.Depth.Value == n
	}
	eventually(t, 2*time.Minute, "both queues are found to be shared, and empty", func() bool { return holds("team.dlq", 0) && holds("bills.dlq", 0) })
	g.die(t, "orders", ofOrders)
	g.die(t, "legacy", ofLegacy)
	eventually(t, 2*time.Minute, "the letters are counted", func() bool { return holds("team.dlq", ofOrders) && holds("bills.dlq", ofLegacy) })
	snapshot := c.Snapshot()
	for _, w := range []struct {
		pipeline string
		most     float64
		sharer   string
	}{
		{"orders", ofOrders, "team.dlq is shared with pipeline emails"},
		{"emails", ofOrders, "team.dlq is shared with pipeline orders"},
		{"bills", ofLegacy, "bills.dlq is shared with queue legacy of no pipeline"},
	} {
		p, ok := snapshot.Pipeline(w.pipeline)
		if !ok {
			t.Fatalf("no pipeline %s", w.pipeline)
		}
		if f := p.DeadLetters; f.Low != 0 || f.High != w.most || !strings.Contains(f.Why, w.sharer) {
			t.Errorf("%s: dead letters %+v; want 0 to %v because %s", w.pipeline, f, w.most, w.sharer)
		}
		if slices.ContainsFunc(p.Findings, func(f dedup.Finding) bool { return f.Kind == "dead_letters_wait" }) {
			t.Errorf("%s is told of dead letters that may all be another's", w.pipeline)
		}
	}
	if team, bills := shared(snapshot, "team.dlq"), shared(snapshot, "bills.dlq"); len(snapshot.SharedQueues) != 2 ||
		!slices.Equal(team.Pipelines, []string{"orders", "emails"}) || len(team.Queues) != 0 ||
		!slices.Equal(bills.Pipelines, []string{"bills"}) || !slices.Equal(bills.Queues, []string{"legacy"}) {
		t.Errorf("shared queues %+v", snapshot.SharedQueues)
	}
	wantTiers(t, snapshot)
}

// wantTiers judges a snapshot by the rules about dead letters: each shared queue is in a tier, and no pipeline is by them.
func wantTiers(t *testing.T, s *dedup.Snapshot) {
	t.Helper()
	rules, err := rule.Resolve(rule.Defaults(), nil)
	must(t, err)
	round := rule.NewRound(s.At, s, rule.Self{})
	var raised []string
	for _, r := range rules {
		if !strings.Contains(r.Name, "dead_letter") {
			continue
		}
		judgements, _ := r.Judge(round)
		for _, j := range judgements {
			if j.Enters > dedup.Normal {
				raised = append(raised, fmt.Sprint(j.Key.Kind, " ", j.Key.Subject))
			}
		}
	}
	slices.Sort(raised)
	if got := fmt.Sprint(slices.Compact(raised)); got != "[queue main:bills.dlq queue main:team.dlq]" {
		t.Errorf("raised for %s; want the two queues alone", got)
	}
}
