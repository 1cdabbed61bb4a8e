package collector

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A simReading is what is read of a shop at its end. The error of the offset of the pass is bounded by ClockError.
type simReading struct {
	Frames     sample.Frames
	Scheme     dedup.Scheme
	Pass       *dedup.Pass
	ClockError time.Duration
	Prefetch   int64
	Meter      sample.LostCounts
}

// simEpoch is the time at which each shop begins.
func simEpoch() time.Time { return time.Unix(1_800_000_000, 0) }

// read reads the simulated broker and store.
func (s *simShop) read() simReading {
	epoch := simEpoch()
	prefetch := int64(max(1, s.prefetch))
	sums := map[*[]simStep][]simStep{}
	for _, list := range []*[]simStep{&s.depth, &s.unacked, &s.dead} {
		steps := append([]simStep(nil), *list...)
		sort.SliceStable(steps, func(i, j int) bool { return steps[i].at < steps[j].at })
		for i := 1; i < len(steps); i++ {
			steps[i].delta += steps[i-1].delta
		}
		sums[list] = steps
	}
	level := func(list *[]simStep, at time.Duration) float64 {
		steps := sums[list]
		i := sort.Search(len(steps), func(i int) bool { return steps[i].at > at })
		if i == 0 {
			return 0
		}
		return steps[i-1].delta
	}
	shown := map[*[]simCount][]time.Duration{}
	for _, list := range []*[]simCount{&s.publishes, &s.entered, &s.acks, &s.redeliveries, &s.closures, &s.deliveries, &s.buried, &s.dug} {
		for _, c := range *list {
			if !c.lost {
				shown[list] = append(shown[list], c.shown)
			}
		}
		sort.Slice(shown[list], func(i, j int) bool { return shown[list][i] < shown[list][j] })
	}
	total := func(list *[]simCount, at time.Duration) float64 {
		return float64(sort.Search(len(shown[list]), func(i int) bool { return shown[list][i] > at }))
	}
	var frames sample.Frames
	for at := s.upTo(s.interval); at < s.now; at += s.interval {
		f := sample.Frame{
			Began: epoch.Add(at), Ended: epoch.Add(at + 20*time.Millisecond), DepthFrom: epoch.Add(at - sample.DepthLag), Whole: true,
			Acks: total(&s.acks, at), Redeliveries: total(&s.redeliveries, at), Publishes: total(&s.publishes, at),
			Consumers: float64(s.channels), ConsumersKnown: true, Deliveries: total(&s.deliveries, at), Closures: total(&s.closures, at), Unpublished: total(&s.publishes, at) == 0,
			Entered: total(&s.entered, at), EnteredKnown: s.tellsEntered, Unentered: s.tellsEntered && total(&s.entered, at) == 0,
			DeadPublished: total(&s.buried, at), DeadSettled: total(&s.dug, at),
		}
		taken := func() time.Duration { return at - s.upTo(sample.DepthLag) }
		if s.chance(s.live) {
			asked := at - s.upTo(2*time.Second)
			f.DepthFrom = epoch.Add(asked)
			taken = func() time.Duration { return asked + s.upTo(min(200*time.Millisecond, at-asked)) }
		}
		f.Depth, f.Dead = level(&s.depth, taken()), level(&s.dead, taken())
		f.Unacked = level(&s.unacked, taken())
		frames = append(frames, f)
	}
	started := min(s.quietBefore+s.length+s.passAt, s.now)
	pass := &dedup.Pass{Started: epoch.Add(started), Ended: epoch.Add(started + time.Second), ClockOffset: s.offset + s.offsetError}
	for _, at := range s.done {
		pass.Completions.Add(epoch.Add(at + s.offset))
	}
	for _, at := range s.gaveUp {
		pass.GaveUp.Add(epoch.Add(at + s.offset))
	}
	pass.Completions.Freeze()
	pass.GaveUp.Freeze()
	return simReading{
		Meter: s.meter(frames, epoch, total), Frames: frames, Pass: pass, ClockError: 50 * time.Millisecond, Prefetch: prefetch,
		Scheme: dedup.Scheme{Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: 24 * time.Hour, ProcessingTTL: 5 * time.Minute, GiveUp: 5},
	}
}

// meter reads what the nodes count for themselves along with each frame; counted is what queues show by a time.
func (s *simShop) meter(frames sample.Frames, epoch time.Time, counted func(*[]simCount, time.Duration) float64) (m sample.LostCounts) {
	if s.unmetered == "all" {
		return m
	}
	for _, f := range frames {
		at := f.Began.Sub(epoch)
		read := func(r *sample.LossReadings, lists ...*[]simCount) {
			frame := sample.LossReading{Began: f.Began, Ended: f.Ended}
			for _, list := range lists {
				frame.True += float64(sort.Search(len(*list), func(i int) bool { return (*list)[i].at > at }))
				frame.Counted += counted(list, at)
			}
			*r = append(*r, frame)
		}
		if s.unmetered != "acks" {
			read(&m.Acks, &s.acks)
		}
		read(&m.Publishes, &s.publishes, &s.buried)
	}
	return m
}

// truth counts settlements and duplicates between two times of the simulation.
func (s *simShop) truth(from, to time.Duration) (duplicates, messages float64) {
	within := func(list []time.Duration) (n float64) {
		for _, at := range list {
			if at >= from && at < to {
				n++
			}
		}
		return n
	}
	return within(s.duplicates), within(s.settled)
}
