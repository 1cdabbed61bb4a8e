package collector_test

import (
	"context"
	"fmt"
	amqp "github.com/rabbitmq/amqp091-go"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// A life is what truly became of one message.
type life struct {
	fate             string
	work             time.Duration
	owner            *crew
	born, died       time.Time // of the marker; of its owner
	seen, recognised time.Time // by the dashboard: at first, and as dead
	verdict          dedup.Verdict
	reasons          []string
	wronglyDead, hit int
	// returned are the times at which a delivery met the marker in flight and was returned; looped is when it was first called looping.
	returned []time.Time
	looped   time.Time
}

// A morgue is a real broker and store, consumers whose fates are known, and the collector that judges them.
type morgue struct {
	t         *testing.T
	rabbit    *servers.RabbitMQ
	redis     *servers.Redis
	collector *collector.Collector
	publisher *amqp.Channel

	mu    sync.Mutex
	lives map[string]*life // by message id
}

func newMorgue(t *testing.T) *morgue {
	t.Helper()
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	m := &morgue{t: t, lives: map[string]*life{}}
	var err error
	m.rabbit = serverstest.RabbitMQ(t, servers.RabbitMQOptions{})
	m.redis = serverstest.Redis(t)
	user, password := m.rabbit.Admin()
	client, err := broker.New(broker.Config{Name: "main", ManagementURL: m.rabbit.ManagementURL(), Username: user, Password: secret.New(password)})
	must(t, err)
	t.Cleanup(client.Close)
	history, err := series.Open(series.Config{Dir: filepath.Join(t.TempDir(), "series"), Retention: 24 * time.Hour, MaxBytes: 1 << 28, Interval: 2 * time.Second}, log)
	must(t, err)
	t.Cleanup(func() { must(t, history.Close()) })

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	deps := collector.Deps{Brokers: []source.Broker{client}, Series: history, Log: log}
	for i, queue := range queuesOfTheDead {
		m.wire(&deps, running, queue, i)
	}
	m.collector, err = collector.New(collector.Config{Interval: 2 * time.Second}, deps)
	must(t, err)
	done := make(chan struct{})
	go func() { defer close(done); _ = m.collector.Run(running) }()
	t.Cleanup(func() { stop(); <-done })
	conn, err := amqp.Dial(m.rabbit.AMQPURL(user, password))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	m.publisher, err = conn.Channel()
	must(t, err)
	eventually(t, 2*time.Minute, "every source was tried", func() bool { return m.collector.Tried() && m.collector.Snapshot().Round > 3 })
	return m
}

// wire declares a queue with its dead-letter queue and opens its store.
func (m *morgue) wire(deps *collector.Deps, running context.Context, queue string, db int) {
	m.t.Helper()
	must(m.t, m.rabbit.API(m.t.Context(), http.MethodPut, "/api/queues/%2F/"+queue+".dlq", map[string]any{"durable": true}, nil))
	must(m.t, m.rabbit.API(m.t.Context(), http.MethodPut, "/api/queues/%2F/"+queue, map[string]any{"durable": true, "arguments": map[string]any{
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue + ".dlq"}}, nil))
	cfg, ok := markers.Preset("redis-text-status")
	if !ok {
		m.t.Fatal("no preset redis-text-status")
	}
	cfg.Name, cfg.Redis.URL = queue, secret.New(m.redis.URL()[:len(m.redis.URL())-1]+string(rune('0'+db)))
	cfg.Sweep.Every = time.Second
	store, err := kinds.Open(cfg, slog.New(slog.DiscardHandler))
	must(m.t, err)
	swept := make(chan struct{})
	go func() { defer close(swept); store.Run(running) }()
	m.t.Cleanup(func() { <-swept; must(m.t, store.Close()) })
	deps.Stores = append(deps.Stores, store)
	deps.Pipelines = append(deps.Pipelines, dedup.Pipeline{Name: queue, Broker: "main", Vhost: "/", Queues: []string{queue}, Store: queue,
		DiscoverDeadLetters: true, MaxProcessing: longestWork, Limits: dedup.DefaultLimits()})
}

// publish sends messages of one fate, whose work is spread over a span.
func (m *morgue) publish(queue, fate string, n int, from, to time.Duration) {
	m.t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s-%s-%d", queue, strings.ReplaceAll(fate, " ", "-"), i)
		work := from
		if n > 1 {
			work += (to - from) * time.Duration(i) / time.Duration(n-1)
		}
		m.mu.Lock()
		m.lives[id] = &life{fate: fate, work: work}
		m.mu.Unlock()
		must(m.t, m.publisher.PublishWithContext(m.t.Context(), "", queue, false, false, amqp.Publishing{MessageId: id, DeliveryMode: amqp.Persistent}))
	}
}

// bury notes the death of a message's owner.
func (m *morgue) bury(l *life) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.die()
}

// die notes the owner's death, once.
func (l *life) die() {
	if l.died.IsZero() {
		l.died = time.Now()
	}
}

func (m *morgue) begun(want int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, l := range m.lives {
		if !l.born.IsZero() {
			n++
		}
	}
	return n >= want
}

// watch looks at every snapshot until the returned function is called.
func (m *morgue) watch() (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		var seen uint64
		for {
			if s := m.collector.Snapshot(); s.Round != seen {
				seen = s.Round
				m.look(s)
			}
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(quit); <-ended }
}

func (m *morgue) look(s *dedup.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, st := range s.Stores {
		if st.Stats.Pass == nil {
			continue
		}
		for _, marker := range st.Stats.Pass.OldestProcessing {
			l := m.lives[marker.ID]
			if l == nil {
				m.t.Errorf("a marker of a message that nobody sent: %+v", marker)
				continue
			}
			if l.seen.IsZero() {
				l.seen = s.At
			}
			verdict, reasons := dedup.Judge(marker, st.Evidence, st.Scheme)
			l.verdict, l.reasons, l.hit = verdict, reasons, l.hit+1
			if verdict == dedup.Looping {
				m.checkLoop(l, marker, st.Evidence, s.At)
			}
			if verdict != dedup.ProbablyDead && verdict != dedup.Orphan {
				continue
			}
			// The pass saw the marker when it began or later: whoever was at work then was called dead in his life.
			if !dies(l.fate) || l.died.IsZero() || l.died.After(st.Stats.Pass.Started) {
				l.wronglyDead++
				m.t.Errorf("%s (%s, working since %s) is %s at %s because %q", marker.ID, l.fate, l.born, verdict, s.At, reasons)
			}
			if l.recognised.IsZero() {
				l.recognised = s.At
			}
		}
	}
}

// checkLoop holds a verdict against the deliveries that were returned while the marker was looked at.
func (m *morgue) checkLoop(l *life, marker dedup.Marker, e dedup.Evidence, at time.Time) {
	n := 0
	for _, t := range l.returned {
		if !t.Before(e.Met.From) && !t.After(e.Met.To) {
			n++
		}
	}
	if n < 2 {
		m.t.Errorf("%s (%s) is looping at %s, but %d deliveries were returned from %s to %s", marker.ID, l.fate, at, n, e.Met.From, e.Met.To)
	}
	if l.looped.IsZero() {
		l.looped = at
	}
}

// copies sends messages of a fate again while their owners are at them.
func (m *morgue) copies(queue, fate string, n int) {
	m.t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s-%s-%d", queue, strings.ReplaceAll(fate, " ", "-"), i)
		must(m.t, m.publisher.PublishWithContext(m.t.Context(), "", queue, false, false, amqp.Publishing{MessageId: id, DeliveryMode: amqp.Persistent}))
	}
}

// judgeLoops wants every message that goes round beside consumers that live called looping, or its owner dead.
func (m *morgue) judgeLoops() {
	var took []time.Duration
	for id, l := range m.lives {
		if l.fate != unproven {
			continue
		}
		if l.looped.IsZero() && l.recognised.IsZero() {
			m.t.Errorf("%s goes round since %s and is %s because %q", id, l.died, l.verdict, l.reasons)
		} else if !l.looped.IsZero() {
			took = append(took, l.looped.Sub(l.visible()))
		}
	}
	slices.Sort(took)
	m.t.Logf("%d that go round were called looping, in %v", len(took), took)
}

// timely is how long after its owner's death the dashboard may take to recognise a marker. On a quiet machine twice max_processing is
// enough; one that does much else is given half of that more.
const timely = 3 * longestWork

// visible is when the dashboard could first see what is to be recognised: a marker that a pass has met, whose owner is dead.
// How long a busy machine took to get that far is not its fault.
func (l *life) visible() time.Time {
	if l.seen.After(l.died) {
		return l.seen
	}
	return l.died
}

// dies reports whether a message of this fate loses its owner before its work is done.
func dies(fate string) bool { return fate != alive && fate != beyond && fate != finished }

// settled reports whether nothing more is to be expected: each dead one is recognised, or cannot be in time any more.
func (m *morgue) settled() bool {
	const slack = 2 * time.Second
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.lives {
		if dies(l.fate) && l.recognised.IsZero() && (l.died.IsZero() || time.Since(l.visible()) < timely+slack) {
			return false
		}
	}
	return true
}

// judge compares the verdicts with the truth and prints the table.
func (m *morgue) judge() {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-34s %4s %9s %10s %6s  %s\n", "truth", "n", "as dead", "in time", "wrong", "median of the recognition after the death; last verdict")
	dead, known, wrong, all := 0, 0, 0, 0
	for _, fate := range []string{alive, beyond, killed, unproven, purged, lost, rejected, finished} {
		var n, recognised, inTime, false_ int
		var took []time.Duration
		last := map[dedup.Verdict]int{}
		var example []string
		for _, l := range m.lives {
			if l.fate != fate {
				continue
			}
			n++
			false_ += l.wronglyDead
			last[l.verdict]++
			example = l.reasons
			if l.recognised.IsZero() {
				continue
			}
			recognised++
			took = append(took, l.recognised.Sub(l.visible()))
			if l.recognised.Sub(l.visible()) <= timely {
				inTime++
			}
		}
		all, wrong = all+n, wrong+false_
		median := "-"
		if slices.Sort(took); len(took) > 0 {
			median = fmt.Sprintf("%.1f s, slowest %.1f s", took[len(took)/2].Seconds(), took[len(took)-1].Seconds())
		}
		fmt.Fprintf(&out, "%-34s %4d %9d %10d %6d  %s; %v\n%38s %s\n", fate, n, recognised, inTime, false_, median, last, "", strings.Join(example, "; "))
		if dies(fate) {
			dead, known = dead+n, known+inTime
		}
	}
	m.judgeLoops()
	fmt.Fprintf(&out, "of %d messages %d died; %d of them (%.1f %%) were recognised within %s; the living were called dead %d times",
		all, dead, known, 100*float64(known)/float64(dead), timely, wrong)
	if all == 200 && float64(known) >= 0.9*float64(dead) && wrong == 0 {
		m.t.Log(out.String())
		return
	}
	for _, st := range m.collector.Snapshot().Stores {
		m.t.Logf("evidence of %s: %+v", st.Name, st.Evidence)
	}
	m.t.Errorf("want 200 messages, 90 %% of the dead recognised, and none of the living called dead:\n%s", out.String())
}
