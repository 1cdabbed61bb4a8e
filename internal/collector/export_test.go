package collector

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// IDGap is what the last window of these readings of a store tells.
func IDGap(readings []*dedup.InsertStats, scheme dedup.Scheme, stats dedup.StoreStats, w time.Duration) (rate, duplicates, swallowed, lost, work dedup.Figure) {
	watch := &storeWatch{}
	for _, s := range readings {
		watch.inserts.Add(s)
	}
	r := (&Collector{}).idGapFigures(&pipeline{store: watch}, view{now: time.Now(), scheme: scheme, stats: stats}, w)
	return r.Rate, r.Duplicates, r.Swallowed, r.Lost, r.Work
}
