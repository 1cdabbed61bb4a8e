package figure

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

var splitNow = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

// splitFrames reads every five seconds for an hour, with one duplicate reported and ten acks between two readings.
func splitFrames() sample.Frames {
	var r sample.Frames
	for i := range 721 {
		at := splitNow.Add(time.Duration(i-720) * 5 * time.Second)
		r = append(r, sample.Frame{Began: at, Ended: at, Acks: float64(10 * i), ReportedDuplicates: float64(i)})
	}
	return r
}

type splitCase struct {
	name           string
	whole          [2]float64
	source         string
	covered        time.Duration
	sent, again    [2]float64
	partCovered    time.Duration
	behind         time.Duration
	wantSent       [2]float64
	wantAgain      [2]float64
	unknown, noted bool
	// frames are those of splitFrames where none are given.
	frames sample.Frames
	own    *sample.OwnClosures
	meter  sample.LossReadings
}

func (c splitCase) run() dedup.WindowFigures {
	const w = 15 * time.Minute
	count := func(v [2]float64, source string, covered, behind time.Duration) dedup.Figure {
		return dedup.Figure{Quality: dedup.Derived, Unit: dedup.Count, Value: v[0], Low: v[0], High: v[1], Source: source, Window: w, Covered: covered, At: splitNow.Add(-behind)}
	}
	out := UnknownWindow(w, "nobody tells")
	out.Duplicates = count(c.whole, c.source, c.covered, 0)
	out.ProducerSent, out.Redelivered = count(c.sent, rate.ResidualSource, c.partCovered, c.behind), count(c.again, rate.ResidualSource, c.partCovered, c.behind)
	if c.frames == nil {
		c.frames = splitFrames()
	}
	newest := c.frames[len(c.frames)-1].ReportedDuplicates
	Explanation{Frames: c.frames, ReportedDuplicates: newest, Slip: 5 * time.Second, Own: c.own, Meter: c.meter}.fitSplit(&out)
	return out
}

func TestThePartsOfTheDuplicatesAreOfTheSameSpanAsTheWhole(t *testing.T) {
	const w = 15 * time.Minute
	for _, c := range []splitCase{
		{name: "one source and one span stay as they are", whole: [2]float64{100, 120}, source: rate.ResidualSource, covered: w, sent: [2]float64{80, 110}, again: [2]float64{0, 30}, partCovered: w,
			wantSent: [2]float64{80, 110}, wantAgain: [2]float64{0, 30}},
		{name: "no part is larger than the whole", whole: [2]float64{88, 88}, source: rate.ReportedSource, covered: w, sent: [2]float64{0, 427}, again: [2]float64{0, 300}, partCovered: w,
			wantSent: [2]float64{0, 88}, wantAgain: [2]float64{0, 88}},
		{name: "what came after the last pass may be of either origin", whole: [2]float64{180, 180}, source: rate.ReportedSource, covered: w, sent: [2]float64{150, 165}, again: [2]float64{0, 14}, partCovered: w - 75*time.Second, behind: 75 * time.Second,
			wantSent: [2]float64{146, 180}, wantAgain: [2]float64{0, 34}, noted: true},
		{name: "what came before the whole began is taken off, as far as the other part leaves it open", whole: [2]float64{180, 180}, source: rate.ReportedSource, covered: w, sent: [2]float64{150, 165}, again: [2]float64{0, 14}, partCovered: w, behind: 75 * time.Second,
			wantSent: [2]float64{150, 180}, wantAgain: [2]float64{0, 30}, noted: true},
		{name: "what the readings do not tell is not assumed", whole: [2]float64{180, 180}, source: rate.IDGapSource, covered: w, sent: [2]float64{150, 165}, again: [2]float64{0, 14}, partCovered: 2 * time.Hour, behind: 75 * time.Second,
			wantSent: [2]float64{0, 180}, wantAgain: [2]float64{0, 180}, noted: true},
		{name: "parts that contradict the whole are unknown", whole: [2]float64{50, 50}, source: rate.ReportedSource, covered: w, sent: [2]float64{150, 165}, again: [2]float64{0, 14}, partCovered: w, unknown: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := c.run()
			for what, pair := range map[string]struct {
				f    dedup.Figure
				want [2]float64
			}{"sent": {out.ProducerSent, c.wantSent}, "again": {out.Redelivered, c.wantAgain}} {
				if c.unknown {
					if pair.f.Known() || !strings.Contains(pair.f.Why, "contradict") {
						t.Errorf("%s: %+v", what, pair.f)
					}
					continue
				}
				if pair.f.Low != pair.want[0] || pair.f.High != pair.want[1] || pair.f.Value != pair.f.Low {
					t.Errorf("%s is [%v, %v], want %v", what, pair.f.Low, pair.f.High, pair.want)
				}
				if !pair.f.At.Equal(splitNow) || pair.f.Covered != c.covered || strings.Contains(pair.f.Why, "compared over") != c.noted {
					t.Errorf("%s says its span as %s to %s: %q", what, pair.f.Covered, pair.f.At, pair.f.Why)
				}
			}
		})
	}
}

// deadChannelFrames reads every five seconds, for longer than the figures reach, with one duplicate between two readings; and a
// channel that is closed takes the acks of a burst of them along.
func deadChannelFrames(burst, burstAt, closedAt int) sample.Frames {
	var r sample.Frames
	for i := range 741 {
		at := splitNow.Add(time.Duration(i-720) * 5 * time.Second)
		f := sample.Frame{Began: at, Ended: at, Acks: float64(i), ReportedDuplicates: float64(i)}
		if i > burstAt {
			f.ReportedDuplicates += float64(burst)
		}
		if burst > 0 && i >= closedAt {
			f.Closures = 1
		}
		r = append(r, f)
	}
	return r
}

// TestAcksThatAClosedChannelTookAlongWidenTheSplit: 150 of them are not counted in the minute that the parts do not cover.
func TestAcksThatAClosedChannelTookAlongWidenTheSplit(t *testing.T) {
	const w = 15 * time.Minute
	others := &sample.OwnClosures{}
	others.Add(splitNow.Add(-time.Minute), splitNow.Add(10*time.Second), 1)
	meter := func(lost float64) (r sample.LossReadings) {
		for i := range 741 {
			at := splitNow.Add(time.Duration(i-720) * 5 * time.Second)
			f := sample.LossReading{Began: at, Ended: at, True: 1000, Counted: 1000}
			if i > 710 {
				f.True += lost
			}
			r = append(r, f)
		}
		return r
	}
	for _, c := range []splitCase{
		{name: "who closed it is not known", frames: deadChannelFrames(150, 710, 712), wantSent: [2]float64{106, 330}},
		{name: "it was another's", frames: deadChannelFrames(150, 710, 712), own: others, wantSent: [2]float64{106, 140}},
		{name: "the nodes tell how many were lost", frames: deadChannelFrames(150, 710, 712), meter: meter(150), wantSent: [2]float64{106, 290}},
		{name: "none was closed", frames: deadChannelFrames(0, 710, 712), wantSent: [2]float64{106, 140}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.source, c.covered, c.whole = rate.IDGapSource, w, [2]float64{330, 330}
			c.partCovered, c.behind = w-time.Minute, time.Minute
			c.sent, c.again = [2]float64{110, 120}, [2]float64{0, 230}
			if out := c.run(); out.ProducerSent.Low != c.wantSent[0] || out.ProducerSent.High != c.wantSent[1] {
				t.Errorf("sent is [%v, %v], want %v", out.ProducerSent.Low, out.ProducerSent.High, c.wantSent)
			}
		})
	}
}

func TestTheSplitHoldsTheTruthWhereverItsSpanLies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Every reading has one duplicate, and once a channel dies after many whose acks it takes along; which of them are sent is drawn.
		sentAt := rapid.SliceOfN(rapid.Bool(), 720, 720).Draw(t, "sent")
		burst, burstAt := rapid.IntRange(0, 200).Draw(t, "burst"), rapid.IntRange(500, 719).Draw(t, "burst at")
		closedAt := burstAt + rapid.IntRange(1, 4).Draw(t, "closed after")
		tally := func(covered, behind time.Duration) (sent, again float64) {
			to := 720 - int(behind/(5*time.Second))
			for i := to - int(covered/(5*time.Second)); i < to; i++ {
				n := 1.0
				if i == burstAt {
					n += float64(burst)
				}
				if sentAt[i] {
					sent += n
				} else {
					again += n
				}
			}
			return sent, again
		}
		step := func(low, high int, name string) time.Duration {
			return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * 5 * time.Second
		}
		c := splitCase{source: rapid.SampledFrom([]string{rate.ReportedSource, rate.IDGapSource}).Draw(t, "source"), frames: deadChannelFrames(burst, burstAt, closedAt), covered: step(20, 180, "covered"), partCovered: step(20, 180, "part"), behind: step(0, 60, "behind")}
		wide := float64(rapid.IntRange(0, 40).Draw(t, "wide"))
		s, a := tally(c.partCovered, c.behind)
		c.sent, c.again = [2]float64{max(0, s-wide), s + wide}, [2]float64{max(0, a-wide), a + wide}
		s, a = tally(c.covered, 0)
		c.whole = [2]float64{s + a, s + a}
		out := c.run()
		if !holds(out.ProducerSent, s) || !holds(out.Redelivered, a) {
			t.Fatalf("sent %v in [%v, %v], again %v in [%v, %v]: %s", s, out.ProducerSent.Low, out.ProducerSent.High, a, out.Redelivered.Low, out.Redelivered.High, out.ProducerSent.Why)
		}
		if max(out.ProducerSent.High, out.Redelivered.High) > s+a {
			t.Fatalf("a part is larger than the whole: %+v", out.ProducerSent)
		}
	})
}
