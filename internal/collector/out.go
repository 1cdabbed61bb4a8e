package collector

import (
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// mostOutSamples bounds the samples of one pipeline that wait for the round.
const mostOutSamples = 64

// sampleOut keeps a sample, if all queues answered as of the request: only classic ones do.
func (o *occupancy) sampleOut(pipeline string, s sample.OutSample, queues map[dedup.QueueRef]*dedup.Queue) {
	for _, ref := range o.watch[pipeline] {
		if queues[ref].Type != "classic" {
			return
		}
	}
	all := append(o.out[pipeline], s)
	o.out[pipeline] = all[max(0, len(all)-mostOutSamples):]
}

// drainOut returns the samples since the last call.
func (o *occupancy) drainOut(pipeline string) []sample.OutSample {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.out[pipeline]
	delete(o.out, pipeline)
	return all
}
