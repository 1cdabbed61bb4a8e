package window

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestLiveCountsOutlastSecondsThatAreMissing: what fails now and then cuts out its seconds, and nothing is told of the present for long
// after the last.
func TestLiveCountsOutlastSecondsThatAreMissing(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		age  time.Duration
		ok   bool
		why  string
	}{
		{"the newest second failed", time.Second, false, ""},
		{"the newest 20 failed", 20 * time.Second, false, ""},
		{"none for a minute, and none now", time.Minute, false, "cannot be read: it answers 404"},
		{"none for a minute, though the broker answers", time.Minute, true, "not counted together since"},
		{"none for a minute, as the broker answers too slowly", time.Minute, true, "live counts took 300 ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scheme := dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: time.Hour}
			p := &Pipeline{Config: dedup.Pipeline{Name: "orders"}, Store: &Store{}, Joined: true}
			v := View{Now: now, Scheme: scheme, Stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}, Live: LiveState{Why: "live counts took 300 ms"}}
			if !tt.ok {
				v.Live.Down = "the broker's live counts cannot be read: it answers 404"
			}
			for i := range 60 {
				at := now.Add(-tt.age - time.Duration(60-i)*time.Second)
				p.Traffic.Joints.Readings = append(p.Traffic.Joints.Readings, estimate.Joint{At: at, Acked: float64(100 * i), Settled: float64(97 * i)})
			}
			r := p.live(v).estimate(time.Minute, sample.Increase{})
			if known := r.Rate.Known(); known != (tt.why == "") || !strings.Contains(r.Rate.Why, tt.why) {
				t.Errorf("%+v", r.Rate)
			}
			if r.Rate.Known() && (r.Rate.Low > 0.03 || r.Rate.High < 0.03 || !r.Rate.InBand()) {
				t.Errorf("%+v", r.Rate)
			}
		})
	}
}

// TestAPatternThatFindsNoMarkersIsNoRate: without a marker each ack looks like that of a duplicate. Where markers of work are there all may be duplicates
// indeed, as when old messages are sent again.
func TestAPatternThatFindsNoMarkersIsNoRate(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		pass  *dedup.Pass
		known bool
	}{
		"before the first pass":     {nil, false},
		"a pass that found nothing": {&dedup.Pass{}, false},
		"keys of another kind":      {&dedup.Pass{States: map[dedup.State]int64{dedup.StateUnknown: 1}}, false},
		"work that was done before": {&dedup.Pass{States: map[dedup.State]int64{dedup.Done: 500}}, true},
	} {
		scheme := dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: time.Hour, Ask: "SETNX"}
		p := flowing(50, 50, 0, 302)
		p.Config, p.Store, p.Joined = dedup.Pipeline{Name: "orders"}, &Store{Source: noEvents{}}, true
		v := View{Now: now, Scheme: scheme, Stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}, Pass: tt.pass}, CountsAcks: true}
		for i := range 60 {
			p.Traffic.Joints.Readings = append(p.Traffic.Joints.Readings, estimate.Joint{At: now.Add(time.Duration(i-60) * time.Second), Acked: float64(100 * i), Delivered: float64(100 * i)})
		}
		for s := 0; s <= 300; s += 5 {
			p.Store.Events.Readings = append(p.Store.Events.Readings, sample.EventReading{At: time.Unix(1000+int64(s), 5e8), Asked: 50 * float64(s), AskedKnown: true})
		}
		live, hits := p.live(v).estimate(time.Minute, sample.Increase{}).Rate, p.hits(v).estimate(150*time.Second).Rate
		if live.N > 0 != tt.known || !tt.known && live.Why != rate.NoneDone {
			t.Errorf("%s: live counts say %+v", name, live)
		}
		if hits.N > 0 != tt.known || !tt.known && hits.Why != rate.NoneDone {
			t.Errorf("%s: store hits say %+v", name, hits)
		}
		if tt.known {
			continue
		}
		if events := (counts{p, v, &Gains{Acks: sample.Increase{Delta: 100, Known: true}}}).events().Rate; events.Why != rate.NoneDone {
			t.Errorf("%s: store events say %+v", name, events)
		}
	}
}

// TestAClosedChannelBoundsWhatLiveCountsCannotTell: by the rows that went, but by no more channels than the broker counted, with those that
// went after its count; and what rests on acks: each alone is not measured.
func TestAClosedChannelBoundsWhatLiveCountsCannotTell(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	scheme := dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: time.Hour, AcksEach: true}
	for _, tt := range []struct {
		name string
		// rows are the channels whose rows went, a minute and a second ago, broker what the broker counted by 20 s ago.
		rows, late, broker float64
		several            string
		waiting            float64
		lost, untrusted    float64
		quality            dedup.Quality
	}{
		{"none", 0, 0, 0, "", 1, 0, 0, dedup.Measured},
		{"some", 3, 0, 5, "", 1, 3, 30, dedup.Derived},
		{"rows that channels of others had, too", 3, 0, 1, "", 1, 1, 10, dedup.Measured},
		{"one that went after the broker's count", 0, 2, 0, "", 1, 2, 20, dedup.Measured}, // 20 of 12,000 are less than 0.2 points
		{"where consumers work on several at once", 3, 0, 5, "claims are open beyond one for each channel", 1, 30, 30, dedup.Derived},
		{"where they do, and acks follow at once", 3, 0, 5, "claims are open beyond one for each channel", 0.1, 3, 30, dedup.Derived},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Pipeline{Store: &Store{}, Traffic: Traffic{Prefetches: sample.Bounds{{At: now.Add(-time.Hour), Most: 10}}}}
			p.Traffic.Frames = []sample.Frame{{Began: now.Add(-10 * time.Minute), Ended: now.Add(-10 * time.Minute)}, {Began: now.Add(-20 * time.Second), Ended: now.Add(-20 * time.Second), Closures: tt.broker}}
			for i := range 121 {
				j := estimate.Joint{At: now.Add(time.Duration(i-120) * time.Second), Run: 1, Acked: float64(100 * i), Settled: float64(97 * i), Redelivered: float64(i)}
				if i > 60 {
					j.Closed = tt.rows
				}
				if i > 118 {
					j.Closed += tt.late
				}
				p.Traffic.Joints.Readings = append(p.Traffic.Joints.Readings, j)
			}
			r, ok := estimate.ResidualOf(p.Traffic.Joints.Readings, 2*time.Minute, estimate.Unacked{})
			if !ok {
				t.Fatal("nothing is told")
			}
			r.Waiting = tt.waiting
			closed := p.Traffic.closedMost(r)
			got := rate.LiveResult{Checked: true, Residual: r, Lost: p.Traffic.acksLost(r, scheme, tt.several, closed), LostUntrusted: lostWith(closed, 10)}
			if got.Lost != tt.lost || got.LostUntrusted != tt.untrusted {
				t.Errorf("lost %g and untrusted %g, want %g and %g", got.Lost, got.LostUntrusted, tt.lost, tt.untrusted)
			}
			if f := got.Judge(dedup.Figure{}, scheme); f.Quality != tt.quality || f.Low > 0.03 || f.High < 0.03 {
				t.Errorf("%+v", f)
			}
		})
	}
}

// noEvents is a store of which nothing was heard.
type noEvents struct{}

func (noEvents) EventsAt(time.Time) (dedup.EventCounts, bool) { return dedup.EventCounts{}, true }

// TestALongTimeBeginsWhereWhatWasUnackedIsKnown: a short one, as of a program that has just begun to look, has no part to give up.
func TestALongTimeBeginsWhereWhatWasUnackedIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		seconds, window int
		begins          int
	}{
		"begun a minute ago":                    {60, 300, 0},
		"begun two minutes ago":                 {120, 300, 15},
		"begun an hour ago":                     {3600, 300, 3300},
		"of all that there is, an hour of it":   {3600, 3600, 15},
		"a minute that begins with the reading": {60, 60, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Pipeline{}
			for s := range c.seconds + 1 {
				at := time.Unix(1000+int64(s), 0)
				p.Traffic.Joints.Readings = append(p.Traffic.Joints.Readings, estimate.Joint{At: at})
				p.Traffic.Flows.Readings = append(p.Traffic.Flows.Readings, sample.LiveReading{At: at})
			}
			got := live{p: p, traffic: &p.Traffic}.ends(time.Duration(c.window)*time.Second, 0)
			if got.first != c.begins || got.last != c.seconds {
				t.Errorf("from %d to %d, want %d to %d", got.first, got.last, c.begins, c.seconds)
			}
		})
	}
}

// TestAWindowBeginsAfterALossThatMayBeOfItsQueues: where a channel of nobody knows whom took acks along early in the window, the time after it tells more.
func TestAWindowBeginsAfterALossThatMayBeOfItsQueues(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		at             int
		covered        time.Duration
		narrow, traced bool
	}{
		"none":                {0, 225 * time.Second, true, false},
		"early in the window": {30, 210 * time.Second, true, true},
		"in its second half":  {160, 225 * time.Second, false, true},
		"just now":            {238, 225 * time.Second, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := dedup.Scheme{Kind: "redis-string", Preset: "redis-text-status", Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: time.Hour, AcksEach: true}
			p := &Pipeline{Config: dedup.Pipeline{Name: "orders"}, Store: &Store{}, Joined: true}
			v := View{Now: now, Scheme: scheme, Stats: dedup.StoreStats{Events: &dedup.StoreEvents{Listening: true}}}
			for i := range 241 {
				j := estimate.Joint{At: now.Add(time.Duration(i-240) * time.Second), Acked: float64(4 * i), Settled: float64(4*i - i/10), Redelivered: float64(i / 5)}
				if tt.traced && i >= tt.at {
					j.Closed, j.Unsure = 10, 10
				}
				p.Traffic.Joints.Readings = append(p.Traffic.Joints.Readings, j)
			}
			f := p.live(v).estimate(240*time.Second, sample.Increase{}).Rate
			if f.Covered.Round(5*time.Second) != tt.covered || f.High-f.Low < 0.012 != tt.narrow || f.Low > 0.025 || f.High < 0.025 {
				t.Errorf("%v covered, %.4f to %.4f, want %v", f.Covered, f.Low, f.High, tt.covered)
			}
		})
	}
}
