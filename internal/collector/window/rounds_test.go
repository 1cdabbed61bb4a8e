package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// seenRounds is what the rounds of one kind of traffic showed.
type seenRounds struct {
	rounds, moved, back, wrong, held, told, proven int
	width, age, oldest                             float64
}

// see runs through the rounds of a window once it is whole: of what is shown, or of one source.
func (s roundShop) see(w time.Duration, until float64, of dedup.Method) seenRounds {
	var seen seenRounds
	var shown []dedup.Figure
	last := time.Time{}
	counts := s.rounds(until, func(at float64, p *Pipeline, v View) {
		if at < w.Seconds()+40 {
			return
		}
		figures := p.Figures(v, &Gains{Window: w, Span: 2 * w})
		f := figures.DuplicateRate
		for _, e := range figures.Estimates {
			if e.Method == of {
				f = e.Rate
			}
		}
		if f.At.IsZero() { // nothing came in all of a short window
			return
		}
		if seen.rounds++; (ackedFailures{p, v}).proven() {
			seen.proven++
		}
		switch {
		case f.At.After(last):
			seen.moved++
		case f.At.Before(last):
			seen.back++
		}
		last, shown = f.At, append(shown, f)
		age := v.Now.Sub(f.At).Seconds()
		seen.age, seen.oldest = seen.age+age, max(seen.oldest, age)
		seen.width += f.High - f.Low
	})
	for _, f := range shown {
		const grace = 0.3 // a marker is written before its ack
		if !f.Known() && f.High <= f.Low {
			continue
		}
		seen.told++
		if low, high := counts.truth(f, grace); f.Low > high+1e-9 || f.High < low-1e-9 {
			seen.wrong++
		}
		if low, high := counts.truth(f, 0.01); f.Low <= high+1e-9 && f.High >= low-1e-9 {
			seen.held++
		}
	}
	return seen
}

func (s *seenRounds) add(o seenRounds) {
	s.rounds, s.moved, s.back, s.wrong, s.held = s.rounds+o.rounds, s.moved+o.moved, s.back+o.back, s.wrong+o.wrong, s.held+o.held
	s.told, s.proven = s.told+o.told, s.proven+o.proven
	s.width, s.age, s.oldest = s.width+o.width, s.age+o.age, max(s.oldest, o.oldest)
}

// TestWindowsMoveOnWithEveryRoundAndHoldTheTruth: in steady traffic the shown rate ends later in each round, and is no wider for it. Between bursts it
// waits for a quiet moment only where it would be much wider.
func TestWindowsMoveOnWithEveryRoundAndHoldTheTruth(t *testing.T) {
	for name, c := range map[string]struct {
		shop   roundShop
		of     dedup.Method
		moves  float64 // in at least so large a part of the rounds
		widest float64 // half of the mean width, of 5 minutes, in points
		short  float64 // the same of one
	}{
		"50 a second":                             {roundShop{perSecond: 50, consumers: 3, work: 0.015, copies: 0.03, fail: 0.01}, "", 0.99, 0.035, 0.16},
		"50 a second, with lost acks":             {roundShop{perSecond: 50, consumers: 3, work: 0.015, copies: 0.03, lost: 0.003, fail: 0.01}, "", 0.99, 0.2, 0.33},
		"25 a second, with lost acks":             {roundShop{perSecond: 25, consumers: 2, work: 0.015, copies: 0.012, lost: 0.003, fail: 0.01}, "", 0.99, 0.2, 0.33},
		"8 a second, with lost acks":              {roundShop{perSecond: 8, consumers: 2, work: 0.02, copies: 0.02, lost: 0.002, fail: 0.005}, "", 0.99, 0.19, 0.48},
		"3 a second":                              {roundShop{perSecond: 3, consumers: 1, work: 0.01, copies: 0.02, fail: 0.005}, "", 0.99, 0.125, 0.68},
		"20 a second of long work":                {roundShop{perSecond: 20, consumers: 12, work: 0.3, copies: 0.03, fail: 0.01}, "", 0.99, 0.04, 0.21},
		"2 of 10 s, with lost acks":               {roundShop{perSecond: 100, burst: 2, rest: 8, consumers: 3, work: 0.015, copies: 0.03, lost: 0.003, fail: 0.01}, "", 0.94, 0.2, 0.42},
		"2 of 10 s, more than consumers can take": {roundShop{perSecond: 100, burst: 2, rest: 8, consumers: 2, work: 0.03, copies: 0.03, fail: 0.01}, "", 0.8, 0.06, 0.33},
		"25 a second, acked a second late":        {roundShop{perSecond: 25, consumers: 2, work: 0.015, copies: 0.03, fail: 0.01, late: 1}, "", 0.94, 0.37, 1.6},
		"4 a second, acked a second late":         {roundShop{perSecond: 4, consumers: 2, work: 0.015, copies: 0.03, fail: 0.01, late: 1}, "", 0.6, 0.85, 3.4},
		"2 of 10 s, acked a second late":          {roundShop{perSecond: 100, burst: 2, rest: 8, consumers: 3, work: 0.015, copies: 0.03, fail: 0.01, late: 1}, "", 0.7, 0.16, 0.8},
		"50 a second, by hits":                    {roundShop{perSecond: 50, consumers: 3, work: 0.015, copies: 0.03, fail: 0.01}, dedup.MethodStoreHits, 0.99, 0.055, 0.27},
		"8 a second, by hits":                     {roundShop{perSecond: 8, consumers: 2, work: 0.02, copies: 0.02, lost: 0.002, fail: 0.005}, dedup.MethodStoreHits, 0.97, 0.55, 2.4},
		"2 of 10 s, by hits":                      {roundShop{perSecond: 100, burst: 2, rest: 8, consumers: 3, work: 0.015, copies: 0.03, lost: 0.003, fail: 0.01}, dedup.MethodStoreHits, 0.74, 0.28, 0.47},
		"7 of 60 s, with some lost acks":          {roundShop{perSecond: 120, burst: 7, rest: 53, consumers: 2, work: 0.008, copies: 0.02, lost: 0.0004, fail: 0.002}, "", 0.87, 0.075, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var long, short seenRounds
			for seed := range uint64(4) {
				c.shop.seed = seed
				long.add(c.shop.see(5*time.Minute, 700, c.of))
				if c.shop.rest < time.Minute.Seconds()/2 {
					short.add(c.shop.see(time.Minute, 400, c.of))
				}
			}
			for _, s := range []struct {
				window string
				seenRounds
				widest float64
			}{{"5 m", long, c.widest}, {"1 m", short, c.short}} {
				n := float64(s.rounds)
				if n == 0 {
					continue
				}
				t.Logf("%s: moved in %d of %d rounds, proven %d, back in %d; half width %.3f points, age %.1f s, at most %.1f s; held %d, wrong %d", s.window, s.moved, s.rounds, s.proven, s.back, 50*s.width/n, s.age/n, s.oldest, s.held, s.wrong)
				if float64(s.moved) < c.moves*n-0.5 || s.told < s.rounds || s.wrong > 0 || s.proven > 0 || float64(s.held) < 0.95*n || 50*s.width/n > s.widest {
					t.Errorf("%s: want at least %.2f of the rounds and at most %.2f points", s.window, c.moves, s.widest)
				}
			}
		})
	}
}
