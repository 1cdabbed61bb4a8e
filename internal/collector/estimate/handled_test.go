package estimate

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var handledStart = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)

// rested are readings before and after a batch, at rest: the broker's counts are exact there.
func rested(handled, failed, acked, redelivered float64) []Handled {
	return []Handled{
		{At: handledStart, AckRun: 1},
		{At: handledStart.Add(time.Minute), Handled: handled, Failed: failed, AckRun: 1, AckedLow: acked, AckedHigh: acked, RedeliveredLow: redelivered, RedeliveredHigh: redelivered},
	}
}

func TestWhatConsumersSayIsHeldToTheAcksOverARest(t *testing.T) {
	for _, tt := range []struct {
		name                                string
		handled, failed, acked, redelivered float64
		refuted                             bool
	}{
		{"each delivery is handled and acked", 1000, 0, 1000, 0, false},
		{"acks were lost, and their messages came again", 1010, 0, 1000, 10, false},
		{"failures are acked", 900, 100, 1000, 0, false},
		{"failures are returned", 900, 100, 900, 100, false},
		{"retries inside of the process are counted", 1100, 0, 1000, 0, true},
		{"another queue is counted", 400, 0, 1000, 0, true},
		{"a metric that counts attempts", 1100, 100, 1000, 50, true},
		{"nothing is handled", 0, 0, 1000, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, ok := Compare(rested(tt.handled, tt.failed, tt.acked, tt.redelivered))
			if !ok || a.Refuted != tt.refuted || a.Handled != tt.handled {
				t.Errorf("%+v, %v", a, ok)
			}
		})
	}
}

func TestNothingIsProvedByFewAcks(t *testing.T) {
	if a, ok := Compare(rested(20, 0, 20, 0)); ok {
		t.Errorf("%+v", a)
	}
	if a, ok := Compare(rested(200, 0, 200, 0)); !ok || a.Refuted || a.Slack > 0.03 {
		t.Errorf("%+v, %v", a, ok)
	}
	apart := rested(200, 0, 0, 0)
	apart[1].AckRun = 2 // the broker's counters began anew
	if a, ok := Compare(apart); ok {
		t.Errorf("%+v", a)
	}
}

// TestHandledLessSettledHoldsTheTruth reads two processes at different moments of each scrape interval, and the store at those moments.
func TestHandledLessSettledHoldsTheTruth(t *testing.T) {
	const rate, share, seconds, scrape = 60.0, 0.03, 900, 15
	windows, held := 0, 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 7))
		at := [2]float64{rng.Float64() * scrape, rng.Float64() * scrape} // the phases of the two processes
		var readings []Handled
		var truth []float64
		var handled, duplicates [2][]float64 // by process: the times of its deliveries
		for now := 0.0; now < seconds; now += rng.ExpFloat64() / rate {
			who := rng.IntN(2)
			handled[who] = append(handled[who], now)
			if rng.Float64() < share {
				duplicates[who] = append(duplicates[who], now)
			}
		}
		upTo := func(times []float64, t float64) (n float64) {
			for _, x := range times {
				if x <= t {
					n++
				}
			}
			return n
		}
		settled := func(t float64) float64 {
			return upTo(handled[0], t) + upTo(handled[1], t) - upTo(duplicates[0], t) - upTo(duplicates[1], t)
		}
		for tick := 0.0; tick+scrape < seconds; tick += scrape {
			r := Handled{Run: 1}
			weights := [2]float64{0.5, 0.5}
			var marks [2]float64
			dup := 0.0
			for i := range marks {
				marks[i] = tick + at[i]
				r.Handled += upTo(handled[i], marks[i])
				dup += upTo(duplicates[i], marks[i])
				r.Settled += weights[i] * settled(marks[i])
			}
			middle := (marks[0] + marks[1]) / 2
			for i, w := range weights {
				r.Spread += w * (1 - w) * math.Abs(settled(marks[i])-settled(middle))
			}
			r.At = handledStart.Add(time.Duration(middle * float64(time.Second)))
			readings, truth = append(readings, r), append(truth, dup)
		}
		for end := 20; end < len(readings); end += 20 {
			r, ok := SentOf(readings[:end+1], 5*time.Minute)
			if !ok {
				t.Fatal("readings of one run are not compared")
			}
			first := end
			for !readings[first].At.Equal(r.From) {
				first--
			}
			windows++
			if low, _, high := r.Duplicates(0); low <= truth[end]-truth[first] && truth[end]-truth[first] <= high {
				held++
			}
			if width := r.Band / r.Acked; width > 0.01 {
				t.Errorf("seed %d: the band is %.4f of the messages", seed, width)
			}
		}
	}
	if share := float64(held) / float64(windows); share < 0.93 {
		t.Errorf("%d of %d windows hold the truth", held, windows)
	}
}

func TestWhatProcessesHandledBeforeTheirEndWidensTheHighEndAlone(t *testing.T) {
	readings := []Handled{{At: handledStart, Run: 1}, {At: handledStart.Add(time.Minute), Run: 1, Handled: 1000, Settled: 970, Unsure: 20}}
	r, ok := SentOf(readings, 5*time.Minute)
	low, likely, high := r.Duplicates(0)
	if !ok || likely != 30 || low < 20 || high < 50 || high > 65 {
		t.Errorf("%v to %v, likely %v", low, high, likely)
	}
}
