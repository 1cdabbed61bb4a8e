package collector

import (
	"slices"
	"time"

	"dedup-dashboard/internal/collector/estimate"
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
	p.joints.Add(p.joint.drain(), now)
	v := c.view(p, now)
	if why, _ := c.liveRefusal(p, v); why != "" {
		return dedup.Calibration{}, false
	}
	readings := p.joints.Readings
	n := len(readings)
	for n > 0 && readings[n-1].At.After(to) {
		n--
	}
	r, ok := estimate.ResidualOf(readings[:n], to.Sub(from), p.waitingAcks(from, v.several))
	if !ok || 2*r.Covered < to.Sub(from) || r.Acked == 0 {
		return dedup.Calibration{}, false
	}
	r.Doubled = p.doubledUnseen(r.From)
	live := dedup.Calibration{Method: dedup.MethodLive, Window: r.Covered}
	live.Low, live.Value, live.High = r.Rate(p.acksLost(r, v.scheme, v.several, p.channelsClosed(r)))
	return live, true
}
