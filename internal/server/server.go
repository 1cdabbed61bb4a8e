// Package server is the web: pages, the JSON API, /metrics, probes and the stream of hints. Echo lives here and nowhere else; web/ is what handlers
// get and give back, and packages outside the server register their routes by it.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server/metrics"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/web"
)

// snapshots gives what is known now. Snapshot never returns nil: before the first round it is empty and has Round 0. Tried
// reports whether a first attempt at every source has ended, well or badly. Both are cheap and safe for concurrent use.
type snapshots interface {
	Snapshot() *dedup.Snapshot
	Tried() bool
}

// history gives numbers over time. Ready is closed once it can be asked; before that QueryRange returns
// series.ErrStarting.
type history interface {
	QueryRange(ctx context.Context, promql string, from, to time.Time, step time.Duration) ([]series.Line, error)
	Ready() <-chan struct{}
}

// Deps are what the server needs. All are required, except where it is said.
type Deps struct {
	Snapshots  snapshots
	History    history
	Auth       *auth.Service
	FirstAdmin *auth.FirstAdmin
	Gate       *admin.Gate
	Sessions   *session.Sessions
	// Pages are routes of packages outside the server.
	Pages []web.Pages
	// Alerts is behind the pages of alerts and silences; they say so where rules are not judged.
	Alerts  alert.Deps
	Log     *slog.Logger
	Version string
	// HashKey keys the hashes that others than admins see; without one they change with each start.
	HashKey []byte
}

// Server is the web server. It is safe for concurrent use.
type Server struct {
	cfg        Config
	log        *slog.Logger
	version    string
	snapshots  snapshots
	history    history
	auth       *auth.Service
	firstAdmin *auth.FirstAdmin
	gate       *admin.Gate
	sessions   *session.Sessions
	hub        *hub
	metrics    *metrics.Metrics
	judging    judging
	// registered are the routes of packages outside the server.
	registered []web.Route
	alerts     alert.Deps
	// site is what pages are offered, those of the server itself too.
	site    web.Site
	proxies proxies
	handler http.Handler
	http    *http.Server
}

// The limits of the HTTP server. Streams set a deadline of their own for each write.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 30 * time.Second
	// actTimeout is writeTimeout for what acts, whose answer waits for its turn, for a broker and for stores.
	actTimeout   = deadletter.ScanWithin + 30*time.Second
	idleTimeout  = 2 * time.Minute
	maxBodyBytes = 1 << 20
)

// New returns a server that does not listen yet.
func New(cfg Config, deps Deps) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if cfg.hasTLS() {
		// Serve would find out only after the address was announced.
		if _, err := tls.LoadX509KeyPair(cfg.TLS.CertFile, cfg.TLS.KeyFile); err != nil {
			return nil, fmt.Errorf("server: tls: %w; give a certificate and its key in PEM form", err)
		}
	}
	s := &Server{
		cfg: cfg, log: deps.Log, version: deps.Version, snapshots: deps.Snapshots, history: deps.History, auth: deps.Auth,
		alerts: deps.Alerts, firstAdmin: deps.FirstAdmin, gate: deps.Gate, sessions: deps.Sessions, hub: newHub(),
	}
	s.judging.alerts, s.proxies.log = &s.alerts, deps.Log
	s.site = web.Site{Base: cfg.base(), Secure: cfg.secure(), ReadOnly: cfg.ReadOnly, Masker: web.NewMasker(deps.HashKey), Frame: s.frame, ErrorView: s.errorView, Recheck: func() { s.hub.recheck() }, ProxyNote: s.proxies.problem, Judge: s.judging.by, Verdicts: s.judging.at}
	s.metrics = metrics.New(s.metricDeps())
	for _, pages := range deps.Pages {
		s.registered = append(s.registered, pages(s.site)...)
	}
	h, err := s.newHandler()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.handler = h
	s.http = &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		// net/http adds 4 kB of slop of its own to this limit.
		IdleTimeout: idleTimeout, MaxHeaderBytes: web.MaxHeaderBytes - 4096,
		ErrorLog:  slog.NewLogLogger(deps.Log.Handler(), slog.LevelDebug),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	return s, nil
}

func (s *Server) metricDeps() metrics.Deps {
	deps := metrics.Deps{Snapshots: s.snapshots, Verdicts: s.judging.all, LivePages: s.hub.count}
	if s.alerts.View != nil {
		deps.Alerts = s.alerts.View
	}
	if channels := s.alerts.Channels; channels != nil {
		deps.Channels = func(ctx context.Context) ([]metrics.Channel, error) {
			states, err := channels.Channels(ctx)
			all := make([]metrics.Channel, len(states))
			for i, c := range states {
				all[i] = metrics.Channel{Name: c.Name, Waiting: c.Waiting, Oldest: c.Oldest, LastSuccess: c.LastSuccess}
			}
			return all, err
		}
	}
	return deps
}

// Handler returns the whole of the web, for tests.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers requests on the listener until Shutdown, and returns nil after it.
func (s *Server) Serve(l net.Listener) error {
	var err error
	if s.cfg.hasTLS() {
		err = s.http.ServeTLS(l, s.cfg.TLS.CertFile, s.cfg.TLS.KeyFile)
	} else {
		err = s.http.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// Shutdown ends the streams, waits for the other requests until the context ends, and then cuts what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.hub.close()
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("shut down: %w", err), s.http.Close())
	}
	return nil
}

// Changed tells live pages that a topic changed: "overview", "alerts", "pipeline:NAME", "operation:ID" or "job:ID". It never blocks.
func (s *Server) Changed(topic string) { s.hub.changed(topic) }
