package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// TestAcksThatAskNothingAreNoDuplicates: consumers ack messages that are of no interest to them, or unreadable, without asking the store.
func TestAcksThatAskNothingAreNoDuplicates(t *testing.T) {
	for name, c := range map[string]struct {
		shop   roundShop
		widest float64 // half of the mean width of what is shown, in points
	}{
		"none of them":                                             {roundShop{perSecond: 14, consumers: 3, work: 0.03, copies: 0.03}, 0.15},
		"one in fifty":                                             {roundShop{perSecond: 14, consumers: 3, work: 0.03, copies: 0.03, ignored: 0.02}, 1.1},
		"one in ten":                                               {roundShop{perSecond: 14, consumers: 3, work: 0.03, copies: 0.03, ignored: 0.1}, 5.5},
		"one in ten, while some fail":                              {roundShop{perSecond: 14, consumers: 3, work: 0.03, copies: 0.03, fail: 0.02, ignored: 0.1}, 5.5},
		"one in ten, with lost acks":                               {roundShop{perSecond: 14, consumers: 3, work: 0.03, copies: 0.03, lost: 0.003, ignored: 0.1}, 5.5},
		"one in ten, in bursts":                                    {roundShop{perSecond: 60, burst: 2, rest: 8, consumers: 3, work: 0.02, copies: 0.03, ignored: 0.1}, 5.5},
		"one in ten, acked a second late":                          {roundShop{perSecond: 14, consumers: 3, work: 0.03, copies: 0.03, ignored: 0.1, late: 1}, 6},
		"none, while as many are rejected":                         {roundShop{perSecond: 8, consumers: 2, work: 0.02, copies: 0.02, lost: 0.002, fail: 0.005, refused: 0.01}, 0.5},
		"one in a hundred, while some are rejected":                {roundShop{perSecond: 8, consumers: 2, work: 0.02, copies: 0.02, fail: 0.02, refused: 0.02, ignored: 0.01}, 1.5},
		"one in fifty, while failures are rejected":                {roundShop{perSecond: 14, consumers: 2, work: 0.02, copies: 0.02, fail: 0.04, buried: 0.5, ignored: 0.02}, 2.5},
		"one in fifty, while failures are rejected and sent again": {roundShop{perSecond: 14, consumers: 2, work: 0.02, copies: 0.02, fail: 0.04, buried: 0.5, sentAgain: 40, ignored: 0.02}, 2.5},
		"one in fifty, while failures wait long":                   {roundShop{perSecond: 14, consumers: 2, work: 0.02, copies: 0.02, fail: 0.04, buried: 0.5, tries: 3, delay: 30, ignored: 0.02}, 2.5},
		"one in fifty, while poison and its copies are rejected":   {roundShop{perSecond: 14, consumers: 2, work: 0.02, copies: 0.1, poison: 0.05, ignored: 0.02}, 3},
	} {
		for _, of := range []dedup.Method{"", dedup.MethodLive, dedup.MethodStoreEvents, dedup.MethodStoreHits} {
			for _, window := range []time.Duration{time.Minute, 5 * time.Minute} {
				t.Run(name+" "+string(of)+" "+window.String(), func(t *testing.T) {
					var seen seenRounds
					for seed := range uint64(3) {
						s := c.shop
						s.seed = seed
						seen.add(s.see(window, 500, of))
					}
					n := float64(seen.rounds)
					t.Logf("half width %.3f points; told %d, held %d, wrong %d of %d", 50*seen.width/n, seen.told, seen.held, seen.wrong, seen.rounds)
					if float64(seen.wrong) > 0.03*n || float64(seen.held) < 0.95*float64(seen.told) || 50*seen.width/n > c.widest && of == "" && window > time.Minute {
						t.Errorf("want at most %.2f points", c.widest)
					}
				})
			}
		}
	}
}
