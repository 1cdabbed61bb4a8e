package alerting

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// A desk keeps what was acknowledged and silenced, in memory.
type desk struct {
	acks     map[string]string // who and note, by alert
	seen     dedup.Tier
	until    time.Time
	silences []NewSilence
	ended    []string
	tested   []string
	err      error
}

func (d *desk) Acknowledge(_ context.Context, alert, by, note string, seen dedup.Tier, until time.Time) error {
	if d.err == nil {
		d.acks[alert], d.seen, d.until = by+": "+note, seen, until
	}
	return d.err
}

func (d *desk) Unacknowledge(_ context.Context, alert, _ string) error {
	if d.err == nil {
		delete(d.acks, alert)
	}
	return d.err
}

func (d *desk) AddSilence(_ context.Context, s NewSilence) (string, error) {
	if d.err != nil {
		return "", d.err
	}
	d.silences = append(d.silences, s)
	return "s1", nil
}

func (d *desk) ExpireSilence(_ context.Context, id, by string) error {
	if d.err == nil {
		d.ended = append(d.ended, id+" by "+by)
	}
	return d.err
}

func (d *desk) SendTest(_ context.Context, channel, by string) error {
	if d.err == nil {
		d.tested = append(d.tested, channel+" by "+by)
	}
	return d.err
}

var duty = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func (d *desk) service(audit *admintest.Recorder, readOnly bool) *Alerting {
	return New(Deps{Gate: audit.Gate(), Acks: d, Silences: d, Channels: d, ReadOnly: readOnly, Now: func() time.Time { return duty }})
}

const (
	rateOfOrders = "duplicate_rate/pipeline/orders"
	upgrade      = "the broker is upgraded, OPS-7"
)

func ofOrders() []SilenceMatcher { return []SilenceMatcher{{"pipeline", "=", "orders"}} }

// deeds are all that can be done, each as its caller.
func deeds(a *Alerting) map[string]func(context.Context, admin.Caller) error {
	return map[string]func(context.Context, admin.Caller) error{
		"acknowledge_alert": func(ctx context.Context, who admin.Caller) error {
			return a.Acknowledge(ctx, who, rateOfOrders, " I look into it ", dedup.Severe, duty.Add(time.Hour))
		},
		"unacknowledge_alert": func(ctx context.Context, who admin.Caller) error { return a.Unacknowledge(ctx, who, rateOfOrders) },
		"add_silence": func(ctx context.Context, who admin.Caller) error {
			_, err := a.Silence(ctx, who, NewSilence{Matchers: ofOrders(), Author: "somebody else", Reason: upgrade, Ends: duty.Add(time.Hour)})
			return err
		},
		"expire_silence": func(ctx context.Context, who admin.Caller) error { return a.Expire(ctx, who, "s1") },
		"test_channel":   func(ctx context.Context, who admin.Caller) error { return a.Test(ctx, who, "night") },
	}
}

func TestWhatIsDoneToAlertsIsInTheAudit(t *testing.T) {
	d := &desk{acks: map[string]string{}}
	for name := range deeds(New(Deps{})) {
		audit := &admintest.Recorder{}
		if err := deeds(d.service(audit, false))[name](t.Context(), admintest.Caller("ann", auth.Operator)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(audit.Phases(), []string{admin.Intent, admin.Succeeded}) || audit.Entries[0].Action != name || audit.Entries[1].Who != "ann" {
			t.Errorf("%s leaves %+v", name, audit.Entries)
		}
		if audit.Entries[1].Detail == "" || audit.Entries[1].Target == "" || admin.KindOf(name).About != admin.AboutAlerts {
			t.Errorf("%s leaves %+v", name, audit.Entries[1])
		}
	}
	if len(d.silences) != 1 || d.silences[0].Author != "ann" || !d.silences[0].Starts.Equal(duty) || d.silences[0].Reason != upgrade {
		t.Errorf("kept silences %+v", d.silences)
	}
	if !slices.Equal(d.ended, []string{"s1 by ann"}) || !slices.Equal(d.tested, []string{"night by ann"}) {
		t.Errorf("ended %v, tested %v", d.ended, d.tested)
	}
}

func TestAnAcknowledgementIsKeptWithItsNoteAndItsEnd(t *testing.T) {
	d, audit := &desk{acks: map[string]string{}}, &admintest.Recorder{}
	until := duty.Add(4 * time.Hour)
	if err := d.service(audit, false).Acknowledge(t.Context(), admintest.Caller("ann", auth.Operator), rateOfOrders, " I look into it ", dedup.Severe, until); err != nil {
		t.Fatal(err)
	}
	if d.acks[rateOfOrders] != "ann: I look into it" || d.seen != dedup.Severe || !d.until.Equal(until) {
		t.Errorf("kept %v, seen at %s, until %s", d.acks, d.seen, d.until)
	}
	if e := audit.Entries[1]; e.Target != rateOfOrders || e.Reason != "I look into it" || e.Detail != "acknowledged until 2026-11-21T07:00:00Z" {
		t.Errorf("%+v", e)
	}
}

func TestNobodyButOperatorsActsOnAlertsAndNobodyWhereNothingMayChange(t *testing.T) {
	for _, tt := range []struct {
		name     string
		role     auth.Role
		readOnly bool
		denied   int
	}{
		{"a viewer", auth.Viewer, false, 1},
		{"nobody", auth.Nobody, false, 1},
		{"an admin of a read-only dashboard", auth.Admin, true, 1},
	} {
		d := &desk{acks: map[string]string{}}
		for name := range deeds(New(Deps{})) {
			audit, who := &admintest.Recorder{}, admintest.Caller("ann", auth.Operator)
			who.Role = tt.role
			err := deeds(d.service(audit, tt.readOnly))[name](t.Context(), who)
			if dedup.KindOf(err) != dedup.Forbidden || len(audit.Entries) != tt.denied || len(d.acks)+len(d.silences)+len(d.ended)+len(d.tested) != 0 {
				t.Errorf("%s, %s: %v; audit %v, kept %+v", tt.name, name, err, audit.Phases(), d)
			}
		}
	}
}

func TestWithoutAnAuditNothingIsDoneToAlertsAndWithoutAJournalItFailed(t *testing.T) {
	for name := range deeds(New(Deps{})) {
		d := &desk{acks: map[string]string{}}
		if err := deeds(d.service(&admintest.Recorder{FailAt: 1}, false))[name](t.Context(), admintest.Caller("ann", auth.Operator)); dedup.KindOf(err) != dedup.Unavailable {
			t.Errorf("%s without an audit: %v", name, err)
		}
		if len(d.acks)+len(d.silences)+len(d.ended)+len(d.tested) != 0 {
			t.Errorf("%s without an audit did %+v", name, d)
		}
		audit := &admintest.Recorder{}
		d.err = errors.New("disk full: /var/secret")
		err := deeds(d.service(audit, false))[name](t.Context(), admintest.Caller("ann", auth.Operator))
		if dedup.KindOf(err) != dedup.Unavailable || strings.Contains(dedup.PublicText(err), "secret") || !slices.Equal(audit.Phases(), []string{admin.Intent, admin.Failed}) {
			t.Errorf("%s without a journal: %v, audit %v", name, err, audit.Phases())
		}
		d.err = &dedup.Error{Kind: dedup.Conflict, Public: "somebody was faster"}
		if err := deeds(d.service(&admintest.Recorder{}, false))[name](t.Context(), admintest.Caller("ann", auth.Operator)); dedup.KindOf(err) != dedup.Conflict {
			t.Errorf("%s loses the keeper's words: %v", name, err)
		}
	}
}

func TestASilenceOrAnAcknowledgementThatMakesNoSenseIsRefusedBeforeTheAudit(t *testing.T) {
	hour := duty.Add(time.Hour)
	for name, s := range map[string]NewSilence{
		"without matchers":     {Reason: upgrade, Ends: hour},
		"without a reason":     {Matchers: ofOrders(), Reason: " ", Ends: hour},
		"a reason of lines":    {Matchers: ofOrders(), Reason: "one\ntwo", Ends: hour},
		"without an end":       {Matchers: ofOrders(), Reason: upgrade},
		"that ended before":    {Matchers: ofOrders(), Reason: upgrade, Ends: duty.Add(-time.Minute)},
		"ends before it began": {Matchers: ofOrders(), Reason: upgrade, Starts: hour, Ends: duty.Add(time.Minute)},
		"without a label":      {Matchers: []SilenceMatcher{{"", "=", "orders"}}, Reason: upgrade, Ends: hour},
		"with a huge value":    {Matchers: []SilenceMatcher{{"pipeline", "=", strings.Repeat("x", 2000)}}, Reason: upgrade, Ends: hour},
		"with many matchers":   {Matchers: slices.Repeat(ofOrders(), 21), Reason: upgrade, Ends: hour},
	} {
		d, audit := &desk{}, &admintest.Recorder{}
		if _, err := d.service(audit, false).Silence(t.Context(), admintest.Caller("ann", auth.Operator), s); dedup.KindOf(err) != dedup.Invalid || len(audit.Entries)+len(d.silences) != 0 {
			t.Errorf("a silence %s: %v, audit %v", name, err, audit.Phases())
		}
	}
	viewer := admintest.Caller("vera", auth.Operator)
	viewer.Role = auth.Viewer
	if _, err := (&desk{}).service(&admintest.Recorder{}, false).Silence(t.Context(), viewer, NewSilence{}); dedup.KindOf(err) != dedup.Forbidden {
		t.Errorf("a viewer is told what is wrong before that it is not theirs: %v", err)
	}
	d, audit := &desk{acks: map[string]string{}}, &admintest.Recorder{}
	if err := d.service(audit, false).Acknowledge(t.Context(), admintest.Caller("ann", auth.Operator), rateOfOrders, "", dedup.Severe, duty); dedup.KindOf(err) != dedup.Invalid || len(audit.Entries) != 0 {
		t.Errorf("an acknowledgement of no time: %v", err)
	}
	if err := d.service(audit, false).Acknowledge(t.Context(), admintest.Caller("ann", auth.Operator), rateOfOrders, "\u202eevil", dedup.Severe, hour); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("a note that turns text around: %v", err)
	}
	if err := d.service(audit, false).Acknowledge(t.Context(), admintest.Caller("ann", auth.Operator), rateOfOrders, "", dedup.Severe, hour); err != nil {
		t.Errorf("an acknowledgement without a note: %v", err)
	}
}

func TestTheAuditNamesWhatASilenceCoversWhateverIsInIt(t *testing.T) {
	audit := &admintest.Recorder{}
	matchers := append(ofOrders(), SilenceMatcher{"team", "=~", "a\"b\\\n\u202e"})
	if _, err := (&desk{}).service(audit, false).Silence(t.Context(), admintest.Caller("ann", auth.Operator), NewSilence{Matchers: matchers, Reason: upgrade, Ends: duty.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if got := audit.Entries[0].Target; strings.ContainsAny(got, "\n\u202e") || !strings.Contains(got, "orders") || !strings.Contains(got, "team=~") {
		t.Errorf("the target is %q", got)
	}
}

func TestAChannelForTrialMustBeThere(t *testing.T) {
	a := New(Deps{Gate: (&admintest.Recorder{}).Gate()})
	if err := a.Test(t.Context(), admintest.Caller("ann", auth.Operator), "night"); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("%v", err)
	}
}

func TestTheAuditShowsMatchersAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		`rule="markers_without_expiry", tier!="emergency"`: `rule="markers_without_expiry", tier!="emergency"`,
		"a\"b\n":  `a"b\n`,
		`a\nb`:    `a\\nb`,
		"a\nb":    `a\nb`,
		`a\"b`:    `a\\"b`,
		"\u202eb": `\u202eb`,
	} {
		if got := admin.Legible(text, admin.MaxTarget); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestEveryRefusalWhereNothingMayBeChangedLeavesOneDeniedEntryWithItsReason(t *testing.T) {
	for action, ask := range map[string]func(*Alerting, admin.Caller) error{
		"acknowledge_alert": func(a *Alerting, who admin.Caller) error {
			return a.Acknowledge(t.Context(), who, "orders", "", dedup.TierUnknown, time.Now().Add(time.Hour))
		},
		"unacknowledge_alert": func(a *Alerting, who admin.Caller) error { return a.Unacknowledge(t.Context(), who, "orders") },
		"add_silence": func(a *Alerting, who admin.Caller) error {
			_, err := a.Silence(t.Context(), who, NewSilence{Matchers: []SilenceMatcher{{Label: "pipeline", Op: "=", Value: "orders"}}})
			return err
		},
		"expire_silence": func(a *Alerting, who admin.Caller) error { return a.Expire(t.Context(), who, "1") },
		"test_channel":   func(a *Alerting, who admin.Caller) error { return a.Test(t.Context(), who, "mail") },
	} {
		t.Run(action, func(t *testing.T) {
			audit := &admintest.Recorder{}
			err := ask(New(Deps{Gate: audit.Gate(), ReadOnly: true}), admintest.Caller("rae", auth.Operator))
			admintest.Denied(t, action, err, audit.Entries)
		})
	}
}
