package estimate_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
)

// traffic is a simulated queue with known truth, read once a second.
type traffic struct {
	rate, resent, ackLost float64
	// lag is the mean time from a marker to its ack, slip the error of the times of the two counts of one reading.
	lag, slip time.Duration
	// on and off are how long it comes and rests; off 0 never rests.
	on, off time.Duration
	// batch is how many acks are sent together; 0 is one by one. every is the time between two readings; 0 is a second.
	batch int
	every time.Duration
	// losing is how often a channel goes with acks that nobody counted, and that may be of this queue: half of the last second's are, or none.
	losing time.Duration
	// flush is how often a consumer acks all that it holds, consumers how many there are; 0 is as batch and lag say. ends tells the estimate what
	// was unacked at both ends.
	flush     time.Duration
	consumers int
	ends      bool
	// gap is how often a second is cut out; 0 never.
	gap time.Duration
}

var trafficBegan = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// at is the number of the reading of a time.
func (s traffic) at(when time.Time) int {
	return int(when.Sub(trafficBegan) / max(time.Second, s.every))
}

// counts are cumulative.
type counts struct{ delivered, acked, settled, redelivered, closed, duplicates float64 }

func (c *counts) add(o counts) {
	c.delivered += o.delivered
	c.acked += o.acked
	c.settled += o.settled
	c.redelivered += o.redelivered
	c.closed += o.closed
	c.duplicates += o.duplicates
}

// happening is what changes counts at a time, in seconds.
type happening struct {
	at float64
	counts
}

// happenings are those of the broker and those of the store, in order.
func (s traffic) happenings(random *rand.Rand, span float64) (broker, store []happening) {
	var acks []happening
	for at := 0.0; at < span; at += random.ExpFloat64() / s.rate {
		if s.off > 0 && math.Mod(at, (s.on+s.off).Seconds()) > s.on.Seconds() {
			continue
		}
		store = append(store, happening{at, counts{settled: 1}})
		broker = append(broker, happening{at, counts{delivered: 1}})
		first := happening{at, counts{acked: 1}}
		if random.Float64() < s.ackLost { // the channel dies with its ack, and the message comes again
			broker = append(broker, happening{at, counts{closed: 1}}, happening{at + 0.2, counts{delivered: 1, redelivered: 1}})
			first = happening{at + 0.2, counts{acked: 1, duplicates: 1}}
		}
		acks = append(acks, first)
		if random.Float64() < s.resent {
			again := at + random.Float64()*20
			broker = append(broker, happening{again, counts{delivered: 1}})
			acks = append(acks, happening{again, counts{acked: 1, duplicates: 1}})
		}
	}
	inOrder(acks)
	for i := range acks {
		if s.flush > 0 { // each consumer at moments of its own
			phase := float64(random.IntN(s.consumers)) * 0.37
			acks[i].at = (math.Floor(acks[i].at/s.flush.Seconds()+phase) + 1 - phase) * s.flush.Seconds()
			continue
		}
		last := min(len(acks)-1, i-i%max(1, s.batch)+max(1, s.batch)-1) // of its batch
		acks[i].at = acks[last].at + random.ExpFloat64()*s.lag.Seconds()
	}
	broker = append(broker, acks...)
	inOrder(broker)
	inOrder(store)
	return broker, store
}

func inOrder(list []happening) {
	slices.SortStableFunc(list, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
}

// simulate returns the readings of a time, once a second, and the true counts of the broker at each of them.
func (s traffic) simulate(random *rand.Rand, span time.Duration) (readings []estimate.Joint, truth []counts) {
	broker, store := s.happenings(random, span.Seconds())
	all := store
	var lost, unsure float64
	run := 0
	var atBroker, atStore counts
	step := int(max(time.Second, s.every) / time.Second)
	for t := 0; t < int(span/time.Second); t += step {
		for len(broker) > 0 && broker[0].at <= float64(t) {
			atBroker.add(broker[0].counts)
			broker = broker[1:]
		}
		seen := float64(t) + random.NormFloat64()*s.slip.Seconds()
		before := sort.Search(len(all), func(i int) bool { return all[i].at > float64(t)-0.05 })
		calm := before == len(all) || all[before].at > float64(t)+0.01
		for len(store) > 0 && store[0].at <= seen {
			atStore.add(store[0].counts)
			store = store[1:]
		}
		if s.losing > 0 && random.Float64() < 1/s.losing.Seconds() && len(truth) > 0 {
			gone := 0.0
			for range int(atBroker.acked - truth[len(truth)-1].acked) {
				gone += float64(random.IntN(2))
			}
			gone *= float64(random.IntN(2))
			lost, unsure = lost+gone, unsure+gone+float64(random.IntN(12))
		}
		if s.gap > 0 && t%int(s.gap/time.Second) == 0 {
			run++
		}
		readings = append(readings, estimate.Joint{At: trafficBegan.Add(time.Duration(t) * time.Second), Run: run, Acked: atBroker.acked - lost, Unsure: unsure, Calm: calm, Settled: atStore.settled, Delivered: atBroker.delivered, Redelivered: atBroker.redelivered})
		truth = append(truth, atBroker)
	}
	return readings, truth
}

// TestTheBandOfTheResidualHoldsTheTruth: over disjoint windows of a minute and of five, the truth lies within the bounds in at least 93 %
// by the lower limit of a 95 % interval, and the bounds are as narrow as they are meant to be.
func TestTheBandOfTheResidualHoldsTheTruth(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		traffic
		// widest is the mean half width of five minutes, in points, that is not to be passed.
		widest float64
	}{
		{"200 a second, as measured", traffic{rate: 200, resent: 0.03, lag: 2 * ms, slip: 5 * ms}, 0.03},
		{"50 a second", traffic{rate: 50, resent: 0.03, lag: 2 * ms, slip: 10 * ms}, 0.04},
		{"8 a second", traffic{rate: 8, resent: 0.02, lag: 5 * ms, slip: 10 * ms}, 0.1},
		{"2 a second", traffic{rate: 2, resent: 0.02, lag: 5 * ms, slip: 10 * ms}, 0.35},
		{"lost acks", traffic{rate: 50, resent: 0.02, ackLost: 0.003, lag: 2 * ms, slip: 10 * ms}, 0.25},
		{"a channel each 20 s whose acks may be others'", traffic{rate: 8, resent: 0.02, lag: 5 * ms, slip: 10 * ms, losing: 20 * time.Second}, 1.1},
		{"the same of a busy queue", traffic{rate: 100, resent: 0.02, lag: 5 * ms, slip: 10 * ms, losing: 20 * time.Second}, 0.8},
		{"slow acks", traffic{rate: 50, resent: 0.02, lag: 100 * ms, slip: 10 * ms}, 0.15},
		{"acks in batches of 20", traffic{rate: 50, resent: 0.02, lag: 2 * ms, slip: 10 * ms, batch: 20}, 0.45},
		{"acks of all that two consumers hold, each 2 s", traffic{rate: 30, resent: 0.03, slip: 10 * ms, flush: 2 * time.Second, consumers: 2, ends: true}, 0.6},
		{"the same, each 6 s", traffic{rate: 30, resent: 0.03, slip: 10 * ms, flush: 6 * time.Second, consumers: 2, ends: true}, 1.4},
		{"the same, with a second cut out each minute and a half", traffic{rate: 30, resent: 0.03, slip: 10 * ms, flush: 2 * time.Second, consumers: 2, ends: true, gap: 90 * time.Second}, 1.5},
		{"acks at once, with a second cut out each half minute", traffic{rate: 50, resent: 0.03, lag: 2 * ms, slip: 10 * ms, ends: true, gap: 30 * time.Second}, 0.2},
		{"bursts", traffic{rate: 120, resent: 0.02, ackLost: 0.0004, lag: 3 * ms, slip: 10 * ms, on: 7 * time.Second, off: 53 * time.Second}, 0.25},
		{"acks that follow their marker half a minute later", traffic{rate: 50, resent: 0.02, lag: 30 * time.Second, slip: 10 * ms}, 1.5},
		{"acks in batches of 40 s", traffic{rate: 8, resent: 0.02, lag: 5 * ms, slip: 10 * ms, batch: 320}, 20},
		{"traffic that comes and goes, with acks half a minute after their markers", traffic{rate: 50, resent: 0.02, lag: 30 * time.Second, slip: 10 * ms, on: 3 * time.Minute, off: 4 * time.Minute}, 25},
		{"the same, with acks some seconds after", traffic{rate: 20, resent: 0.02, lag: 4 * time.Second, slip: 10 * ms, on: 2 * time.Minute, off: time.Minute}, 5},
		{"a broker that is read each 5 s", traffic{rate: 50, resent: 0.02, lag: time.Second, slip: 10 * ms, every: 5 * time.Second}, 0.3},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			var held, n float64
			for _, window := range []time.Duration{time.Minute, 5 * time.Minute} {
				var widths, windows float64
				for range 6 {
					readings, all := c.simulate(random, 20*time.Minute+2*time.Second)
					warm := int(min(5*time.Minute, 10*c.lag) / max(time.Second, c.every)) // acks that have not begun to come yet are no scatter
					var waiting float64
					for i := range readings {
						waiting += max(0, readings[i].Settled+all[i].duplicates-all[i].acked) / float64(len(readings))
					}
					steps := int(window / max(time.Second, c.every))
					for from := warm; from+steps < len(readings); from += steps {
						to := from + steps
						r, ok := estimate.ResidualOf(readings[warm:to+1], window, estimate.Unacked{Mean: waiting, Last: all[to].delivered - all[to].redelivered - all[to].acked})
						begin, end := c.at(r.From), c.at(r.To)
						acked := all[end].acked - all[begin].acked
						if c.gap > 0 {
							acked = 0
							for _, part := range r.Stretches {
								acked += all[c.at(part.To)].acked - all[c.at(part.From)].acked
							}
						}
						if !ok || r.Acked != acked && c.losing == 0 || begin < from || end > to || r.Covered < window-20*time.Second {
							t.Fatalf("%+v of %d to %d", r, from, to)
						}
						if unacked := func(i int) float64 { return all[i].delivered - all[i].redelivered - all[i].acked }; c.ends {
							r.Ends = &[2]float64{}
							for _, part := range r.Stretches {
								r.Ends[0] += unacked(c.at(part.From))
								r.Ends[1] += unacked(c.at(part.To))
							}
						}
						low, likely, high := r.Rate(all[end].closed - all[begin].closed)
						if low > likely || likely > high {
							t.Fatalf("%g is not between %g and %g", likely, low, high)
						}
						truth := 0.0
						for _, part := range r.Stretches {
							truth += (all[c.at(part.To)].duplicates - all[c.at(part.From)].duplicates) / acked
						}
						if n++; low <= truth && truth <= high {
							held++
						}
						windows++
						widths += 100 * (high - low) / 2
					}
				}
				t.Logf("%s: the mean half width is %.3f points", window, widths/windows)
				if window == 5*time.Minute && widths/windows > c.widest {
					t.Errorf("the mean half width is %.3f points, want %.3f", widths/windows, c.widest)
				}
			}
			share := held / n
			// The lower end of the Wilson interval at 95 %.
			limit := (share + 1.92/n - 1.96*math.Sqrt(share*(1-share)/n+0.96/(n*n))) / (1 + 3.84/n)
			if t.Logf("%.0f of %.0f windows hold the truth, at least %.1f %%", held, n, 100*limit); limit < 0.93 {
				t.Errorf("%.0f of %.0f windows hold the truth", held, n)
			}
		})
	}
}

// TestLessThanNoDuplicatesShowsThatTheBandIsTooNarrow: as many acks may be missing again as are surely missing.
func TestLessThanNoDuplicatesShowsThatTheBandIsTooNarrow(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    estimate.Residual
		high float64
	}{
		{"acks are missing beyond the band", estimate.Residual{Sent: -3, Band: 1, Acked: 800}, 3},
		{"within it", estimate.Residual{Sent: -3, Band: 4, Acked: 800}, 1},
		{"acks may be missing of other queues, too", estimate.Residual{Sent: -3, Band: 1, Unsure: 4, Acked: 800}, 7},
		{"done markers were written again, too", estimate.Residual{Sent: -5, Band: 1, Again: 4, Acked: 800}, 9},
	} {
		if low, likely, high := tt.r.Duplicates(0); low != 0 || likely != 0 || high != tt.high {
			t.Errorf("%s: %v, %v, %v; want at most %v", tt.name, low, likely, high, tt.high)
		}
	}
}
