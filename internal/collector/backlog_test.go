package collector

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

func TestAQueueWithoutConsumersIsFound(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		set := func(consumers, ready int64) {
			b.broker.set(func(f *fakeSource) {
				q := &f.sample.Queues[0]
				q.Consumers, q.Ready, q.Messages = ptr(consumers), ptr(ready), ptr(ready)
			})
		}
		set(0, 5)
		pass(testInterval)
		if got := kindsOf(b.pipeline(t, "orders")); slices.Contains(got, "no_consumers") {
			t.Errorf("after one interval: %v", got)
		}
		pass(finding.DesertedLeast + testInterval)
		p := b.pipeline(t, "orders")
		if f := findingOf(p, "no_consumers"); f == nil || f.Tier != dedup.Severe || f.Text != "Nobody consumes queue orders, 5 waiting" {
			t.Errorf("found %+v", p.Findings)
		}
		set(1, 5)
		pass(2 * testInterval)
		if got := kindsOf(b.pipeline(t, "orders")); slices.Contains(got, "no_consumers") {
			t.Errorf("with a consumer: %v", got)
		}
	})
}

func TestABacklogThatGrowsIsToldFromBursts(t *testing.T) {
	for name, tt := range map[string]struct {
		ready func(minute float64) int64
		found bool
	}{
		"a steady growth":         {func(m float64) int64 { return int64(100 * m) }, true},
		"bursts that drain":       {func(m float64) int64 { return int64(2000 * math.Max(0, math.Sin(m*math.Pi))) }, false},
		"a burst that stays high": {func(float64) int64 { return 2000 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			during(t, func(t *testing.T, b *testBench) {
				began := time.Now()
				for time.Since(began) < 13*time.Minute {
					flow(b, testInterval, 0, 2, tt.ready(time.Since(began).Minutes()))
				}
				f := findingOf(b.pipeline(t, "orders"), "backlog_growing")
				if (f != nil) != tt.found || f != nil && !strings.Contains(f.Text, "The backlog of queue orders grows: 1,2") {
					t.Errorf("found %+v, want %v", f, tt.found)
				}
			})
		})
	}
}
