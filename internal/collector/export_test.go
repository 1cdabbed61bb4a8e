package collector

import (
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// IDGap is what the last window of these readings of a store tells.
func IDGap(readings []*dedup.InsertStats, scheme dedup.Scheme, stats dedup.StoreStats, w time.Duration) (rate, duplicates, swallowed, lost, work dedup.Figure) {
	watch := &storeWatch{}
	for _, s := range readings {
		watch.inserts.Add(s)
	}
	p := &pipeline{store: watch}
	if len(readings) > 0 { // the queues were empty then
		at := readings[0].At
		p.frames = sample.Frames{{Began: at, Ended: at, DepthFrom: at}}
	}
	r := (&Collector{}).idGapFigures(p, view{now: time.Now(), scheme: scheme, stats: stats}, w)
	return r.Rate, r.Duplicates, r.Swallowed, r.Lost, r.Work
}
