package window

import (
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// IDGap is what the last window of these readings of a store tells.
func IDGap(readings []*dedup.InsertStats, scheme dedup.Scheme, stats dedup.StoreStats, w time.Duration) (rate, duplicates, swallowed, lost, work dedup.Figure) {
	watch := &Store{}
	for _, s := range readings {
		watch.Inserts.Add(s)
	}
	p := &Pipeline{Store: watch}
	if len(readings) > 0 { // the queues were empty then
		at := readings[0].At
		p.Traffic.Frames = sample.Frames{{Began: at, Ended: at, DepthFrom: at}}
	}
	r := p.idGap(View{Now: time.Now(), Scheme: scheme, Stats: stats}).figures(w)
	return r.Rate, r.Duplicates, r.Swallowed, r.Lost, r.Work
}
