package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/demo"
)

const (
	stuckRequests = 300
	stuckPipeline = "orders"
)

// measureStuck measures the page of the markers of a pipeline, 1,000 of them listed, for an admin who may clear them: in
// the handler, from the request to the last byte, with the verdict on each. There is a new snapshot for each request, so
// that nothing is reused.
func measureStuck(ctx context.Context, b *bench) error {
	now := time.Now()
	source := &stuckSource{shelf: demo.NewShelf(now)}
	source.next(now)
	site, closeSite, err := newSite(ctx, filepath.Join(b.folder, "stuck"), "admin", source,
		marker.Store{Name: stuckPipeline, Reader: source.shelf, Actor: source.shelf})
	if err != nil {
		return err
	}
	defer closeSite()
	cookie, err := signIn(site)
	if err != nil {
		return err
	}
	var size int
	var took []time.Duration
	for range stuckRequests {
		source.next(time.Now())
		start := time.Now()
		page := get(site, "/pipelines/"+stuckPipeline+"/markers", cookie)
		took = append(took, time.Since(start))
		size = page.Body.Len()
		if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "the oldest 1,000 of 12,480") {
			return fmt.Errorf("the page of the markers answered %d: %.300s", page.Code, page.Body)
		}
	}
	slices.Sort(took)
	b.table.add("stuck: 1,000 listed markers, in the handler, median of 300", ms(took[len(took)/2]), "ms", target{})
	b.table.add("stuck: 1,000 listed markers, in the handler, p95 of 300", ms(took[len(took)*95/100]), "ms", target{atMost: 100})
	b.table.add("stuck: size of the page before compression", float64(size)/1024, "KiB", target{})
	return nil
}

// stuckSource publishes snapshots of the demo whose first store lists as many markers as a list may.
type stuckSource struct {
	snapshotSource
	shelf *demo.Shelf
	now   atomic.Pointer[dedup.Snapshot]
}

// Snapshot returns the newest snapshot.
func (s *stuckSource) Snapshot() *dedup.Snapshot { return s.now.Load() }

// next publishes the next snapshot. It must not be called at the same time.
func (s *stuckSource) next(now time.Time) {
	snap := demo.Scene("mixed", now)
	s.shelf.Stock(snap, now)
	pass := snap.Stores[0].Stats.Pass
	few := len(pass.OldestProcessing)
	for i := few; i < dedup.MaxListed; i++ {
		m := pass.OldestProcessing[i%few]
		m.ID, m.Key = fmt.Sprintf("%s-%d", m.ID, i), fmt.Sprintf("%s-%d", m.Key, i)
		pass.OldestProcessing = append(pass.OldestProcessing, m)
	}
	pass.States[dedup.Processing] = 12_480
	s.now.Store(snap)
}
