package alerts

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// A NotificationKind is what a message to people is for.
type NotificationKind string

// The kinds of notifications.
const (
	// NotifyEdges tells of alerts that fired, escalated, de-escalated or resolved, and repeats what still fires.
	NotifyEdges NotificationKind = "edges"
	// NotifyDigest tells of so many alerts at once that only the worst are listed.
	NotifyDigest NotificationKind = "digest"
	// NotifyFlapping tells that an alert changes too often for its edges to be told one by one.
	NotifyFlapping NotificationKind = "flapping"
	// NotifyStanding says again to a receiver that forgets what it was told: all that still fires, and what ended lately. Nobody is to
	// be told of it but by what such a receiver makes of it.
	NotifyStanding NotificationKind = "standing"
	// NotifyReminder tells that a silence is about to expire.
	NotifyReminder NotificationKind = "reminder"
	// NotifyTest is a message that somebody asked for, to see whether it arrives.
	NotifyTest NotificationKind = "test"
	// NotifyWatchdog says that the dashboard still evaluates: what is amiss is its absence.
	NotifyWatchdog NotificationKind = "watchdog"
)

// A Notification is one message for one channel. It is frozen when it is put into the outbox: a repeated delivery says the same.
type Notification struct {
	// ID is unique; a channel may hand it on so that a receiver can tell a repeated delivery.
	ID      string
	Channel string
	Kind    NotificationKind
	// Group is what its alerts have in common, and GroupLabels the same as labels.
	Group       string
	GroupLabels map[string]string
	At          time.Time
	// Alerts are the worst first. LeftOut counts those that are not listed, and Counted are their keys, which are not told.
	Alerts  []NotifiedAlert
	LeftOut int
	Counted []rule.Key `json:",omitempty"`
	// Text is said in place of alerts where there are none: of a test, a reminder or the watchdog. Its first line is the subject.
	Text string
	// ExternalURL is where the dashboard is reached; empty where that is not configured.
	ExternalURL string
	// Repeated is true when it may have been delivered before: we were stopped while it was under way, or nobody answered in time.
	Repeated bool
}

// A NotifiedAlert is an alert as a notification tells it: the words of the page.
type NotifiedAlert struct {
	Key    rule.Key
	Title  string
	Firing bool
	Edge   EdgeKind // empty for a repeat
	Tier   dedup.Tier
	Was    dedup.Tier
	// GoesOn is the tier that it fires at now, where it does not fire at Was any more and no more than that is said. Zero where it is over.
	GoesOn  dedup.Tier
	Labels  map[string]string
	Value   float64
	Limit   float64
	Unit    dedup.Unit
	N       float64
	Window  time.Duration
	Why     string
	Cause   string
	Step    string // what to do first
	Runbook string
	Link    string
	// Reached is a worse tier than Tier whose limit the value has reached, which has not lasted long enough to fire: Limit is of it.
	// Zero where there is none.
	Reached dedup.Tier
	// Stale: it cannot be judged now, and Missing says why.
	Stale   bool
	Missing string
	// Began is when its limit was reached, StartsAt when it began to fire.
	Began    time.Time
	StartsAt time.Time
	// TierSince is since when it fires at Tier, where that is not since StartsAt; else zero.
	TierSince time.Time
	EndsAt    time.Time // zero while it fires
}

// A DeliveryError says why a channel did not take a notification. Its text holds no secret.
type DeliveryError struct {
	// Permanent: trying again cannot help.
	Permanent bool
	// Unsent: nothing of it has left us, so that it cannot have arrived.
	Unsent bool
	// Doubtful: it may have arrived. All of it has left us, and it was not answered; or some of those whom it is for have it.
	Doubtful bool
	// RetryAfter is how long the receiver asks to wait; 0 where it does not say.
	RetryAfter time.Duration
	// Public says what happened and what to do, in words that may be shown.
	Public string
}

// Error implements error.
func (e *DeliveryError) Error() string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("%s (try again in %s)", e.Public, rule.Seconds(e.RetryAfter))
	}
	return e.Public
}

// A Doubt says whether a channel has what it counts as told.
type Doubt uint8

const (
	// Certain: it was taken, or waits in the outbox.
	Certain Doubt = iota
	// Unsure: it may never have arrived. It is repeated when it is due again, as something that the channel knows.
	Unsure
	// Lost: it was the first of an alert, and given up. The channel knows nothing of the alert, and is told that it fired when a
	// repeat would be due, or at once when it gets worse.
	Lost
)

// Doubts returns what becomes of what the channel counts as told by this message when the message is given up, by alert. One that may have
// been delivered is in doubt as a whole: what it told first must not be told as new once more. What is said again and again is in none.
func (n Notification) Doubts() map[rule.Key]Doubt {
	if n.Kind == NotifyStanding {
		return nil
	}
	first := Lost
	if n.Repeated {
		first = Unsure
	}
	doubts := map[rule.Key]Doubt{}
	for _, a := range n.Alerts {
		doubts[a.Key] = Unsure
		if a.Edge == EdgeFired {
			doubts[a.Key] = first
		}
	}
	for _, k := range n.Counted {
		doubts[k] = first // nobody has read its name
	}
	return doubts
}

// A Sent is what a channel was last told of an alert. A message counts as sent when it is planned: from then on the outbox has it.
type Sent struct {
	Channel string
	Key     rule.Key
	// Tier is the tier that was told: normal for an alert that was told as resolved, or never.
	Tier dedup.Tier
	// At is when, and Began when the alert had begun to fire.
	At, Began time.Time
	// LeftOut is true when it was one of those that a digest only counts, and never told by name. Its end is not told then.
	LeftOut bool
	// Flapping is since when the channel was told that the alert flaps, zero where it was not, and Peak the worst tier that was told then.
	Flapping time.Time
	Peak     dedup.Tier
	// Doubt says whether the channel has it.
	Doubt Doubt
}
