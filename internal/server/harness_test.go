package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/alerting"
	"dedup-dashboard/internal/admin/baseline"
	"dedup-dashboard/internal/admin/mark"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/admin/measuring"

	"go.uber.org/goleak"
	"golang.org/x/crypto/argon2"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/page/account"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/page/audit"
	"dedup-dashboard/internal/server/page/chart"
	"dedup-dashboard/internal/server/page/deadletter"
	"dedup-dashboard/internal/server/page/effects"
	"dedup-dashboard/internal/server/page/guide"
	"dedup-dashboard/internal/server/page/job"
	markerpage "dedup-dashboard/internal/server/page/marker"
	"dedup-dashboard/internal/server/page/measurement"
	"dedup-dashboard/internal/server/page/message"
	"dedup-dashboard/internal/server/page/move"
	"dedup-dashboard/internal/server/page/overview"
	"dedup-dashboard/internal/server/page/pipeline"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
	"dedup-dashboard/web/templates"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testPassword = "correct horse battery"

// Tokens of each role, and one that has expired.
const (
	viewerToken   = "viewer-token-0123456789012345678901234567890123"
	operatorToken = "operator-token-01234567890123456789012345678901"
	adminToken    = "admin-token-0123456789012345678901234567890123"
	expiredToken  = "expired-token-012345678901234567890123456789012"
)

type fakeSnapshots struct {
	snap  atomic.Pointer[dedup.Snapshot]
	tried atomic.Bool
}

func (f *fakeSnapshots) Snapshot() *dedup.Snapshot { return f.snap.Load() }
func (f *fakeSnapshots) Tried() bool               { return f.tried.Load() }

// fakeHistory is one that has just begun, or what answers for it.
type fakeHistory struct {
	ready   chan struct{}
	answers interface {
		QueryRange(ctx context.Context, promql string, from, to time.Time, step time.Duration) ([]series.Line, error)
	}
}

func (f *fakeHistory) Ready() <-chan struct{} { return f.ready }
func (f *fakeHistory) QueryRange(ctx context.Context, promql string, from, to time.Time, step time.Duration) ([]series.Line, error) {
	if f.answers != nil {
		return f.answers.QueryRange(ctx, promql, from, to, step)
	}
	return nil, series.ErrStarting
}

// site is a whole server over a real journal, and what a test needs to get at.
type site struct {
	*Server
	t         testing.TB
	snapshots *fakeSnapshots
	history   *fakeHistory
	journal   *journal.DB
	shelf     *demo.Shelf
	keeper    *keeper
	alerting  alert.Deps
	morgue    *demo.Morgue
	// deadLetters is behind the pages of dead letters, moves and jobs; nil for none.
	deadLetters deadLetterService
	tower       *tower
	bench       *bench
	first       *auth.FirstAdmin
	link        atomic.Pointer[string]
	dir         string
}

// hashOf is the hash of testPassword, of the least cost that is accepted: hashing is slow on purpose, and hundreds of tests sign in.
var hashOf = func() string {
	salt := []byte("16 bytes of salt")
	key := argon2.IDKey([]byte(testPassword), salt, 1, 8, 1, 32)
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=8,t=1,p=1$%s$%s", argon2.Version, text(salt), text(key))
}()

func testConfig() Config {
	c := DefaultConfig()
	c.Listen = "127.0.0.1:0"
	return c
}

// testUsers are one user per role.
func testUsers() []auth.UserConfig {
	var users []auth.UserConfig
	for _, role := range []string{"viewer", "operator", "admin"} {
		users = append(users, auth.UserConfig{Name: role, Role: role, PasswordHash: secret.New(hashOf)})
	}
	return users
}

func newSite(t testing.TB, change func(*Config), users []auth.UserConfig) *site {
	t.Helper()
	cfg := testConfig()
	if change != nil {
		change(&cfg)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := &site{t: t, snapshots: &fakeSnapshots{}, history: &fakeHistory{ready: make(chan struct{})}, dir: t.TempDir(), shelf: demo.NewShelf(time.Now()), morgue: demo.NewMorgue(time.Now), tower: newTower()}
	s.snapshots.snap.Store(&dedup.Snapshot{})
	db, err := journal.Open(t.Context(), s.dir, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s.journal = db
	// The recorded answers have identifiers from a stream of random bytes, of which these were drawn here when they were recorded.
	_ = rand.Text()
	_, _ = rand.Read(make([]byte, 16))
	service, err := auth.New(auth.Config{Users: users, Tokens: []auth.TokenConfig{
		{Name: "v", Role: "viewer", Token: secret.New(viewerToken)},
		{Name: "o", Role: "operator", Token: secret.New(operatorToken)},
		{Name: "a", Role: "admin", Token: secret.New(adminToken)},
		{Name: "old", Role: "admin", Token: secret.New(expiredToken), Expires: time.Now().Add(-time.Minute)},
	}}, db)
	if err != nil {
		t.Fatal(err)
	}
	s.first = auth.NewFirstAdmin(service, filepath.Join(s.dir, "first-admin-link"),
		func(token string) string { return cfg.base() + "/setup?token=" + token }, func(link string) { s.link.Store(&link) })
	if err := s.first.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	gate := admin.NewGate(db.Audit(), db, log)
	markers := marker.New(marker.Deps{
		Gate: gate, Trail: db.Audit(), Journal: db.Operations(), Snapshots: s.snapshots, Judge: dedup.Judge, Log: log, ReadOnly: cfg.ReadOnly,
		Stores: []marker.Store{{Name: "orders", Reader: s.shelf, Actor: s.shelf}, {Name: "payments", Reader: &demo.Shelf{}}, {Name: "sessions", Reader: &demo.Shelf{Down: true}}},
	})
	t.Cleanup(func() { _ = markers.Close(context.Background()) })
	s.morgue.Record = db.Audit().Record
	s.bench = newBench(t, measuring.Deps{Gate: gate, Journal: db.Measurements(), Log: log, ReadOnly: cfg.ReadOnly, Changed: func(topic string) { s.Changed(topic) }})
	s.keeper = &keeper{markers}
	s.alerting = alert.Deps{View: s.tower, Records: s.tower, Channels: s.tower, Snapshots: s.snapshots, Log: log,
		Attend: alerting.New(alerting.Deps{Gate: gate, Acks: s.tower, Silences: s.tower, Channels: s.tower, ReadOnly: cfg.ReadOnly})}
	exact := measurement.New(s.bench.service)
	s.deadLetters = s.morgue
	baselines := deadletter.NewBaselines(baseline.New(baseline.Deps{Gate: gate, Journal: db.Baselines(), Snapshots: s.snapshots, ReadOnly: cfg.ReadOnly}))
	charts := chart.New(chart.Deps{Snapshots: s.snapshots, History: s.history})
	sessions := session.New(cfg.Sessions(), db.Sessions())
	s.Server, err = New(cfg, Deps{
		Pages: []web.Pages{
			api.New(api.Deps{Snapshots: s.snapshots, Marks: mark.New(mark.Deps{Gate: gate, Journal: db.Marks(), Snapshots: s.snapshots, ReadOnly: cfg.ReadOnly}), Jobs: s}),
			guide.New(), exact.Pages, s.overviewPages(exact), s.accountPages, s.alertPages, s.letterPages, baselines.Pages,
			markerpage.New(markerpage.Deps{Snapshots: s.snapshots, Markers: s.keeper, Judge: dedup.Judge, Stories: s, Log: log}),
			effects.New(s.snapshots),
			charts.Pages,
			pipeline.New(pipeline.Deps{Snapshots: s.snapshots, Jobs: s, Charts: charts, Effects: effects.Section, Alerts: s, Baselines: baselines, Measured: exact}),
			audit.New(audit.Deps{Snapshots: s.snapshots, Trail: admin.NewTrail(gate, db.Audit(), s.snapshots)}),
		},
		Alerts:    s.alerting,
		Snapshots: s.snapshots, History: s.history, Auth: service, FirstAdmin: s.first,
		Gate: gate, Sessions: sessions, Log: log, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// deadLetterService is everything behind the pages of dead letters, moves and jobs.
type deadLetterService interface {
	deadletter.Service
	message.Service
	move.Service
	job.Service
}

// alertPages are the pages of alerts over what a test has put in their place.
func (s *site) alertPages(site web.Site) []web.Route {
	return late(site, func(site web.Site) []web.Route { return alert.New(s.alerting)(site) })
}

// overviewPages are the overview over the alerts that a test has put in their place.
func (s *site) overviewPages(exact measurement.Measurements) web.Pages {
	return func(site web.Site) []web.Route {
		return late(site, func(site web.Site) []web.Route {
			return overview.New(overview.Deps{Snapshots: s.snapshots, Alerts: s.alerting.View, Measured: exact})(site)
		})
	}
}

// accountPages are the pages of accounts over what a test has put in their place.
func (s *site) accountPages(site web.Site) []web.Route {
	return late(site, func(site web.Site) []web.Route {
		deps := account.Deps{FirstAdmin: s.first}
		if s.Server != nil { // which registers the pages while it is made
			deps = account.Deps{Auth: s.auth, FirstAdmin: s.first, Gate: s.gate, Sessions: s.sessions, Log: s.log}
		}
		return account.New(deps)(site)
	})
}

// letterPages are the pages of dead letters, moves and jobs over what a test has put in their place.
func (s *site) letterPages(site web.Site) []web.Route {
	return late(site, func(site web.Site) []web.Route {
		log := slog.New(slog.DiscardHandler)
		return slices.Concat(deadletter.New(deadletter.Deps{Snapshots: s.snapshots, Letters: s.deadLetters, Log: log})(site), s.messages().Pages(site), move.New(s.deadLetters)(site),
			job.New(job.Deps{Letters: s.deadLetters, Log: log}).Pages(site))
	})
}

// late makes pages anew for each request.
func late(site web.Site, pages web.Pages) []web.Route {
	routes := pages(site)
	for i := range routes {
		routes[i].Handler = func(r *web.Request) (web.Response, error) { return pages(site)[i].Handler(r) }
	}
	return routes
}

func (s *site) messages() message.Messages {
	return message.New(message.Deps{Snapshots: s.snapshots, Letters: s.deadLetters})
}

// Stories tells what the dead letters of the moment know of an id.
func (s *site) Stories(r *web.Request, base, term string, found marker.LookupResult, now time.Time) ([]web.Dated, string) {
	return s.messages().Stories(r, base, term, found, now)
}

// Line tells what fires by the alerts of the moment.
func (s *site) Line(base, name string, now time.Time) templates.AlertLine {
	return s.alerting.Line(base, name, now)
}

// WithEvents tells what the jobs of the moment did.
func (s *site) WithEvents(r *web.Request, snap *dedup.Snapshot) *dedup.Snapshot {
	return job.New(job.Deps{Letters: s.deadLetters, Log: slog.New(slog.DiscardHandler)}).WithEvents(r, snap)
}

// do sends a request to the handler, from a loopback address.
func (s *site) do(method, target, body string, headers ...string) *http.Response {
	s.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), 4711).String()
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Minute)
	defer cancel()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(streamRecorder{w, cancel}, r.WithContext(ctx))
	return w.Result()
}

// streamRecorder lets a recorder stand in for a connection whose client leaves a stream of hints with its first flush: what
// counts here is how it begins.
type streamRecorder struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (streamRecorder) SetWriteDeadline(time.Time) error { return nil }

func (w streamRecorder) Flush() {
	w.ResponseRecorder.Flush()
	if w.Header().Get("Content-Type") == "text/event-stream" {
		w.leave()
	}
}

func (s *site) body(res *http.Response) string {
	s.t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// signInAs returns the cookie of a fresh session.
func (s *site) signInAs(name string) string {
	s.t.Helper()
	res := s.do("POST", s.cfg.base()+"/login", url.Values{"username": {name}, "password": {testPassword}}.Encode())
	if res.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("sign in as %s: %s", name, res.Status)
	}
	return cookieOf(s.t, res)
}

// cookieOf returns the session cookie that a response sets, as a request sends it.
func cookieOf(t testing.TB, res *http.Response) string {
	t.Helper()
	for _, c := range res.Cookies() {
		if strings.HasSuffix(c.Name, "dedup_session") && c.MaxAge >= 0 {
			return c.Name + "=" + c.Value
		}
	}
	t.Fatal("no session cookie")
	return ""
}
