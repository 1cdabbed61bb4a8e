package dispatch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

const (
	// remindBefore is how long before its end people are reminded of a silence, and remindLeast how long a silence lasts at least of which
	// they are: who made a shorter one is still there.
	remindBefore = 15 * time.Minute
	remindLeast  = 2 * remindBefore
	// remindNames is how many alerts a reminder names.
	remindNames = 3
	// silenceLabel is the label by which reminders are told apart.
	silenceLabel = "silence"
)

// A reminder is that a channel is reminded of a silence.
type reminder struct{ channel, silence string }

// lastToEnd returns the silence of those that cover the labels that ends last; nil where none covers them.
func lastToEnd(silences []alerts.Silence, labels map[string]string) *alerts.Silence {
	var last *alerts.Silence
	for i := range silences {
		s := &silences[i]
		if (last == nil || cmp.Or(s.Ends.Compare(last.Ends), strings.Compare(s.ID, last.ID)) > 0) && s.Covers(labels) {
			last = s
		}
	}
	return last
}

// remind returns the reminders that are due on one channel: of each silence one, before the end of which alerts are told again that fire
// now. An alert that somebody attends to counts for none, nor does one that something else keeps from being told.
func (d *Dispatcher) remind(at time.Time, channel string, all []candidate) []alerts.Notification {
	ending := map[string][]*candidate{}
	for i := range all {
		c := &all[i]
		s := c.hush
		if s == nil || c.tier <= dedup.Normal || c.acked || c.alert.Key.Rule == alerts.RuleWatchdog || !slices.Contains(c.channels, channel) {
			continue
		}
		if s.ExpiresSoon(at, remindBefore) && s.Ends.Sub(s.Starts) >= remindLeast && !d.reminded[reminder{channel, s.ID}] {
			ending[s.ID] = append(ending[s.ID], c)
		}
	}
	var plan []alerts.Notification
	for id, quiet := range ending {
		r := reminder{channel, id}
		d.reminded[r] = true
		d.reminders = append(d.reminders, r)
		plan = append(plan, d.reminderOf(at, channel, quiet))
	}
	return plan
}

// reminderOf makes the message of one silence for the alerts that it keeps quiet.
func (d *Dispatcher) reminderOf(at time.Time, channel string, quiet []*candidate) alerts.Notification {
	slices.SortFunc(quiet, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.tier, a.tier), a.alert.Key.Compare(b.alert.Key))
	})
	s := quiet[0].hush
	n := d.message(at, channel, alerts.NotifyReminder)
	n.Text = reminderText(at, s, quiet)
	n.Group, n.GroupLabels = groupOf([]string{silenceLabel}, map[string]string{silenceLabel: s.ID})
	// Whatever the alerts are then: the outbox has it once, also when it is planned again after a restart.
	n.ID = hashed(fmt.Appendf(nil, "%q %q %q", n.Channel, n.Kind, s.ID))
	return n
}

// reminderText says what counts in its first line, and the rest in the second.
func reminderText(at time.Time, s *alerts.Silence, quiet []*candidate) string {
	var names, matchers []string
	for _, c := range quiet[:min(len(quiet), remindNames)] {
		k := c.alert.Key
		names = append(names, fmt.Sprintf("%s of %s, %s", cmp.Or(c.alert.Words.Title, k.Rule), strings.TrimSpace(string(k.Kind)+" "+k.Subject), c.tier))
	}
	if left := len(quiet) - len(names); left > 0 {
		names = append(names, fmt.Sprintf("%d more", left))
	}
	for _, m := range s.Matchers {
		matchers = append(matchers, m.String())
	}
	what := "1 alert still fires"
	if len(quiet) > 1 {
		what = fmt.Sprintf("%d alerts still fire", len(quiet))
	}
	return fmt.Sprintf("The silence by %s ends in %d min, at %s UTC; %s under it\nTold again from then on: %s. It covers %s. Its reason: %s",
		strings.Join(strings.Fields(s.Author), " "), int(s.Ends.Sub(at).Round(time.Minute)/time.Minute), s.Ends.UTC().Format("2006-01-02 15:04"),
		what, strings.Join(names, "; "), strings.Join(matchers, ", "), s.Reason)
}

// forget drops the reminders of silences that are over.
func (d *Dispatcher) forget(at time.Time, silences []alerts.Silence) {
	d.reminders = nil
	holds := map[string]bool{}
	for _, s := range silences {
		holds[s.ID] = !s.Expired(at)
	}
	maps.DeleteFunc(d.reminded, func(r reminder, _ bool) bool { return !holds[r.silence] })
}
