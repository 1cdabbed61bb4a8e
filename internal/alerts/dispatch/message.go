package dispatch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// digestLists is how many alerts a digest names.
const digestLists = 10

// notify makes the message of a batch and notes that the channel was told.
func (d *Dispatcher) notify(at time.Time, channel string, kind alerts.NotificationKind, b *batch) alerts.Notification {
	slices.SortFunc(b.news, worseFirst)
	listed := len(b.news)
	if kind != alerts.NotifyEdges {
		listed = min(listed, digestLists)
	}
	n := d.message(at, channel, kind)
	n.Group, n.GroupLabels, n.LeftOut = b.name, b.labels, len(b.news)-listed
	for i, it := range b.news {
		if i < listed {
			n.Alerts = append(n.Alerts, d.words(at, it))
		} else {
			n.Counted = append(n.Counted, it.alert.Key)
		}
		d.put(it.sent(channel, at, i >= listed && !it.named()))
	}
	n.ID = identity(n, b.news)
	return n
}

// worseFirst sorts what fires before what is over, then the worse before the better, the older before the newer, and by key.
func worseFirst(a, b item) int {
	return cmp.Or(cmp.Compare(b.tier, a.tier), cmp.Compare(b.told.Tier, a.told.Tier),
		a.alert.State.FiredAt.Compare(b.alert.State.FiredAt), a.alert.Key.Compare(b.alert.Key))
}

// words returns an alert as it is told: with the figures and the line of the judgement that pages show.
func (d *Dispatcher) words(at time.Time, it item) alerts.NotifiedAlert {
	a := it.alert
	said := a.Last
	if said.Health != rule.HealthOK && !a.LastOK.At.IsZero() {
		said = a.LastOK
	}
	n := alerts.NotifiedAlert{
		Key: a.Key, Title: cmp.Or(a.Words.Title, a.Key.Rule), Firing: it.tier > dedup.Normal, Edge: it.edge,
		Tier: it.tier, Was: it.was(), Labels: maps.Clone(a.Labels()),
		Value: said.Value, Limit: said.Limit, Unit: said.Unit, N: said.N, Window: said.Window, Why: said.Why, Cause: a.Cause,
		Step: a.Words.Step, Runbook: d.runbook(a.Words.Runbook), Link: d.link(a.Key),
		StartsAt: a.State.FiredAt,
	}
	if n.Firing {
		if a.State.Changed() && a.State.Tier == it.tier {
			n.TierSince = a.State.TierSince
		}
		n.Began = a.State.Began()
		if n.Stale = a.Last.Health != rule.HealthOK; n.Stale {
			n.Missing = a.Last.Why
		}
		if said.Enters > it.tier {
			n.Reached = said.Enters
		}
		return n
	}
	if n.EndsAt = a.State.Since; n.EndsAt.IsZero() || n.EndsAt.After(at) {
		n.EndsAt = at
	}
	if n.StartsAt.IsZero() {
		n.StartsAt = it.told.Began
	}
	return n
}

// runbook returns where to read more, for those who are not on our pages.
func (d *Dispatcher) runbook(given string) string {
	if d.cfg.RunbookLink == nil {
		return given
	}
	return d.cfg.RunbookLink(given)
}

// link returns the page of an alert. The key is in the query, as all names of others are.
func (d *Dispatcher) link(k rule.Key) string {
	if d.cfg.ExternalURL == "" {
		return ""
	}
	return d.cfg.ExternalURL + "/alerts/one?key=" + url.QueryEscape(k.String())
}

// identity returns the ID of a message: the same when a plan that could not be kept, or seemed not to be, is made again later, and another
// one for every other message. So it says what each alert was before, and not when it is told.
func identity(n alerts.Notification, items []item) string {
	text := fmt.Appendf(nil, "%q %q %q", n.Channel, n.Kind, n.Group)
	for _, it := range items {
		began := it.alert.State.FiredAt
		if began.IsZero() {
			began = it.told.Began
		}
		text = fmt.Appendf(text, " %q %q %d %d %d %d", it.alert.Key.String(), it.edge, it.tier, keptMillis(began), keptMillis(it.told.At), keptMillis(it.flaps))
	}
	return hashed(text)
}

// hashed makes an ID of a text that is never read again, so that quoting is all it needs.
func hashed(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:16])
}

// message begins a notification.
func (d *Dispatcher) message(at time.Time, channel string, kind alerts.NotificationKind) alerts.Notification {
	return alerts.Notification{Channel: channel, Kind: kind, At: at, ExternalURL: d.cfg.ExternalURL}
}

// keptMillis returns a time as precisely as it is kept, and 0 for none.
func keptMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
