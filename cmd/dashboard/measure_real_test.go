package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/trace"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/schemes"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// quietRates say nothing of live figures.
type quietRates struct{}

func (quietRates) Snapshot() *dedup.Snapshot { return &dedup.Snapshot{} }
func (quietRates) LiveRate(string, time.Time, time.Time) (dedup.Calibration, bool) {
	return dedup.Calibration{}, false
}

// A measuredLane is one pipeline with real consumers in a vhost of its own, who count what they do.
type measuredLane struct {
	name     string
	store    markers.Store
	consumer func(schemes.Work) schemes.Consumer
	url      string
	pipeline dedup.Pipeline
	measurer *measurer

	mu                            sync.Mutex
	done, failed                  map[string]bool
	messages, duplicates, doubled int64
	latencies                     []float64
	settled, sent                 atomic.Int64
}

// work takes 20 ms and mostly not much more, and fails now and then.
func (l *measuredLane) work(_ context.Context, id string) error {
	time.Sleep(20*time.Millisecond + time.Duration(15*rand.ExpFloat64()*float64(time.Millisecond)))
	fails := rand.IntN(50) == 0
	l.mu.Lock()
	l.failed[id] = fails
	l.mu.Unlock()
	if fails {
		return errors.New("the work failed")
	}
	return nil
}

// consume handles deliveries until ctx ends; now and then it loses an ack with its connection, and comes back.
func (l *measuredLane) consume(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		if err := l.connection(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("%s: %v", l.name, err)
			return
		}
	}
}

func (l *measuredLane) connection(ctx context.Context) error {
	c, err := amqp091.Dial(l.url)
	if err != nil {
		return err
	}
	defer c.Close()
	ch, err := c.Channel()
	if err != nil {
		return err
	}
	if err := ch.Qos(prefetched, 0, false); err != nil {
		return err
	}
	deliveries, err := ch.Consume(l.name, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	h := l.consumer(l.work)
	came := make(chan arrival, prefetched)
	go func() {
		defer close(came)
		for d := range deliveries {
			came <- arrival{d, time.Now()}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case d, ok := <-came:
			if !ok {
				return errors.New("the broker ended the connection")
			}
			lost, err := l.handle(ctx, h, d)
			if err != nil || lost {
				return err
			}
		}
	}
}

// prefetched is how many messages a consumer holds. Each waits behind the one before it, which is part of its latency.
const prefetched = 8

// An arrival is a delivery, and when it came.
type arrival struct {
	amqp091.Delivery
	at time.Time
}

// handle takes one delivery as the scheme does; lost is true where the connection is to be closed in place of an ack.
func (l *measuredLane) handle(ctx context.Context, h schemes.Consumer, d arrival) (lost bool, err error) {
	how, ran, err := h.Handle(context.WithoutCancel(ctx), d.MessageId)
	switch {
	case err != nil:
		return false, err
	case how == schemes.Requeued:
		return false, d.Nack(false, true)
	}
	took := time.Since(d.at).Seconds()
	l.mu.Lock()
	defer l.mu.Unlock()
	if ran && !l.failed[d.MessageId] { // some schemes ack failures
		if l.done[d.MessageId] {
			l.doubled++
		}
		l.done[d.MessageId] = true
		l.latencies = append(l.latencies, took)
		if rand.IntN(100) == 0 {
			return true, nil
		}
	}
	l.messages++
	if !ran && l.done[d.MessageId] {
		l.duplicates++
	}
	l.settled.Add(1)
	return false, d.Ack(false)
}

// produce sends a message every 16 ms or so; of 3 % it sends a copy within 15 s.
func (l *measuredLane) produce(t *testing.T, begin int, length time.Duration) {
	c, err := amqp091.Dial(l.url)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	ch, err := c.Channel()
	if err != nil {
		t.Error(err)
		return
	}
	var mu sync.Mutex
	publish := func(id, app string) {
		mu.Lock()
		defer mu.Unlock()
		l.sent.Add(1)
		if err := ch.PublishWithContext(t.Context(), "", l.name, true, false, amqp091.Publishing{MessageId: id, AppId: app, Headers: amqp091.Table{"attempt": int32(1)}, Body: []byte("the-body-of-" + id)}); err != nil {
			t.Error(err)
		}
	}
	var copies sync.WaitGroup
	for n, end := begin, time.Now().Add(length); time.Now().Before(end); n++ {
		id := l.name + "-" + strconv.Itoa(n)
		publish(id, "web")
		if rand.IntN(100) < 3 {
			copies.Go(func() {
				time.Sleep(time.Duration(rand.IntN(15_000)) * time.Millisecond)
				publish(id, "cron")
			})
		}
		time.Sleep(time.Duration(8+rand.IntN(16)) * time.Millisecond)
	}
	copies.Wait()
}

// drained waits until each message that was sent is settled.
func (l *measuredLane) drained(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for l.settled.Load() < l.sent.Load() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// measure runs one session over known traffic, and holds it to what consumers did.
func (l *measuredLane) measure(t *testing.T, run int) (row sessionRow) {
	t.Helper()
	row.lane = l.name
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	before := run * 1_000_000
	l.produce(t, before, 3*time.Second) // whose copies come before or in the session
	l.drained(ctx)
	l.mu.Lock()
	l.messages, l.duplicates, l.doubled, l.latencies = 0, 0, 0, nil
	l.mu.Unlock()
	began := make(chan struct{})
	var once sync.Once
	m := &dedup.Measurement{Length: dedup.MinTrace}
	ended := make(chan error, 1)
	go func() {
		ended <- l.measurer.Measure(ctx, l.pipeline, m, func(time.Time, int64) { once.Do(func() { close(began) }) })
	}()
	select {
	case <-began:
	case err := <-ended:
		t.Errorf("%s: no session began: %v, %s", l.name, err, m.Why)
		return row
	}
	l.produce(t, before+500_000, 35*time.Second)
	l.drained(ctx)
	if err := <-ended; err != nil || m.Result == nil {
		t.Errorf("%s: %v, %q", l.name, err, m.Why)
		return row
	}
	row.shown = m.Result
	l.mu.Lock()
	defer l.mu.Unlock()
	row.messages, row.duplicates, row.doubled = l.messages, l.duplicates, l.doubled
	slices.Sort(l.latencies)
	for i, q := range quantiles() {
		row.latency[i] = l.latencies[int(q*float64(len(l.latencies)-1))]
	}
	return row
}

func quantiles() [3]float64 { return [3]float64{0.5, 0.95, 0.99} }

// A sessionRow is what a session showed, beside what consumers did; shown is nil where there was none.
type sessionRow struct {
	lane                          string
	shown                         *dedup.SessionResult
	messages, duplicates, doubled int64
	latency                       [3]float64
}

// off is by how much the rate is off, and whether that is near enough: a tenth of a point, two messages, or what the session itself says, as
// on a machine that is too busy.
func (r sessionRow) off() (off float64, near bool) {
	if r.shown == nil {
		return math.Inf(1), false
	}
	off = float64(r.shown.Duplicates)/float64(r.shown.Messages) - float64(r.duplicates)/float64(r.messages)
	return off, math.Abs(off) <= max(0.001, max(2, r.shown.Band)/float64(r.messages))
}

// latencyOff is by what share each percentile is off, and whether none is by more than a share; false where none is told.
func (r sessionRow) latencyOff() (off [3]float64, near, told bool) {
	if r.shown == nil || r.shown.Latency.N == 0 {
		return off, false, false
	}
	near = true
	for i, shown := range []float64{r.shown.Latency.P50, r.shown.Latency.P95, r.shown.Latency.P99} {
		off[i] = shown/r.latency[i] - 1
		limit := 0.05
		if r.lane == "row" || r.lane == "transaction" {
			limit = 0.1
		}
		near = near && math.Abs(off[i]) <= limit
	}
	return off, near, true
}

func (r sessionRow) String() string {
	if r.shown == nil {
		return r.lane + ": no result"
	}
	s, off := r.shown, func(f float64, _ bool) float64 { return 100 * f }
	text := fmt.Sprintf("%-12s %4d of %4d ± %.1f, truth %4d of %4d, off %+.3f points; sent %d, redelivered %d, done twice %d, truth %d; %.0f traced, %.0f counted", r.lane,
		s.Duplicates, s.Messages, s.Band, r.duplicates, r.messages, off(r.off()), s.Sent, s.Redelivered, s.Doubled, r.doubled, s.Traced, s.Counted)
	shares, _, told := r.latencyOff()
	if !told {
		return text + "; no latency: " + s.LatencyWhy
	}
	for i, name := range []string{"p50", "p95", "p99"} {
		text += fmt.Sprintf("; %s truth %.1f ms, off %+.1f %%", name, 1000*r.latency[i], 100*shares[i])
	}
	return text
}

// TestSessionsCountWhatRealConsumersDid measures four schemes on a real broker and real stores, at once: with resends, lost acks with their
// connections, and failures. SESSION_RUNS repeats it, and then holds latencies to what consumers measured as well: a single run may meet a busy machine.
func TestSessionsCountWhatRealConsumersDid(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{Prometheus: true})
	lanes := measuredLanes(ctx, t, rabbit)
	consuming, stop := context.WithCancel(t.Context())
	var consumers sync.WaitGroup
	t.Cleanup(func() { stop(); consumers.Wait() })
	for _, l := range lanes {
		for range 6 {
			consumers.Go(func() { l.consume(consuming, t) })
		}
	}
	runs, _ := strconv.Atoi(os.Getenv("SESSION_RUNS"))
	runs = max(1, runs)
	var near, quick, timed int
	for run := range runs {
		rows := make([]sessionRow, len(lanes))
		var all sync.WaitGroup
		for i, l := range lanes {
			all.Go(func() { rows[i] = l.measure(t, run) })
		}
		all.Wait()
		for _, r := range rows {
			t.Log(r)
			if _, ok := r.off(); ok {
				near++
			}
			if _, ok, told := r.latencyOff(); told {
				timed++
				if ok {
					quick++
				}
			}
		}
	}
	t.Logf("%d of %d rates and %d of %d latencies are within their limits", near, runs*len(lanes), quick, timed)
	if near < runs*len(lanes)*19/20 {
		t.Errorf("%d of %d sessions were within a tenth of a point or two messages", near, runs*len(lanes))
	}
	if runs > 1 && quick < timed*19/20 {
		t.Errorf("the percentiles of %d of %d sessions were within 5 %%, of tables 10 %%", quick, timed)
	}
}

// measuredLanes opens a lane of each scheme.
func measuredLanes(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ) []*measuredLane {
	t.Helper()
	cache := serverstest.Redis(t, "--notify-keyspace-events", "K$gxe")
	rdb := redis.NewClient(&redis.Options{Addr: cache.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	dir, err := os.MkdirTemp("", "measure-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	maria, err := servers.StartMariaDB(ctx, servers.SQLOptions{Dir: filepath.Join(dir, "maria")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(maria.Kill)
	for _, err := range []error{maria.CreateDatabase(ctx, "shop"), maria.Exec(ctx, "shop",
		`CREATE TABLE message_dedup (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, business_key VARCHAR(128), status TINYINT DEFAULT 0,
			created_at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), updated_at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6))`,
		`CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status TINYINT NOT NULL,
			process_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP, expire_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)`)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("mysql", maria.AdminDSN("shop"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	table := schemes.Table{DB: db}
	inRedis := func(c *markers.Config) { c.Redis.URL = secret.New(cache.URL()) }
	inSQL := func(c *markers.Config) { c.SQL = markers.SQL{Driver: "mysql", DSN: secret.New(maria.AdminDSN("shop"))} }
	return []*measuredLane{
		newMeasuredLane(t, rabbit, "text", "redis-text-status", inRedis, func(w schemes.Work) schemes.Consumer { return schemes.R3{Redis: rdb, Work: w} }),
		newMeasuredLane(t, rabbit, "flag", "redis-flag", func(c *markers.Config) { inRedis(c); c.Events = true },
			func(w schemes.Work) schemes.Consumer { return schemes.R5{Redis: rdb, Work: w} }),
		newMeasuredLane(t, rabbit, "row", "sql-status-code", inSQL, func(w schemes.Work) schemes.Consumer { return schemes.D1{Table: table, Work: w} }),
		newMeasuredLane(t, rabbit, "transaction", "sql-status-code", func(c *markers.Config) {
			inSQL(c)
			c.Table, c.Transactional, c.TTL.Done = "message_process_log", true, 24*time.Hour
			c.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, BusinessKey: "business_key", Status: "process_status", Created: "process_time", Expires: "expire_time"}
		}, func(w schemes.Work) schemes.Consumer { return schemes.D2{Table: table, Work: w} }),
	}
}

func newMeasuredLane(t *testing.T, rabbit *servers.RabbitMQ, name, preset string, change func(*markers.Config), consumer func(schemes.Work) schemes.Consumer) *measuredLane {
	t.Helper()
	cfg, ok := markers.Preset(preset)
	if !ok {
		t.Fatal("no preset " + preset)
	}
	cfg.Name = name
	change(&cfg)
	log := slog.New(slog.DiscardHandler)
	store, err := kinds.Open(cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	running, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { store.Run(running); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	user, password := rabbit.Admin()
	if err := errors.Join(rabbit.PutVHost(t.Context(), name),
		rabbit.API(t.Context(), "PUT", "/api/queues/"+url.PathEscape(name)+"/"+url.PathEscape(name), map[string]any{"durable": true}, nil)); err != nil {
		t.Fatal(err)
	}
	b := broker.Config{Name: name, ManagementURL: rabbit.ManagementURL(), Username: user, Password: secret.New(password), PrometheusURLs: []string{rabbit.PrometheusURL()},
		Act: broker.Act{AMQPURL: "amqp://" + rabbit.AMQPAddr(), Username: user, Password: secret.New(password)}}
	tracer, err := trace.OpenTracer(b, trace.Options{DataDir: t.TempDir(), Guard: []string{guardProgram(), guardCommand}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracer.Close() })
	l := &measuredLane{name: name, store: store, consumer: consumer, url: rabbit.AMQPURL(user, password) + url.PathEscape(name), done: map[string]bool{}, failed: map[string]bool{},
		pipeline: dedup.Pipeline{Name: name, Broker: name, Vhost: name, Queues: []string{name}, Store: name, IDFrom: "message_id"}}
	l.measurer = &measurer{brokers: map[string]broker.Config{name: b}, tracers: map[string]*trace.Tracer{name: tracer}, stores: map[string]markers.Store{name: store}, live: quietRates{}, log: log}
	if why := l.measurer.WhyNot(l.pipeline); why != "" {
		t.Fatal(fmt.Sprintf("%s cannot be measured: %s", name, why))
	}
	return l
}
