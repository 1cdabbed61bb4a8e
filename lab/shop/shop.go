package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"dedup-dashboard/lab/servers"
)

// A Shop is the running producers and consumers of all pipelines.
type Shop struct {
	config  Config
	ledger  *Ledger
	clients []*redis.Client
	sources map[string]*producer // by pipeline

	// end stops everything at once; stopProducers and stopConsumers stop one side in order.
	end           context.CancelFunc
	stopProducers context.CancelFunc
	stopConsumers func()
	producers     sync.WaitGroup
	consumers     sync.WaitGroup
	examiner      sync.WaitGroup // ends last: the last messages to be settled may have died
}

// Start declares the shop's queues, lays out what earlier days left in them, and starts consumers and producers. They end
// with ctx, or in order by Stop. All markers live on the one store, whatever the configuration says about stores.
func Start(ctx context.Context, config Config, broker *servers.RabbitMQ, store *servers.Redis, log *slog.Logger) (*Shop, error) {
	return open(ctx, config, broker, stores{shared: store}, log)
}

func open(ctx context.Context, config Config, broker *servers.RabbitMQ, stores stores, log *slog.Logger) (*Shop, error) {
	if err := declareTopology(ctx, broker, config); err != nil {
		return nil, err
	}
	ledger := NewLedger(config)
	if err := bequeath(ctx, config, broker, stores, ledger); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	producing, stopProducers := context.WithCancel(ctx)
	stop := make(chan struct{})
	shop := &Shop{config: config, ledger: ledger, sources: make(map[string]*producer), end: end, stopProducers: stopProducers,
		stopConsumers: sync.OnceFunc(func() { close(stop) })}
	url := broker.AMQPURL(broker.Admin())
	if slices.ContainsFunc(config.Pipelines, PipelineConfig.examined) {
		examiner := &examiner{ledger: shop.ledger, link: link{url: url}, log: log}
		shop.examiner.Go(func() { examiner.run(ctx) })
	}
	for _, pipeline := range config.Pipelines {
		client := newClient(stores.of(pipeline.Name).Addr(), pipeline.DB)
		shop.clients = append(shop.clients, client)
		entry := shop.ledger.entries[pipeline.Name]
		for range pipeline.Consumers {
			worker := &consumer{pipeline: pipeline, fate: fate{config.Seed, pipeline}, entry: entry,
				scheme: newScheme(pipeline.Scheme, client), link: link{url: url}, log: log}
			if pipeline.Report {
				worker.reporter = newReporter(client, pipeline.Name)
			}
			shop.consumers.Go(func() { worker.run(ctx, stop) })
		}
		source := newProducer(config, pipeline, entry, url, log)
		shop.sources[pipeline.Name] = source
		shop.producers.Go(func() { source.run(producing) })
	}
	return shop, nil
}

// newClient never repeats a command by itself: SETNX and HINCRBY would count twice.
func newClient(address string, db int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: address, DB: db, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: 2 * time.Second, ReadTimeout: 3 * time.Second, WriteTimeout: 3 * time.Second,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// Ledger is the truth about the shop; it stays readable after Stop.
func (s *Shop) Ledger() *Ledger { return s.ledger }

// SetDuplicates makes a pipeline's producer send a share of its messages twice from now on, 0..1.
func (s *Shop) SetDuplicates(pipeline string, share float64) error {
	source, ok := s.sources[pipeline]
	if !ok {
		return fmt.Errorf("no pipeline %q", pipeline)
	}
	source.setResend(share)
	return nil
}

// StopProducers ends publishing and returns when the last confirms are in. Consumers go on.
func (s *Shop) StopProducers() {
	s.stopProducers()
	s.producers.Wait()
}

// Drain waits, after StopProducers, until every message is settled, except those that loop on an abandoned marker and
// copies whose confirm was lost. The error names the pipelines that did not come to rest before ctx ended.
func (s *Shop) Drain(ctx context.Context) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		var restless []error
		for name, entry := range s.ledger.entries {
			if n := entry.restless(); n > 0 {
				restless = append(restless, fmt.Errorf("%s still has %d unsettled messages", name, n))
			}
		}
		if len(restless) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("drain the shop: %w", errors.Join(append(restless, ctx.Err())...))
		case <-ticker.C:
		}
	}
}

// Stop ends producers, lets consumers finish what they hold until ctx ends, and then ends everything.
func (s *Shop) Stop(ctx context.Context) error {
	s.stopProducers()
	s.stopConsumers()
	finished := make(chan struct{})
	go func() {
		s.producers.Wait()
		s.consumers.Wait()
		close(finished)
	}()
	var errs []error
	select {
	case <-finished:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("stop the shop: its workers were cut off: %w", ctx.Err()))
	}
	s.end()
	<-finished
	s.examiner.Wait()
	for _, client := range s.clients {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}
