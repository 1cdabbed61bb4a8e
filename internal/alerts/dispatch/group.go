package dispatch

import (
	"maps"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A batch is a group on one channel.
type batch struct {
	name   string
	labels map[string]string
	news   []item
	old    []item // still firing, and due again
	along  []item // still firing, and told again with the old ones where there are any
	// told is when the channel was last told something of what still fires in it; zero when there is no such thing.
	told time.Time
}

// planChannel returns the messages that are due on one channel.
func (d *Dispatcher) planChannel(at time.Time, channel string, all []candidate) []alerts.Notification {
	var plan []alerts.Notification
	var flapping []item
	batches := map[string]*batch{}
	for i := range all {
		c := &all[i]
		if c.alert.Key.Rule == alerts.RuleWatchdog {
			plan = append(plan, d.watchdog(at, channel, c)...)
			continue
		}
		it := d.on(channel, c)
		if batches[c.group] == nil {
			batches[c.group] = &batch{name: c.group, labels: c.groupLabels}
		}
		b := batches[c.group]
		if it.was() > dedup.Normal && it.told.At.After(b.told) {
			b.told = it.told.At
		}
		switch edge, do := d.stance(at, channel, it); do {
		case tell:
			it.edge = edge
			b.news = append(b.news, it)
		case again:
			b.old = append(b.old, it)
		case along:
			b.along = append(b.along, it)
		case flap:
			flapping = append(flapping, it)
		case settle:
			d.put(it.settled(channel))
		}
	}
	if len(flapping) > 0 {
		plan = append(plan, d.notify(at, channel, alerts.NotifyFlapping, &batch{news: flapping}))
	}
	plan = append(plan, d.flush(at, channel, batches)...)
	plan = append(plan, d.remind(at, channel, all)...)
	slices.SortFunc(plan, func(a, b alerts.Notification) int {
		return strings.Compare(string(a.Kind)+a.Group, string(b.Kind)+b.Group)
	})
	return append(plan, d.restate(at, channel, len(plan) > 0, all)...)
}

// flush returns the messages of the groups that are due, or one digest when so much is new that nobody would read them.
func (d *Dispatcher) flush(at time.Time, channel string, batches map[string]*batch) []alerts.Notification {
	var due []*batch
	waiting := &batch{}
	count := 0
	for _, name := range slices.Sorted(maps.Keys(batches)) {
		b := batches[name]
		if len(b.old) > 0 {
			b.old = append(b.old, b.along...)
		}
		if len(b.old) > 0 || d.due(at, channel, b) {
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
		return []alerts.Notification{d.notify(at, channel, alerts.NotifyDigest, waiting)}
	}
	var plan []alerts.Notification
	for _, b := range due {
		b.news = append(b.news, b.old...)
		plan = append(plan, d.notify(at, channel, alerts.NotifyEdges, b))
	}
	return plan
}

// digests says whether a channel may get a digest.
func (d *Dispatcher) digests(channel string) bool {
	return d.cfg.DigestAt > 0 && !slices.Contains(d.cfg.Undigested, channel)
}

// due says whether what is new in a group is to be told now. An escalation always is. Alerts that fired wait for others at first; those
// that are severe or worse then wait no more, and anything else keeps the interval after the message before. A clock that was set back
// holds nothing up. A channel that groups by itself waits by itself: what comes late to Alertmanager it tells at once without the rest of
// its group, which then waits for Alertmanager's own interval.
func (d *Dispatcher) due(at time.Time, channel string, b *batch) bool {
	if len(b.news) == 0 || slices.Contains(d.cfg.Undigested, channel) {
		return len(b.news) > 0
	}
	ready := false
	for _, it := range b.news {
		switch it.edge {
		case alerts.EdgeEscalated:
			return true
		case alerts.EdgeFired:
			if it.tier == dedup.Emergency && it.alert.State.Changed() {
				return true // it has become one, and nobody knows of it yet
			}
			waited := passed(at, it.alert.State.FiredAt, d.cfg.GroupWait)
			if waited && it.tier >= dedup.Severe {
				return true
			}
			ready = ready || waited
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

// watchdog returns the sign of life of a channel that asks for it, when it is due.
func (d *Dispatcher) watchdog(at time.Time, channel string, c *candidate) []alerts.Notification {
	it := d.on(channel, c)
	if d.cfg.Watchdog <= 0 || c.tier <= dedup.Normal || !it.routed || !passed(at, it.told.At, d.cfg.Watchdog) {
		return nil
	}
	d.put(alerts.Sent{Channel: channel, Key: c.alert.Key, Tier: c.tier, At: at, Began: c.alert.State.FiredAt})
	n := d.message(at, channel, alerts.NotifyWatchdog)
	n.Text = c.alert.Last.Why
	n.Group, _ = groupOf([]string{rule.LabelRule}, map[string]string{rule.LabelRule: alerts.RuleWatchdog}) // so that it waits for no other, and none for it
	n.ID = identity(n, []item{it})
	return []alerts.Notification{n}
}
