package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/demo"
)

func thousand() *dedup.Snapshot {
	now := time.Now()
	snap := demo.Scene("mixed", now)
	demo.NewShelf(now).Stock(snap, now)
	pass := snap.Stores[0].Stats.Pass
	for i := len(pass.OldestProcessing); i < dedup.MaxListed; i++ {
		m := pass.OldestProcessing[i%12]
		m.ID, m.Key = fmt.Sprintf("%s-%d", m.ID, i), fmt.Sprintf("%s-%d", m.Key, i)
		pass.OldestProcessing = append(pass.OldestProcessing, m)
	}
	pass.States[dedup.Processing] = 12_480
	return snap
}

// BenchmarkThePageOfAThousandMarkers is the page of a full list with its verdicts, from the request to the last byte.
func BenchmarkThePageOfAThousandMarkers(b *testing.B) {
	s := newSite(b, nil, testUsers())
	s.snapshots.snap.Store(thousand())
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		res := s.as("viewer", "GET", "/pipelines/orders/markers", "")
		took = append(took, time.Since(start))
		if body := s.body(res); !strings.Contains(body, "the oldest 1,000 of 12,480") {
			b.Fatalf("%s: %.300s", res.Status, body)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}
