package collector

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/page/chart"
	"dedup-dashboard/internal/server/page/deadletter"
	"dedup-dashboard/internal/server/page/effects"
	"dedup-dashboard/internal/server/page/job"
	"dedup-dashboard/internal/server/page/measurement"
	page "dedup-dashboard/internal/server/page/pipeline"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/web"
)

const refusalToken = "refusal-token-0123456789012345678901234567890123"

// A published snapshot is what the pages of a test are drawn from.
type published struct{ snap *dedup.Snapshot }

func (p *published) Snapshot() *dedup.Snapshot { return p.snap }
func (*published) Tried() bool                 { return true }

type noHistory struct{ ready chan struct{} }

func (h noHistory) Ready() <-chan struct{} { return h.ready }
func (noHistory) QueryRange(context.Context, string, time.Time, time.Time, time.Duration) ([]series.Line, error) {
	return nil, series.ErrStarting
}

func succeed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newPages starts the web over snapshots that a test publishes.
func newPages(t *testing.T, p *published) http.Handler {
	t.Helper()
	log, dir := slog.New(slog.DiscardHandler), t.TempDir()
	db, err := journal.Open(t.Context(), dir, log)
	succeed(t, err)
	t.Cleanup(func() { _ = db.Close() })
	service, err := auth.New(auth.Config{Tokens: []auth.TokenConfig{{Name: "v", Role: "viewer", Token: secret.New(refusalToken)}}}, db)
	succeed(t, err)
	first := auth.NewFirstAdmin(service, filepath.Join(dir, "link"), func(string) string { return "" }, func(string) {})
	cfg := server.DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	history := noHistory{make(chan struct{})}
	s, err := server.New(cfg, server.Deps{
		Snapshots: p, History: history, Auth: service, FirstAdmin: first, Gate: admin.NewGate(db.Audit(), db, log), Sessions: session.New(cfg.Sessions(), db.Sessions()), Log: log,
		Pages: []web.Pages{page.New(page.Deps{
			Snapshots: p, Jobs: job.New(job.Deps{}), Charts: chart.New(chart.Deps{Snapshots: p, History: history}), Effects: effects.Section,
			Alerts: alert.Deps{}, Baselines: deadletter.NewBaselines(nil), Measured: measurement.New(nil),
		})},
	})
	succeed(t, err)
	return s.Handler()
}

// pageText is what the page of the pipeline orders says.
func pageText(t *testing.T, web http.Handler) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/pipelines/orders", nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:4711"
	r.Header.Set("Authorization", "Bearer "+refusalToken)
	w := httptest.NewRecorder()
	web.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b, _ := io.ReadAll(w.Result().Body)
		t.Fatalf("%d: %s", w.Code, b)
	}
	doc, err := goquery.NewDocumentFromReader(w.Result().Body)
	succeed(t, err)
	doc.Find("script, template, [hidden]").Remove()
	return strings.Join(strings.Fields(doc.Text()), " ")
}

// provoked runs the collector over sources that a test spoils, and returns the snapshot two intervals after that.
func provoked(t *testing.T, prepare, spoil func(*testBench)) *dedup.Snapshot {
	t.Helper()
	var snap *dedup.Snapshot
	duringFrom(t, prepare, func(_ *testing.T, b *testBench) {
		pass(2 * testInterval)
		spoil(b)
		pass(2 * testInterval)
		snap = b.Snapshot()
	})
	return snap
}

// spoilQueue changes the source queue of the pipeline orders.
func spoilQueue(change func(*dedup.Queue)) func(*testBench) {
	return func(b *testBench) {
		b.broker.set(func(f *fakeSource) { change(&f.sample.Queues[0]) })
	}
}

// acking lets the source queue count, as it does where messages flow.
func acking(deliver, ack, again int64) func(*testBench) {
	return spoilQueue(func(q *dedup.Queue) {
		q.Counters = dedup.QueueCounters{Ack: &ack, Deliver: &deliver, Redeliver: &again, Publish: &deliver, DeliverNoAck: ptr(0), Get: ptr(0), GetNoAck: ptr(0)}
	})
}

// TestEachSourceThatRefusesSaysSoOnThePage provokes a refusal of each source, and reads the page of the pipeline.
func TestEachSourceThatRefusesSaysSoOnThePage(t *testing.T) {
	shown := &published{}
	web := newPages(t, shown)
	stats := func(change func(*dedup.StoreStats)) func(*testBench) {
		return func(b *testBench) { b.store.set(func(f *fakeSource) { change(&f.stats) }) }
	}
	sample := func(change func(*dedup.BrokerSample)) func(*testBench) {
		return func(b *testBench) { b.broker.set(func(f *fakeSource) { change(&f.sample) }) }
	}
	events := func(e dedup.StoreEvents) func(*testBench) {
		return stats(func(s *dedup.StoreStats) { e.At, e.Asked, e.Command = time.Now(), ptr(0), "setnx"; s.Events = &e })
	}
	nodeDown := sample(func(s *dedup.BrokerSample) {
		s.Totals = []dedup.NodeTotals{{URL: "http://n1:15692", Err: "connection refused"}}
	})
	for _, tt := range []struct {
		name           string
		prepare, spoil func(*testBench)
		says           []string
	}{
		{"reported counters that stand still while the broker counts acks",
			func(b *testBench) {
				acking(0, 0, 0)(b)
				b.store.set(func(f *fakeSource) {
					f.reported = dedup.Reported{Present: true, Outcomes: map[string]int64{"processed": 7}}
				})
			}, acking(1000, 1000, 0),
			[]string{"Consumers reported nothing in the window although the broker counted acks.", "See why the consumers stopped to report"}},
		{"an id gap that may not be read",
			func(b *testBench) {
				b.store.scheme = dedup.Scheme{Kind: "sql-table", Preset: "sql-unique-row", Mark: "before", InsertFirst: true, OnInFlight: "wait", Transactional: true, OnFail: "delete", OnFailed: "ack"}
				stats(func(s *dedup.StoreStats) {
					s.Inserts = &dedup.InsertStats{Why: "the sequence <b>ids\u202e</b> may not be read"}
				})(b)
			}, acking(9, 9, 0),
			[]string{`The sequence <b>ids\u202e</b> may not be read.`}},
		{"store events that are switched off", acking(0, 0, 0), events(dedup.StoreEvents{Why: "notify-keyspace-events lacks the letter x"}),
			[]string{"Store events do not come; notify-keyspace-events lacks the letter x.", "Set events: true for the store"}},
		{"store events with a gap",
			func(b *testBench) { acking(0, 0, 0)(b); events(dedup.StoreEvents{Listening: true, Epoch: 1})(b) }, events(dedup.StoreEvents{Listening: true, Epoch: 2, Since: time.Date(2000, 1, 1, 0, 0, 45, 0, time.UTC)}),
			[]string{"Events of the store were missed in the window (until about 00:1"}},
		{"a residual interval of consumers that ack what is in flight",
			func(b *testBench) { acking(0, 0, 0)(b); b.store.scheme.OnInFlight = "ack" }, acking(9, 9, 0),
			[]string{"Never in this scheme: consumers of this scheme ack messages that are still in flight, so lost messages look like duplicates."}},
		{"a residual interval of a store that was never walked whole", acking(0, 0, 0), acking(9, 9, 0), []string{"No complete pass over the store yet. Let the consumers report"}},
		{"Little's law where messages come again", acking(0, 0, 0), acking(1000, 600, 400),
			[]string{"40 % of deliveries were redelivered, whose waiting would be counted in", "Let the consumers report ack latencies"}},
		{"Little's law on automatic acks", acking(0, 0, 0), spoilQueue(func(q *dedup.Queue) { q.Counters.DeliverNoAck = ptr(500) }),
			[]string{"Automatic acks: there is no ack to wait for."}},
		{"a loss meter without the counters of a node",
			func(b *testBench) { acking(0, 0, 0)(b); nodeDown(b) }, func(b *testBench) {
				acking(1000, 1000, 0)(b)
				sample(func(s *dedup.BrokerSample) { s.ChannelsClosed = ptr(3) })(b)
			},
			[]string{"at least: channels were closed in the window, and the broker may have lost their last counts; how many is not known: node http://n1:15692 cannot be read: connection refused"}},
		{"ack timeouts without a log", acking(0, 0, 0), acking(9, 9, 0),
			[]string{"Not observable on this broker: it does not publish its log", "Set log.exchange = true and log.exchange.level = warning in rabbitmq.conf"}},
		{"ack timeouts of a node that was never heard",
			sample(func(s *dedup.BrokerSample) { s.Log = &dedup.BrokerLog{Listening: true, Epoch: 1} }), acking(9, 9, 0),
			[]string{"No line of the broker's log has come yet, and the exchange stands though a node may not publish its log there.", "See that log.exchange = true"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shown.snap = provoked(t, tt.prepare, tt.spoil)
			text := pageText(t, web)
			for _, want := range tt.says {
				if !strings.Contains(text, want) {
					at := max(0, strings.Index(text, "How this rate"))
					t.Errorf("the page does not say %q:\n%.2000s", want, text[at:])
				}
			}
		})
	}
}
