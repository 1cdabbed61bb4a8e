package dispatch

import (
	"slices"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// An item is an alert as one channel is about to be told it.
type item struct {
	*candidate
	told alerts.Sent
	// tier is the one that it is told at: what fires now, or what the channel knows of while it must hear nothing new.
	tier dedup.Tier
	edge alerts.EdgeKind // empty when it is not told for a change
	// flaps is since when the channel is told no more than that it flaps; zero while every change is told.
	flaps time.Time
	// routed: the alert goes to the channel now.
	routed bool
}

// on returns an alert as one channel is about to be told it.
func (d *Dispatcher) on(channel string, c *candidate) item {
	it := item{
		candidate: c, told: d.told[sentKey{channel, c.alert.Key}], tier: c.tier,
		routed: slices.Contains(c.channels, channel),
	}
	if !slices.Contains(d.cfg.Undigested, channel) {
		it.flaps = c.flapping
	}
	return it
}

// was returns the tier that the channel knows of; normal where it knows of none.
func (it item) was() dedup.Tier {
	if it.told.Doubt == alerts.Lost {
		return dedup.Normal
	}
	return max(it.told.Tier, dedup.Normal)
}

// named reports whether the channel was told by name of what it knows to fire.
func (it item) named() bool { return it.was() > dedup.Normal && !it.told.LeftOut }

// A change is how what is true of an alert differs from what a channel knows of it.
type change uint8

const (
	quiet change = iota // it does not fire, and the channel knows so
	begun               // it fires, and the channel does not know
	worse
	same // it fires at the tier that the channel knows
	better
	over
	allChanges
)

func (it item) change() change {
	was := it.was()
	switch {
	case it.tier == was && was == dedup.Normal:
		return quiet
	case it.tier == was:
		return same
	case was == dedup.Normal:
		return begun
	case it.tier == dedup.Normal:
		return over
	case it.tier > was:
		return worse
	}
	return better
}

// A manner is what a channel hears of an alert now.
type manner uint8

const (
	plain     manner = iota // every change
	mute                    // nothing: a silence or another alert keeps it from being told
	missed                  // once more that it fired, of which the message was lost
	stirred                 // that it flaps, which the channel does not know
	flapping                // what is worse than all that was told
	calmAgain               // every change, after it flapped
	allManners
)

func (it item) manner() manner {
	flaps := !it.flaps.IsZero()
	switch {
	case it.muted:
		return mute
	case flaps && !it.told.Flapping.Equal(it.flaps):
		return stirred
	case flaps:
		return flapping
	case it.told.Doubt == alerts.Lost:
		return missed
	case !it.told.Flapping.IsZero():
		return calmAgain
	}
	return plain
}

// A stance is what there is to do about an alert on one channel; 0 is none, so that a row of stances that is missing is found.
type stance uint8

const (
	// rest: nothing, or it must not be told.
	rest stance = iota + 1
	// tell: something changed that the channel has to hear.
	tell
	// again: it still fires, and the channel hears so when it was told long enough ago.
	again
	// along: it still fires, and the channel hears so when it hears it of another one of the group, so that what began at different times
	// is repeated together from then on.
	along
	// flap: the channel has to hear that it changes too often.
	flap
	// settle: something changed that nobody has to hear; it is noted only.
	settle
	// peak: tell what is worse than anything that was told, and what is not again.
	peak
	// retry: tell what is worse than what was lost, and what is not when a repeat would be due.
	retry
)

// stances returns what there is to do, by what the channel hears and what has changed. What was lost counts as never told, so that nothing
// of it can have become worse or better.
func stances() [allManners][allChanges]stance {
	return [allManners][allChanges]stance{
		plain:     {quiet: rest, begun: tell, worse: tell, same: again, better: tell, over: tell},
		mute:      {quiet: rest, begun: rest, worse: rest, same: rest, better: rest, over: rest},
		missed:    {quiet: settle, begun: retry, worse: rest, same: rest, better: rest, over: rest},
		stirred:   {quiet: flap, begun: flap, worse: flap, same: flap, better: flap, over: flap},
		flapping:  {quiet: rest, begun: peak, worse: peak, same: again, better: again, over: rest},
		calmAgain: {quiet: settle, begun: tell, worse: tell, same: settle, better: tell, over: tell},
	}
}

// edge returns as what a change is told; empty where it is none.
func (c change) edge() alerts.EdgeKind {
	return [allChanges]alerts.EdgeKind{begun: alerts.EdgeFired, worse: alerts.EdgeEscalated, better: alerts.EdgeDeescalated, over: alerts.EdgeResolved}[c]
}

// stance compares what a channel was told of an alert with what is true.
func (d *Dispatcher) stance(at time.Time, channel string, it item) (alerts.EdgeKind, stance) {
	now := it.change()
	do := stances()[it.manner()][now]
	if (now == quiet || now == begun) && !it.routed && do != settle {
		return "", rest // it is not the channel's
	}
	worst := do == peak && it.tier > it.told.Peak || do == retry && it.tier > it.told.Tier
	switch do {
	case tell:
		if it.told.LeftOut && (now == better || now == over) {
			return "", settle // nobody has read its name
		}
		return now.edge(), tell
	case peak, retry, again:
		repeat := d.repeat(channel, it)
		due := repeat > 0 && passed(at, it.told.At, repeat)
		switch {
		case worst, due && do == retry:
			return now.edge(), tell
		case due:
			return "", again
		case do != retry && repeat > 0 && passed(at, it.told.At, repeat/2):
			return "", along
		}
		return "", rest
	}
	return "", do
}

// repeat returns after which time what fires is told again; 0 for never.
func (d *Dispatcher) repeat(channel string, it item) time.Duration {
	if it.acked || !it.routed || d.cfg.Standing[channel].Every > 0 {
		return 0
	}
	repeat := d.cfg.Repeat
	if repeat <= 0 && it.told.Doubt != alerts.Certain {
		repeat = doubtRepeat
	}
	return repeat
}

// sent returns what the channel knows after it was told an item.
func (it item) sent(channel string, at time.Time, leftOut bool) alerts.Sent {
	s := alerts.Sent{Channel: channel, Key: it.alert.Key, Tier: it.tier, At: at, LeftOut: leftOut}
	if it.tier > dedup.Normal {
		s.Began = it.alert.State.FiredAt
	}
	if !it.flaps.IsZero() {
		s.Flapping, s.Peak = it.flaps, max(it.peak, it.told.Peak)
	}
	return s
}

// settled returns what the channel knows of an item of which it was told nothing more.
func (it item) settled(channel string) alerts.Sent {
	s := it.sent(channel, it.told.At, it.told.LeftOut)
	s.Doubt = it.told.Doubt
	return s
}
