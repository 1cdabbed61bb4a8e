package sample

// A CounterState is what is known of one raw counter of a source.
type CounterState uint8

const (
	// Unseen: the thing was never read. Its first value is only a baseline.
	Unseen CounterState = iota
	// Absent: the thing was read and had no such counter yet, so the counter will be born at 0.
	Absent
	// Counting: a baseline is known.
	Counting
	// Lost: the counter was there and is gone. What it counts meanwhile is lost; its next value is a baseline.
	Lost
)

// A Counter turns one raw counter of a source into increments that can be trusted. Raw counters restart at 0, in part
// or whole, when a node restarts, vanish when a queue or hash is deleted, and jump when a statistics database is
// filled again; rabbitmq's own rate fields and a plain difference both invent events then. A counter never does: what
// it cannot attribute it drops, and says so.
type Counter struct {
	State CounterState
	Raw   int64
	// settling: a decrease was seen by the last reading; the next one may still be the old total coming back.
	settling bool
}

// A Step is what one reading adds.
type Step struct {
	// Delta is the increment since the reading before; never negative.
	Delta int64
	// Dropped is true when events between the two readings may be missing from Delta.
	Dropped bool
	// Born is true when the counter appeared for the first time after it was seen absent.
	Born bool
}

// Observe takes the next reading of the raw counter; nil means that the thing was read and had no such counter.
func (c *Counter) Observe(raw *int64) Step {
	switch {
	case raw == nil:
		return c.vanish()
	case *raw < 0:
		return c.Lose()
	}
	was := *c
	c.State, c.Raw, c.settling = Counting, *raw, false
	switch was.State {
	case Unseen:
		return Step{}
	case Absent:
		return Step{Delta: *raw, Born: true}
	case Lost:
		return Step{Dropped: true}
	}
	if *raw < was.Raw {
		c.settling = true
		return Step{Dropped: true}
	}
	if was.settling {
		return Step{Dropped: true}
	}
	return Step{Delta: *raw - was.Raw}
}

// A Witness says who tells a counter of a cluster, which is summed over its nodes, compared with the reading before.
type Witness uint8

const (
	// SameNodes: nothing has changed.
	SameNodes Witness = iota
	// AnotherNode answered. Nodes cache for different times, so that a small step back is no reset.
	AnotherNode
	// Rejoined: a node is back in the cluster, and with it what it counted long before, unless it was restarted.
	Rejoined
)

// ObserveFrom is Observe for a counter that a node of a cluster told. A step back at another node is ignored, and a true reset shows at the next
// reading; where a node came back the counter is a new baseline.
func (c *Counter) ObserveFrom(raw *int64, by Witness) Step {
	was := *c
	switch {
	case by == AnotherNode && raw != nil && c.State == Counting && *raw >= 0 && *raw < c.Raw:
		return Step{}
	case by == Rejoined && raw != nil && *raw > 0 && (c.State == Counting || c.State == Absent):
		c.State = Lost
		st := c.Observe(raw)
		c.settling = *raw < was.Raw
		return st
	}
	return c.Observe(raw)
}

// Lose forgets the baseline: the thing disappeared, or moved to another node. The next value is only a baseline.
func (c *Counter) Lose() Step {
	if c.State == Unseen {
		return Step{}
	}
	dropped := c.State == Counting
	*c = Counter{State: Lost}
	return Step{Dropped: dropped}
}

func (c *Counter) vanish() Step {
	if c.State == Unseen || c.State == Absent {
		c.State = Absent
		return Step{}
	}
	return c.Lose()
}

// Known reports whether the counter has a meaning now: it counts, or it is known to be still at 0.
func (c *Counter) Known() bool { return c.State == Counting || c.State == Absent }
