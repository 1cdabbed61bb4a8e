package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// TestFailuresThatAreAckedAreNoDuplicates: what failed so often is published elsewhere by its consumer, and acked. Until that is proven a figure may be
// wrong by the few that there were.
func TestFailuresThatAreAckedAreNoDuplicates(t *testing.T) {
	for name, c := range map[string]struct {
		shop   roundShop
		widest float64 // half of the mean width of what is shown, in points
	}{
		"6 a second, through a delay queue":      {roundShop{perSecond: 6, consumers: 2, work: 0.025, copies: 0.03, fail: 0.2, tries: 3, delay: 5, others: 100}, 2},
		"20 a second, through a delay queue":     {roundShop{perSecond: 20, consumers: 2, work: 0.025, copies: 0.03, fail: 0.3, tries: 3, delay: 5, others: 100}, 3.3},
		"20 a second, that ask for nobody else":  {roundShop{perSecond: 20, consumers: 2, work: 0.025, copies: 0.03, fail: 0.3, tries: 3, delay: 5}, 1.8},
		"20 a second, acked at the first":        {roundShop{perSecond: 20, consumers: 2, work: 0.025, copies: 0.03, fail: 0.03, tries: 1, others: 100}, 2},
		"20 a second, tried within the delivery": {roundShop{perSecond: 20, consumers: 2, work: 0.025, copies: 0.03, fail: 0.2, tries: 1, within: 3, others: 200}, 12},
		"20 a second, with lost acks":            {roundShop{perSecond: 20, consumers: 2, work: 0.025, copies: 0.03, fail: 0.3, lost: 0.002, tries: 3, delay: 5, others: 100}, 3.3},
		"20 a second, acked a second late":       {roundShop{perSecond: 20, consumers: 2, work: 0.025, copies: 0.03, fail: 0.3, tries: 3, delay: 5, others: 100, late: 1}, 4},
	} {
		for _, of := range []dedup.Method{"", dedup.MethodLive, dedup.MethodStoreHits, dedup.MethodStoreEvents} {
			t.Run(name+" "+string(of), func(t *testing.T) {
				var seen seenRounds
				for seed := range uint64(2) {
					s := c.shop
					s.seed = seed
					seen.add(s.see(5*time.Minute, 700, of))
				}
				n := float64(seen.rounds)
				t.Logf("half width %.3f points; told %d, held %d, proven %d, wrong %d of %d", 50*seen.width/n, seen.told, seen.held, seen.proven, seen.wrong, seen.rounds)
				if seen.wrong > seen.rounds-seen.proven || float64(seen.proven) < 0.95*n || 50*seen.width/n > c.widest && of == "" {
					t.Errorf("want at most %.2f points", c.widest)
				}
			})
		}
	}
}

// TestFailuresThatArePublishedIntoAListedQueueNeedNoProof: so it is where what meets work in flight is rejected, too, which hides the proof, and for
// the first of them.
func TestFailuresThatArePublishedIntoAListedQueueNeedNoProof(t *testing.T) {
	shop := roundShop{perSecond: 14, consumers: 6, work: 0.2, copies: 0.1, fail: 0.2, tries: 3, delay: 2, others: 100, listed: true, waits: true}
	for _, of := range []dedup.Method{"", dedup.MethodLive, dedup.MethodStoreEvents} {
		var seen seenRounds
		for seed := range uint64(3) {
			shop.seed = seed
			seen.add(shop.see(time.Minute, 500, of))
		}
		n := float64(seen.rounds)
		t.Logf("%s: half width %.3f points; told %d, held %d, proven %d, wrong %d of %d", of, 50*seen.width/n, seen.told, seen.held, seen.proven, seen.wrong, seen.rounds)
		if float64(seen.wrong) > 0.02*n || float64(seen.proven) > 0.2*n {
			t.Errorf("%s: wrong in %d rounds", of, seen.wrong)
		}
	}
}

// TestWorkThatIsTriedAgainWithinADeliveryAsksAgain: more questions than deliveries are not all of others, so that hits are no fewer than they were.
func TestWorkThatIsTriedAgainWithinADeliveryAsksAgain(t *testing.T) {
	for _, others := range []float64{0, 100} {
		for _, of := range []dedup.Method{"", dedup.MethodStoreHits, dedup.MethodLive} {
			var seen seenRounds
			for seed := range uint64(3) {
				seen.add(roundShop{seed: seed, perSecond: 14, consumers: 3, work: 0.02, copies: 0.04, fail: 0.1, within: 3, others: others}.see(time.Minute, 400, of))
			}
			t.Logf("%g others, %s: half width %.3f points; told %d, held %d, wrong %d of %d", others, of, 50*seen.width/float64(seen.rounds), seen.told, seen.held, seen.wrong, seen.rounds)
			if float64(seen.wrong) > 0.01*float64(seen.rounds) {
				t.Errorf("%g others, %s: wrong in %d rounds of %d", others, of, seen.wrong, seen.rounds)
			}
		}
	}
}

// TestFailuresThatComeBackProveNothing: none is acked, in whatever way it comes back.
func TestFailuresThatComeBackProveNothing(t *testing.T) {
	for name, shop := range map[string]roundShop{
		"returned":                    {perSecond: 20, consumers: 2, work: 0.025, copies: 0.03, fail: 0.3},
		"through a delay queue":       {perSecond: 20, consumers: 2, work: 0.025, copies: 0.03, fail: 0.3, tries: 1000, delay: 5, others: 100},
		"the same of long work":       {perSecond: 20, consumers: 12, work: 0.3, copies: 0.03, fail: 0.3, tries: 1000, delay: 5},
		"in bursts":                   {perSecond: 100, burst: 2, rest: 8, consumers: 2, work: 0.03, copies: 0.03, fail: 0.2, tries: 1000, delay: 5},
		"with lost acks":              {perSecond: 50, consumers: 3, work: 0.015, copies: 0.03, fail: 0.3, lost: 0.005, tries: 1000, delay: 2},
		"while acks come a second on": {perSecond: 25, consumers: 2, work: 0.015, copies: 0.03, fail: 0.3, late: 1, tries: 1000, delay: 5},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				shop.seed = seed
				if seen := shop.see(time.Minute, 700, ""); seen.proven > 0 {
					t.Errorf("seed %d: proven in %d of %d rounds", seed, seen.proven, seen.rounds)
				}
			}
		})
	}
}
