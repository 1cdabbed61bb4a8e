package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/shop"
)

const (
	// interval is the shortest between two evaluations that the dashboard takes.
	interval = 2 * time.Second
	// look is how often we look at the program.
	look = 200 * time.Millisecond
	// patience is how long a busy machine may take for anything that comes by itself.
	patience = 3 * time.Minute
	// pipeline is the one that the shop has.
	pipeline = "orders"
	// duplicateRate and storeUnreachable are the alerts of its duplicates and of its store.
	duplicateRate    = "duplicate_rate/pipeline/" + pipeline
	storeUnreachable = "source_unreachable/store/" + pipeline
	// brokerUnreachable is that of its broker.
	brokerUnreachable = "source_unreachable/broker/main"
)

// timing are the spans of the rule of duplicates, and after how long a source that cannot be read is severe: 10 s unless said.
type timing struct{ enter, leave, severe time.Duration }

// A site is a broker, a store, a shop of one pipeline, somebody who is told, and the dashboard.
type site struct {
	broker    *servers.RabbitMQ
	store     *servers.Redis
	shop      *shop.Shop
	receiver  *shop.Receiver
	listener  net.Listener
	dashboard *program
}

// openSite starts everything. What it started before an error is stopped.
func openSite(ctx context.Context, dir string, share float64, times timing) (_ *site, err error) {
	s := &site{receiver: new(shop.Receiver)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	redis.SetLogger(quiet{})
	if s.broker, err = servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: filepath.Join(dir, "broker")}); err != nil {
		return s, err
	}
	// Markers and counters outlive the restart of the store, as they do in production.
	options := servers.RedisOptions{Dir: filepath.Join(dir, "store"), Args: []string{"--appendonly", "yes"}}
	if s.store, err = servers.StartRedis(ctx, options); err != nil {
		return s, err
	}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return s, fmt.Errorf("take notifications: %w", err)
	}
	go func() { _ = (&http.Server{Handler: s.receiver, ReadHeaderTimeout: 5 * time.Second}).Serve(s.listener) }() // until it is closed
	if s.dashboard, err = buildProgram(ctx, dir); err != nil {
		return s, err
	}
	if err = s.dashboard.configure(s.yaml(times)); err != nil {
		return s, err
	}
	// The shop comes first: it declares the queue that the dashboard looks for.
	if s.shop, err = shop.Start(ctx, shopOf(share), s.broker, s.store, slog.New(slog.DiscardHandler)); err != nil {
		return s, err
	}
	return s, s.start(ctx)
}

// shopOf is a shop of one pipeline whose duplicates all come from its producer.
func shopOf(share float64) shop.Config {
	config := shop.DefaultConfig()
	orders, _ := config.Pipeline(pipeline)
	orders.Rate, orders.Consumers = 40, 3
	orders.Resend, orders.LostAck, orders.Reject = share, 0, 0
	config.Pipelines = []shop.PipelineConfig{*orders}
	return config
}

func (s *site) yaml(times timing) string {
	user, password := s.broker.Admin()
	return fmt.Sprintf(`
brokers:
  - {name: main, management_url: %q, username: %q, password: %q}
stores:
  - {name: orders, preset: %s, redis: {url: %q}}
pipelines:
  - {name: orders, queues: [orders], store: orders, id: {from: message_id}}
alerts:
  limits: {window: 5m}
  rules:
    - {name: duplicate_rate, for: %s, keep_firing_for: %s}
    - {name: source_unreachable, limits: {severe: %s}, keep_firing_for: 0s}
  channels: [{name: receiver, type: webhook, url: "http://%s"}]
  group: {wait: 0s, interval: 0s, repeat: 0s}
`, s.broker.ManagementURL(), user, password, shop.TextStatus, s.store.URL(),
		times.enter, times.leave, cmp.Or(times.severe, 10*time.Second), s.listener.Addr())
}

// start starts the dashboard and waits until it has tried every source.
func (s *site) start(ctx context.Context) error {
	if err := s.dashboard.start(); err != nil {
		return err
	}
	return s.dashboard.awaitAnswer(ctx, patience, "the dashboard to be ready", func() error {
		var ready any
		return s.dashboard.ask(ctx, "/readyz", &ready)
	})
}

// told returns of what the receiver was told so far, in the order of arrival.
func (s *site) told() ([]occasion, error) {
	var all []occasion
	for _, n := range s.receiver.Received() {
		some, err := occasions(n)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// close stops whatever was started: first those who use the servers.
func (s *site) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var errs []error
	if s.dashboard != nil {
		s.dashboard.kill()
	}
	if s.shop != nil {
		finishing, cancel := context.WithTimeout(ctx, 3*time.Second)
		_ = s.shop.Stop(finishing) // what it does not finish is of no use to anybody
		cancel()
	}
	if s.listener != nil {
		errs = append(errs, s.listener.Close())
	}
	if s.store != nil {
		if err := s.store.Stop(ctx); !errors.Is(err, os.ErrClosed) { // else it was stopped before
			errs = append(errs, err)
		}
	}
	if s.broker != nil {
		if err := s.broker.Stop(ctx); !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// quiet drops what the Redis client prints by itself.
type quiet struct{}

// Printf implements the logger of the Redis client.
func (quiet) Printf(context.Context, string, ...any) {}
