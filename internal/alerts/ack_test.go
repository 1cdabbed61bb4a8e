package alerts

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func firingAt(t dedup.Tier) State { return State{Phase: PhaseFiring, Tier: t} }

func TestAnAcknowledgementEndsWhenTheTierWorsensAtItsTimeOrWithTheAlert(t *testing.T) {
	now := evaluatedAt
	for _, tt := range []struct {
		name  string
		state State
		at    time.Time
		want  bool
	}{
		{"it holds while the alert fires as it did", firingAt(dedup.Severe), now, true},
		{"and while it is better", firingAt(dedup.Warning), now, true},
		{"and while it recovers", State{Phase: PhaseRecovering, Tier: dedup.Severe}, now, true},
		{"a worse tier ends it", firingAt(dedup.Emergency), now, false},
		{"a worse tier that is only pending does not", State{Phase: PhaseFiring, Tier: dedup.Severe, Reached: [3]time.Time{now, now, now}}, now, true},
		{"a moment before its time it holds", firingAt(dedup.Severe), now.Add(time.Hour - time.Nanosecond), true},
		{"its time ends it", firingAt(dedup.Severe), now.Add(time.Hour), false},
		{"the end of the alert ends it", State{Phase: PhaseNormal, Tier: dedup.Normal}, now, false},
		{"an alert that is pending again is another one", State{Phase: PhasePending, Tier: dedup.Normal}, now, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ack := &Ack{By: "ada", At: now, Until: now.Add(time.Hour), Tier: dedup.Severe}
			if got := ack.Holds(tt.state, tt.at); got != tt.want {
				t.Errorf("Holds = %t, want %t", got, tt.want)
			}
		})
	}
	if (*Ack)(nil).Holds(firingAt(dedup.Warning), now) {
		t.Error("no acknowledgement holds")
	}
}

func TestAnAcknowledgementIsCheckedBeforeItHolds(t *testing.T) {
	now := evaluatedAt
	for _, tt := range []struct {
		name     string
		state    State
		by, note string
		until    time.Time
		kind     dedup.Kind
		seen     dedup.Tier
	}{
		{"one of a firing alert is taken", firingAt(dedup.Severe), "ada", "restarting the consumer", now.Add(time.Hour), "", dedup.TierUnknown},
		{"a note is not needed", firingAt(dedup.Severe), "ada", "", now.Add(time.Hour), "", dedup.TierUnknown},
		{"one of what was seen", firingAt(dedup.Severe), "ada", "", now.Add(time.Hour), "", dedup.Severe},
		{"one of what was worse when it was seen", firingAt(dedup.Severe), "ada", "", now.Add(time.Hour), "", dedup.Emergency},
		{"an alert that got worse since it was seen", firingAt(dedup.Emergency), "ada", "", now.Add(time.Hour), dedup.Conflict, dedup.Severe},
		{"an alert that ended in the meantime", State{Phase: PhaseNormal}, "ada", "", now.Add(time.Hour), dedup.Conflict, dedup.TierUnknown},
		{"nobody", firingAt(dedup.Severe), " ", "", now.Add(time.Hour), dedup.Invalid, dedup.TierUnknown},
		{"an end that is over", firingAt(dedup.Severe), "ada", "", now, dedup.Invalid, dedup.TierUnknown},
		{"more than a week", firingAt(dedup.Severe), "ada", "", now.Add(8 * 24 * time.Hour), dedup.Invalid, dedup.TierUnknown},
		{"an endless note", firingAt(dedup.Severe), "ada", strings.Repeat("x", 1001), now.Add(time.Hour), dedup.Invalid, dedup.TierUnknown},
		{"a note that is no text", firingAt(dedup.Severe), "ada", "\xff", now.Add(time.Hour), dedup.Invalid, dedup.TierUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ack, err := NewAck(&Alert{State: tt.state}, tt.by, tt.note, tt.seen, now, tt.until)
			switch {
			case tt.kind == "" && (err != nil || ack.Tier != tt.state.Tier || ack.By != tt.by || !ack.Until.Equal(tt.until)):
				t.Errorf("got %+v, %v", ack, err)
			case tt.kind != "" && (err == nil || dedup.KindOf(err) != tt.kind):
				t.Errorf("got %v, want an error of kind %s", err, tt.kind)
			}
		})
	}
}
