package collector_test

import (
	"context"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
	"log/slog"
	"math"
	"path/filepath"
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
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
	"dedup-dashboard/lab/shop"
)

// shopTime is how long the sample shop works before its figures are compared with its ledger.
const shopTime = 40 * time.Second

// A scene is a dashboard's observing half on real servers.
type scene struct {
	rabbit    *servers.RabbitMQ
	redis     *servers.Redis
	config    shop.Config
	collector *collector.Collector
}

// TestMain checks at the end that nothing is left running: several of the tests that wait for servers run side by side.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, markerstest.ClosedPools()) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("after %s still not so: %s", within, what)
		case <-tick.C:
		}
	}
}

func newScene(t *testing.T, interval time.Duration) *scene {
	t.Helper()
	ctx := t.Context()
	s := &scene{config: shop.DefaultConfig()}
	var err error
	s.rabbit = serverstest.RabbitMQ(t, servers.RabbitMQOptions{Prometheus: true})
	s.redis = serverstest.Redis(t)

	log := slog.New(slog.DiscardHandler)
	history, err := series.Open(series.Config{Dir: filepath.Join(t.TempDir(), "series"), Retention: 24 * time.Hour, MaxBytes: 1 << 28, Interval: interval}, log)
	must(t, err)
	t.Cleanup(func() { must(t, history.Close()) })
	user, password := s.rabbit.Admin()
	client, err := broker.New(broker.Config{Name: "main", ManagementURL: s.rabbit.ManagementURL(), Username: user, Password: secret.New(password),
		PrometheusURLs: []string{s.rabbit.PrometheusURL()}})
	must(t, err)
	t.Cleanup(client.Close)

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	deps := collector.Deps{Brokers: []source.Broker{client}, Series: history, Log: log}
	s.wire(t, &deps, running)
	s.collector, err = collector.New(collector.Config{Interval: interval}, deps)
	must(t, err)
	go func() { defer close(done); _ = s.collector.Run(running) }()
	t.Cleanup(func() { stop(); <-done })
	return s
}

// wire opens the stores of the shop's pipelines and one more pipeline, fed, whose counters a test writes itself.
func (s *scene) wire(t *testing.T, deps *collector.Deps, running context.Context) {
	t.Helper()
	for _, p := range s.config.Pipelines {
		cfg, ok := markers.Preset(string(p.Scheme))
		if !ok {
			t.Fatalf("no preset %s", p.Scheme)
		}
		cfg.Name, cfg.Redis.URL = p.Name, secret.New(s.redis.URL()[:len(s.redis.URL())-1]+string(rune('0'+p.DB)))
		if p.Scheme == shop.TextStatus {
			cfg.Exclude = []string{"msg:dedup:*"}
		}
		cfg.Sweep.Every = time.Second
		store, err := kinds.Open(cfg, slog.New(slog.DiscardHandler))
		must(t, err)
		swept := make(chan struct{})
		go func() { defer close(swept); store.Run(running) }()
		t.Cleanup(func() { <-swept; must(t, store.Close()) })
		deps.Stores = append(deps.Stores, store)
		deps.Reporters = append(deps.Reporters, store)
		pipeline := dedup.Pipeline{Name: p.Name, Broker: "main", Vhost: "/", Queues: []string{p.Name}, Store: p.Name,
			ReportedStore: p.Name, DiscoverDeadLetters: true, Limits: dedup.DefaultLimits()}
		if p.Astray() {
			pipeline.DiscoverDeadLetters, pipeline.DeadLetterQueues = false, []string{p.DeadLetterQueue()}
		}
		deps.Pipelines = append(deps.Pipelines, pipeline)
	}
	deps.Pipelines = append(deps.Pipelines, dedup.Pipeline{Name: "fed", Broker: "main", Vhost: "/", Queues: []string{"orders"},
		ReportedStore: "orders", Limits: dedup.DefaultLimits()})
}

func (s *scene) figures(name string) (*dedup.PipelineStatus, dedup.WindowFigures) {
	p, ok := s.collector.Snapshot().Pipeline(name)
	if !ok || len(p.Windows) < 2 {
		return &dedup.PipelineStatus{}, dedup.WindowFigures{}
	}
	return p, p.Windows[1] // 15 minutes
}

func TestFiguresAgreeWithTheLedgerOfTheSampleShop(t *testing.T) {
	t.Parallel()
	t.Run("scene", func(t *testing.T) {
		s := newScene(t, 2*time.Second)
		eventually(t, 2*time.Minute, "every source was tried and the history is open", func() bool {
			_, w := s.figures("fed")
			return s.collector.Tried() && w.DuplicateRate.Why != "" && w.DuplicateRate.Why != "history is being opened"
		})
		// The broker's counters can be older than a reading: a window that is to hold all traffic begins in the quiet.
		eventually(t, 3*time.Minute, "the broker was watched for a while before the first message", func() bool {
			return s.collector.Snapshot().Round > 15
		})
		began := time.Now()
		shop, err := shop.Start(t.Context(), s.config, s.rabbit, s.redis, slog.New(slog.DiscardHandler))
		must(t, err)
		ledger := shop.Ledger()
		w := s.attend(ledger)
		s.feed(t)
		eventually(t, shopTime+2*time.Minute, "the shop has worked", func() bool { return time.Since(began) > shopTime })
		shop.StopProducers()
		draining, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		must(t, shop.Drain(draining))
		rest := time.Now()

		t.Run("the pipeline that reports is exact", func(t *testing.T) { s.exact(t, ledger.Truth("orders")) })
		t.Run("a fed example shows its rate", func(t *testing.T) { s.fed(t) })
		t.Run("the others show no wrong rate", func(t *testing.T) { s.derived(t, ledger, began, rest) })
		w.finish()
		t.Run("every interval holds the truth of its span", w.check)
		stopping, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must(t, shop.Stop(stopping))
	})
}

func (s *scene) feed(t *testing.T) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.redis.Addr()})
	defer client.Close()
	must(t, client.HSet(t.Context(), "dedupstats:fed", "processed", 9850, "duplicate_done", 150).Err())
}

func (s *scene) fed(t *testing.T) {
	_, w := s.figures("fed")
	if r := w.DuplicateRate; r.Value != 0.015 || r.N != 10_000 || r.Quality != dedup.Measured {
		t.Errorf("rate %+v, want 1.50 %% of 10000, measured", r)
	}
}

func (s *scene) exact(t *testing.T, truth shop.Truth) {
	t.Logf("truth: %+v", truth)
	eventually(t, 2*time.Minute, "orders shows the ledger's messages, duplicates and dead letters", func() bool {
		p, w := s.figures("orders")
		return w.Messages.Value == float64(truth.Messages) && w.Duplicates.Value == float64(truth.Duplicates) &&
			p.DeadLetters.Value == float64(truth.Buried())
	})
	_, w := s.figures("orders")
	if want := float64(truth.Duplicates) / float64(truth.Messages); w.DuplicateRate.Value != want || w.DuplicateRate.Quality != dedup.Measured {
		t.Errorf("rate %+v, want %v", w.DuplicateRate, want)
	}
	if want := float64(truth.Ack.SumMicros) / 1e6 / float64(truth.Ack.Count()); math.Abs(w.AckMean.Value-want) > 1e-9 {
		t.Errorf("mean ack latency %v, want %v", w.AckMean.Value, want)
	}
	if c := w.CrossCheck; c.Known() && (w.DuplicateRate.Value < c.Low || w.DuplicateRate.Value > c.High) {
		t.Errorf("the cross-check %v..%v does not hold the rate %v", c.Low, c.High, w.DuplicateRate.Value)
	}
}

// derived compares the pipelines that report nothing, once their judged window holds all of their traffic. How narrow an
// interval gets depends on the machine; that it can be narrow is shown where time is simulated.
func (s *scene) derived(t *testing.T, ledger *shop.Ledger, began, rest time.Time) {
	for _, p := range s.config.Pipelines {
		if p.Report {
			continue
		}
		// A refusal claims nothing, as when a crash made the broker lose counts; an interval over a part of the traffic, as on a
		// machine too busy to read the nodes at first, is held against the truth of its span like any other.
		const patience = 90 * time.Second
		wait := patience
		if p.Scheme == shop.Timestamp || p.Crash > 0 && p.DeliveryLimit > 0 {
			wait = 0 // refused for its scheme, or soon for its crashes: there is nothing to wait for but its dead letters
		}
		truth := ledger.Truth(p.Name)
		whole := func(r dedup.Figure) bool {
			return r.N > 0 && r.At.After(rest) && !r.At.Add(-r.Covered).After(began)
		}
		eventually(t, 2*patience, p.Name+" shows all of its dead letters, and an interval over all of its traffic if it can", func() bool {
			status, w := s.figures(p.Name)
			r := w.DuplicateRate
			return status.DeadLetters.Value == float64(truth.Buried()) && (whole(r) || time.Since(rest) > wait)
		})
		_, w := s.figures(p.Name)
		r, want := w.DuplicateRate, float64(truth.Duplicates)/float64(truth.Messages)
		t.Logf("%s: truth %.4f (%d of %d), shown %s [%.4f, %.4f] of %.0f over %s: %s", p.Name, want, truth.Duplicates, truth.Messages,
			r.Quality, r.Low, r.High, r.N, r.Covered, r.Why)
		if !whole(r) {
			continue
		}
		if want < r.Low || want > r.High {
			t.Errorf("%s: the interval [%v, %v] does not hold the truth %v", p.Name, r.Low, r.High, want)
		}
	}
}
