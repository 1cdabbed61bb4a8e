package main

import (
	"context"
	"log"
	"os"
	"sync"
	"time"
)

// run starts everything, lets the dashboard watch the pipelines and writes down what happened and what it said.
func run(ctx context.Context, o options) error {
	pipelines, err := pipelinesOf(o.batch, o.names())
	if err != nil {
		return err
	}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	log.Print("starting servers")
	b, err := startBackends(ctx, o.out)
	defer b.close()
	if err != nil {
		return err
	}
	stores := make([]string, len(pipelines))
	for i, p := range pipelines {
		if stores[i], err = b.prepare(ctx, p); err != nil {
			return err
		}
	}
	d, err := newDashboard(ctx, o, b, pipelines, stores)
	if err != nil {
		return err
	}
	begun, ended, err := watch(ctx, o, b.url, d, pipelines)
	if err != nil {
		return err
	}
	for i, p := range pipelines {
		r := record{Name: p.name, Begun: begun.UnixMicro(), Ended: ended.UnixMicro(), Config: stores[i] + "\n" + p.pipelineLine()}
		if err := p.ledger.write(o.out, r); err != nil {
			return err
		}
		log.Printf("%-14s %d deliveries, %d events, %d troubles, last: %v", p.name, p.ledger.received, len(p.ledger.events), p.troubles.Load(), p.trouble.Load())
	}
	return nil
}

// watch sends messages while the dashboard runs, and returns from when until when.
func watch(parent context.Context, o options, url string, d *dashboard, pipelines []*pipeline) (begun, ended time.Time, err error) {
	consuming, stopConsuming := context.WithCancel(parent)
	defer stopConsuming()
	producing, stopProducing := context.WithCancel(consuming)
	defer stopProducing()
	watching, stopWatching := context.WithCancel(parent)
	defer stopWatching()
	var consumers, watchers sync.WaitGroup
	traffic := func() {
		log.Print("traffic begins")
		begun = time.Now()
		for _, p := range pipelines {
			p.run(producing, consuming, &consumers)
		}
	}
	watchers.Go(func() { watchDepths(watching, url, pipelines) })
	if o.head > 0 {
		traffic()
		sleep(parent, o.head)
	}
	if err := d.start(); err != nil {
		return begun, ended, err
	}
	defer d.stop()
	v := &viewer{folder: o.out, base: "http://" + d.listen, pipelines: pipelines}
	watchers.Go(func() { v.watch(watching) })
	if o.head <= 0 {
		sleep(parent, -o.head)
		traffic()
	}
	until := time.Now().Add(o.span)
	if err := d.stays(parent, until.Add(-o.span/2)); err != nil {
		return begun, ended, err
	}
	v.pages(parent, "half")
	if err := d.stays(parent, until); err != nil {
		return begun, ended, err
	}
	log.Print("nothing more is sent")
	ended = time.Now()
	stopProducing()
	sleep(parent, o.rest)
	v.pages(parent, "end")
	stopWatching()
	watchers.Wait()
	stopConsuming()
	consumers.Wait()
	return begun, ended, nil
}
