package cause

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

var causeNow = time.Date(2026, 11, 21, 2, 40, 0, 0, time.UTC)

func at(minute, second int) time.Time {
	return time.Date(2026, 11, 21, 2, minute, second, 0, time.UTC)
}

// withRate has the duplicate rate in each window, over 10,000 messages in 15 minutes.
func withRate(low, high float64) *dedup.PipelineStatus {
	p := &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Limits: dedup.DefaultLimits()}}
	for _, w := range dedup.Windows() {
		n := math.Round(10_000 * w.Minutes() / 15)
		rate := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Ratio, Value: low, Low: low, High: high, N: n, Window: w, Covered: w, At: causeNow}
		count := dedup.Figure{Quality: dedup.Measured, Unit: dedup.Count, Value: low * n, Low: low * n, High: high * n, N: n, Window: w, Covered: w, At: causeNow}
		p.Windows = append(p.Windows, dedup.WindowFigures{Window: w, DuplicateRate: rate, Duplicates: count})
	}
	return p
}

func exactly(v float64) dedup.Figure {
	return dedup.Exact(dedup.Measured, dedup.Count, v, causeNow, "")
}

func (c causeCase) pipeline() *dedup.PipelineStatus {
	high := c.high
	if high == 0 {
		high = c.rate
	}
	p := withRate(c.rate, high)
	if c.roseAt > 0 { // an hour of points, low before and high from then on
		for m := range 60 {
			v := c.rate / 10
			if t := causeNow.Add(time.Duration(m-59) * time.Minute); !t.Before(at(c.roseAt, 0)) {
				v = c.rate
			}
			p.Spark = append(p.Spark, dedup.Point{At: causeNow.Add(time.Duration(m-59) * time.Minute), Value: v})
		}
	}
	for i := range p.Windows {
		w := &p.Windows[i]
		d := w.Duplicates
		if c.again[1] > 0 {
			w.Redelivered, w.ProducerSent = d, d
			w.Redelivered.Low, w.Redelivered.High = c.again[0]*d.Low, c.again[1]*d.High
			w.ProducerSent.Low, w.ProducerSent.High = (1-c.again[1])*d.Low, (1-c.again[0])*d.High
		}
		if c.watched {
			w.ConsumerRestarts = dedup.Exact(dedup.Derived, dedup.PerHour, c.restarts, causeNow, "")
			w.AckTimeouts = dedup.Exact(dedup.Measured, dedup.PerHour, c.timeouts, causeNow, "")
			w.ConsumerRestarts.N, w.AckTimeouts.N = math.Round(c.restarts*w.Window.Hours()), math.Round(c.timeouts*w.Window.Hours())
			w.ConsumerRestarts.AtLeast = c.partly
		}
		w.LostPerChannel = c.perChannel
		if c.closed > 0 {
			w.MostClosed = &c.closed
		}
		if c.looping > 0 {
			w.Looping = exactly(c.looping)
		}
		if c.loopOver && w.Window == 5*time.Minute {
			w.Looping = exactly(0)
		}
	}
	if c.stuck > 0 {
		p.Stuck = exactly(c.stuck)
	}
	if c.perhaps > 0 {
		p.Stuck = exactly(c.stuck)
		p.Stuck.High += c.perhaps
	}
	return p
}

type causeCase struct {
	name       string
	rate, high float64
	roseAt     int // minute of 02
	again      [2]float64
	watched    bool
	restarts   float64
	timeouts   float64
	looping    float64
	loopOver   bool // five minutes and more ago
	stuck      float64
	perhaps    float64 // markers of which it cannot be told
	perChannel int64
	partly     bool    // restarts are at least
	closed     float64 // channels at most
	events     []dedup.Event
	kind       Kind // empty: nothing to explain
	say        string
}

func causeCases() []causeCase {
	restart := dedup.Event{At: at(13, 20), Kind: "consumer_restart", Text: "3 of 4 consumers of orders reconnected."}
	return []causeCase{
		{name: "a rise after consumers restarted names the restart, how long before, and the share of redeliveries",
			rate: 0.06, roseAt: 14, again: [2]float64{0.82, 0.95}, watched: true, restarts: 4, events: []dedup.Event{restart}, kind: Restart,
			say: "Duplicates rose at 02:14, within 60 s of when consumers restarted (3 of 4 consumers of orders reconnected); that can explain up to 570 of 600 duplicates in 15 m, and at least 492 came from redeliveries."},
		{name: "a restart some minutes before the rise is told with its distance",
			rate: 0.06, roseAt: 17, again: [2]float64{0.9, 0.9}, events: []dedup.Event{restart}, kind: Restart,
			say: "Duplicates rose at 02:17, 4 m after consumers restarted (3 of 4 consumers of orders reconnected); that can explain up to 540 of 600 duplicates in 15 m, and 540 came from redeliveries."},
		{name: "a restart half an hour before the rise explains nothing",
			rate: 0.06, roseAt: 30, again: [2]float64{0.9, 0.9}, events: []dedup.Event{{At: at(2, 0), Kind: "consumer_restart", Text: "x"}}, kind: Redeliveries,
			say: "Duplicates rose at 02:30; no event explains it; 540 of 600 duplicates in 15 m (90 %) came from redeliveries."},
		{name: "a restart after the rise is no cause of it",
			rate: 0.06, roseAt: 10, events: []dedup.Event{restart}, kind: Unexplained, say: "Duplicates rose at 02:10; no event explains it."},
		{name: "a restart explains no second messages: then the producer is the likely cause",
			rate: 0.06, roseAt: 14, again: [2]float64{0.03, 0.03}, events: []dedup.Event{restart}, kind: Producer,
			say: "Duplicates rose at 02:14; messages are published twice: 582 of 600 duplicates in 15 m (97 %)."},
		{name: "second messages all hour long are the producer's, and restarts that were not seen are no matter",
			rate: 0.02, again: [2]float64{0.03, 0.03}, watched: true, kind: Producer,
			say: "Messages are published twice: 194 of 200 duplicates in 15 m (97 %)."},
		{name: "second messages are the producer's where nothing of consumers can be seen",
			rate: 0.02, again: [2]float64{0.03, 0.03}, kind: Producer, say: "Messages are published twice: 194 of 200 duplicates in 15 m (97 %)."},
		{name: "our own requeue job is told before the producer is blamed",
			rate: 0.06, roseAt: 14, again: [2]float64{0, 0.02}, events: []dedup.Event{{At: at(13, 0), Kind: "job", Text: "Requeue of 1,200 messages of orders.dlq"}}, kind: OwnJob,
			say: "Duplicates rose at 02:14, within 60 s of when a job of this dashboard ran (Requeue of 1,200 messages of orders.dlq); that can explain up to 600 of 600 duplicates in 15 m."},
		{name: "a deploy that was marked is named where nothing nearer explains the rise",
			rate: 0.06, roseAt: 14, events: []dedup.Event{{At: at(11, 0), Kind: "mark", Text: "shop v42"}}, kind: Deploy,
			say: "Duplicates rose at 02:14, 3 m after a deploy was marked (shop v42)."},
		{name: "ack timeouts come before the restarts that they cause",
			rate: 0.06, roseAt: 14, again: [2]float64{1, 1}, events: []dedup.Event{{At: at(12, 50), Kind: "ack_timeout", Text: "orders: a delivery was not acked within 30 m"}, restart}, kind: AckTimeout,
			say: "Duplicates rose at 02:14, 70 s after acks timed out (orders: a delivery was not acked within 30 m); that can explain up to 600 of 600 duplicates in 15 m, and 600 came from redeliveries."},
		{name: "of what a broker does a node that went down tells more than the channels that closed with it",
			rate: 0.06, roseAt: 14, events: []dedup.Event{{At: at(13, 5), Kind: "node_down", Text: "rabbit@b went down"}, {At: at(13, 10), Kind: "channels_closed", Text: "36 channels were closed"}}, kind: Broker,
			say: "Duplicates rose at 02:14, within 60 s of when a node of the broker went down (rabbit@b went down); it is not known how much that explains."},
		{name: "several restarts are one cause, counted",
			rate: 0.06, roseAt: 14, events: []dedup.Event{{At: at(12, 0), Kind: "consumer_restart", Text: "a"}, {At: at(12, 30), Kind: "consumer_restart", Text: "b"}}, kind: Restart,
			say: "Duplicates rose at 02:14, 90 s after consumers restarted 2 times (b); it is not known how much that explains."},
		{name: "an event that tells of several restarts counts as many, and consumers that were added are none",
			rate: 0.06, roseAt: 14, events: []dedup.Event{{At: at(12, 0), Kind: "consumer_restart", Text: "a", Count: 20}, {At: at(12, 30), Kind: "consumer_restart", Text: "b", Count: 2}, {At: at(12, 40), Kind: "consumers_changed", Text: "c"}}, kind: Restart,
			say: "Duplicates rose at 02:14, 90 s after consumers restarted 22 times (b); it is not known how much that explains."},
		{name: "restarts that never end explain redeliveries without a rise",
			rate: 0.06, again: [2]float64{0.7, 0.9}, watched: true, restarts: 12, kind: Restart,
			say: "Consumers restart 12 times per hour; that can explain up to 540 of 600 duplicates in 15 m, and at least 420 came from redeliveries."},
		{name: "ack timeouts all the time are named with their rate",
			rate: 0.06, again: [2]float64{0.7, 0.9}, watched: true, timeouts: 4, kind: AckTimeout,
			say: "Consumers hold messages for longer than the broker waits, 4 ack timeouts per hour; that can explain up to 540 of 600 duplicates in 15 m, and at least 420 came from redeliveries."},
		{name: "redeliveries that nothing explains are said to be that, with what was not seen",
			rate: 0.06, again: [2]float64{0.7, 0.9}, watched: true, kind: Redeliveries,
			say: "No event explains it; at least 420 of 600 duplicates in 15 m (70 %) came from redeliveries; no consumer restart, no ack timeout in 15 m."},
		{name: "restarts that can be behind a tenth of the duplicates only are not named where the split is open", // 35 of 300 in 15 m
			rate: 0.03, watched: true, restarts: 140, perChannel: 1, kind: Unexplained,
			say: "No event explains the duplicates; no ack timeout in 15 m; the 35 consumer restarts seen can explain at most 35 of 300."},
		{name: "an open split names no restarts that are too few", // 131 duplicates, 5 restarts in 80 s
			rate: 0.0131, again: [2]float64{0, 0.9}, watched: true, restarts: 20, perChannel: 1, kind: Unexplained,
			say: "No event explains the duplicates; at most 118 of 131 duplicates in 15 m came from redeliveries; no ack timeout in 15 m; the 5 consumer restarts seen can explain at most 5 of 131."},
		{name: "restarts whose channels hold enough deliveries may be behind half of the duplicates",
			rate: 0.03, watched: true, restarts: 140, perChannel: 10, kind: Restart, say: "Consumers restart 140 times per hour; that can explain up to 300 of 300 duplicates in 15 m."},
		{name: "restarts are named where nothing bounds what a channel holds, and that is said", // consumers without a prefetch: the worst case
			rate: 0.03, watched: true, restarts: 140, kind: Restart, say: "Consumers restart 140 times per hour; it is not known how much that explains."},
		{name: "a crash loop of which lists see a part is bounded by all channels that were closed", // 8 of 60 seen, prefetch 10
			rate: 0.03, watched: true, restarts: 32, partly: true, perChannel: 10, closed: 60, kind: Restart, say: "Consumers restart at least 32 times per hour; that can explain up to 300 of 300 duplicates in 15 m."},
		{name: "restarts that are seen in part are ruled out by all channels that were closed, which leaves the producer",
			rate: 0.03, watched: true, restarts: 140, partly: true, perChannel: 1, closed: 40, kind: Producer,
			say: "Messages are published twice: at most 40 of 300 duplicates in 15 m can be redeliveries."},
		{name: "of restarts that are seen in part no most is told where nobody counts closed channels",
			rate: 0.03, watched: true, restarts: 32, partly: true, perChannel: 10, kind: Unexplained,
			say: "No event explains the duplicates; no ack timeout in 15 m; at least 8 consumer restarts, of which it is not known whether there were more."},
		{name: "restarts that are seen in part and enough as they are need no more",
			rate: 0.03, watched: true, restarts: 32, partly: true, perChannel: 20, kind: Restart, say: "Consumers restart at least 32 times per hour; that can explain up to 160 of 300 duplicates in 15 m."},
		{name: "one restart before a rise is not behind hundreds of duplicates where the split is open",
			rate: 0.03, roseAt: 14, watched: true, restarts: 4, partly: true, perChannel: 1, closed: 2, events: []dedup.Event{restart}, kind: Producer,
			say: "Duplicates rose at 02:14; messages are published twice: at most 2 of 300 duplicates in 15 m can be redeliveries."},
		{name: "a deploy before the rise is named where the restarts that it made are too few",
			rate: 0.03, roseAt: 14, perChannel: 1, events: []dedup.Event{{At: at(13, 0), Kind: "mark", Text: "shop v42"}, restart}, kind: Deploy,
			say: "Duplicates rose at 02:14, within 60 s of when a deploy was marked (shop v42)."},
		{name: "restarts before a rise that are many enough are named though the window has none",
			rate: 0.03, roseAt: 14, watched: true, perChannel: 10, events: []dedup.Event{{At: at(13, 20), Kind: "consumer_restart", Text: "crash loop", Count: 20}}, kind: Restart,
			say: "Duplicates rose at 02:14, within 60 s of when consumers restarted 20 times (crash loop); that can explain up to 200 of 300 duplicates in 15 m."},
		{name: "an ack timeout before a rise is too little for hundreds of duplicates",
			rate: 0.03, roseAt: 14, perChannel: 10, events: []dedup.Event{{At: at(13, 20), Kind: "ack_timeout", Text: "orders"}}, kind: Unexplained,
			say: "Duplicates rose at 02:14; no event explains it."},
		{name: "restarts are no cause of second messages, however much their channels hold",
			rate: 0.03, again: [2]float64{0, 0.1}, watched: true, restarts: 140, perChannel: 1000, kind: Producer,
			say: "Messages are published twice: at least 270 of 300 duplicates in 15 m (90 %)."},
		{name: "one ack timeout is not behind hundreds of duplicates",
			rate: 0.03, watched: true, timeouts: 4, perChannel: 1, kind: Unexplained,
			say: "No event explains the duplicates; no consumer restart in 15 m; the 1 ack timeout seen can explain at most 1 of 300."},
		{name: "a split that leaves it open where most of them come from names no origin",
			rate: 0.06, again: [2]float64{0.2, 0.7}, kind: Unexplained, say: "No event explains the duplicates; 120 to 420 of 600 duplicates in 15 m came from redeliveries."},
		{name: "without a split and without an event nothing is claimed",
			rate: 0.06, kind: Unexplained, say: "No event explains the duplicates."},
		{name: "a message that loops on a stuck marker is a loop and no duplicate",
			rate: 0, looping: 12_400, stuck: 1, kind: Loop, say: "One message loops on a stuck marker: 12,400 redeliveries in 15 m, no duplicates."},
		{name: "loops beside a few duplicates are told apart from them",
			rate: 0.0005, looping: 900, stuck: 3, kind: Loop, say: "Messages loop on 3 stuck markers: 900 redeliveries in 15 m, which are no duplicates; duplicates there are 5."},
		{name: "of more markers that loop it cannot be told whether they are stuck",
			rate: 0, looping: 900, stuck: 2, perhaps: 2, kind: Loop, say: "Messages loop on 2 to 4 stuck markers: 900 redeliveries in 15 m, no duplicates."},
		{name: "of no marker that loops it can be told",
			rate: 0, looping: 900, perhaps: 4, kind: Loop, say: "Messages loop on up to 4 stuck markers: 900 redeliveries in 15 m, no duplicates."},
		{name: "a loop that has ended is told as past",
			rate: 0, looping: 900, stuck: 1, loopOver: true, kind: Loop, say: "One message looped on a stuck marker: 900 redeliveries in 15 m, no duplicates; that ended by 02:35."},
		{name: "a loop beside many duplicates is no cause of them, however large it is",
			rate: 0.06, looping: 90_000, stuck: 1, again: [2]float64{0, 0}, kind: Unexplained, say: "No event explains the duplicates."},
		{name: "a few loops beside many duplicates do not hide why those are",
			rate: 0.06, looping: 12, stuck: 1, again: [2]float64{0, 0}, kind: Unexplained, say: "No event explains the duplicates."},
		{name: "a rate below its warning limit needs no explanation", rate: 0.005, roseAt: 14, events: []dedup.Event{restart}},
		{name: "a source that is lost and a store that restarted make no duplicates",
			rate: 0.06, roseAt: 14, events: []dedup.Event{{At: at(13, 30), Kind: "source_down", Text: "x"}, {At: at(13, 31), Kind: "store_restart", Text: "y"}}, kind: Unexplained,
			say: "Duplicates rose at 02:14; no event explains it."},
	}
}

func TestLikelyCause(t *testing.T) {
	for _, c := range causeCases() {
		t.Run(c.name, func(t *testing.T) {
			got, ok := Likely(c.pipeline(), c.events)
			if ok != (c.kind != "") || got.Kind != c.kind {
				t.Fatalf("got %q (%v): %s, want %q", got.Kind, ok, got.Sentence(time.UTC), c.kind)
			}
			if ok && got.Sentence(time.UTC) != c.say {
				t.Errorf("says\n%s\nwant\n%s", got.Sentence(time.UTC), c.say)
			}
		})
	}
}

func TestACauseIsToldInTheZoneOfItsReader(t *testing.T) {
	c, _ := Likely(causeCase{rate: 0.06, roseAt: 14}.pipeline(), nil)
	if got := c.Sentence(time.FixedZone("CST", 8*3600)); !strings.HasPrefix(got, "Duplicates rose at 10:14") {
		t.Errorf("says %s", got)
	}
}

func TestNothingIsExplainedOfAnUnknownRate(t *testing.T) {
	p := withRate(0.06, 0.06)
	for i := range p.Windows {
		p.Windows[i].DuplicateRate = dedup.Unknown(dedup.Ratio, "no source")
	}
	if c, ok := Likely(p, []dedup.Event{{At: at(13, 0), Kind: "consumer_restart"}}); ok {
		t.Errorf("explains an unknown rate: %s", c.Sentence(time.UTC))
	}
	if _, ok := Likely(&dedup.PipelineStatus{}, nil); ok {
		t.Error("explains a pipeline without any figure")
	}
}

func TestASlowWaveIsNoRise(t *testing.T) {
	var points []dedup.Point
	for m := range 60 {
		points = append(points, dedup.Point{At: causeNow.Add(time.Duration(m) * time.Minute), Value: 0.06 * (0.8 + 0.3*math.Sin(float64(m)/6.5))})
	}
	if r, ok := riseOf(points); ok {
		t.Errorf("finds a rise at %s in a wave", r.At)
	}
}

func TestTheFootOfARampIsWhenItBegan(t *testing.T) {
	var points []dedup.Point
	for m := range 60 { // a window of 15 minutes climbs for 15 minutes
		points = append(points, dedup.Point{At: at(0, 0).Add(time.Duration(m) * time.Minute), Value: 0.004 + 0.08*math.Min(1, math.Max(0, float64(m-30)/15))})
	}
	r, ok := riseOf(points)
	if !ok || r.At.Before(at(30, 0)) || r.At.After(at(34, 0)) {
		t.Errorf("rise %v at %v, want soon after 02:30", ok, r.At)
	}
}

func TestACauseNeverPanicsAndItsShareHoldsTheTruth(t *testing.T) {
	number := func(t *rapid.T, name string) float64 {
		return rapid.SampledFrom([]float64{0, 1, 3, 50, 1e4, math.NaN(), math.Inf(1), -1}).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := withRate(rapid.Float64Range(0, 1).Draw(t, "rate"), 1)
		for i := range p.Windows {
			w := &p.Windows[i]
			for _, f := range []*dedup.Figure{&w.ProducerSent, &w.Redelivered, &w.Looping, &w.AckTimeouts, &w.ConsumerRestarts, &w.Duplicates} {
				*f = dedup.Figure{Quality: dedup.Quality(rapid.IntRange(0, 3).Draw(t, "quality")), Low: number(t, "low"), High: number(t, "high"), N: number(t, "n"), AtLeast: rapid.Bool().Draw(t, "least")}
			}
			w.LostPerChannel = int64(rapid.IntRange(0, 2).Draw(t, "per channel"))
			if s := splitOf(w); s.window != nil && !(s.low >= 0 && s.low <= s.high && s.high <= 1) {
				t.Fatalf("split %+v", s)
			}
		}
		for i := range rapid.IntRange(0, 20).Draw(t, "points") {
			p.Spark = append(p.Spark, dedup.Point{At: at(i, 0), Value: number(t, "point")})
		}
		kinds := []string{"consumer_restart", "ack_timeout", "job", "mark", "channels_closed", "\xff"}
		c, ok := Likely(p, []dedup.Event{{At: at(rapid.IntRange(0, 59).Draw(t, "minute"), 0), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Text: strings.Repeat("é", rapid.IntRange(0, 300).Draw(t, "long"))}})
		if said := c.Sentence(time.UTC); ok && (said == "" || strings.Contains(said, "NaN") || strings.Contains(said, "Inf")) {
			t.Fatalf("says %q", said)
		}
	})
}

func TestACauseSaysOverWhatTheDuplicatesWereCounted(t *testing.T) {
	w := &dedup.WindowFigures{Window: 15 * time.Minute}
	w.DuplicateRate.Window, w.DuplicateRate.Covered = 15*time.Minute, 100*time.Second
	if s := (scene{window: w}); !strings.HasSuffix(s.all(), " duplicates in 100 s") {
		t.Errorf("it says %q", s.all())
	}
}
