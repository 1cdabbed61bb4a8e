package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"dedup-dashboard/lab/shop"
)

// The shop is up for shopWarm before the dashboard's processor time is taken over shopTime: batches come once a minute, campaigns each three.
const (
	shopWarm = 2 * time.Minute
	shopTime = 3 * time.Minute
)

// measureShop measures what the whole dashboard takes beside the sample shop, without anybody who looks at its pages.
func measureShop(ctx context.Context, b *bench) error {
	binary := filepath.Join(b.folder, "dashboard-of-the-shop")
	if err := buildDashboard(ctx, binary); err != nil {
		return err
	}
	b.note("letting the sample shop work for %s", shopWarm+shopTime)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	config, started, ended := shop.DefaultConfig(), make(chan int, 1), make(chan error, 1)
	go func() {
		ended <- shop.Up(ctx, shop.Options{Dir: filepath.Join(b.folder, "shop"), Dashboard: binary, Listen: "127.0.0.1:0", Config: config,
			Out: io.Discard, Started: func(pid int) { started <- pid }})
	}()
	var share float64
	select {
	case err := <-ended:
		return err
	case pid := <-started:
		var err error
		if share, err = shareOfCore(ctx, pid); err != nil {
			cancel()
			return errors.Join(err, <-ended)
		}
	}
	b.table.add("shop: of a core that the dashboard takes, 9 pipelines", 100*share, "%", target{atMost: 10.7})
	cancel()
	return <-ended
}

// shareOfCore is the share of a core that a process takes once it has run for a while.
func shareOfCore(ctx context.Context, pid int) (float64, error) {
	if err := sleep(ctx, shopWarm); err != nil {
		return 0, err
	}
	began, used := time.Now(), cpuSeconds(pid)
	if err := sleep(ctx, shopTime); err != nil {
		return 0, err
	}
	return (cpuSeconds(pid) - used) / time.Since(began).Seconds(), nil
}
