package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

const (
	manyRows       = 1_000_000
	processingRows = manyRows / 100
	// quietTime is how long other clients are measured without a sweep, before it and again after it.
	quietTime = 15 * time.Second
	// watchedAs is the account of the dashboard in the database.
	watchedAs = "watcher"
)

// measureRows measures what walking over a table of a million rows costs us, the database and its other clients.
func measureRows(ctx context.Context, b *bench) error {
	for _, brand := range []brand{mariaDB(), postgreSQL()} {
		if err := measureBrand(ctx, b, brand); err != nil {
			return fmt.Errorf("%s: %w", brand.name, err)
		}
	}
	return nil
}

func measureBrand(ctx context.Context, b *bench, brand brand) error {
	b.note("filling a %s with %d rows", brand.name, manyRows)
	server, err := brand.start(ctx, filepath.Join(b.folder, brand.store))
	if err != nil {
		return err
	}
	defer server.Kill()
	password, err := brand.fill(ctx, server)
	if err != nil {
		return err
	}
	t := &rowTable{brand: brand, server: server, dsn: server.DSN(watchedAs, password, shopDatabase)}
	if err := t.countsWaits(ctx); err != nil {
		return err
	}
	if err := t.unthrottled(ctx, b.table); err != nil {
		return err
	}
	if err := t.polite(ctx, b.table); err != nil {
		return err
	}
	longest, err := brand.longest(ctx, t)
	if err != nil {
		return err
	}
	b.table.add("rows: "+brand.name+": longest query of all these sweeps", longest, "s", target{atMost: 2})
	return nil
}

// rowTable is message_dedup in a private server.
type rowTable struct {
	brand  brand
	server rowServer
	// dsn is the address for the account of the dashboard.
	dsn string
}

func (t *rowTable) open(change func(markers.Config) markers.Config) (markers.Store, error) {
	cfg, ok := markers.Preset("sql-status-code")
	if !ok {
		return nil, fmt.Errorf("there is no preset sql-status-code")
	}
	cfg.Name, cfg.SQL = "bench", markers.SQL{Driver: t.brand.store, DSN: secret.New(t.dsn)}
	return kinds.Open(change(cfg), quietLog())
}

// unthrottled sweeps without a duty cycle while nobody else works.
func (t *rowTable) unthrottled(ctx context.Context, table *table) error {
	store, err := t.open(markerstest.Unthrottled)
	if err != nil {
		return err
	}
	defer store.Close()
	debug.FreeOSMemory()
	before, err := resetPeak()
	if err != nil {
		return err
	}
	took, err := median(3, func() error { return t.pass(ctx, store) })
	if err != nil {
		return err
	}
	peak := memory("self", "VmHWM")
	table.add("rows: "+t.brand.name+": unthrottled sweep of 1,000,000 rows, median of 3", manyRows/took, "rows/s", target{atLeast: 20_000})
	table.add("rows: "+t.brand.name+": growth of our memory (RSS) by sweeping", peak-before, "MiB", target{atMost: 64})
	return nil
}

// pass walks once and fails when that did not find the rows. Other clients may have added some.
func (t *rowTable) pass(ctx context.Context, store markers.Store) error {
	pass, err := store.Pass(ctx)
	if err != nil {
		return err
	}
	if pass.Matched < manyRows || pass.States[dedup.Processing] < processingRows/2 {
		return fmt.Errorf("the sweep found %d rows, of which %v", pass.Matched, pass.States)
	}
	return nil
}

// polite sweeps once at the default politeness while other clients read and write the same table. What their reads
// take without a sweep is measured before and after it.
func (t *rowTable) polite(ctx context.Context, table *table) error {
	store, err := t.open(func(c markers.Config) markers.Config { return c })
	if err != nil {
		return err
	}
	defer store.Close()
	others, err := t.connect()
	if err != nil {
		return err
	}
	defer others.close()
	rest := func() error { return sleep(ctx, quietTime) }
	quiet, err := others.during(ctx, rest)
	if err != nil {
		return err
	}
	waits, err := t.brand.waits(ctx, t)
	if err != nil {
		return err
	}
	start := time.Now()
	busy, err := others.during(ctx, func() error { return t.pass(ctx, store) })
	if err != nil {
		return err
	}
	wall := time.Since(start)
	waitsAfter, err := t.brand.waits(ctx, t)
	if err != nil {
		return err
	}
	after, err := others.during(ctx, rest)
	if err != nil {
		return err
	}
	quiet = append(quiet, after...)
	name := "rows: " + t.brand.name + ": "
	table.add(name+"default sweep of the same rows", wall.Seconds(), "s", target{atMost: 150})
	table.add(name+"  p99 point SELECT of another client without it", ms(p99(quiet)), "ms", target{})
	table.add(name+"  added to that p99 point SELECT", ms(p99(busy)-p99(quiet)), "ms", target{atMost: 2})
	table.add(name+"  lock waits while another client wrote the rows", waitsAfter-waits, "waits", none)
	return nil
}

func p99(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)*99/100]
}
