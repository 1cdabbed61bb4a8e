// Package alerting lets operators acknowledge and silence alerts; nothing of it changes what is judged.
package alerting

import (
	"context"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

const (
	// maxSilenceMatchers is the most matchers of a silence, maxMatcherText the most bytes of one part of a matcher.
	maxSilenceMatchers = 20
	maxMatcherText     = 1024
)

// A SilenceMatcher tells alerts by one label. Op is =, !=, =~ or !~ as in PromQL.
type SilenceMatcher struct{ Label, Op, Value string }

// A NewSilence asks that alerts which all matchers match are not told for a while.
type NewSilence struct {
	Matchers []SilenceMatcher
	// Author makes it, for the reason given.
	Author, Reason string
	// Starts is now where it is zero.
	Starts, Ends time.Time
}

// ackKeeper keeps acknowledgements of alerts, which are named by their key: rule/kind/subject. What it was told holds, and is on
// disk, when it returns. It is safe for concurrent use; an error that is no *dedup.Error is one of the journal.
type ackKeeper interface {
	Acknowledge(ctx context.Context, alert, by, note string, seen dedup.Tier, until time.Time) error
	Unacknowledge(ctx context.Context, alert, by string) error
}

// silenceKeeper keeps silences, as ackKeeper does acknowledgements. It refuses what is not valid with an error of kind invalid.
type silenceKeeper interface {
	AddSilence(ctx context.Context, s NewSilence) (id string, err error)
	ExpireSilence(ctx context.Context, id, by string) error
}

// channelTester sends a message for trial to a channel of notifications, and returns once it was taken or refused. The error holds
// no secret.
type channelTester interface {
	SendTest(ctx context.Context, channel, by string) error
}

// Deps are what Alerting needs. One value may be all three keepers.
type Deps struct {
	Gate     *admin.Gate
	Acks     ackKeeper
	Silences silenceKeeper
	// Channels may be nil: nothing can be sent for trial then.
	Channels channelTester
	ReadOnly bool
	Now      func() time.Time
}

// Alerting lets operators acknowledge and silence alerts. Nothing of it changes what is judged. It is safe for concurrent use; its
// errors are *dedup.Error.
type Alerting struct{ deps Deps }

// New returns the service.
func New(deps Deps) *Alerting {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Alerting{deps}
}

// WhyNot says why nothing can be acknowledged or silenced here at all, "" when it can.
func (a *Alerting) WhyNot() string {
	if a.deps.ReadOnly {
		return admin.ReadOnly
	}
	return ""
}

// Acknowledge notes that the caller attends to an alert that was seen at a tier, unknown where nobody says, until a time. The note may
// be empty. One that is worse than what was seen is refused with an error of kind conflict.
func (a *Alerting) Acknowledge(ctx context.Context, who admin.Caller, alert, note string, seen dedup.Tier, until time.Time) error {
	act := admin.Action{Name: admin.ActAckAlert, Target: admin.Printable(alert, admin.MaxTarget), Needs: auth.Operator}
	if err := a.deps.Gate.AllowChange(ctx, who, act, a.deps.ReadOnly); err != nil {
		return err
	}
	if note = strings.TrimSpace(note); note != "" {
		var err error
		if note, err = admin.CheckReason(note); err != nil {
			return err
		}
	}
	if !until.After(a.deps.Now()) {
		return admin.Invalid("The acknowledgement ends before it begins: choose a later end")
	}
	act.Reason = note
	act.Run = func(ctx context.Context) (string, error) {
		return "acknowledged until " + admin.Stamp(until), a.deps.Acks.Acknowledge(ctx, alert, who.Name, note, seen, until.UTC())
	}
	return a.deps.Gate.Write(ctx, who, act)
}

// Unacknowledge takes the acknowledgement of an alert back.
func (a *Alerting) Unacknowledge(ctx context.Context, who admin.Caller, alert string) error {
	act := admin.Action{Name: admin.ActUnackAlert, Target: admin.Printable(alert, admin.MaxTarget), Needs: auth.Operator}
	if err := a.deps.Gate.AllowChange(ctx, who, act, a.deps.ReadOnly); err != nil {
		return err
	}
	act.Run = func(ctx context.Context) (string, error) {
		return "its acknowledgement was taken back", a.deps.Acks.Unacknowledge(ctx, alert, who.Name)
	}
	return a.deps.Gate.Write(ctx, who, act)
}

// Silence makes a silence by the caller, and returns its id.
func (a *Alerting) Silence(ctx context.Context, who admin.Caller, s NewSilence) (string, error) {
	act := admin.Action{Name: admin.ActSilence, Target: admin.Legible(MatcherText(s.Matchers), admin.MaxTarget), Needs: auth.Operator}
	if err := a.deps.Gate.AllowChange(ctx, who, act, a.deps.ReadOnly); err != nil {
		return "", err
	}
	s, err := a.check(s)
	if err != nil {
		return "", err
	}
	s.Author = who.Name
	act.Reason = s.Reason
	var id string
	act.Run = func(ctx context.Context) (string, error) {
		var err error
		id, err = a.deps.Silences.AddSilence(ctx, s)
		return "silence " + admin.Printable(id, 100) + " from " + admin.Stamp(s.Starts) + " until " + admin.Stamp(s.Ends), err
	}
	if err := a.deps.Gate.Write(ctx, who, act); err != nil {
		return "", err
	}
	return id, nil
}

// check completes a silence, or says what is wrong with it.
func (a *Alerting) check(s NewSilence) (NewSilence, error) {
	now := a.deps.Now()
	var err error
	if s.Reason, err = admin.CheckReason(s.Reason); err != nil {
		return s, err
	}
	if s.Starts.IsZero() || s.Starts.Before(now) {
		s.Starts = now
	}
	// To the millisecond, as it is kept.
	s.Starts, s.Ends = s.Starts.UTC().Truncate(time.Millisecond), s.Ends.UTC().Truncate(time.Millisecond)
	switch {
	case len(s.Matchers) == 0:
		return s, admin.Invalid("The silence has no matchers: name what it is to cover")
	case len(s.Matchers) > maxSilenceMatchers:
		return s, admin.Invalid("The silence has more than 20 matchers")
	case !s.Ends.After(s.Starts):
		return s, admin.Invalid("The silence ends before it begins: choose a later end")
	}
	for _, m := range s.Matchers {
		if m.Label == "" || len(m.Label) > maxMatcherText || len(m.Value) > maxMatcherText {
			return s, admin.Invalid("A matcher of the silence has no label, or is longer than 1024 bytes")
		}
	}
	return s, nil
}

// Expire ends a silence now.
func (a *Alerting) Expire(ctx context.Context, who admin.Caller, id string) error {
	act := admin.Action{Name: admin.ActExpireSilence, Target: admin.Printable(id, admin.MaxTarget), Needs: auth.Operator}
	if err := a.deps.Gate.AllowChange(ctx, who, act, a.deps.ReadOnly); err != nil {
		return err
	}
	act.Run = func(ctx context.Context) (string, error) {
		return "the silence was ended", a.deps.Silences.ExpireSilence(ctx, id, who.Name)
	}
	return a.deps.Gate.Write(ctx, who, act)
}

// Test sends a message for trial to a channel.
func (a *Alerting) Test(ctx context.Context, who admin.Caller, channel string) error {
	act := admin.Action{Name: admin.ActTestChannel, Target: admin.Printable(channel, admin.MaxTarget), Needs: auth.Operator}
	if err := a.deps.Gate.AllowChange(ctx, who, act, a.deps.ReadOnly); err != nil {
		return err
	}
	if a.deps.Channels == nil {
		return admin.NotFound("There is no channel " + admin.Printable(channel, 80))
	}
	act.Run = func(ctx context.Context) (string, error) {
		return "a message for trial was taken", a.deps.Channels.SendTest(ctx, channel, who.Name)
	}
	err := a.deps.Gate.Do(ctx, who, act)
	if err != nil && dedup.KindOf(err) == dedup.Internal {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "The message for trial could not be sent; the log says why", Err: err}
	}
	return err
}

// MatcherText writes matchers as PromQL does, with commas between them.
func MatcherText(matchers []SilenceMatcher) string {
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	parts := make([]string, len(matchers))
	for i, m := range matchers {
		parts[i] = m.Label + m.Op + `"` + quoted.Replace(m.Value) + `"`
	}
	return strings.Join(parts, ", ")
}
