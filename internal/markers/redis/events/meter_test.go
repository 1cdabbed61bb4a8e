package events

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestAMeterIntegratesWhatItsSamplesMeet compares it with the lines themselves, drawn through how many works were under way at each sample.
func TestAMeterIntegratesWhatItsSamplesMeet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for range 200 {
		var m meter
		m.begin(1)
		type work struct {
			from, to float64
			taken    int
		}
		var open []*work
		var ended []*work
		var samples []float64
		took := 0.0
		end := 20 * r.Float64()
		for now := 0.0; now < end; now += 0.3 * r.Float64() {
			switch {
			case r.Float64() < 0.4:
				open = append(open, &work{from: now, taken: m.taken()})
			case len(open) > 0 && r.Float64() < 0.6:
				i := r.IntN(len(open))
				w := open[i]
				w.to = now
				m.ended(w.taken, m.taken(), time.Duration((w.to-w.from)*1e9))
				took += w.to - w.from
				open, ended = append(open[:i], open[i+1:]...), append(ended, w)
			default:
				samples = append(samples, now)
				m.sampled(now)
			}
		}
		if len(samples) == 0 {
			continue
		}
		samples = append(samples, end+1)
		got := m.sampled(end + 1)
		want, before := 0.0, 0
		for i, at := range samples {
			met := 0
			for _, w := range ended {
				if w.from < at && at < w.to {
					met++
				}
			}
			if i > 0 {
				want += (at - samples[i-1]) * float64(met+before) / 2
			}
			before = met
		}
		if math.Abs(got.Met-want) > 1e-6 || math.Abs(got.Took-took) > 1e-6 {
			t.Fatalf("met %v and took %v, want %v and %v", got.Met, got.Took, want, took)
		}
	}
}

func TestAMeterForgetsWorkOfBeforeItsSamples(t *testing.T) {
	var m meter
	m.begin(1)
	old := m.taken()
	for i := range mostSamples + 10 {
		m.sampled(float64(i))
	}
	m.ended(old, m.taken(), time.Hour)
	m.ended(m.taken()-5, m.taken(), 5*time.Second)
	if got := m.sampled(mostSamples + 10); got.Took != 5 || math.Abs(got.Met-5) > 1e-9 {
		t.Errorf("got %+v, want the work of 5 s alone", got)
	}
	m.begin(2)
	if got := m.sampled(0); got.Epoch != 2 || got.Took != 0 || got.Met != 0 {
		t.Errorf("a new epoch begins with %+v", got)
	}
}
