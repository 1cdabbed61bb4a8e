package window

import (
	"math"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
)

const (
	// provenFailures is by how many more claims must have been given back than deliveries went without an ack until it is believed that failures are
	// acked.
	provenFailures = 1
	// failuresTried is how many times are tried from which it may show.
	failuresTried = 24
	// failureReach is how long before a window a claim may have been given back whose delivery is acked in it.
	failureReach = 30 * time.Second
)

// ackedFailures know how many acks were of deliveries whose claim had been given back, as those are that consumers publish anew somewhere else after so
// many tries: they look like acks of duplicates.
type ackedFailures struct {
	p    *Pipeline
	view View
}

// proven reports whether consumers ack such deliveries beside those that are parked: over some time that is kept more claims were given back than
// deliveries left without an ack. Claims that were open when it began may have been given back by somebody who clears up after consumers that died before.
func (a ackedFailures) proven() bool {
	s := a.view.Scheme
	if a.p.Store == nil || a.p.Partner != "" || s.Mark != "before" || s.OnFail != "delete" || s.OnInFlight == "ack" || a.p.Traffic.AutoAcked() {
		return false
	}
	if len(a.p.Traffic.Joints.Readings) > 0 {
		return a.provenByJoints()
	}
	readings := a.p.Store.Events.Epoch()
	for j := len(readings) - 1; j > 0 && j >= len(readings)-hitsEnds; j-- {
		told := false
		for k := range failuresTried {
			from, to := &readings[k*j/failuresTried], &readings[j]
			failed := a.failed(from, to) - from.Open - provenFailures - a.parked(from.At, to.At)
			if failed <= 0 {
				break // and no more since
			}
			gain, ok := a.p.Traffic.between(from.At.Add(-from.Took), to.At)
			if told = told || ok; ok && failed > gain.Delivered[1]-gain.Acked[0]+a.p.Traffic.unackedAround(from.At) {
				return true
			}
		}
		if told {
			break
		}
	}
	return false
}

// provenByJoints is proven by counts of one moment, since any at which samples tell what was out.
func (a ackedFailures) provenByJoints() bool {
	all := a.p.Traffic.Joints.Readings
	to := &all[len(all)-1]
	first := sort.Search(len(all), func(i int) bool { return all[i].Run == to.Run })
	for k := range failuresTried {
		from := &all[first+k*(len(all)-1-first)/failuresTried]
		failed := to.Failed - from.Failed - provenFailures - a.parked(from.At, to.At)
		if failed <= 0 {
			break
		}
		left := to.Delivered + to.DeliveredUnsure + to.DeliveredOpen - from.Delivered - from.DeliveredUnsure - (to.Acked - from.Acked - from.Open)
		if failed > left+a.slip(from, to)+a.p.Traffic.Flows.OutAt(from.At)+1+a.openAt(from.At) {
			return true
		}
	}
	return false
}

// slip is by how many messages the counts of two readings may be off, as both sides of one are counted a moment apart.
func (a ackedFailures) slip(from, to *estimate.Joint) float64 {
	apart := to.At.Sub(from.At).Seconds()
	if apart <= 0 {
		return 0
	}
	return estimate.CountedApart((to.Delivered - from.Delivered) / apart)
}

// outAt bounds the deliveries that were out at a time: by the samples next to it where there are any.
func (a ackedFailures) outAt(at time.Time) float64 {
	if out := a.p.Traffic.Flows.OutAt(at); !math.IsInf(out, 1) {
		return out + 1
	}
	return a.p.Traffic.unackedAround(at)
}

// openAt is how many claims were open at about a time.
func (a ackedFailures) openAt(at time.Time) float64 {
	readings := a.p.Store.Events.Readings
	i := sort.Search(len(readings), func(i int) bool { return readings[i].At.After(at) })
	most := 0.0
	for _, r := range readings[max(0, i-1):min(len(readings), i+1)] {
		most = max(most, r.Open)
	}
	return most
}

// failed are the claims that were given back between two readings, but for those that are known as given up.
func (a ackedFailures) failed(from, to *sample.EventReading) float64 {
	n := to.Failures - from.Failures
	if a.view.Scheme.GiveUp > 0 {
		n -= to.GaveUp - from.GaveUp
	}
	return n
}

// most bounds them between two times; 0 where nothing shows that there are any. What somebody publishes into a dead-letter queue may be such failures.
// Else it must be proven that there are any.
func (a ackedFailures) most(from, to time.Time) float64 {
	n := a.parked(from, to)
	if a.view.failuresAcked {
		n = max(n, a.given(from, to))
	}
	return n
}

// parked are the messages that somebody published into the dead-letter queues between two times, at most, but for those that are known as given up.
func (a ackedFailures) parked(from, to time.Time) float64 {
	n := a.p.Traffic.Frames.DeadPublishedMost(from, to)
	if n == 0 || a.p.Store == nil || a.view.Scheme.GiveUp == 0 {
		return n
	}
	all := a.p.Store.Events.Epoch()
	i := sort.Search(len(all), func(i int) bool { return !all[i].At.Before(from) })
	j := sort.Search(len(all), func(j int) bool { return all[j].At.After(to) }) - 1
	if i < j {
		n -= all[j].GaveUp - all[i].GaveUp
	}
	return max(0, n)
}

// given are at most the acks of deliveries whose claim was given back. There are no more than such claims, and where those that were not acked came back,
// were dead-lettered or wait no more than these leave. Work that is tried again within one delivery gives back its claim each time: of those claims none
// need be acked, so that there is no lower bound.
func (a ackedFailures) given(from, to time.Time) float64 {
	if n, ok := a.mostByJoints(from, to); ok {
		return n
	}
	failed, ok := a.within(from, to)
	if !ok {
		return math.Inf(1)
	}
	gain, ok := a.p.Traffic.between(from, to)
	if !ok {
		return failed
	}
	return min(failed, a.returned(from, to, gain.Redelivered)+max(0, failed-max(0, gain.Delivered[0]-gain.Acked[1]-a.p.Traffic.unackedAround(to))))
}

// mostByJoints is most by counts of one moment, of the readings around.
func (a ackedFailures) mostByJoints(from, to time.Time) (float64, bool) {
	all := a.p.Traffic.Joints.Readings
	i := sort.Search(len(all), func(i int) bool { return all[i].At.After(from) }) - 1
	j := sort.Search(len(all), func(j int) bool { return !all[j].At.Before(to) })
	if i < 0 || j == len(all) || all[i].Run != all[j].Run {
		return 0, false
	}
	first, last := &all[i], &all[j]
	out := a.outAt(first.At)
	if k := sort.Search(i, func(k int) bool { return all[k].At.After(first.At.Add(-failureReach)) }) - 1; k >= 0 && all[k].Run == first.Run {
		out = min(out, first.Failed-all[k].Failed)
	}
	failed := last.Failed - first.Failed + out
	left := last.Delivered - first.Delivered - first.DeliveredOpen - (last.Acked + last.Unsure + last.Open - first.Acked - first.Unsure)
	left = max(0, left-a.slip(first, last)-a.outAt(last.At))
	return min(failed, a.returned(first.At, last.At, last.Redelivered-first.Redelivered)+max(0, failed-left)), true
}

// returned bounds the deliveries between two times that left without an ack although no work of theirs failed.
func (a ackedFailures) returned(from, to time.Time, redelivered float64) float64 {
	if !a.view.DeadKnown {
		return math.Inf(1)
	}
	return redelivered + a.p.Traffic.waitingAround(to) + a.p.Traffic.Frames.DeadLetteredMost(from, to)
}

// within bounds the claims that were given back of deliveries that were out between two times; not ok where events were missed.
func (a ackedFailures) within(from, to time.Time) (float64, bool) {
	all := a.p.Store.Events.Readings
	if len(all) == 0 {
		return 0, false
	}
	before := func(at time.Time) *sample.EventReading {
		return &all[max(0, sort.Search(len(all), func(i int) bool { return all[i].At.After(at) })-1)]
	}
	first, earlier := before(from), before(from.Add(-failureReach))
	j := sort.Search(len(all), func(i int) bool { return !all[i].At.Add(-all[i].Took).Before(to) })
	last := &all[min(j, len(all)-1)]
	if first.At.After(from) || first.Epoch != last.Epoch {
		return 0, false
	}
	failed := a.p.Traffic.unackedAround(from)
	if earlier.Epoch == first.Epoch && !earlier.At.After(from.Add(-failureReach)) {
		failed = min(failed, a.failed(earlier, first))
	}
	failed += a.failed(first, last)
	if j < len(all) {
		return failed, true
	}
	gain, ok := a.p.Traffic.between(last.At.Add(-last.Took), to) // all that was acked since
	return failed + gain.Acked[1], ok
}
