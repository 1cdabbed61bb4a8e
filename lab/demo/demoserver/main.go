// Command demoserver serves the pages of the demo scenes without a broker or a store, for browser tests and screenshots.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"dedup-dashboard/internal/admin/baseline"
	"dedup-dashboard/internal/admin/mark"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/admin/measuring"

	"golang.org/x/crypto/bcrypt"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server"
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
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to serve on")
	dir := flag.String("dir", "", "empty directory for accounts and sessions")
	password := flag.String("password", "", "password of the account viewer; without one no account exists")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *listen, *dir, *password); err != nil {
		slog.Error("demo ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen, dir, password string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := journal.Open(ctx, dir, log)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	accounts, err := accountsOf(db, password)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	cfg := server.DefaultConfig()
	cfg.Listen = l.Addr().String()
	link := func(token string) string { return cfg.URL(l.Addr(), "/setup?token="+token) }
	first := auth.NewFirstAdmin(accounts, filepath.Join(dir, "first-admin"), link, func(link string) { fmt.Println("Setup:", link) })
	if err := first.Start(ctx); err != nil {
		return err
	}
	st := &stage{scene: "mixed", shelf: demo.NewShelf(time.Now()), morgue: demo.NewMorgue(time.Now)}
	gate := admin.NewGate(db.Audit(), db, log)
	var srv *server.Server
	service := marker.New(marker.Deps{
		Gate: gate, Trail: db.Audit(), Journal: db.Operations(), Snapshots: st, Judge: dedup.Judge, Log: log, Stores: st.stores(),
		Changed: func(topic string) { srv.Changed(topic) },
	})
	defer func() { _ = service.Close(context.Background()) }()
	st.morgue.Record = db.Audit().Record
	st.morgue.Changed = func(topic string) { srv.Changed(topic) }
	alarms, err := demo.NewAlarms(db.Alerts(), st, func(topic string) { srv.Changed(topic) }, log)
	if err != nil {
		return err
	}
	st.alarms = alarms
	exact := measuring.New(measuring.Deps{Gate: gate, Journal: db.Measurements(), Measurer: &demo.Bench{Lasts: 6 * time.Second}, Pipelines: demo.Measured(), Log: log,
		Changed: func(topic string) { srv.Changed(topic) }})
	go func() { _ = exact.Run(ctx) }()
	defer func() { _ = exact.Close(context.Background()) }()
	measured, alerting := measurement.New(exact), alertDeps(alarms, gate)
	alerting.Snapshots, alerting.Log = st, log
	jobs, messages := job.New(job.Deps{Letters: st.morgue, Log: log}), message.New(message.Deps{Snapshots: st, Letters: st.morgue})
	baselines := deadletter.NewBaselines(baseline.New(baseline.Deps{Gate: gate, Journal: db.Baselines(), Snapshots: st}))
	charts := chart.New(chart.Deps{Snapshots: st, History: st})
	sessions := session.New(cfg.Sessions(), db.Sessions())
	srv, err = server.New(cfg, server.Deps{
		Alerts:    alerting,
		Snapshots: st, History: st, Auth: accounts, FirstAdmin: first, Gate: gate,
		Pages: []web.Pages{
			pipeline.New(pipeline.Deps{Snapshots: st, Jobs: jobs, Charts: charts, Effects: effects.Section, Alerts: alerting, Baselines: baselines, Measured: measured}),
			overview.New(overview.Deps{Snapshots: st, Alerts: alerting.View, Measured: measured}),
			api.New(api.Deps{Snapshots: st, Marks: mark.New(mark.Deps{Gate: gate, Journal: db.Marks(), Snapshots: st}), Jobs: jobs}),
			account.New(account.Deps{Auth: accounts, FirstAdmin: first, Gate: gate, Sessions: sessions, Log: log}),
			guide.New(), measured.Pages, alert.New(alerting), baselines.Pages, jobs.Pages, messages.Pages, move.New(st.morgue),
			deadletter.New(deadletter.Deps{Snapshots: st, Letters: st.morgue, Log: log}),
			markerpage.New(markerpage.Deps{Snapshots: st, Markers: service, Judge: dedup.Judge, Stories: messages, Log: log}),
			effects.New(st),
			charts.Pages,
			audit.New(audit.Deps{Snapshots: st, Trail: admin.NewTrail(gate, db.Audit(), st)}),
		},
		Sessions: sessions, Log: log, Version: "demo",
	})
	if err != nil {
		return err
	}
	if err := alarms.Relive(ctx, time.Now()); err != nil {
		return err
	}
	go st.move(ctx)
	go alarms.Run(ctx)
	fmt.Println("Demo: http://" + l.Addr().String())
	web := &http.Server{Handler: st.handler(srv), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = web.Close()
	}()
	if err := web.Serve(l); err != http.ErrServerClosed {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

func accountsOf(db *journal.DB, password string) (*auth.Service, error) {
	var cfg auth.Config
	if password != "" {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
		if err != nil {
			return nil, fmt.Errorf("hash password: %w", err)
		}
		for name, role := range map[string]string{"viewer": "admin", "reader": "viewer", "operator": "operator"} {
			cfg.Users = append(cfg.Users, auth.UserConfig{Name: name, Role: role, PasswordHash: secret.New(string(hash))})
		}
	}
	return auth.New(cfg, db)
}

// stage shows one scene at a time. Its times follow the clock.
type stage struct {
	mu    sync.Mutex
	scene string
	at    time.Time
	last  *dedup.Snapshot
	shelf *demo.Shelf
	// morgue holds the dead-letter queues.
	morgue *demo.Morgue
	// alarms judge what is shown.
	alarms *demo.Alarms
	// changes is how many changes of the shelf the last snapshot has seen.
	changes int
}

// stores are the stores of the scenes: orders can be changed, payments only read, and sessions does not answer.
func (s *stage) stores() []marker.Store {
	scheme := func(name string) dedup.Scheme {
		for _, st := range demo.Scene("mixed", time.Now()).Stores {
			if st.Name == name {
				return st.Scheme
			}
		}
		return dedup.Scheme{}
	}
	return []marker.Store{
		{Name: "orders", Scheme: scheme("orders"), Reader: s.shelf, Actor: s.shelf},
		{Name: "payments", Scheme: scheme("payments"), Reader: &demo.Shelf{}},
		{Name: "sessions", Scheme: scheme("sessions"), Reader: &demo.Shelf{Down: true}},
	}
}

func (s *stage) set(scene string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scene, s.last = scene, nil
}

// Snapshot returns the scene as of now, made anew every ten seconds and after every change of a marker.
func (s *stage) Snapshot() *dedup.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changes := s.shelf.Changes(); s.last == nil || time.Since(s.at) > 10*time.Second || changes != s.changes {
		s.at, s.changes = time.Now(), changes
		s.last = demo.Scene(s.scene, s.at)
		s.shelf.Stock(s.last, s.at)
		s.morgue.Stock(s.last)
	}
	return s.last
}

// move lets jobs move on until the context ends.
func (s *stage) move(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.morgue.Tick()
		}
	}
}

// Tried is always true: there is nothing to wait for.
func (s *stage) Tried() bool { return true }

// QueryRange answers from the demo history; the scene without a history is "no-history".
func (s *stage) QueryRange(ctx context.Context, promql string, from, to time.Time, step time.Duration) ([]series.Line, error) {
	s.mu.Lock()
	starting := s.scene == "no-history"
	s.mu.Unlock()
	return demo.History{Starting: starting}.QueryRange(ctx, promql, from, to, step)
}

// Ready is closed at once.
func (s *stage) Ready() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// handler serves the pages, and a switch from one scene to another.
func (st *stage) handler(srv *server.Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /demo/scene/{name}", func(w http.ResponseWriter, r *http.Request) {
		st.set(r.PathValue("name"))
		for _, p := range st.Snapshot().Pipelines {
			srv.Changed("pipeline:" + p.Pipeline.Name)
		}
		srv.Changed("overview")
		st.alarms.Judge(r.Context())
	})
	mux.Handle("/", srv.Handler())
	return mux
}
