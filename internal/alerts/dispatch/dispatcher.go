// Package dispatch decides what is told of alerts, to whom and when.
package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A Config says who is told of which alerts, and how often.
type Config struct {
	// Channels are the names of all channels.
	Channels []string
	// Routes are tried in their order. An alert that none matches goes to all channels.
	Routes []Route
	// GroupBy are the labels that alerts have in common that are told together.
	GroupBy []string
	// GroupWait is how long a new alert waits for others of its group, GroupInterval how long after a message of a group that still
	// fires the next one may follow, Repeat after which time what still fires is told again. Neither wait holds up an escalation. At 0
	// nothing waits, and nothing is repeated.
	GroupWait, GroupInterval, Repeat time.Duration
	// Standing are the channels whose receivers forget, and are told all that stands again and again: it takes the place of repeats there,
	// and makes up for whatever did not arrive.
	Standing map[string]Standing
	// Watchdog is how often channels that ask for the watchdog get it; 0 for never.
	Watchdog time.Duration
	// DigestAt is how many alerts, newly due on one channel, are told in one digest; 0 for never.
	DigestAt int
	// Undigested are the channels that group by themselves: they get every alert by name and at once, and every change of one that flaps.
	Undigested []string
	// RunbookLink makes a link of the runbook of a rule, for those who are not on our pages; nil where it is one.
	RunbookLink func(runbook string) string
	// ExternalURL is where the dashboard is reached; empty where that is not configured.
	ExternalURL string
}

// Default returns a configuration without channels and routes, with the waits that operators know from Alertmanager.
func Default() Config {
	return Config{
		GroupBy: []string{"broker", rule.LabelRule}, GroupWait: 30 * time.Second, GroupInterval: 5 * time.Minute, Repeat: 4 * time.Hour,
		Watchdog: time.Minute, DigestAt: 20,
	}
}

type sentKey struct {
	channel string
	key     rule.Key
}

// A Dispatcher decides what is told to whom and when. It compares what each channel was last told of an alert with what is true now, so
// that a message that was held back, by a silence or by an outage of ours, is made up for and nothing is told twice. It reads no clock and
// does no work of its own, so that the same alerts at the same times make the same messages. It is not safe for concurrent use, but for
// GaveUp.
type Dispatcher struct {
	cfg  Config
	told map[sentKey]alerts.Sent
	// before is what told held before the newest plan, of what that plan changed; a Sent without a channel where it held nothing.
	before map[sentKey]alerts.Sent
	flaps  flaps
	// reminded are the reminders that were planned of silences that still hold, and reminders those of the newest plan.
	reminded  map[reminder]bool
	reminders []reminder
	// restored is true until the first plan after Restore.
	restored bool
	// over are alerts that came to an end which not every channel has heard of. They need not be among the alerts any more.
	over map[rule.Key]alerts.Alert
	// lost are the messages that were given up since the newest plan.
	lost givenUp
	// stand is what receivers that forget are told again, and stood what it was before the newest plan.
	stand, stood stand
}

// New returns a dispatcher that has told nobody anything yet.
func New(cfg Config) *Dispatcher {
	cfg.Channels = slices.Compact(slices.Sorted(slices.Values(cfg.Channels)))
	cfg.ExternalURL = strings.TrimRight(cfg.ExternalURL, "/")
	d := &Dispatcher{cfg: cfg}
	d.Restore(nil)
	return d
}

// Restore replaces what the dispatcher knows by what was sent before a restart. Recall goes with it, before the next plan, which believes
// the alerts as to which of them were flapping.
func (d *Dispatcher) Restore(log []alerts.Sent) {
	d.told, d.before, d.over = map[sentKey]alerts.Sent{}, map[sentKey]alerts.Sent{}, map[rule.Key]alerts.Alert{}
	d.flaps, d.stand, d.stood, d.restored = newFlaps(), newStand(), newStand(), true
	d.reminded, d.reminders = map[reminder]bool{}, nil
	for _, s := range log {
		if d.cfg.Standing[s.Channel].Every > 0 {
			s.Doubt = alerts.Certain
		}
		d.told[sentKey{s.Channel, s.Key}] = s
	}
}

// Recall tells the dispatcher the edges of before a restart, as far back as Config.Recalls says, so that alerts that were flapping
// go on to, and that what ended is told to those who forget.
func (d *Dispatcher) Recall(edges []alerts.Transition) {
	for _, e := range inOrder(edges) {
		d.flaps.note(e.Edge.At, e)
		d.recall(e)
	}
}

// Plan returns the messages that are due, sorted by channel, kind and group: at most one for each group of a channel. The list is of all
// alerts that are known, in any order; the edges are those since the plan before. What it returns has to be kept in one transaction with what
// Sent returns then; when that fails, Undo takes the plan back.
func (d *Dispatcher) Plan(at time.Time, list []alerts.Alert, edges []alerts.Transition, silences []alerts.Silence) []alerts.Notification {
	clear(d.before)
	d.stood = d.stand.clone()
	d.doubt()
	if d.restored {
		for _, a := range list {
			d.flaps.restore(a.Key, a.Flapping)
		}
		d.restored = false
	}
	d.flaps.age(at)
	for _, e := range inOrder(edges) {
		d.flaps.note(at, e)
	}
	d.forget(at, silences)
	all := d.candidates(at, list, edges, silences)
	var plan []alerts.Notification
	for _, channel := range d.cfg.Channels {
		plan = append(plan, d.planChannel(at, channel, all)...)
	}
	d.remember(all)
	return plan
}

// Sent returns what the newest plan changed in what channels were told, sorted: with a tier of normal and no flapping where nothing is
// left to know.
func (d *Dispatcher) Sent() []alerts.Sent {
	var changed []alerts.Sent
	for k := range d.before {
		s, ok := d.told[k]
		if !ok {
			s = alerts.Sent{Channel: k.channel, Key: k.key, Tier: dedup.Normal}
		}
		changed = append(changed, s)
	}
	slices.SortFunc(changed, func(a, b alerts.Sent) int {
		return cmp.Or(strings.Compare(a.Channel, b.Channel), a.Key.Compare(b.Key))
	})
	return changed
}

// Undo takes the newest plan back, because it could not be kept. The next plan makes its messages again.
func (d *Dispatcher) Undo() {
	for k, s := range d.before {
		if s.Channel == "" {
			delete(d.told, k)
		} else {
			d.told[k] = s
		}
	}
	clear(d.before)
	d.stand = d.stood
	for _, r := range d.reminders {
		delete(d.reminded, r)
	}
	d.reminders = nil
}

// put notes what a channel is told.
func (d *Dispatcher) put(s alerts.Sent) {
	k := sentKey{s.Channel, s.Key}
	if _, noted := d.before[k]; !noted {
		d.before[k] = d.told[k]
	}
	if s.Tier <= dedup.Normal && s.Flapping.IsZero() {
		delete(d.told, k)
	} else {
		d.told[k] = s
	}
}

// remember keeps the alerts that are over until every channel has heard of it.
func (d *Dispatcher) remember(all []candidate) {
	clear(d.over)
	awaited := d.awaited()
	for i := range all {
		if k := all[i].alert.Key; all[i].tier <= dedup.Normal && awaited[k] {
			d.over[k] = all[i].alert
		}
	}
}

// awaited returns the alerts of which some channel may have to hear that they are over, perhaps again, also when the newest plan is undone.
func (d *Dispatcher) awaited() map[rule.Key]bool {
	awaited := map[rule.Key]bool{}
	for k := range d.told {
		awaited[k.key] = true
	}
	for k := range d.before {
		awaited[k.key] = true
	}
	for t := range d.stand.ended {
		awaited[t.key] = true
	}
	return awaited
}

// inOrder returns edges by their times and keys.
func inOrder(edges []alerts.Transition) []alerts.Transition {
	sorted := slices.Clone(edges)
	slices.SortStableFunc(sorted, func(a, b alerts.Transition) int {
		return cmp.Or(a.At.Compare(b.At), a.Judgement.Key.Compare(b.Judgement.Key))
	})
	return sorted
}
