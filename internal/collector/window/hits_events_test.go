package window

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// flowing is a pipeline whose broker delivered and took back so many a second, as live counts told it.
func flowing(delivered, acked, redelivered float64, seconds int) *Pipeline {
	p := &Pipeline{}
	for s := range seconds + 1 {
		n := float64(s)
		p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: time.Unix(1000+int64(s), 0), Acked: sample.LiveSum{Count: acked * n}, Delivered: sample.LiveSum{Count: delivered * n}, Redelivered: redelivered * n})
	}
	return p
}

func TestQuestionsOfOthersOnTheServerAreBoundedByDeliveries(t *testing.T) {
	readings := func(asked, claims float64) []sample.EventReading {
		var all []sample.EventReading
		for s := 0; s <= 300; s += 5 {
			all = append(all, sample.EventReading{At: time.Unix(1000+int64(s), 5e8), Asked: asked * float64(s), AskedKnown: true, Claims: claims * float64(s)})
		}
		return all
	}
	for name, c := range map[string]struct {
		asked       float64 // a second
		least, most float64 // duplicates in 150 s
	}{
		"theirs alone":           {50, 75, 180},
		"others ask ten times":   {500, 60, 240},
		"fewer than can be true": {48.99, 0, 30},
	} {
		p := flowing(50, 50, 0, 302)
		p.Store = &Store{}
		p.Store.Events.Readings = readings(c.asked, 49)
		v := View{Scheme: dedup.Scheme{Ask: "SETNX", Mark: "before"}, Stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}}
		source := p.hits(v).events()
		span, gain, ok := p.hits(v).span(source, 150*time.Second)
		if !ok || !gain.Live {
			t.Fatalf("%s: %v %+v", name, ok, gain)
		}
		if span.Hits[0] > span.Hits[1] || span.Hits[0] < c.least && name == "theirs alone" || span.Hits[1] > c.most || c.most > 100 && span.Hits[1] < 150 || span.Hits[0] > 150 {
			t.Errorf("%s: %v of %v", name, span.Hits, span.Asked)
		}
	}
}

func TestHitsOnMarkersOfWorkThatIsNotDone(t *testing.T) {
	span := rate.HitsSpan{From: time.Unix(1010, 0), To: time.Unix(1200, 0), Hits: [2]float64{100, 100}, Missed: [2]float64{5000, 5000}, Failed: 10}
	gain := sample.Gain{Acked: [2]float64{5100, 5100}, Delivered: [2]float64{5112, 5112}, Redelivered: 12}
	one, two := flowing(1, 1, 0, 300), flowing(1, 1, 0, 300)
	for n, p := range map[float64]*Pipeline{1: one, 2: two} {
		for s := 0; s < 300; s += 5 {
			p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: time.Unix(1000+int64(s), 0), Consumers: n, ConsumersKnown: true})
		}
	}
	after, batch, nack := dedup.Scheme{Mark: "after", AcksEach: true}, dedup.Scheme{Mark: "after"}, dedup.Scheme{Mark: "before", OnInFlight: "nack"}
	ack := dedup.Scheme{Mark: "before", OnInFlight: "ack", AcksEach: true}
	for name, c := range map[string]struct {
		p      *Pipeline
		scheme dedup.Scheme
		most   float64
	}{
		"a marker after the work":                  {two, after, 3},
		"batches are returned, as many as unacked": {two, batch, 3},
		"what is met comes back":                   {two, nack, 2 + 1},
		"acked by several at once":                 {two, ack, 100},
		"acked by one alone: those that came back": {one, ack, 2 + 1},
	} {
		got := c.p.hits(View{Scheme: c.scheme}).undoneMarkers(span, gain, 3)
		if got[0] != 0 || math.Abs(got[1]-c.most) > 0.01 {
			t.Errorf("%s: %v, want at most %v", name, got, c.most)
		}
	}
}

func TestFailuresThatBecomeDeadLettersTakeNoReturnedHitsAway(t *testing.T) {
	p := flowing(1, 1, 0, 300)
	for s := 0; s < 300; s += 5 {
		at := time.Unix(1000+int64(s), 0)
		p.Traffic.Frames = append(p.Traffic.Frames, sample.Frame{Began: at, Ended: at, DepthFrom: at, Consumers: 1, ConsumersKnown: true})
	}
	span := rate.HitsSpan{From: time.Unix(1010, 0), To: time.Unix(1200, 0), Hits: [2]float64{100, 100}, Missed: [2]float64{5000, 5000}, Failed: 100}
	gain := sample.Gain{Acked: [2]float64{5000, 5000}, Delivered: [2]float64{5160, 5160}, Redelivered: 60} // 100 fail, 60 are returned
	if got := p.hits(View{Scheme: dedup.Scheme{Mark: "before", OnInFlight: "nack"}}).undoneMarkers(span, gain, 0); got[1] < 60 {
		t.Errorf("at most %v of 60 that were returned", got[1])
	}
	gain.Redelivered, gain.Delivered[1], gain.Closed = math.Inf(1), math.Inf(1), 1
	if got := p.hits(View{Scheme: dedup.Scheme{Mark: "before", OnInFlight: "ack", AcksEach: true}}).undoneMarkers(span, gain, 0); got != [2]float64{0, 100} {
		t.Errorf("where nobody knows what came back: %v", got)
	}
}

// TestHitsAndAcksOfTheSameTimeAreBothHeld: where the store's hits tell less than acks and completions, these narrow them; where the two
// exclude each other, nothing is shown.
func TestHitsAndAcksOfTheSameTimeAreBothHeld(t *testing.T) {
	span := rate.HitsSpan{From: time.Unix(1010, 3e8), To: time.Unix(1280, 3e8)}
	for name, c := range map[string]struct {
		hits      [2]float64
		low, high float64
		why       string
	}{
		"hits on work in flight are taken off": {[2]float64{0, 900}, 250, 290, ""},
		"hits that are exact stay":             {[2]float64{270, 270}, 270, 270, ""},
		"they exclude each other":              {[2]float64{600, 600}, 0, 0, "exclude each other"},
	} {
		scheme := dedup.Scheme{Mark: "before", OnInFlight: "nack", OnFail: "delete"}
		p := flowing(50, 50, 0, 300)
		p.Joined, p.Traffic.Own = true, &sample.OwnClosures{}
		p.Store = &Store{}
		for s := range 300 {
			n := float64(s)
			p.Traffic.Joints.Readings = append(p.Traffic.Joints.Readings, estimate.Joint{At: time.Unix(1000+int64(s), 0), Run: 1, Acked: 50 * n, Settled: 49 * n})
		}
		h := estimate.Hits{Hits: c.hits, Messages: [2]float64{13500, 13500}}
		why := p.hits(View{Scheme: scheme}).meetAcks(span, &h)
		low, _, high := h.Duplicates()
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q", name, why)
		} else if why == "" && (low < c.low || high > c.high) {
			t.Errorf("%s: %v to %v", name, low, high)
		}
	}
}

func TestAnswersThatCameLateWidenWhatTheBrokerDid(t *testing.T) {
	p := flowing(50, 50, 0, 300)
	from, to := time.Unix(1050, 2e8), time.Unix(1250, 2e8)
	prompt, _ := p.Traffic.between(from, to)
	late := prompt
	p.hits(View{}).widenByAnswers(&late, rate.HitsSpan{From: from, To: to, FromTook: 3 * time.Second, ToTook: 2 * time.Second})
	if late.Acked[0] != prompt.Acked[0]-100 || late.Acked[1] != prompt.Acked[1]+150 || late.Delivered[1] != prompt.Delivered[1]+150 {
		t.Errorf("%+v, with late answers %+v", prompt, late)
	}
}
