package shop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/lab/servers"
)

// Options say how the playground is brought up.
type Options struct {
	// Dir holds everything that the playground writes.
	Dir string
	// Dashboard is the path of the dashboard's program.
	Dashboard string
	// Listen is the wanted loopback address of the dashboard.
	Listen string
	// RabbitMQRoot is the folder of another Debian whose RabbitMQ is started; empty: the machine's.
	RabbitMQRoot string
	// Config is what the shop does, Duration for how long; 0 means until the context ends.
	Config   Config
	Duration time.Duration
	// Out receives the steps of the set-up, for people.
	Out io.Writer
	// Started, if set, is told the dashboard's process once the shop is open.
	Started func(dashboard int)
}

// stopTime bounds the whole orderly stop.
const stopTime = 14 * time.Second

// A ground is everything that is up. Its parts are nil until they are started.
type ground struct {
	options   Options
	folder    *folder
	log       *slog.Logger
	logFile   *os.File
	access    access
	broker    *servers.RabbitMQ
	stores    stores
	dashboard *servers.Process
	shop      *Shop
	control   *control
	url       string
}

// Up starts private servers, the dashboard and the shop, and stops them all when ctx ends. It returns nil when ctx
// ended it and otherwise says what could not be started, or that the dashboard died.
func Up(ctx context.Context, options Options) (err error) {
	f, err := openFolder(options.Dir)
	if err != nil {
		return err
	}
	g := &ground{options: options, folder: f}
	defer func() {
		if stopErr := g.stop(); err == nil {
			err = stopErr
		}
	}()
	if err := g.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // asked to end while it started
		}
		return err
	}
	return g.run(ctx)
}

func (g *ground) start(ctx context.Context) error {
	// Said before the slow part, not after it.
	if _, err := exec.LookPath(g.options.Dashboard); err != nil {
		return fmt.Errorf("find the dashboard's program (make build makes it): %w", err)
	}
	logFile, err := os.OpenFile(g.folder.file("shop.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the shop's log: %w", err)
	}
	g.logFile, g.log = logFile, slog.New(slog.NewTextHandler(logFile, nil))
	redis.SetLogger(redisLog{g.log})
	if err := g.startServers(ctx); err != nil {
		return err
	}
	// The queues exist before the dashboard looks for the first time.
	if err := declareTopology(ctx, g.broker, g.options.Config); err != nil {
		return err
	}
	if g.control, err = startControl(); err != nil {
		return err
	}
	if err := g.startDashboard(ctx); err != nil {
		return err
	}
	// The shop comes last, so that the dashboard sees every counter from its birth.
	g.step("Opening the sample shop")
	if g.shop, err = open(ctx, g.options.Config, g.broker, g.stores, g.log); err != nil {
		return err
	}
	g.control.open(g.shop, g.broker, g.stores)
	g.step("The truth, to compare with: %s/ledger; what the dashboard told: /notifications there", g.control.url())
	return nil
}

func (g *ground) startServers(ctx context.Context) error {
	g.step("Starting private Redis servers and a private RabbitMQ (5 to 20 s)")
	var err error
	if g.stores, err = startStores(ctx, g.options.Config, &g.access, g.folder); err != nil {
		return err
	}
	g.broker, err = servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: g.folder.file("rabbitmq"), Root: g.options.RabbitMQRoot, Prometheus: true})
	if err != nil {
		return err
	}
	return g.access.grantBroker(ctx, g.broker)
}

func (g *ground) startDashboard(ctx context.Context) error {
	listen, moved, err := chooseListen(g.options.Listen)
	if err != nil {
		return err
	}
	if moved {
		g.step("%s is taken, the dashboard listens on %s instead", g.options.Listen, listen)
	}
	text := dashboardConfig(g.options.Config, listen, g.folder.file("data"), g.control.url(), g.broker, g.stores, g.access)
	if err := os.WriteFile(g.folder.file("dashboard.yaml"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the dashboard's configuration: %w", err)
	}
	g.step("Starting the dashboard")
	if g.dashboard, err = startDashboard(ctx, g.options.Dashboard, listen, g.folder); err != nil {
		return err
	}
	g.url = "http://" + listen
	g.folder.describe(g.url)
	return nil
}

// run shows where to look and waits for the end.
func (g *ground) run(ctx context.Context) error {
	if g.options.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.options.Duration)
		defer cancel()
	}
	if g.options.Started != nil {
		g.options.Started(g.dashboard.PID())
	}
	link := firstAdminLink(ctx, g.folder)
	g.step("Logs are in %s; Ctrl-C stops everything", g.folder.path)
	fmt.Fprintf(g.options.Out, "Dashboard: %s\n", g.url)
	if link != "" {
		fmt.Fprintf(g.options.Out, "Make the first admin (once, within 15 minutes): %s\n", link)
	} else {
		fmt.Fprintln(g.options.Out, "Sign in with the account you made before.")
	}
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.dashboard.Done():
			return fmt.Errorf("the dashboard ended: %w\n%s", endOf(g.dashboard), tailOf(g.folder.file("dashboard.log")))
		case <-ticker.C:
			if err := g.shop.Ledger().WriteFile(g.folder.file("ledger.json")); err != nil {
				g.log.Warn("the ledger's file is old", "err", err)
			}
		}
	}
}

// stop ends whatever was started: first those who use the servers, then the servers.
func (g *ground) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var errs []error
	if g.broker != nil || len(g.stores.all()) > 0 {
		g.step("Stopping")
	}
	if g.control != nil {
		errs = append(errs, g.control.close())
	}
	if g.shop != nil {
		finishing, cancel := context.WithTimeout(ctx, 3*time.Second)
		if err := g.shop.Stop(finishing); err != nil {
			g.log.Info("the shop was cut short", "err", err)
		}
		cancel()
		errs = append(errs, g.shop.Ledger().WriteFile(g.folder.file("ledger.json")))
	}
	errs = append(errs, g.stopProcesses(ctx))
	if g.logFile != nil {
		errs = append(errs, g.logFile.Close())
	}
	return errors.Join(append(errs, g.folder.close())...)
}

func (g *ground) stopProcesses(ctx context.Context) error {
	stops := make(chan error, 3)
	stop := func(started bool, end func(context.Context) error) {
		if !started {
			stops <- nil
			return
		}
		go func() {
			err := end(ctx)
			if errors.Is(err, os.ErrClosed) {
				err = nil // it was stopped before
			}
			stops <- err
		}()
	}
	stop(g.dashboard != nil, g.dashboard.Stop)
	stop(g.broker != nil, g.broker.Stop)
	stop(true, g.stores.stop)
	return errors.Join(<-stops, <-stops, <-stops)
}

func (g *ground) step(format string, arguments ...any) {
	fmt.Fprintf(g.options.Out, "==> "+format+"\n", arguments...)
}

// redisLog sends what the Redis client prints by itself to the shop's log.
type redisLog struct{ log *slog.Logger }

// Printf logs one line of the Redis client.
func (l redisLog) Printf(ctx context.Context, format string, arguments ...any) {
	l.log.WarnContext(ctx, fmt.Sprintf(format, arguments...))
}
