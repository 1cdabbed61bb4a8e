package collector

// A counterState is what is known of one raw counter of a source.
type counterState uint8

const (
	// counterUnseen: the thing was never read. Its first value is only a baseline.
	counterUnseen counterState = iota
	// counterAbsent: the thing was read and had no such counter yet, so the counter will be born at 0.
	counterAbsent
	// counterCounting: a baseline is known.
	counterCounting
	// counterLost: the counter was there and is gone. What it counts meanwhile is lost; its next value is a baseline.
	counterLost
)

// A counter turns one raw counter of a source into increments that can be trusted. Raw counters restart at 0, in part
// or whole, when a node restarts, vanish when a queue or hash is deleted, and jump when a statistics database is
// filled again; rabbitmq's own rate fields and a plain difference both invent events then. A counter never does: what
// it cannot attribute it drops, and says so.
type counter struct {
	state counterState
	raw   int64
	// settling: a decrease was seen by the last reading; the next one may still be the old total coming back.
	settling bool
}

// A step is what one reading adds.
type step struct {
	// Delta is the increment since the reading before; never negative.
	Delta int64
	// Dropped is true when events between the two readings may be missing from Delta.
	Dropped bool
	// Born is true when the counter appeared for the first time after it was seen absent.
	Born bool
}

// observe takes the next reading of the raw counter; nil means that the thing was read and had no such counter.
func (c *counter) observe(raw *int64) step {
	switch {
	case raw == nil:
		return c.vanish()
	case *raw < 0:
		return c.lose()
	}
	was := *c
	c.state, c.raw, c.settling = counterCounting, *raw, false
	switch was.state {
	case counterUnseen:
		return step{}
	case counterAbsent:
		return step{Delta: *raw, Born: true}
	case counterLost:
		return step{Dropped: true}
	}
	if *raw < was.raw {
		c.settling = true
		return step{Dropped: true}
	}
	if was.settling {
		return step{Dropped: true}
	}
	return step{Delta: *raw - was.raw}
}

// observeElsewhere is observe for a reading that another node answered. Nodes cache for different times, so a small
// step back is no reset: it is ignored, and a true reset shows at the next reading.
func (c *counter) observeElsewhere(raw *int64) step {
	if raw != nil && c.state == counterCounting && *raw >= 0 && *raw < c.raw {
		return step{}
	}
	return c.observe(raw)
}

// lose forgets the baseline: the thing disappeared, or moved to another node. The next value is only a baseline.
func (c *counter) lose() step {
	if c.state == counterUnseen {
		return step{}
	}
	dropped := c.state == counterCounting
	*c = counter{state: counterLost}
	return step{Dropped: dropped}
}

func (c *counter) vanish() step {
	if c.state == counterUnseen || c.state == counterAbsent {
		c.state = counterAbsent
		return step{}
	}
	return c.lose()
}

// known reports whether the counter has a meaning now: it counts, or it is known to be still at 0.
func (c *counter) known() bool { return c.state == counterCounting || c.state == counterAbsent }
