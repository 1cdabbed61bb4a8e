package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server"
	"dedup-dashboard/internal/server/page/account"
	"dedup-dashboard/internal/server/page/audit"
	markerpage "dedup-dashboard/internal/server/page/marker"
	"dedup-dashboard/internal/server/page/overview"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/web"
)

const (
	overviewRequests = 500
	benchUser        = "bench"
	benchPassword    = "only used in memory 4711"
)

// measureOverview measures the overview of 200 pipelines with every figure known, in the handler: from the request to
// the last byte, without a network. There is a new snapshot for each request, so that nothing is reused.
func measureOverview(ctx context.Context, b *bench) error {
	source := &snapshotSource{}
	source.next()
	site, closeSite, err := newSite(ctx, filepath.Join(b.folder, "overview"), "viewer", source)
	if err != nil {
		return err
	}
	defer closeSite()
	cookie, err := signIn(site)
	if err != nil {
		return err
	}
	var size int
	var took []time.Duration
	cpu := cpuSeconds(os.Getpid())
	for range overviewRequests {
		source.next()
		start := time.Now()
		page := get(site, "/", cookie)
		took = append(took, time.Since(start))
		size = page.Body.Len()
		if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), pipelineName(historyPipelines-1)) {
			return fmt.Errorf("the overview answered %d", page.Code)
		}
	}
	cpu = cpuSeconds(os.Getpid()) - cpu
	slices.Sort(took)
	b.table.add("overview: processor time per page, making its snapshot included", 1e3*cpu/overviewRequests, "ms", target{})
	b.table.add("overview: 200 pipelines, in the handler, median of 500", ms(took[len(took)/2]), "ms", target{})
	b.table.add("overview: 200 pipelines, in the handler, p95 of 500", ms(took[len(took)*95/100]), "ms", target{atMost: 10})
	b.table.add("overview: size of the page before compression", float64(size)/1024, "KiB", target{})
	return nil
}

// figureSource is what the pages show.
type figureSource interface {
	Snapshot() *dedup.Snapshot
	Tried() bool
	Ready() <-chan struct{}
	QueryRange(ctx context.Context, query string, from, to time.Time, step time.Duration) ([]series.Line, error)
}

// newSite returns the web of a dashboard whose figures come from source, with one account of a role. Its markers are
// those of the stores.
func newSite(ctx context.Context, dir, role string, source figureSource, stores ...marker.Store) (_ http.Handler, closeSite func(), err error) {
	log := slog.New(slog.DiscardHandler)
	db, err := journal.Open(ctx, dir, log)
	if err != nil {
		return nil, nil, err
	}
	closeSite = func() { _ = db.Close() }
	defer func() {
		if err != nil {
			closeSite()
		}
	}()
	hash, err := auth.HashPassword(benchPassword)
	if err != nil {
		return nil, nil, err
	}
	accounts, err := auth.New(auth.Config{Users: []auth.UserConfig{{Name: benchUser, Role: role, PasswordHash: secret.New(hash)}}}, db)
	if err != nil {
		return nil, nil, err
	}
	first := auth.NewFirstAdmin(accounts, filepath.Join(dir, "link"), func(string) string { return "" }, func(string) {})
	gate := admin.NewGate(db.Audit(), db, log)
	keeper := marker.New(marker.Deps{Gate: gate, Trail: db.Audit(), Journal: db.Operations(), Snapshots: source,
		Stores: stores, Judge: dedup.Judge, Log: log})
	sessions := session.New(server.DefaultConfig().Sessions(), db.Sessions())
	s, err := server.New(server.DefaultConfig(), server.Deps{
		Snapshots: source, History: source, Auth: accounts, FirstAdmin: first,
		Pages: []web.Pages{overview.New(overview.Deps{Snapshots: source}), account.New(account.Deps{Auth: accounts, FirstAdmin: first, Gate: gate, Sessions: sessions, Log: log}), markerpage.New(markerpage.Deps{Snapshots: source, Markers: keeper, Judge: dedup.Judge, Log: log}), audit.New(audit.Deps{Snapshots: source, Trail: admin.NewTrail(gate, db.Audit(), source)})},
		Gate:  gate, Sessions: sessions, Log: log, Version: "bench",
	})
	if err != nil {
		return nil, nil, err
	}
	return s.Handler(), closeSite, nil
}

func signIn(site http.Handler) (*http.Cookie, error) {
	form := url.Values{"username": {benchUser}, "password": {benchPassword}}.Encode()
	request := local(http.MethodPost, "/login", form)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	site.ServeHTTP(answer, request)
	for _, c := range answer.Result().Cookies() {
		if strings.HasSuffix(c.Name, "session") {
			return c, nil
		}
	}
	return nil, fmt.Errorf("sign in: the server answered %d without a session", answer.Code)
}

func get(site http.Handler, path string, cookie *http.Cookie) *httptest.ResponseRecorder {
	request := local(http.MethodGet, path, "")
	request.AddCookie(cookie)
	answer := httptest.NewRecorder()
	site.ServeHTTP(answer, request)
	return answer
}

func local(method, path, body string) *http.Request {
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Host, request.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:4711"
	return request
}

// snapshotSource publishes snapshots of a busy system. It has no history.
type snapshotSource struct {
	round uint64
	now   atomic.Pointer[dedup.Snapshot]
}

// Snapshot returns the newest snapshot.
func (s *snapshotSource) Snapshot() *dedup.Snapshot { return s.now.Load() }

// Tried says that every source was tried.
func (s *snapshotSource) Tried() bool { return true }

// Ready never closes: there is no history.
func (s *snapshotSource) Ready() <-chan struct{} { return nil }

// QueryRange has nothing to answer.
func (s *snapshotSource) QueryRange(context.Context, string, time.Time, time.Time, time.Duration) ([]series.Line, error) {
	return nil, series.ErrStarting
}

// next publishes the next snapshot. It must not be called at the same time.
func (s *snapshotSource) next() {
	s.round++
	now := time.Now()
	snap := &dedup.Snapshot{Round: s.round, At: now, Interval: historyInterval}
	for n := range historyPipelines {
		snap.Pipelines = append(snap.Pipelines, busyPipeline(n, now))
	}
	s.now.Store(snap)
}

// busyPipeline has a value for every figure; the duplicate rates run from 0 to 12 %, through all tiers.
func busyPipeline(n int, now time.Time) dedup.PipelineStatus {
	name := pipelineName(n)
	rate := 0.12 * float64(n) / historyPipelines
	count := func(v float64) dedup.Figure { return dedup.Exact(dedup.Measured, dedup.Count, v, now, "broker") }
	p := dedup.PipelineStatus{
		Pipeline: dedup.Pipeline{Name: name, Broker: "main", Vhost: "/", Queues: []string{name}, Store: "main",
			Labels: map[string]string{"team": "shop"}, Limits: dedup.DefaultLimits()},
		Gauges: map[dedup.GaugeName]dedup.Figure{dedup.Ready: count(float64(n)), dedup.Unacked: count(7), dedup.Consumers: count(3)}, DeadLetters: count(float64(n % 9)),
		Markers: map[dedup.State]dedup.Figure{"processing": count(4), "done": count(100_000)},
		Sources: []string{"broker main", "store main"}, LastActivity: now,
	}
	for _, window := range dedup.Windows() {
		p.Windows = append(p.Windows, busyWindow(window, rate, now))
	}
	for minute := range 60 {
		p.Spark = append(p.Spark, dedup.Point{At: now.Add(time.Duration(minute-60) * time.Minute), Value: rate * float64(minute%7)})
	}
	return p
}

func busyWindow(window time.Duration, rate float64, now time.Time) dedup.WindowFigures {
	const messages = 10_000
	figure := func(unit dedup.Unit, v float64) dedup.Figure {
		f := dedup.Exact(dedup.Measured, unit, v, now, "reported counters")
		f.Window, f.Covered, f.N = window, window, messages
		return f
	}
	duplicates := figure(dedup.Ratio, rate)
	duplicates.Hits = rate * messages
	return dedup.WindowFigures{
		Window: window, Messages: figure(dedup.Count, messages), Duplicates: figure(dedup.Count, rate*messages), DuplicateRate: duplicates,
		Redeliveries: figure(dedup.Ratio, 0.01), Failures: figure(dedup.PerHour, 12), FailureRate: figure(dedup.Ratio, 0.001),
		AckMean: figure(dedup.Seconds, 0.08), AckP50: figure(dedup.Seconds, 0.06), AckP95: figure(dedup.Seconds, 0.2), AckP99: figure(dedup.Seconds, 0.4),
		WorkMean: figure(dedup.Seconds, 0.05), DeadLetterInflow: figure(dedup.PerHour, 3),
	}
}
