package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// LiveRate is what live counts say of the duplicate rate of one pipeline between two times, for comparing with what was counted exactly. It is
// not ok where they say nothing of at least half of it. It waits for the round under way.
func (c *Collector) LiveRate(name string, from, to time.Time) (dedup.Calibration, bool) {
	c.turn.Lock()
	defer c.turn.Unlock()
	i := slices.IndexFunc(c.pipelines, func(p *pipeline) bool { return p.Name == name })
	if i < 0 || c.pipelines[i].joint == nil {
		return dedup.Calibration{}, false
	}
	p := c.pipelines[i]
	now := time.Now()
	p.counted.Traffic.Joints.Add(p.joint.drain(), now)
	return p.counted.LiveRate(c.see(p, c.view(p, now)), from, to)
}
