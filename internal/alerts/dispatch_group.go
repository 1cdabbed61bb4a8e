package alerts

import (
	"maps"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A stance is what there is to do about an alert on one channel.
type stance uint8

const (
	// rest: nothing, or it must not be told.
	rest stance = iota
	// tell: something changed that the channel has to hear.
	tell
	// again: it still fires, and the channel was told so long ago that it hears it again.
	again
	// flap: the channel has to hear that it changes too often.
	flap
	// settle: something changed that nobody has to hear; it is noted only.
	settle
)

// An item is an alert as one channel is about to be told it.
type item struct {
	*candidate
	told Sent
	edge EdgeKind // empty when it is not told for a change
	// flaps is since when the channel is told no more than that it flaps; zero while every change is told.
	flaps time.Time
	// whole: the channel gets all that there is, by DispatchConfig.Undigested.
	whole bool
}

// on returns an alert as one channel is about to be told it.
func (d *Dispatcher) on(channel string, c *candidate) item {
	it := item{candidate: c, told: d.told[sentKey{channel, c.alert.Key}], whole: slices.Contains(d.cfg.Undigested, channel)}
	if !it.whole {
		it.flaps = c.flapping
	}
	return it
}

// A batch is a group on one channel.
type batch struct {
	name   string
	labels map[string]string
	news   []item
	old    []item // still firing, and due again
	// told is when the channel was last told something of what still fires in it; zero when there is no such thing.
	told time.Time
}

// planChannel returns the messages that are due on one channel.
func (d *Dispatcher) planChannel(at time.Time, channel string, all []candidate) []Notification {
	var plan []Notification
	var flapping []item
	batches := map[string]*batch{}
	for i := range all {
		c := &all[i]
		if c.alert.Key.Rule == RuleWatchdog {
			plan = append(plan, d.watchdog(at, channel, c)...)
			continue
		}
		it := d.on(channel, c)
		b := batches[c.group]
		if b == nil {
			b = &batch{name: c.group, labels: c.groupLabels}
			batches[c.group] = b
		}
		if it.told.Tier > dedup.Normal && it.told.At.After(b.told) {
			b.told = it.told.At
		}
		switch edge, do := d.stance(at, channel, it); do {
		case tell:
			it.edge = edge
			b.news = append(b.news, it)
		case again:
			b.old = append(b.old, it)
		case flap:
			flapping = append(flapping, it)
		case settle:
			d.put(it.sent(channel, it.told.At, it.told.LeftOut))
		}
	}
	if len(flapping) > 0 {
		plan = append(plan, d.notify(at, channel, NotifyFlapping, &batch{news: flapping}))
	}
	plan = append(plan, d.flush(at, channel, batches)...)
	plan = append(plan, d.remind(at, channel, all)...)
	slices.SortFunc(plan, func(a, b Notification) int { return strings.Compare(string(a.Kind)+a.Group, string(b.Kind)+b.Group) })
	return plan
}

// stance compares what a channel was told of an alert with what is true.
func (d *Dispatcher) stance(at time.Time, channel string, it item) (EdgeKind, stance) {
	was := max(it.told.Tier, dedup.Normal)
	flapping, toldFlapping := !it.flaps.IsZero(), !it.told.Flapping.IsZero()
	routed := slices.Contains(it.channels, channel)
	switch {
	case it.whole && it.tier == was && was > dedup.Normal:
		return "", d.repeated(at, channel, it) // or it would end there while it fires
	case it.muted:
		return "", rest
	case !flapping && toldFlapping && it.tier == was:
		return "", settle
	case !routed && was == dedup.Normal:
		return "", rest
	case flapping && !it.told.Flapping.Equal(it.flaps):
		return "", flap
	case it.tier > was && (!flapping || it.tier > it.told.Peak):
		// What is worse than what the channel knows of is told although it flaps.
		return risen(was), tell
	case it.tier > dedup.Normal && (flapping || it.tier == was):
		if routed && !it.acked {
			return "", d.repeated(at, channel, it)
		}
	case it.tier < was && !flapping:
		return it.fall()
	}
	return "", rest
}

func risen(was dedup.Tier) EdgeKind {
	if was == dedup.Normal {
		return EdgeFired
	}
	return EdgeEscalated
}

// fall tells of an alert that became better, unless the channel never read its name.
func (it item) fall() (EdgeKind, stance) {
	switch {
	case it.told.LeftOut:
		return "", settle
	case it.tier == dedup.Normal:
		return EdgeResolved, tell
	default:
		return EdgeDeescalated, tell
	}
}

func (d *Dispatcher) repeated(at time.Time, channel string, it item) stance {
	repeat, own := d.cfg.Repeats[channel]
	if !own {
		repeat = d.cfg.Repeat
	}
	if repeat <= 0 || !passed(at, it.told.At, repeat) {
		return rest
	}
	return again
}

// flush returns the messages of the groups that are due, or one digest when so much is new that nobody would read them.
func (d *Dispatcher) flush(at time.Time, channel string, batches map[string]*batch) []Notification {
	var due []*batch
	waiting := &batch{}
	count := 0
	for _, name := range slices.Sorted(maps.Keys(batches)) {
		b := batches[name]
		if len(b.old) > 0 || d.due(at, b) {
			due = append(due, b)
			count += len(b.news) + len(b.old)
		} else {
			waiting.news = append(waiting.news, b.news...)
		}
	}
	if len(due) > 0 && d.digests(channel) && count+len(waiting.news) >= d.cfg.DigestAt {
		for _, b := range due {
			waiting.news = append(append(waiting.news, b.news...), b.old...)
		}
		return []Notification{d.notify(at, channel, NotifyDigest, waiting)}
	}
	var plan []Notification
	for _, b := range due {
		b.news = append(b.news, b.old...)
		plan = append(plan, d.notify(at, channel, NotifyEdges, b))
	}
	return plan
}

// digests says whether a channel may get a digest.
func (d *Dispatcher) digests(channel string) bool {
	return d.cfg.DigestAt > 0 && !slices.Contains(d.cfg.Undigested, channel)
}

// due says whether what is new in a group is to be told now. An escalation always is. Anything else keeps the interval after the message
// before, and alerts that fired wait for others at first. A clock that was set back holds nothing up.
func (d *Dispatcher) due(at time.Time, b *batch) bool {
	if len(b.news) == 0 {
		return false
	}
	ready := false
	for _, it := range b.news {
		switch it.edge {
		case EdgeEscalated:
			return true
		case EdgeFired:
			ready = ready || passed(at, it.alert.State.FiredAt, d.cfg.GroupWait)
		default:
			ready = true
		}
	}
	return ready && (b.told.IsZero() || passed(at, b.told, d.cfg.GroupInterval))
}

func passed(at, since time.Time, wait time.Duration) bool {
	span := at.Sub(since)
	return span >= wait || span < 0
}

// sent returns what the channel knows after it was told an item.
func (it item) sent(channel string, at time.Time, leftOut bool) Sent {
	s := Sent{Channel: channel, Key: it.alert.Key, Tier: it.tier, At: at, LeftOut: leftOut}
	if it.tier > dedup.Normal {
		s.Began = it.alert.State.FiredAt
	}
	if !it.flaps.IsZero() {
		s.Flapping, s.Peak = it.flaps, max(it.peak, it.told.Peak)
	}
	return s
}

// watchdog returns the sign of life of a channel that asks for it, when it is due.
func (d *Dispatcher) watchdog(at time.Time, channel string, c *candidate) []Notification {
	told := d.told[sentKey{channel, c.alert.Key}]
	if d.cfg.Watchdog <= 0 || c.tier <= dedup.Normal || !slices.Contains(c.channels, channel) || !passed(at, told.At, d.cfg.Watchdog) {
		return nil
	}
	d.put(Sent{Channel: channel, Key: c.alert.Key, Tier: c.tier, At: at, Began: c.alert.State.FiredAt})
	n := Notification{Channel: channel, Kind: NotifyWatchdog, At: at, Text: c.alert.Last.Why, ExternalURL: d.cfg.ExternalURL}
	n.Group, _ = groupOf([]string{LabelRule}, map[string]string{LabelRule: RuleWatchdog}) // so that it waits for no other, and none for it
	n.ID = identity(n, []item{{candidate: c, told: told}})
	return []Notification{n}
}
