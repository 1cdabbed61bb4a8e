package window

import (
	"cmp"
	"math"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestWhatCameBackIsBoundedByTheBroker: rejected messages that lie in a dead-letter queue that keeps them did not come back.
func TestWhatCameBackIsBoundedByTheBroker(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	from, to := begin.Add(time.Minute), begin.Add(10*time.Minute)
	for name, tt := range map[string]struct {
		change   func(frames sample.Frames)
		prefetch int64
		want     float64
	}{
		"all 198 rejects are still there":        {func(f sample.Frames) {}, 10, 0},
		"some were redelivered":                  {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Redeliveries += 7 }) }, 10, 7},
		"somebody took dead letters out":         {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.DeadSettled += 50 }) }, 10, 50},
		"a closed channel returned what it held": {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Closures += 2 }) }, 10, 20},
		"what happened before or after does not count": {func(f sample.Frames) {
			raise(f[:3], func(f *sample.Frame) { f.Redeliveries -= 9 })
			raise(f[50:], func(f *sample.Frame) { f.DeadSettled += 9 })
		}, 10, 0},
		"nothing bounds what a closed channel held":           {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Closures++ }) }, 0, math.Inf(1)},
		"nothing bounds what a closed channel got one by one": {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Closures++; f.Gets++ }) }, 10, math.Inf(1)},
		"dead letters could go on their own way for a while":  {func(f sample.Frames) { f[25].Whole = false }, 10, math.Inf(1)},
		"counters of the source queues were reset":            {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Gaps++ }) }, 10, math.Inf(1)},
		"counters of the dead-letter queues were reset":       {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.DeadGaps++ }) }, 10, math.Inf(1)},
		"the broker does not count closed channels":           {func(f sample.Frames) { raise(f, func(f *sample.Frame) { f.ClosuresBlind = true }) }, 10, math.Inf(1)},
		"the broker was not read since": {func(f sample.Frames) {
			raise(f[35:], func(f *sample.Frame) { f.Began, f.Ended = begin.Add(time.Minute), begin.Add(time.Minute) })
		}, 10, math.Inf(1)},
	} {
		t.Run(name, func(t *testing.T) {
			var frames sample.Frames
			for i := range 60 {
				at := begin.Add(time.Duration(i) * 15 * time.Second)
				frames = append(frames, sample.Frame{Began: at, Ended: at, DepthFrom: at, Whole: true, Dead: float64(min(198, 5*i)), Redeliveries: 100})
			}
			tt.change(frames)
			p := &Pipeline{Traffic: Traffic{Frames: frames, Prefetches: sample.Bounds{{At: begin, Most: tt.prefetch}}}}
			got := rate.UnboundedReturns()
			if got.Count(p.Traffic.Frames, p.Traffic.Own, p.Traffic.Prefetches.Since, from, from, to); got.All != tt.want {
				t.Errorf("at most %v came back, want %v", got.All, tt.want)
			}
		})
	}
	if c := (&Traffic{}).cameBack(from, from, to); c != rate.UnboundedReturns() {
		t.Error("a broker that was never read bounds what came back")
	}
}

func raise(frames sample.Frames, by func(*sample.Frame)) {
	for i := range frames {
		by(&frames[i])
	}
}

// TestRejectedRowsDoNotWidenTheIDGap takes the bound all the way to the figure of a window.
func TestRejectedRowsDoNotWidenTheIDGap(t *testing.T) {
	s := tableGap(func(s *rate.IDGap) {
		s.To.Done -= 198
		s.To.Undone, s.To.Failed = 198, 198
	})
	scheme := s.Scheme
	scheme.Preset, scheme.OnFail = "sql-status-name", "keep"
	p := &Pipeline{Store: &Store{}}
	p.Store.Inserts.Add(&s.From)
	p.Store.Inserts.Add(&s.To)
	v := View{Now: tableNow, Scheme: scheme, Stats: dedup.StoreStats{Health: dedup.StoreHealth{Version: s.Server}}}
	width := func() float64 {
		f := p.idGap(v).figures(time.Hour).Rate
		return f.High - f.Low
	}
	if w := width(); w < 0.015 {
		t.Errorf("without the broker: a width of %g, which counts no reject as come back", w)
	}
	for at := s.From.At.Add(-time.Minute); at.Before(tableNow); at = at.Add(10 * time.Second) {
		p.Traffic.Frames.Add(sample.Frame{Began: at, Ended: at, DepthFrom: at, Whole: true})
	}
	if w := width(); w > 0.002 {
		t.Errorf("with the rejects still in the dead-letter queue: a width of %g", w)
	}
}

// TestFramesThatBeganLateBoundWhatCameBack: what waited when the broker was first vouched for may have been a dead letter before.
func TestFramesThatBeganLateBoundWhatCameBack(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	from, to := begin.Add(2*time.Minute), begin.Add(7*time.Minute)
	var frames sample.Frames
	for i := range 60 {
		at := begin.Add(time.Duration(i) * 15 * time.Second)
		frames = append(frames, sample.Frame{Began: at, Ended: at, DepthFrom: at, Whole: i >= 3, Depth: 4})
	}
	p := &Pipeline{Traffic: Traffic{Frames: frames}}
	if c := p.Traffic.cameBack(begin.Add(-time.Hour), from, to); c.All != 4 || c.Taken != 4 {
		t.Errorf("with 4 that waited: %+v", c)
	}
	if c := p.Traffic.cameBack(begin.Add(-time.Hour), begin.Add(30*time.Second), to); !math.IsInf(c.All, 1) || !math.IsInf(c.Taken, 1) {
		t.Errorf("a window that began before: %+v", c)
	}
}

// TestLiveCountsBoundWhatWasRedelivered: of the window, with what channels that were closed in it showed only later.
func TestLiveCountsBoundWhatWasRedelivered(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	p := &Pipeline{}
	for i := range 400 {
		r := sample.LiveReading{At: begin.Add(time.Duration(i) * time.Second), Since: begin}
		if i > 100 {
			r.Redelivered = 3
		}
		if i > 305 {
			r.Redelivered = 8
		}
		if i > 330 {
			r.Redelivered = 100
		}
		p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, r)
	}
	c := p.Traffic.cameBack(begin, begin.Add(50*time.Second), begin.Add(300*time.Second))
	if c.Redelivered < 8 || c.Redelivered > 12 {
		t.Errorf("at most %g were redelivered, want 8 and what the ends add", c.Redelivered)
	}
	if !math.IsInf(c.All, 1) {
		t.Errorf("without readings of the broker: %+v", c)
	}
}

// TestWhatWasLeftUndoneIsBoundedByClosedChannelsAndMissingDeadLetters: of failed rows whose messages lie in a dead-letter queue none came back.
func TestWhatWasLeftUndoneIsBoundedByClosedChannelsAndMissingDeadLetters(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	from, to := begin.Add(2*time.Minute), begin.Add(10*time.Minute)
	source := dedup.QueueRef{Vhost: "/", Name: "orders"}
	for name, tt := range map[string]struct {
		change  func(frames sample.Frames)
		scheme  dedup.Scheme
		several string
		failed  int64
		want    float64
		expires bool
		stuck   int64 // rows in work; 100 where 0
	}{
		"messages that expire are dead letters, too":        {func(sample.Frames) {}, dedup.Scheme{OnFail: "keep", AcksEach: true}, "", 90, 4 + 90, true, 0},
		"each failed row has its dead letter":               {func(sample.Frames) {}, dedup.Scheme{OnFail: "keep", AcksEach: true}, "", 90, 4, false, 0},
		"of some failed rows no dead letter came":           {func(sample.Frames) {}, dedup.Scheme{OnFail: "keep", AcksEach: true}, "", 190, 4 + 40, false, 0},
		"a closed channel leaves the one it worked on":      {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Closures += 3 }) }, dedup.Scheme{OnFail: "keep", AcksEach: true}, "", 90, 4 + 3, false, 0},
		"one that works on several leaves all it held":      {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Closures += 3 }) }, dedup.Scheme{OnFail: "keep", AcksEach: true}, "several claims are open", 90, 4 + 30, false, 0},
		"acks in batches leave all it held, too":            {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Closures += 3 }) }, dedup.Scheme{OnFail: "keep"}, "", 90, 4 + 30, false, 0},
		"failures that are acked come back by no way":       {func(sample.Frames) {}, dedup.Scheme{OnFail: "ack", AcksEach: true}, "", 500, 4, false, 0},
		"dead letters that somebody else may put there":     {func(f sample.Frames) { raise(f, func(f *sample.Frame) { f.Whole = false }) }, dedup.Scheme{OnFail: "keep", AcksEach: true}, "", 90, 4 + 90, false, 0},
		"dead letters that somebody took have come as well": {func(f sample.Frames) { raise(f[30:], func(f *sample.Frame) { f.Dead -= 20; f.DeadSettled += 20 }) }, dedup.Scheme{OnFail: "keep", AcksEach: true}, "", 90, 4 + 20, false, 0},
		"the broker does not count closed channels":         {func(f sample.Frames) { raise(f, func(f *sample.Frame) { f.ClosuresBlind = true }) }, dedup.Scheme{OnFail: "keep", AcksEach: true}, "", 90, 4 + 100, false, 0},
		"counts that closed channels took along matter not": {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Gaps++ }) }, dedup.Scheme{OnFail: "keep", AcksEach: true}, "", 90, 4, false, 0},
		"few rows in work tell more than closed channels":   {func(f sample.Frames) { raise(f[20:], func(f *sample.Frame) { f.Closures += 40 }) }, dedup.Scheme{OnFail: "keep", AcksEach: true}, "several claims are open", 90, 4 + 12, false, 12},
	} {
		t.Run(name, func(t *testing.T) {
			var frames sample.Frames
			for i := range 60 {
				at := begin.Add(time.Duration(i) * 15 * time.Second)
				frames = append(frames, sample.Frame{Began: at, Ended: at, DepthFrom: at, Whole: true, Depth: 4, Unacked: 1, Dead: 5 * float64(i)})
			}
			tt.change(frames)
			q := &dedup.Queue{QueueRef: source, Type: "classic"}
			if tt.expires {
				q.Arguments = map[string]any{"x-message-ttl": int64(1000)}
			}
			p := &Pipeline{Config: dedup.Pipeline{MaxProcessing: 30 * time.Second}, Traffic: Traffic{Frames: frames, Prefetches: sample.Bounds{{At: begin, Most: 10}}}}
			s := rate.IDGap{Scheme: tt.scheme, Reach: dedup.InsertStats{At: from, Undone: -50}, From: dedup.InsertStats{At: from}, To: dedup.InsertStats{At: to, Last: to, Undone: tt.failed + cmp.Or(tt.stuck, 100), Failed: tt.failed}}
			got := p.idGap(View{DeadKnown: true, Queues: []*dedup.Queue{q}}).leftUndone(s, tt.several)
			if math.IsInf(tt.want, 1) != math.IsInf(got, 1) || math.Abs(got-tt.want) > 5 {
				t.Errorf("at most %v, want %v", got, tt.want)
			}
		})
	}
}

// TestAWindowBeginsWhenTheBrokerWasRead: what came back before is unknown, and would undo every bound.
func TestAWindowBeginsWhenTheBrokerWasRead(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	p := &Pipeline{Store: &Store{}}
	for i := range 61 {
		p.Store.Inserts.Add(&dedup.InsertStats{At: begin.Add(time.Duration(i) * 5 * time.Second), Epoch: 1})
	}
	first, last := p.Store.Inserts.Readings[0], p.Store.Inserts.Newest()
	if got := p.idGap(View{}).readBefore(first, last); got != first {
		t.Errorf("without the broker it begins at %s", got.At)
	}
	for late, want := range map[time.Duration]time.Duration{-time.Second: 0, 7 * time.Second: 10 * time.Second, time.Minute: time.Minute, 2 * time.Minute: 0} {
		p.Traffic.Frames = []sample.Frame{{Ended: begin.Add(late)}}
		if got := p.idGap(View{}).readBefore(first, last); !got.At.Equal(begin.Add(want)) {
			t.Errorf("read %s late, it begins after %s, want %s", late, got.At.Sub(begin), want)
		}
	}
}
