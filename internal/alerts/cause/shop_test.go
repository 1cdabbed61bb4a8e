package cause

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A shop is a pipeline in numbers: messages, duplicates and, of these, producer-sent ones in each window, low and high.
type shop struct {
	messages, duplicates map[time.Duration]float64
	sent                 map[time.Duration][2]float64
	perChannel           int64
	mostClosed           float64
	redeliveries         float64 // that the broker counted in each window; negative where it counts none
	restarts             float64 // that were seen, of more
	roseAt               int     // minute of 02; 0 for no rise
}

const window15 = 15 * time.Minute

func (s shop) pipeline() *dedup.PipelineStatus {
	p := &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Limits: dedup.DefaultLimits()}}
	for _, w := range dedup.Windows() {
		n, d := s.messages[w], s.duplicates[w]
		f := dedup.WindowFigures{Window: w, DuplicateRate: dedup.Unknown(dedup.Ratio, ""), Duplicates: dedup.Unknown(dedup.Count, ""),
			ProducerSent: dedup.Unknown(dedup.Count, ""), LostPerChannel: s.perChannel}
		if n > 0 {
			f.DuplicateRate = dedup.Figure{Quality: dedup.Measured, Unit: dedup.Ratio, Value: d / n, Low: d / n, High: d / n, N: n, Window: w, Covered: w, At: causeNow}
			f.Duplicates = dedup.Figure{Quality: dedup.Measured, Unit: dedup.Count, Value: d, Low: d, High: d, N: n, Window: w, Covered: w, At: causeNow}
		}
		if part, told := s.sent[w]; told {
			f.ProducerSent = dedup.Figure{Quality: dedup.Derived, Unit: dedup.Count, Value: part[0], Low: part[0], High: part[1], Window: w, Covered: w, At: causeNow}
		}
		if s.redeliveries >= 0 && n > 0 {
			f.Redeliveries = dedup.Figure{Quality: dedup.Estimated, Unit: dedup.Ratio, Low: s.redeliveries / n, High: s.redeliveries / n, N: n}
		}
		if s.restarts > 0 {
			f.ConsumerRestarts = dedup.Figure{Quality: dedup.Derived, Unit: dedup.PerHour, Low: s.restarts / w.Hours(), High: s.restarts / w.Hours(), N: s.restarts, AtLeast: true, Covered: w, Window: w, At: causeNow}
		}
		if s.mostClosed > 0 {
			f.MostClosed = &s.mostClosed
		}
		p.Windows = append(p.Windows, f)
	}
	if s.roseAt > 0 {
		for m := range 60 {
			t, v := causeNow.Add(time.Duration(m-59)*time.Minute), 0.004
			if !t.Before(at(s.roseAt, 0)) {
				v = 0.05
			}
			p.Spark = append(p.Spark, dedup.Point{At: t, Value: v})
		}
	}
	return p
}

// reviewed is a producer that began to send 5 % twice five minutes ago, in a shop whose consumers lose an ack now and then.
func reviewed() shop {
	return shop{messages: map[time.Duration]float64{5 * time.Minute: 8_000, window15: 14_000}, duplicates: map[time.Duration]float64{5 * time.Minute: 391, window15: 451},
		sent: map[time.Duration][2]float64{5 * time.Minute: {238, 391}, window15: {150, 451}}, perChannel: 1, redeliveries: 70, restarts: 43, roseAt: 36}
}

func channelsClosed(n int64) dedup.Event {
	return dedup.Event{At: at(33, 0), Kind: "channels_closed", Text: "7 channels were closed", Count: n}
}

func TestTheLikelyCauseIsWhatCanExplainTheDuplicates(t *testing.T) {
	with := func(change func(*shop)) shop {
		s := reviewed()
		change(&s)
		return s
	}
	open := func(s *shop) { s.sent = nil }
	events := map[string]dedup.Event{
		"restarts": {At: at(35, 0), Kind: "consumer_restart", Text: "crash loop", Count: 300},
		"timeouts": {At: at(35, 0), Kind: "ack_timeout", Text: "a consumer held a delivery", Count: 1},
		"job":      {At: at(35, 0), Kind: "job", Text: "Requeue of 400 messages", Count: 400},
		"small":    {At: at(35, 0), Kind: "job", Text: "Requeue of 7 messages", Count: 7},
		"down":     {At: at(35, 0), Kind: "node_down", Text: "rabbit@b went down"},
		"alarm":    {At: at(35, 0), Kind: "alarm", Text: "memory alarm"},
		"deploy":   {At: at(35, 0), Kind: "mark", Text: "shop v42"},
	}
	const producer = "Duplicates rose at 02:36; messages are published twice: at least 238 of 391 duplicates in 5 m (61 %)."
	for _, tt := range []struct {
		name   string
		shop   shop
		events []dedup.Event
		kind   Kind
		say    string
	}{
		{"the producer is named where the split says so, and not seven channels", reviewed(), []dedup.Event{channelsClosed(7)}, Producer, producer},
		{"and not what else happened then", reviewed(), []dedup.Event{channelsClosed(7), events["restarts"], events["down"], events["deploy"]}, Producer, producer},
		{"a job of ours that sent as many is named before it", reviewed(), []dedup.Event{events["job"]}, OwnJob,
			"Duplicates rose at 02:36, within 60 s of when a job of this dashboard ran (Requeue of 400 messages); that can explain up to 400 of 451 duplicates in 15 m."},
		{"one that sent seven is not", reviewed(), []dedup.Event{events["small"]}, Producer, producer},
		{"without a split seven channels explain nothing", with(open), []dedup.Event{channelsClosed(7)}, Unexplained,
			"Duplicates rose at 02:36; no event explains it; at least 43 consumer restarts, of which it is not known whether there were more."},
		{"nor do they where nothing tells what a channel holds, but the broker counts redeliveries", with(func(s *shop) { open(s); s.perChannel = 0 }), []dedup.Event{channelsClosed(7)}, Unexplained,
			"Duplicates rose at 02:36; no event explains it."},
		{"nor where nobody counts anything: they are of the whole broker", with(func(s *shop) { open(s); s.perChannel, s.redeliveries, s.restarts = 0, -1, 0 }), []dedup.Event{channelsClosed(7), events["alarm"]}, Unexplained,
			"Duplicates rose at 02:36; no event explains it."},
		{"closed channels that held enough are named with what they held", with(func(s *shop) { open(s); s.perChannel, s.redeliveries = 50, 400 }), []dedup.Event{channelsClosed(7)}, Broker,
			"Duplicates rose at 02:36, 3 m after channels of the broker were closed (7 channels were closed); that can explain up to 350 of 451 duplicates in 15 m."},
		{"but with as many only as were the pipeline's", with(func(s *shop) { open(s); s.perChannel, s.redeliveries, s.mostClosed, s.restarts = 50, 400, 5, 0 }), []dedup.Event{channelsClosed(7)}, Broker,
			"Duplicates rose at 02:36, 3 m after channels of the broker were closed (7 channels were closed); that can explain up to 250 of 451 duplicates in 15 m."},
		{"a node that went down is bounded by what was redelivered", with(func(s *shop) { open(s); s.redeliveries = 300; s.restarts = 0 }), []dedup.Event{events["down"]}, Broker,
			"Duplicates rose at 02:36, within 60 s of when a node of the broker went down (rabbit@b went down); that can explain up to 300 of 451 duplicates in 15 m."},
		{"and is none where little was", with(func(s *shop) { open(s); s.restarts = 0 }), []dedup.Event{events["down"]}, Unexplained, "Duplicates rose at 02:36; no event explains it."},
		{"restarts that are as many as the duplicates explain them", with(func(s *shop) { open(s); s.redeliveries = 310 }), []dedup.Event{events["restarts"]}, Restart,
			"Duplicates rose at 02:36, within 60 s of when consumers restarted 300 times (crash loop); that can explain up to 300 of 451 duplicates in 15 m."},
		{"restarts that are as many explain none that were not redelivered", with(open), []dedup.Event{events["restarts"]}, Unexplained,
			"Duplicates rose at 02:36; no event explains it; at least 43 consumer restarts, of which it is not known whether there were more."},
		{"an ack timeout with a large prefetch is named", with(func(s *shop) { open(s); s.perChannel, s.redeliveries, s.restarts = 300, 310, 0 }), []dedup.Event{events["timeouts"]}, AckTimeout,
			"Duplicates rose at 02:36, within 60 s of when acks timed out (a consumer held a delivery); that can explain up to 300 of 451 duplicates in 15 m."},
		{"redeliveries without an event are said to be that", with(func(s *shop) {
			s.sent = map[time.Duration][2]float64{window15: {20, 51}}
			s.redeliveries, s.restarts = 500, 0
		}), []dedup.Event{channelsClosed(7)}, Redeliveries,
			"Duplicates rose at 02:36; no event explains it; at least 400 of 451 duplicates in 15 m (89 %) came from redeliveries."},
		{"restarts in a mixture are named for the redeliveries among them", with(func(s *shop) { s.sent = map[time.Duration][2]float64{window15: {100, 200}}; s.redeliveries = 500 }), []dedup.Event{events["restarts"]}, Restart,
			"Duplicates rose at 02:36, within 60 s of when consumers restarted 300 times (crash loop); that can explain up to 300 of 451 duplicates in 15 m, and at least 251 came from redeliveries."},
		{"the producer is named where too few channels were closed, though no split is known", with(func(s *shop) { open(s); s.mostClosed = 50 }), []dedup.Event{channelsClosed(7)}, Producer,
			"Duplicates rose at 02:36; messages are published twice: at most 50 of 451 duplicates in 15 m can be redeliveries."},
		{"but not where they may be half", with(func(s *shop) { open(s); s.mostClosed = 230 }), []dedup.Event{channelsClosed(7)}, Unexplained,
			"Duplicates rose at 02:36; no event explains it; the channels that were closed, 230 at most, can explain at most 230 of 451."},
		{"a short window tells where the judged one began before channels were counted", with(func(s *shop) { open(s); s.mostClosed = 190 }), []dedup.Event{channelsClosed(7)}, Producer,
			"Duplicates rose at 02:36; messages are published twice: at most 190 of 451 duplicates in 15 m can be redeliveries."},
		{"nor where some are redeliveries for certain that no closed channel left behind", with(func(s *shop) {
			s.sent = map[time.Duration][2]float64{window15: {200, 300}}
			s.mostClosed = 100
			delete(s.messages, 5*time.Minute)
		}), nil, Unexplained,
			"Duplicates rose at 02:36; no event explains it; 151 to 251 of 451 duplicates in 15 m came from redeliveries; the channels that were closed, 100 at most, can explain at most 100 of 451."},
		{"all but one are not all", with(func(s *shop) { s.sent = map[time.Duration][2]float64{window15: {450, 450}} }), nil, Producer,
			"Duplicates rose at 02:36; messages are published twice: 450 of 451 duplicates in 15 m (99 %)."},
		{"two restarts in the first minutes are no pace", with(func(s *shop) { open(s); s.perChannel, s.redeliveries, s.restarts, s.roseAt = 300, 450, 2, 0 }), nil, Unexplained, "No event explains the duplicates."},
		{"three of them are one where they can explain enough", with(func(s *shop) { open(s); s.perChannel, s.redeliveries, s.restarts, s.roseAt = 300, 450, 3, 0 }), nil, Restart,
			"Consumers restart at least 12 times per hour; that can explain up to 450 of 451 duplicates in 15 m."},
		{"few duplicates of a short window do not speak for many of the judged one", with(func(s *shop) { s.duplicates[5*time.Minute] = 20; s.sent[5*time.Minute] = [2]float64{20, 20} }), nil, Unexplained,
			"Duplicates rose at 02:36; no event explains it; at most 301 of 451 duplicates in 15 m came from redeliveries; at least 43 consumer restarts, of which it is not known whether there were more."},
		{"what is at least so many has no half", with(func(s *shop) { s.sent[5*time.Minute] = [2]float64{190, 391} }), nil, Unexplained,
			"Duplicates rose at 02:36; no event explains it; at most 301 of 451 duplicates in 15 m came from redeliveries; at least 43 consumer restarts, of which it is not known whether there were more."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, ok := Likely(tt.shop.pipeline(), tt.events)
			if !ok || c.Kind != tt.kind || c.Sentence(time.UTC) != tt.say {
				t.Errorf("names %q and says\n%s\nwant %q,\n%s", c.Kind, c.Sentence(time.UTC), tt.kind, tt.say)
			}
		})
	}
}

func TestOfDuplicatesThatAreAtLeastSoManyNoShareIsSaid(t *testing.T) {
	p := reviewed().pipeline()
	for i := range p.Windows {
		p.Windows[i].Duplicates.AtLeast = true
	}
	if c, _ := Likely(p, nil); c.Kind != Unexplained || strings.Contains(c.Sentence(time.UTC), "%") {
		t.Errorf("names %q: %s", c.Kind, c.Sentence(time.UTC))
	}
}

func TestALoopWhileTheStoreIsDownIsSaidToBeOfThat(t *testing.T) {
	p := causeCase{looping: 900, stuck: 1}.pipeline()
	p.Down = []dedup.SourceHealth{{Name: "broker main", Kind: "broker", Tried: true, Since: at(1, 0)}, {Name: "store orders", Kind: "store", Tried: true, LastTry: at(2, 0), Err: "connection refused"}}
	if c, ok := Likely(p, nil); !ok || c.Sentence(time.UTC) != "Store orders cannot be read since 02:02:00 (connection refused)." {
		t.Errorf("says %s", c.Sentence(time.UTC))
	}
}

func TestACauseNeverExplainsLessThanItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, most int) float64 { return float64(rapid.IntRange(0, most).Draw(t, name)) }
		sent, again := draw("sent", 500), draw("redelivered", 500) // the truth
		d := sent + again
		s := shop{messages: map[time.Duration]float64{window15: 10_000}, duplicates: map[time.Duration]float64{window15: d}, perChannel: int64(draw("per channel", 3)),
			redeliveries: again + draw("loops", 50), restarts: draw("restarts", 30), roseAt: 36 * rapid.IntRange(0, 1).Draw(t, "rose")}
		s.mostClosed = max(draw("channels closed", 200), math.Ceil(again/float64(max(1, s.perChannel))))
		s.redeliveries -= math.Min(s.redeliveries, draw("counts lost", int(s.mostClosed)*int(s.perChannel))) // a channel takes its counts along
		if rapid.Bool().Draw(t, "split") {
			s.sent = map[time.Duration][2]float64{window15: {max(0, sent-draw("less", 300)), min(d, sent+draw("more", 300))}}
		}
		e := dedup.Event{At: at(35, 0), Kind: rapid.SampledFrom([]string{"consumer_restart", "ack_timeout", "job", "channels_closed", "node_down"}).Draw(t, "kind"), Count: int64(draw("count", 600))}
		var last Cause
		if rapid.Bool().Draw(t, "named before") {
			last.Kind = rapid.SampledFrom([]Kind{Producer, Restart, Broker}).Draw(t, "before")
		}
		c, ok := likely(s.pipeline(), []dedup.Event{e}, last)
		if !ok {
			return
		}
		said := c.Sentence(time.UTC)
		switch claimed := countBefore(said, " of "+rule.Number(d)); {
		case c.Kind == Producer && strings.Contains(said, "can be redeliveries"):
			if claimed < again || claimed < 0 || d-claimed < stillMostly*d || last.Kind == "" && d-claimed < mostly*d {
				t.Fatalf("of %v, %v were redelivered: says %s", d, again, said)
			}
		case c.Kind == Producer && (claimed > sent || claimed < stillMostly*d || last.Kind == "" && claimed < mostly*d):
			t.Fatalf("of %v, %v were sent twice: says %s", d, sent, said)
		case c.Kind == Redeliveries && (claimed > again || claimed < mostly*d):
			t.Fatalf("of %v, %v were redelivered: says %s", d, again, said)
		case c.Kind == OwnJob && e.Count > 0 && (claimed > float64(e.Count) || claimed < mostly*d):
			t.Fatalf("a job sent %d of %v: says %s", e.Count, d, said)
		case c.Kind == Broker && e.Kind == "channels_closed" && s.perChannel > 0 && claimed > float64(max(1, e.Count)*s.perChannel):
			t.Fatalf("%d channels of %d each: says %s", e.Count, s.perChannel, said)
		case (c.Kind == Broker || c.Kind == Restart || c.Kind == AckTimeout) && (claimed > s.redeliveries || claimed < stillMostly*d || last.Kind != c.Kind && claimed < mostly*d):
			t.Fatalf("%v redeliveries of %v: says %s", s.redeliveries, d, said)
		}
	})
}

// countBefore is the number that stands before the words; -1 where none does.
func countBefore(said, words string) float64 {
	before, _, ok := strings.Cut(said, words)
	if !ok {
		return -1
	}
	n := 0.0
	for _, r := range before[strings.LastIndex(before, " ")+1:] {
		if r >= '0' && r <= '9' {
			n = n*10 + float64(r-'0')
		}
	}
	return n
}

func TestARestartThatIsSeenWhenWatchingBeginsIsNone(t *testing.T) {
	for _, tt := range []struct {
		name    string
		covered time.Duration
		kind    Kind
	}{
		{"it is seen a minute after the start", 7 * time.Minute, Unexplained},
		{"it is seen ten minutes after the start", 17 * time.Minute, Restart},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := reviewed()
			s.sent, s.perChannel, s.redeliveries, s.restarts, s.roseAt = nil, 10, 451, 40, 36
			p := s.pipeline()
			for i := range p.Windows {
				w := &p.Windows[i]
				w.DuplicateRate.Covered, w.ConsumerRestarts.Covered = min(w.Window, tt.covered), min(w.Window, tt.covered)
			}
			c, _ := Likely(p, []dedup.Event{{At: at(34, 0), Kind: "consumer_restart", Text: "40 consumers were restarted", Count: 40}})
			if c.Kind != tt.kind {
				t.Errorf("names %q: %s", c.Kind, c.Sentence(time.UTC))
			}
		})
	}
}
