package trace

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// canary stands in the body of each message of the tests: it must turn up nowhere.
const canary = "canary-in-the-body"

// A site is a real broker with a vhost of its own for each test.
type site struct {
	rabbit *servers.RabbitMQ
	data   string
	log    *lockedText
}

type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startSite starts a RabbitMQ, of another version where RABBITMQ_ROOT names a folder.
func startSite(t *testing.T) *site {
	t.Helper()
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{Prometheus: true})
	return &site{rabbit: rabbit, data: t.TempDir(), log: &lockedText{}}
}

// config describes the broker as the configuration does, with one account for everything.
func (s *site) config() broker.Config {
	user, password := s.rabbit.Admin()
	return broker.Config{Name: "main", ManagementURL: s.rabbit.ManagementURL(), Username: user, Password: secret.New(password),
		PrometheusURLs: []string{s.rabbit.PrometheusURL()},
		Measure:        broker.Measure{Act: broker.Act{AMQPURL: "amqp://" + s.rabbit.AMQPAddr(), Username: user, Password: secret.New(password)}}}
}

// account makes an account that may read the firehose of some queues of a vhost and may not switch it, and returns the configuration with it.
func (s *site) account(t *testing.T, name, tags, vhost, topics string) broker.Config {
	t.Helper()
	const password = "a-password-for-tests"
	must(t, s.rabbit.PutUser(t.Context(), name, password, tags))
	must(t, s.rabbit.PutPermissions(t.Context(), vhost, name,
		servers.Permissions{Configure: `^amq\.gen-`, Write: `^amq\.gen-`, Read: `^(amq\.gen-.*|amq\.rabbitmq\.trace)$`}))
	if topics != "" {
		must(t, s.rabbit.API(t.Context(), http.MethodPut, "/api/topic-permissions/"+url.PathEscape(vhost)+"/"+name,
			map[string]string{"exchange": firehose, "write": "^$", "read": topics}, nil))
	}
	config := s.config()
	config.Measure.Act.Username, config.Measure.Act.Password = name, secret.New(password)
	return config
}

// tracer opens a tracer whose traces may be short.
func (s *site) tracer(t *testing.T, config broker.Config) *Tracer {
	t.Helper()
	must(t, config.Validate())
	tracer, err := OpenTracer(config, Options{DataDir: s.data, Guard: []string{os.Args[0], guardWord}, Log: slog.New(slog.NewTextHandler(s.log, nil))})
	must(t, err)
	t.Cleanup(func() { must(t, tracer.Close()) })
	tracer.shortest = time.Second
	return tracer
}

// vhost makes a vhost with metadata and queues.
func (s *site) vhost(t *testing.T, vhost string, queues ...string) *amqp091.Connection {
	t.Helper()
	must(t, s.rabbit.PutVHost(t.Context(), vhost))
	must(t, s.rabbit.API(t.Context(), http.MethodPut, "/api/vhosts/"+url.PathEscape(vhost), map[string]any{"description": "Größe & <Ordnung>", "tags": "one,two"}, nil))
	config := amqp091.Config{Vhost: vhost}
	connection, err := amqp091.DialConfig(s.rabbit.AMQPURL(s.rabbit.Admin()), config)
	must(t, err)
	t.Cleanup(func() { connection.Close() })
	channel, err := connection.Channel()
	must(t, err)
	for _, queue := range queues {
		_, err = channel.QueueDeclare(queue, true, false, false, false, nil)
		must(t, err)
	}
	return connection
}

// row is what the management API says of a vhost.
func (s *site) row(t *testing.T, vhost string) map[string]any {
	t.Helper()
	var all []map[string]any
	must(t, s.rabbit.API(context.WithoutCancel(t.Context()), http.MethodGet, "/api/vhosts", nil, &all))
	for _, v := range all {
		if v["name"] == vhost {
			return v
		}
	}
	t.Fatalf("no vhost %s", vhost)
	return nil
}

// switchTracing switches the tracing of a vhost, as rabbitmqctl trace_on and trace_off do.
func (s *site) switchTracing(t *testing.T, vhost string, on bool) {
	t.Helper()
	must(t, s.rabbit.API(t.Context(), http.MethodPut, "/api/vhosts/"+url.PathEscape(vhost), map[string]bool{"tracing": on}, nil))
}

func (s *site) isTraced(t *testing.T, vhost string) bool {
	t.Helper()
	return s.row(t, vhost)["tracing"] == true
}

// clean fails if a body, or a note of a trace, is on disk or in the log.
func (s *site) clean(t *testing.T) {
	t.Helper()
	if strings.Contains(s.log.String(), canary) {
		t.Errorf("a body is in the log:\n%s", s.log)
	}
	must(t, filepath.WalkDir(s.data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		t.Errorf("left on disk: %s\n%s", path, text)
		return err
	}))
}

func ref(vhost, queue string) dedup.TracedQueue {
	id, err := message.ParseIDSource("message_id else md5(body)")
	if err != nil {
		panic(err)
	}
	return dedup.TracedQueue{QueueRef: dedup.QueueRef{Vhost: vhost, Name: queue}, ID: id}
}

func request(vhost string, length time.Duration, queues ...string) dedup.TraceRequest {
	r := dedup.TraceRequest{For: length}
	for _, queue := range queues {
		r.Queues = append(r.Queues, ref(vhost, queue))
	}
	return r
}

// traced runs a trace, and tells when it has begun.
func traced(ctx context.Context, t *testing.T, tracer *Tracer, request dedup.TraceRequest) (began <-chan time.Time, result func() (dedup.Trace, error)) {
	t.Helper()
	type outcome struct {
		trace dedup.Trace
		err   error
	}
	begun, done := make(chan time.Time, 1), make(chan outcome, 1)
	request.Started = func(at time.Time) { begun <- at }
	go func() {
		trace, err := tracer.Trace(ctx, request)
		done <- outcome{trace, err}
	}()
	return begun, func() (dedup.Trace, error) {
		o := <-done
		return o.trace, o.err
	}
}

// awaitBegun waits for the beginning of a trace.
func awaitBegun(t *testing.T, began <-chan time.Time) {
	t.Helper()
	select {
	case <-began:
	case <-time.After(2 * time.Minute):
		t.Fatal("no trace began in 2 m")
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within 2 m: %s", what)
		}
	}
}
