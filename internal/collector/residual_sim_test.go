package collector

import (
	"sort"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// residual computes the residual interval of the duplicate rate.
func residual(s residualSample) dedup.Figure { return residualOf(s).Rate }

// sample reads the simulated broker and store into what the estimator sees.
func (s *simShop) sample(window time.Duration) (residualSample, time.Duration) {
	epoch := time.Unix(1_800_000_000, 0)
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
	return residualSample{
		Meter:  s.meter(frames, epoch, total),
		Window: window, Interval: s.interval, Frames: frames, Pass: pass, ClockError: 50 * time.Millisecond, Prefetch: prefetch,
		Scheme: dedup.Scheme{Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: 24 * time.Hour, ProcessingTTL: 5 * time.Minute, GiveUp: 5},
	}, time.Duration(epoch.UnixNano())
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

func drawTraffic(t *rapid.T) simTraffic {
	share := func(name string, most float64) float64 {
		if rapid.Bool().Draw(t, name+" at all") {
			return rapid.Float64Range(0, most).Draw(t, name)
		}
		return 0
	}
	seconds := func(name string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Second
	}
	return simTraffic{
		seed: rapid.Uint64().Draw(t, "seed"), rate: rapid.Float64Range(3, 40).Draw(t, "rate"),
		length: seconds("length", 60, 600), quietBefore: seconds("quiet before", 0, 60), quietAfter: 2*time.Minute - seconds("less quiet after", 0, 120),
		resend: share("resend", 0.2), lostAck: share("lost acks", 0.1), fail: share("failures", 0.2), crash: share("crashes", 0.05),
		reject: share("rejects", 0.1), stuckShare: share("stuck", 0.01), losesCounts: share("lost counts", 1),
		interval: seconds("interval", 2, 15), passAt: 60*time.Second - seconds("pass earlier", 0, 90),
		offset:      time.Duration(rapid.IntRange(-100_000, 100_000).Draw(t, "offset ms")) * time.Millisecond,
		offsetError: time.Duration(rapid.IntRange(-50, 50).Draw(t, "offset error ms")) * time.Millisecond,
		channels:    rapid.IntRange(1, 6).Draw(t, "channels"),
		overlap:     rapid.Bool().Draw(t, "overlap"),
		looks:       rapid.Bool().Draw(t, "looks"),
		hangUps:     rapid.SampledFrom([]float64{0, 0.01, 0.1, 0.3}).Draw(t, "publishers hang up"), unmetered: rapid.SampledFrom([]string{"", "acks", "all"}).Draw(t, "unmetered"),
		live:         rapid.SampledFrom([]float64{0, 1, 1, 0.7}).Draw(t, "live depths"),
		tellsEntered: rapid.Bool().Draw(t, "queues tell what they took in"),
		hands:        rapid.SampledFrom([]float64{0, 0, 0.1, 1}).Draw(t, "hands in the dead-letter queue"),
	}
}

func TestTheResidualIntervalHoldsTheTruth(t *testing.T) {
	holdsTheTruth(t, drawTraffic)
	if !someNarrow(drawTraffic) {
		t.Error("no shop got a narrow interval: the property was not tested")
	}
}

// TestLostPublishesHideNoAcks: publishers' channels die along with consumers', and both take counts along.
func TestLostPublishesHideNoAcks(t *testing.T) {
	holdsTheTruth(t, func(t *rapid.T) simTraffic {
		traffic := drawTraffic(t)
		traffic.hangUps, traffic.losesCounts, traffic.unmetered = 0.2, 1, "acks"
		traffic.rate, traffic.resend = rapid.Float64Range(20, 40).Draw(t, "high rate"), 0.2
		traffic.lostAck, traffic.crash, traffic.fail, traffic.reject, traffic.stuckShare = 0.01, 0, 0, 0, 0
		traffic.quietBefore, traffic.length, traffic.quietAfter = time.Minute, time.Minute, 2*time.Minute
		return traffic
	})
}

// TestWhatQueuesTookInBoundsTheAcks: nobody meters what channels take along, and the shop need not rest before, in or after the window.
func TestWhatQueuesTookInBoundsTheAcks(t *testing.T) {
	draw := func(t *rapid.T) simTraffic {
		traffic := drawTraffic(t)
		traffic.tellsEntered, traffic.unmetered, traffic.losesCounts = true, "all", 1
		traffic.rate, traffic.resend = rapid.Float64Range(3, 40).Draw(t, "any rate"), 0.2
		traffic.lostAck = rapid.SampledFrom([]float64{0.001, 0.01}).Draw(t, "few lost acks")
		traffic.crash, traffic.fail, traffic.reject, traffic.stuckShare = 0, 0, rapid.SampledFrom([]float64{0, 0.05}).Draw(t, "some rejects"), 0
		traffic.quietBefore, traffic.length = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "rest before"), 2*time.Minute
		traffic.passAt = time.Duration(rapid.IntRange(-60, 90).Draw(t, "pass in mid-traffic or after it")) * time.Second
		return traffic
	}
	holdsTheTruth(t, draw)
	if !someNarrow(draw) {
		t.Error("no shop got a narrow interval: what queues took in is worth nothing")
	}
}

// someNarrow reports whether some shop gets a narrow interval. The shops are always the same: a few in a hundred do, so that by chance none
// of those of one run may.
func someNarrow(draw func(*rapid.T) simTraffic) bool {
	shops := rapid.Custom(draw)
	for seed := range 500 {
		shop := runSim(shops.Example(seed))
		for _, window := range dedup.Windows()[:3] {
			if s, _ := shop.sample(window); residual(s).Known() {
				return true
			}
		}
	}
	return false
}

// holdsTheTruth simulates shops by chance: an interval is never beside the truth.
func holdsTheTruth(t *testing.T, draw func(*rapid.T) simTraffic) {
	tried, known, wide := 0, 0, 0
	reasons := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		shop := runSim(draw(t))
		window := rapid.SampledFrom(dedup.Windows()[:3]).Draw(t, "window")
		s, epoch := shop.sample(window)
		tried++
		f := residual(s)
		if f.N == 0 {
			reasons[strings.TrimRight(strings.SplitN(f.Why, ":", 2)[0], "0123456789.% ")]++
			return
		}
		if f.Known() {
			known++
		} else {
			wide++
		}
		from, to, why := residualEnds(s)
		if why != "" {
			t.Fatalf("the ends are refused (%s) though there is an interval", why)
		}
		ours := func(c cut) time.Duration { return time.Duration(c.Store.UnixNano()) - epoch - shop.offset }
		duplicates, messages := shop.truth(ours(from), ours(to))
		if messages == 0 {
			return
		}
		rate := duplicates / messages
		if rate < f.Low-1e-9 || rate > f.High+1e-9 {
			t.Fatalf("truth %v (%v of %v) is outside [%v, %v] of %v over %v", rate, duplicates, messages, f.Low, f.High, f.N, f.Covered)
		}
	})
	t.Logf("%d shops: %d narrow intervals, %d wide ones, refused: %v", tried, known, wide, reasons)
	if known+wide == 0 {
		t.Error("no shop got an interval: the property was not tested")
	}
}
