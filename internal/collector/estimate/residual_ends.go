package estimate

import (
	"math"
	"time"
)

// countedApart is how long lies between the two counts of one reading, mostly.
const countedApart = 20 * time.Millisecond

// missing bounds by how much Sent is too high and too low. Acks that waited when the time began are of markers from before it, those that wait
// when it ends are of its own: there are no more of either than were unacked, in whatever rhythm acks come.
func (r Residual) missing() (less, more float64) {
	less, more = r.Band+r.Fell, r.Band+r.Rose
	if r.Ends == nil {
		return less, more
	}
	slack := float64(len(r.Stretches)) * CountedApart(r.Acked/r.Covered.Seconds())
	return min(less, r.Ends[0]+slack), min(more, r.Ends[1]+slack)
}

// CountedApart is by how many messages, of so many a second, two readings may be off whose two counts lie a moment apart.
func CountedApart(perSecond float64) float64 {
	between := perSecond * countedApart.Seconds()
	return 2 * (1 + between + 2*math.Sqrt(between))
}
