package shoptest

import (
	"sort"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// A Reading is what is read of a shop at its end. The error of the offset of the pass is bounded by ClockError.
type Reading struct {
	Frames     sample.Frames
	Scheme     dedup.Scheme
	Pass       *dedup.Pass
	ClockError time.Duration
	Prefetch   int64
	Meter      sample.LostCounts
}

// Epoch is the time at which each shop begins.
func Epoch() time.Time { return time.Unix(1_800_000_000, 0) }

// Read reads the simulated broker and store.
func (s *Shop) Read() Reading {
	epoch := Epoch()
	prefetch := int64(max(1, s.Prefetch))
	sums := map[*[]step][]step{}
	for _, list := range []*[]step{&s.depth, &s.unacked, &s.dead} {
		steps := append([]step(nil), *list...)
		sort.SliceStable(steps, func(i, j int) bool { return steps[i].at < steps[j].at })
		for i := 1; i < len(steps); i++ {
			steps[i].delta += steps[i-1].delta
		}
		sums[list] = steps
	}
	level := func(list *[]step, at time.Duration) float64 {
		steps := sums[list]
		i := sort.Search(len(steps), func(i int) bool { return steps[i].at > at })
		if i == 0 {
			return 0
		}
		return steps[i-1].delta
	}
	shown := map[*[]count][]time.Duration{}
	for _, list := range []*[]count{&s.publishes, &s.entered, &s.acks, &s.redeliveries, &s.Closures, &s.deliveries, &s.buried, &s.dug} {
		for _, c := range *list {
			if !c.lost {
				shown[list] = append(shown[list], c.shown)
			}
		}
		sort.Slice(shown[list], func(i, j int) bool { return shown[list][i] < shown[list][j] })
	}
	total := func(list *[]count, at time.Duration) float64 {
		return float64(sort.Search(len(shown[list]), func(i int) bool { return shown[list][i] > at }))
	}
	var frames sample.Frames
	for at := s.upTo(s.Interval); at < s.Now; at += s.Interval {
		f := sample.Frame{
			Began: epoch.Add(at), Ended: epoch.Add(at + 20*time.Millisecond), DepthFrom: epoch.Add(at - sample.DepthLag), Whole: true,
			Acks: total(&s.acks, at), Redeliveries: total(&s.redeliveries, at), Publishes: total(&s.publishes, at),
			Consumers: float64(s.Channels), ConsumersKnown: true, Deliveries: total(&s.deliveries, at), Closures: total(&s.Closures, at), Unpublished: total(&s.publishes, at) == 0,
			Entered: total(&s.entered, at), EnteredKnown: s.TellsEntered, Unentered: s.TellsEntered && total(&s.entered, at) == 0,
			DeadPublished: total(&s.buried, at), DeadSettled: total(&s.dug, at),
		}
		taken := func() time.Duration { return at - s.upTo(sample.DepthLag) }
		if s.chance(s.Live) {
			asked := at - s.upTo(2*time.Second)
			f.DepthFrom = epoch.Add(asked)
			taken = func() time.Duration { return asked + s.upTo(min(200*time.Millisecond, at-asked)) }
		}
		f.Depth, f.Dead = level(&s.depth, taken()), level(&s.dead, taken())
		f.Unacked = level(&s.unacked, taken())
		frames = append(frames, f)
	}
	started := min(s.QuietBefore+s.Length+s.PassAt, s.Now)
	pass := &dedup.Pass{Started: epoch.Add(started), Ended: epoch.Add(started + time.Second), ClockOffset: s.Offset + s.offsetError}
	for _, at := range s.Done {
		pass.Completions.Add(epoch.Add(at + s.Offset))
	}
	for _, at := range s.gaveUp {
		pass.GaveUp.Add(epoch.Add(at + s.Offset))
	}
	pass.Completions.Freeze()
	pass.GaveUp.Freeze()
	return Reading{
		Meter: s.meter(frames, epoch, total), Frames: frames, Pass: pass, ClockError: 50 * time.Millisecond, Prefetch: prefetch,
		Scheme: dedup.Scheme{Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: 24 * time.Hour, ProcessingTTL: 5 * time.Minute, GiveUp: 5},
	}
}

// meter reads what the nodes count for themselves along with each frame; counted is what queues show by a time.
func (s *Shop) meter(frames sample.Frames, epoch time.Time, counted func(*[]count, time.Duration) float64) (m sample.LostCounts) {
	if s.Unmetered == "all" {
		return m
	}
	for _, f := range frames {
		at := f.Began.Sub(epoch)
		read := func(r *sample.LossReadings, lists ...*[]count) {
			frame := sample.LossReading{Began: f.Began, Ended: f.Ended}
			for _, list := range lists {
				frame.True += float64(sort.Search(len(*list), func(i int) bool { return (*list)[i].at > at }))
				frame.Counted += counted(list, at)
			}
			*r = append(*r, frame)
		}
		if s.Unmetered != "acks" {
			read(&m.Acks, &s.acks)
		}
		read(&m.Publishes, &s.publishes, &s.buried)
	}
	return m
}

// SettledBetween counts settlements and duplicates between two times of the simulation.
func (s *Shop) SettledBetween(from, to time.Duration) (duplicates, messages float64) {
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
