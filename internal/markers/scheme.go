package markers

import (
	"cmp"

	"dedup-dashboard/internal/dedup"
)

// InFlightWait is the value of Config.OnInFlight for consumers that wait until a marker in flight ends, and look again.
const InFlightWait = "wait"

// onFailed returns what consumers do with a delivery whose marker is failed. Nobody waits for a failed one.
func (c Config) onFailed() string {
	if c.OnFailed == "" && c.OnInFlight == InFlightWait {
		return "ack"
	}
	return cmp.Or(c.OnFailed, c.OnInFlight)
}

// acksEach and acksBatch are the values of Config.Acks.
const (
	acksEach  = "each"
	acksBatch = "batch"
)

// Scheme returns what the configuration says of the store's consumers.
func (c Config) Scheme() dedup.Scheme {
	c = c.WithDefaults()
	s := dedup.Scheme{
		Preset: c.Preset, Kind: c.Kind, Mark: c.Mark, OnInFlight: c.OnInFlight, OnFail: c.OnFail, OnFailed: c.onFailed(),
		ProcessingTTL: c.TTL.Processing, DoneTTL: c.TTL.Done, GiveUp: c.Retry.GiveUp, AcksEach: c.Acks == acksEach, Unasked: c.Unasked,
	}
	if c.Kind == SQLTable {
		c.sayOfTable(&s)
		return s
	}
	s.States, s.Ask, s.Lock = c.Shows(), c.Ask, c.Kind == RedisLock
	s.Blind = blind(s)
	return s
}

// Shows returns the states that markers of the store can show, in the order of dedup.States.
func (c Config) Shows() []dedup.State {
	if c.Kind == RedisLock {
		return []dedup.State{dedup.Processing}
	}
	var states []dedup.State
	for _, state := range dedup.States() {
		if len(c.States[state]) > 0 {
			states = append(states, state)
		}
	}
	return states
}

// blind says why no stuck marker proves nothing in a scheme, empty where a stuck marker shows.
func blind(s dedup.Scheme) string {
	has := map[dedup.State]bool{}
	for _, state := range s.States {
		has[state] = true
	}
	switch {
	case s.Lock:
		return "a lock ends with its lease: work that crashed and work that was done both leave nothing behind, so that a lost message does not show here"
	case has[dedup.Processing]:
		return ""
	case s.Mark == "before":
		return "a marker is written before the work and does not change: a message that was lost in a crash looks like one that was done"
	default:
		return "a marker is written after the work: work that hangs, crashed or runs twice leaves no trace here"
	}
}
