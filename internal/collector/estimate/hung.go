package estimate

import "math"

const (
	// hungCertain is how often the rest would have been seen at nothing, were a message fewer hung, for that to be excluded: by chance it is not seen
	// once in 150 times.
	hungCertain = 5
	// hungScatter is the least variance of the rest, in parts of its mean, that chance leaves it: what is full, or comes on a beat, varies less.
	hungScatter = 0.6
	// hungRoom is the share of what consumers can hold from which on they may be full: then the rest does not come by chance.
	hungRoom = 0.7
	// evenPace is the dispersion of deliveries below which they come on a beat.
	evenPace = 0.5
)

// hung bounds how many messages were held throughout the window, on average, without being acked: their waiting is in every sample, and it
// is of no ack.
//
// No more are than every sample from some time on shows. Of messages that come and go independently as many are held as their number varies (the variance
// of a Poisson count is its mean, and f times that where deliveries come with a dispersion of f), so that no more hang than the mean exceeds that.
//
// All of the floor may hang where the rest above it is so small that, were one of the floor another message each time, some samples
// would have been below it: a Poisson count of mean r is 0 in e^-r of them. That says nothing of consumers that are full, and of
// deliveries on a beat, whose number does not come by chance. That it hangs is not certain: one message may always follow another, as in a
// queue whose consumer has a prefetch of 1. Of consumers that are full no more than
// one message of each channel is taken to hang if each channel acks, and none if no channel holds more than one.
func (s *stretch) hung(l *Latency) float64 {
	full := l.Capacity > 0 && s.area/s.span > hungRoom*l.Capacity
	switch {
	case full && l.AllAck && l.Single:
		return 0
	case full && l.AllAck:
		return min(max(1, l.Channels), s.floor)
	}
	held, scatter, pace := s.area/s.span, s.noise/(s.span*s.each()), l.Pace
	if pace.n == 0 {
		pace = s.pace()
	}
	// Two standard errors: of a variance by neighbours it is sqrt(3 / n) of it, as von Neumann (1941) found.
	apart := (1 - 2*math.Sqrt(3/s.count)) / (1 + 2*math.Sqrt(3/max(12, pace.n)))
	most := max(0, min(s.pile/s.span, held-scatter*max(0, apart)/max(1, pace.dispersion())))
	if others := held - s.floor; s.floor >= 1 && !full && pace.dispersion() >= evenPace && scatter >= hungScatter*others && s.count*math.Exp(-others-1) >= hungCertain {
		return max(most, s.floor)
	}
	return most
}

// A Pace tells how deliveries come, by times that follow one another.
type Pace struct{ squares, sum, n float64 }

// Add takes what was delivered in two times that follow one another, of so many seconds.
func (p *Pace) Add(a, b, secondsA, secondsB float64) {
	if secondsA <= 0 || secondsB <= 0 {
		return
	}
	apart := (b/secondsB - a/secondsA) * (secondsA + secondsB) / 2
	p.squares, p.sum, p.n = p.squares+apart*apart/2, p.sum+(a+b)/2, p.n+1
}

// dispersion is the variance of the deliveries over their mean: 1 where they come by chance, more where they come in bursts, less on a beat.
func (p *Pace) dispersion() float64 {
	if p.sum == 0 {
		return 1
	}
	return p.squares / p.sum
}

// pace is that of the steps.
func (s *stretch) pace() (p Pace) {
	for i := 1; i < len(s.steps); i++ {
		if a, b := &s.steps[i-1], &s.steps[i]; !a.cut && !b.cut {
			p.Add(a.delivered, b.delivered, a.seconds, b.seconds)
		}
	}
	return p
}
