package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// TestAcksOfTheBrokerAreAsOldAsItsCounters: ten messages a second are acked, and the management API tells of those of some seconds ago.
func TestAcksOfTheBrokerAreAsOldAsItsCounters(t *testing.T) {
	for name, c := range map[string]struct {
		at, covered, delta float64
		blind, closed      bool
		unknown            bool
		widest             float64
	}{
		"as many as there were":                      {at: 200, covered: 60, delta: 600, widest: 30},
		"those of the last seconds are not counted":  {at: 200, covered: 60, delta: 550, widest: 30},
		"those of the seconds before are counted":    {at: 200, covered: 60, delta: 650, widest: 30},
		"a few seconds later than live counts reach": {at: 303, covered: 60, delta: 550, widest: 30},
		"nothing else counts, a minute":              {at: 200, covered: 60, delta: 560, blind: true, widest: 120},
		"nothing else counts, half a minute":         {at: 200, covered: 30, delta: 240, blind: true, widest: 120},
		"nothing else counts, at the start":          {at: 10, covered: 10, delta: 0, blind: true, unknown: true},
		"and a channel took counts along":            {at: 200, covered: 60, delta: 650, closed: true, widest: 30},
	} {
		t.Run(name, func(t *testing.T) {
			p := flowing(10, 10, 0, 300)
			meter := sample.NewLossMeter()
			p.Traffic.Own, p.Traffic.Loss = (&sample.ClosureBook{}).Follow("/", nil), &meter
			if c.blind {
				p.Traffic.Flows = sample.Live{}
			}
			gains := &Gains{Window: time.Minute, Acks: sample.Increase{Delta: c.delta, Covered: time.Duration(c.covered) * time.Second, At: time.Unix(1000, 0).Add(time.Duration(c.at) * time.Second), Known: true}}
			if c.closed {
				gains.Closures.Delta = 1
			}
			f := counts{p, View{CountsAcks: true}, gains}.acked()
			if c.unknown {
				if f.Known() || f.Why == "" || f.N != 0 {
					t.Errorf("%+v", f)
				}
				return
			}
			if begun := f.At.Add(-f.Covered); !begun.Equal(gains.Acks.At.Add(-gains.Acks.Covered)) {
				t.Errorf("it begins at %v, and not with the window", begun)
			}
			truth := 10 * f.Covered.Seconds()
			if f.Low > truth || f.High < truth || f.High-f.Low > c.widest || f.Value < f.Low || f.Value > f.High {
				t.Errorf("%g, from %g to %g, of %g", f.Value, f.Low, f.High, truth)
			}
			if f.AtLeast != c.closed || f.AtLeast && f.Value > truth {
				t.Errorf("at least %t %g, of %g", f.AtLeast, f.Value, truth)
			}
		})
	}
}
