package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

const (
	// soughtIDs is how many messages one preflight looks up: as many as a scan of a dead-letter queue holds.
	soughtIDs = 10_000
	// preflightRounds is how often that is measured; the median counts.
	preflightRounds = 11
)

// soughtMarkers are what a preflight finds its ids among: a tenth of the ids are in flight, two fifths done, a tenth retried or
// given up, and the others have no marker.
var soughtMarkers = markerstest.Mix{Done: 200_000, Processing: 2_000, NoExpiry: 500, GaveUp: 1_000, Retrying: 1_000}

// measurePreflight measures predicting what becomes of 10,000 dead letters, with a look-up of all their markers.
func measurePreflight(ctx context.Context, b *bench) error {
	err := b.withStore(ctx, soughtMarkers, func(s *filled) error {
		store, err := s.open(func(c markers.Config) markers.Config { return c })
		if err != nil {
			return err
		}
		defer store.Close()
		ids := soughtIn(map[string]int{"done-": 4000, "busy-": 1000, "lost-": 500, "again-": 500})
		return preflightAll(ctx, b.table, store, "Redis", ids, target{atMost: 200})
	})
	if err != nil {
		return err
	}
	for _, brand := range []brand{mariaDB(), postgreSQL()} {
		if err := preflightBrand(ctx, b, brand); err != nil {
			return fmt.Errorf("%s: %w", brand.name, err)
		}
	}
	return nil
}

func preflightBrand(ctx context.Context, b *bench, brand brand) error {
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
	store, err := t.open(func(c markers.Config) markers.Config { return c })
	if err != nil {
		return err
	}
	defer store.Close()
	// Rows from all over the table, and as many ids without one.
	ids := make([]string, 0, soughtIDs)
	for i := range soughtIDs / 2 {
		ids = append(ids, rowID(1+i*(manyRows/soughtIDs*2)), "missing-"+strconv.Itoa(i))
	}
	return preflightAll(ctx, b.table, store, brand.name, ids, target{atMost: 500})
}

// soughtIn returns ids of markers by their beginnings, and ids of none for the rest, mixed.
func soughtIn(counts map[string]int) []string {
	var ids []string
	for prefix, n := range counts {
		for i := range n {
			ids = append(ids, prefix+strconv.Itoa(i))
		}
	}
	for i := len(ids); i < soughtIDs; i++ {
		ids = append(ids, "missing-"+strconv.Itoa(i))
	}
	slices.SortFunc(ids, func(a, b string) int { return int(scatter(a)) - int(scatter(b)) })
	return ids
}

// scatter is a hash for an order that follows no pattern and is the same in every run.
func scatter(id string) uint16 {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return uint16(h >> 8)
}

// preflightAll makes preflights of letters with these ids and fails when not all of the markers are found that must be there.
func preflightAll(ctx context.Context, t *table, store markers.Store, name string, ids []string, goal target) error {
	missing := 0
	for _, id := range ids {
		if len(id) > 8 && id[:8] == "missing-" {
			missing++
		}
	}
	preflighter, err := preflight.New([]dedup.Pipeline{{Name: "bench", Store: store.Name(), IDFrom: "message_id"}},
		[]preflight.Store{{Name: store.Name(), Scheme: store.Scheme(), Finder: store}})
	if err != nil {
		return err
	}
	letters := make([]dedup.DeadLetter, len(ids))
	for i, id := range ids {
		letters[i].MessageID, letters[i].Timestamp = id, time.Now()
	}
	var took []time.Duration
	for range preflightRounds {
		started := time.Now()
		got, err := preflighter.Preflight(ctx, "bench", letters, started)
		took = append(took, time.Since(started))
		if err != nil || got.StoreFailed != "" {
			return fmt.Errorf("preflight: %w %s", err, got.StoreFailed)
		}
		n := 0
		for _, l := range got.Letters {
			if l.Marker != nil {
				n++
			}
		}
		if n != len(ids)-missing {
			return fmt.Errorf("%d of %d markers were found", n, len(ids)-missing)
		}
	}
	slices.Sort(took)
	t.add("preflight: "+name+": 10,000 letters, median of "+strconv.Itoa(preflightRounds), ms(took[preflightRounds/2]), "ms", goal)
	t.add("preflight: "+name+":   the slowest of them", ms(took[preflightRounds-1]), "ms", target{})
	return nil
}
