package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/amqp"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/admintest"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// A morgue is a real broker and a real store, shared by scenes of their own queues and ids.
type morgue struct {
	rabbit *servers.RabbitMQ
	mover  *amqp.Mover
	watch  *broker.Client
	info   dedup.BrokerInfo
	redis  *servers.Redis
	rdb    *redis.Client
	store  markers.Store
	actor  markers.Actor
}

func newMorgue(t *testing.T) *morgue {
	t.Helper()
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{StatisticsInterval: 200 * time.Millisecond})
	admintest.Must(t, rabbit.PutUser(t.Context(), "watcher", "right", "monitoring"))
	admintest.Must(t, rabbit.PutUser(t.Context(), "mover", "acting", ""))
	admintest.Must(t, rabbit.PutPermissions(t.Context(), "/", "watcher", servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}))
	admintest.Must(t, rabbit.PutPermissions(t.Context(), "/", "mover", servers.Permissions{
		Configure: `^dedup\.parking\.`, Write: `^amq\.default$`, Read: `dead|^dedup\.parking\.`,
	}))
	cfg := broker.Config{
		Name: "main", ManagementURL: rabbit.ManagementURL(), Username: "watcher", Password: secret.New("right"),
		Act: broker.Act{AMQPURL: "amqp://" + rabbit.AMQPAddr() + "/", Username: "mover", Password: secret.New("acting")},
	}
	m := &morgue{rabbit: rabbit}
	var err error
	m.mover, err = amqp.OpenMover(cfg, markerstest.Log(t))
	admintest.Must(t, err)
	t.Cleanup(func() { _ = m.mover.Close() })
	m.watch, err = broker.New(cfg)
	admintest.Must(t, err)
	t.Cleanup(m.watch.Close)
	sample, err := m.watch.Sample(t.Context())
	admintest.Must(t, err)
	m.info = sample.Info
	m.redis, m.rdb = markerstest.StartRedis(t)
	stores := markerstest.Config(t, "redis-text-status", m.redis.URL())
	stores.Act.Redis.URL = secret.New(m.redis.URL())
	m.store = markerstest.OpenStore(t, stores)
	m.actor, err = kinds.OpenActor(stores, markerstest.Log(t))
	admintest.Must(t, err)
	t.Cleanup(func() { _ = m.actor.Close() })
	return m
}

// ends gives the ends of a mover the types of the engine, and its sources a tap.
type ends struct {
	*amqp.Mover
	tap *tap
}

func (e ends) Source(ctx context.Context, queue dedup.QueueRef, take requeue.Taking) (requeue.Source, error) {
	source, err := e.Mover.Source(ctx, queue, take.Held, take.Single)
	if err != nil {
		return nil, err
	}
	return e.tap.on(source), nil
}

func (e ends) Sink(ctx context.Context, vhost string, window int) (requeue.Sink, error) {
	return e.Mover.Sink(ctx, vhost, window)
}

// A scene is one pipeline with its dead-letter queue, and DeadLetters over a journal of their own.
type scene struct {
	*morgue
	*deadLetters
	deps    jobs.DeadLettersDeps
	single  *marker.Markers
	db      *journal.DB
	dir     string
	name    string
	dead    dedup.QueueRef
	round   *admintest.Round
	channel *amqp091.Channel
	tap     *tap
	crew    *crew
	log     *slog.Logger
	cancel  context.CancelFunc
	ran     chan error
	// told are the topics that changed.
	mu   sync.Mutex
	told map[string]int
}

// newScene declares the queues NAME and NAME.dead; arguments are those of the dead-letter queue.
func (m *morgue) newScene(t *testing.T, name string, arguments amqp091.Table, change ...func(*jobs.DeadLettersDeps)) *scene {
	t.Helper()
	s := &scene{morgue: m, name: name, dead: dedup.QueueRef{Vhost: "/", Name: name + ".dead"}, round: &admintest.Round{}, dir: t.TempDir(), tap: newTap(), log: markerstest.Log(t), told: map[string]int{}}
	connection, err := amqp091.Dial(m.rabbit.AMQPURL(m.rabbit.Admin()))
	admintest.Must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	s.channel, err = connection.Channel()
	admintest.Must(t, err)
	admintest.Must(t, s.channel.Confirm(false))
	_, err = s.channel.QueueDeclare(name, true, false, false, false, amqp091.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": s.dead.Name})
	admintest.Must(t, err)
	_, err = s.channel.QueueDeclare(s.dead.Name, true, false, false, false, arguments)
	admintest.Must(t, err)
	pipeline := dedup.Pipeline{Name: name, Broker: "main", Vhost: "/", Queues: []string{name}, Store: "shop", IDFrom: "message_id", MaxProcessing: time.Second, Limits: dedup.DefaultLimits()}
	s.round.Set(&dedup.Snapshot{
		At: time.Now(), Brokers: []dedup.BrokerStatus{{Name: "main", Info: m.info}},
		Stores:    []dedup.StoreStatus{{Name: "shop", Scheme: m.store.Scheme(), Evidence: dedup.Evidence{MaxProcessing: time.Second}}},
		Pipelines: []dedup.PipelineStatus{{Pipeline: pipeline, DeadLetterQueues: []dedup.DeadLetterQueue{{QueueRef: s.dead, Type: "classic", Found: "argument"}}}},
	})
	s.deps = jobs.DeadLettersDeps{
		Snapshots: s.round, Pipelines: []dedup.Pipeline{pipeline}, Log: s.log,
		Watch:   time.Hour, // else what became of the messages is looked at while a test empties the queues
		Brokers: []deadletter.Broker{{Name: "main", Watch: m.watch, Mover: ends{m.mover, s.tap}}},
		Stores:  []preflight.Store{{Name: "shop", Scheme: m.store.Scheme(), Finder: m.store}},
		Changed: func(topic string) { s.mu.Lock(); s.told[topic]++; s.mu.Unlock() },
	}
	for _, c := range change {
		c(&s.deps)
	}
	s.open(t)
	t.Cleanup(func() { s.close(t) })
	return s
}

// open starts DeadLetters over the journal in the scene's folder, as a start of the program does.
func (s *scene) open(t *testing.T) {
	t.Helper()
	var err error
	s.db, err = journal.Open(context.Background(), s.dir, s.log)
	admintest.Must(t, err)
	gate := admin.NewGate(s.db.Audit(), s.db, s.log)
	s.single = marker.New(marker.Deps{
		Gate: gate, Trail: s.db.Audit(), Journal: s.db.Operations(), Snapshots: s.round, Log: s.log,
		Stores: []marker.Store{{Name: "shop", Scheme: s.store.Scheme(), Reader: s.store, Actor: s.actor}}, Judge: dedup.Judge,
	})
	preflight, err := preflight.New(s.deps.Pipelines, s.deps.Stores)
	admintest.Must(t, err)
	s.deps.Gate, s.deps.Journal, s.deps.Preflight, s.deps.Clear = gate, patientJournal{s.db.Jobs(), s}, preflight, s.single
	s.deadLetters = newDeadLetters(s.deps)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.ran = cancel, make(chan error, 1)
	go func() { s.ran <- s.Run(ctx) }()
}

// close stops DeadLetters as a stop of the program does.
func (s *scene) close(t *testing.T) {
	t.Helper()
	s.cancel()
	admintest.Must(t, <-s.ran)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	admintest.Must(t, s.deadLetters.Close(ctx))
	admintest.Must(t, s.single.Close(ctx))
	admintest.Must(t, s.db.Close())
}

// die makes dead letters with these ids: they expire in the source queue, which has no consumer.
func (s *scene) die(t *testing.T, ids ...string) {
	t.Helper()
	var last *amqp091.DeferredConfirmation
	for _, id := range ids {
		var err error
		last, err = s.channel.PublishWithDeferredConfirm("", s.name, true, false, amqp091.Publishing{
			MessageId: id, DeliveryMode: amqp091.Persistent, Expiration: "0", ContentType: "application/json", Type: "order",
			Headers: amqp091.Table{"kind": kindOf(id), "x-password": "hunter2"},
			Body:    fmt.Appendf(nil, `{"orderId":%q,"email":"a@example.com","n":1}`, id),
		})
		admintest.Must(t, err)
	}
	if last != nil && !last.Wait() {
		t.Fatal("the broker did not take the messages")
	}
	s.await(t, "the dead letters", func() bool { return s.depth(t, s.dead.Name) >= int64(len(ids)) && s.depth(t, s.name) == 0 })
}

// kindOf is the part of an id before its number.
func kindOf(id string) string { kind, _, _ := strings.Cut(id, "-"); return kind }

func ids(kind string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%d", kind, i)
	}
	return list
}

// depth returns the messages of a queue that are ready, as AMQP tells them.
func (s *scene) depth(t *testing.T, queue string) int64 {
	t.Helper()
	q, err := s.channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	admintest.Must(t, err)
	return int64(q.Messages)
}

func (s *scene) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for !done() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-limit:
			t.Fatalf("%s never came", what)
		}
	}
}

// settled waits until the management API tells what AMQP tells.
func (s *scene) settled(t *testing.T) {
	t.Helper()
	s.await(t, "the management API", func() bool {
		q, err := s.watch.Queue(t.Context(), s.dead)
		admintest.Must(t, err)
		return q.Ready != nil && *q.Ready == s.depth(t, s.dead.Name)
	})
}

// back waits until all that a job had in hand is in one of the queues.
func (s *scene) back(t *testing.T, all []string) {
	t.Helper()
	s.await(t, "what was in hand", func() bool { return s.depth(t, s.name)+s.depth(t, s.dead.Name) == int64(len(all)) })
}

// drain empties a queue and counts its message ids.
func (s *scene) drain(t *testing.T, queue string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for {
		d, ok, err := s.channel.Get(queue, true)
		admintest.Must(t, err)
		if !ok {
			return counts
		}
		counts[d.MessageId]++
	}
}

// conserved checks that each id is in exactly one of the queues, once.
func conserved(t *testing.T, want []string, places ...map[string]int) {
	t.Helper()
	total := map[string]int{}
	for _, p := range places {
		for id, n := range p {
			total[id] += n
		}
	}
	expected := map[string]int{}
	for _, id := range want {
		expected[id]++
	}
	if !maps.Equal(total, expected) {
		t.Errorf("of %d messages %d are left: %v", len(want), len(total), total)
	}
}

// marks marks a message as done, as the scheme of the store does.
func (s *scene) marks(d amqp091.Delivery) bool {
	return s.rdb.Set(context.Background(), "msg:"+d.MessageId, "done", time.Hour).Err() == nil
}

func (s *scene) scan(t *testing.T, limit int) deadletter.Scan {
	t.Helper()
	s.settled(t)
	scan, err := s.Scan(t.Context(), operator, deadletter.ScanRequest{Pipeline: s.name, Queue: s.dead.Name, Limit: limit})
	admintest.Must(t, err)
	return scan
}

func (s *scene) planMove(t *testing.T, req move.Request) move.Plan {
	t.Helper()
	s.settled(t)
	req.Pipeline, req.Queue = s.name, s.dead.Name
	p, err := s.PlanMove(t.Context(), ada, req)
	admintest.Must(t, err)
	return p
}

func (s *scene) start(t *testing.T, p move.Plan) string {
	t.Helper()
	for _, g := range p.Guards {
		if g.Blocking {
			t.Fatalf("the plan is refused: %s", g.Text)
		}
	}
	id, err := s.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	admintest.Must(t, err)
	return id
}

// until waits until a job is as wanted.
func (s *scene) until(t *testing.T, id, what string, wanted func(jobs.Job) bool) jobs.Job {
	t.Helper()
	var job jobs.Job
	limit := time.After(2 * time.Minute)
	for {
		var err error
		if job, err = s.Job(t.Context(), operator, id); err != nil {
			t.Fatal(err)
		}
		if wanted(job) {
			return job
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-limit:
			t.Fatalf("job %s was never %s: %s %q %+v", id, what, job.State, job.Why, job.Counts)
		}
	}
}

func (s *scene) final(t *testing.T, id string) jobs.Job {
	t.Helper()
	return s.until(t, id, "at its end", func(j jobs.Job) bool { return j.State.Final() })
}
