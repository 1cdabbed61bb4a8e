package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/alerting"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/lab/demo"
)

// A tower stands in for the engine, its journal and its outbox, in memory.
type tower struct {
	mu       sync.Mutex
	view     *alerts.View
	edges    []alerts.Transition
	ended    []alerts.Silence
	acks     []alerts.EndedAck // that hold no more
	channels []alert.ChannelState
	tested   []string
	err      error // of what is read or written
}

// newTower is one of whom nothing fires.
func newTower() *tower {
	t := &tower{}
	t.show()
	return t
}

// show makes a view of these alerts, the worst first as they come.
func (t *tower) show(all ...*alerts.AlertView) {
	v := &alerts.View{At: time.Now().Add(-2 * time.Second), Took: 12 * time.Millisecond, Interval: 15 * time.Second, Rules: rule.Defaults(), Alerts: all,
		Worst: dedup.Normal, Unattended: dedup.Normal}
	for _, a := range all {
		if show.Fires(a) && a.Key.Rule != alerts.RuleWatchdog {
			v.Firing++
			v.Worst = max(v.Worst, a.State.Tier)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.view != nil {
		v.Silences = t.view.Silences
	}
	t.view = v
}

func (t *tower) View() *alerts.View {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view
}

// change replaces one alert by a changed copy: views are immutable.
func (t *tower) change(key string, how func(*alerts.AlertView) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	v := *t.view
	v.Alerts = slices.Clone(v.Alerts)
	for i, a := range v.Alerts {
		if a.Key.String() == key {
			changed := *a
			err := how(&changed)
			if err == nil {
				v.Alerts[i], t.view = &changed, &v
			}
			return err
		}
	}
	return &dedup.Error{Kind: dedup.NotFound, Public: "There is no such alert"}
}

func (t *tower) Acknowledge(_ context.Context, alert, by, note string, seen dedup.Tier, until time.Time) error {
	return t.change(alert, func(a *alerts.AlertView) error {
		ack, err := alerts.NewAck(&a.Alert, by, note, seen, time.Now(), until)
		a.Ack = &ack
		return err
	})
}

func (t *tower) Unacknowledge(_ context.Context, alert, by string) error {
	return t.change(alert, func(a *alerts.AlertView) error {
		if ack := a.Ack; ack != nil {
			a.Ack = nil
			t.acks = append([]alerts.EndedAck{ack.EndedAs(&a.Alert, time.Now(), by)}, t.acks...)
		}
		return nil
	})
}

func (t *tower) EndedAcks(_ context.Context, of rule.Key, limit int) ([]alerts.EndedAck, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var some []alerts.EndedAck
	for _, e := range t.acks {
		if e.Key == of {
			some = append(some, e)
		}
	}
	return some[:min(len(some), limit)], t.err
}

func (t *tower) AddSilence(_ context.Context, asked alerting.NewSilence) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return "", t.err
	}
	one := alerts.Silence{ID: fmt.Sprintf("s%d", len(t.view.Silences)+1), Author: asked.Author, Reason: asked.Reason, Starts: asked.Starts, Ends: asked.Ends}
	for _, m := range asked.Matchers {
		one.Matchers = append(one.Matchers, alerts.Matcher{Name: m.Label, Op: alerts.MatchOp(m.Op), Value: m.Value})
	}
	v := *t.view
	v.Silences = append(slices.Clone(v.Silences), one)
	v.Alerts = slices.Clone(v.Alerts)
	for i, a := range v.Alerts {
		if one.Covers(alerts.SilenceLabels(&a.Alert)) {
			changed := *a
			changed.Silences = append(slices.Clone(a.Silences), one.ID)
			v.Alerts[i] = &changed
		}
	}
	t.view = &v
	return one.ID, nil
}

func (t *tower) ExpireSilence(_ context.Context, id, by string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	at := slices.IndexFunc(t.view.Silences, func(s alerts.Silence) bool { return s.ID == id })
	if at < 0 {
		return &dedup.Error{Kind: dedup.NotFound, Public: "There is no such silence"}
	}
	v := *t.view
	one := v.Silences[at]
	one.Ends, one.EndedBy = time.Now(), by
	v.Silences = slices.Delete(slices.Clone(v.Silences), at, at+1)
	t.view, t.ended = &v, append(t.ended, one)
	return nil
}

func (t *tower) SendTest(_ context.Context, channel, by string) error {
	if channel == "refusing" {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "The channel refused it: 403 Forbidden; look at its token"}
	}
	t.tested = append(t.tested, channel+" by "+by)
	return nil
}

func (t *tower) History(_ context.Context, of rule.Key, limit int, _ time.Time) ([]alerts.Transition, error) {
	var some []alerts.Transition
	for _, e := range t.edges {
		if k := e.Judgement.Key; k == of || of.Rule == "" && k.Kind == of.Kind && k.Subject == of.Subject {
			some = append(some, e)
		}
	}
	return some[:min(len(some), limit)], t.err
}

func (t *tower) Silences(context.Context, time.Time) ([]alerts.Silence, error) {
	return slices.Concat(t.View().Silences, t.ended), t.err
}

func (t *tower) Channels(context.Context) ([]alert.ChannelState, error) { return t.channels, t.err }

var errDisk = errors.New("disk full: /var/lib/secret")

// ruleNamed is a built-in rule.
func ruleNamed(t testing.TB, name string) *rule.Rule {
	t.Helper()
	for _, r := range rule.Defaults() {
		if r.Name == name {
			return &r
		}
	}
	t.Fatalf("no rule %s", name)
	return nil
}

// alertIn is an alert on a subject that a rule judged just now, in a phase at a tier since a while.
func alertIn(t testing.TB, name string, kind rule.SubjectKind, subject string, phase alerts.Phase, tier dedup.Tier, since time.Duration) *alerts.AlertView {
	t.Helper()
	now := time.Now()
	key := rule.Key{Rule: name, Kind: kind, Subject: subject}
	labels := map[string]string{}
	if kind != rule.OfDashboard {
		labels[string(kind)] = subject
	}
	j := rule.Judgement{Key: key, At: now.Add(-2 * time.Second), Labels: labels, Enters: max(tier, dedup.Normal), Holds: max(tier, dedup.Normal), Health: rule.HealthOK,
		Value: 0.172, Limit: 0.1, Unit: dedup.Ratio, N: 12_345, Window: 15 * time.Minute, Why: "17.20 % of 12,345 messages in 15 m were duplicates, above the limit of 10 %"}
	a := &alerts.AlertView{Rule: ruleNamed(t, name), Alert: alerts.Alert{Key: key, Last: j, LastOK: j, State: alerts.State{Phase: phase, Tier: tier, Since: now.Add(-since), Seen: j.At}}}
	if show.Fires(a) {
		a.State.FiredAt = now.Add(-since)
	}
	return a
}

// stale makes an alert one that cannot be told.
func stale(a *alerts.AlertView, why string) *alerts.AlertView {
	a.State.Health, a.State.HealthSince = rule.HealthError, time.Now().Add(-3*time.Minute)
	a.Last.Health, a.Last.Why = rule.HealthError, why
	return a
}

// night is a site with an alert in every state.
func night(t testing.TB) *site {
	t.Helper()
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(demo.Scene("mixed", time.Now()))
	now := time.Now()
	rate := alertIn(t, "duplicate_rate", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Emergency, 14*time.Minute)
	rate.Cause = "consumers of queue orders restart: 12 restarts in the last hour"
	rate.Last.Evidence = []string{"12 consumer restarts in 1 h"}
	for i := range 20 {
		rate.History = append(rate.History, alerts.Evaluated{At: now.Add(time.Duration(i-20) * 15 * time.Second), Value: 0.1 + float64(i)/1000, N: 12_000, Enters: dedup.Emergency,
			Holds: dedup.Emergency, Phase: alerts.PhaseFiring, Tier: dedup.Emergency})
	}
	rate.History[3] = alerts.Evaluated{At: rate.History[3].At, Health: rule.HealthError, Phase: alerts.PhaseFiring, Tier: dedup.Emergency, Why: "store orders cannot be read"}
	latency := stale(alertIn(t, "ack_latency", rule.OfPipeline, "payments", alerts.PhaseFiring, dedup.Severe, time.Hour), "broker main cannot be read: connection refused")
	latency.LastOK.At = now.Add(-time.Hour) // so that its age is the same for a minute
	node := alertIn(t, "node_down", rule.OfBroker, "main", alerts.PhaseFiring, dedup.Severe, 5*time.Minute)
	node.Silences = []string{"s1"}
	dead := alertIn(t, "dead_letters", rule.OfPipeline, "inventory", alerts.PhaseRecovering, dedup.Warning, 2*time.Hour)
	dead.Ack = &alerts.Ack{By: "bob", Note: "the gateway is fixed", At: now.Add(-time.Hour), Until: now.Add(3 * time.Hour), Tier: dedup.Warning}
	stuck := alertIn(t, "stuck_markers", rule.OfPipeline, "orders", alerts.PhasePending, dedup.Normal, time.Minute)
	stuck.State.Reached = [3]time.Time{now.Add(-time.Minute), now.Add(-time.Minute), {}}
	blind := stale(alertIn(t, "lost_messages", rule.OfPipeline, "points", alerts.PhaseNormal, dedup.Normal, time.Hour), "no counters are reported")
	blind.State.Health, blind.Last.Health = rule.HealthNoData, rule.HealthNoData
	dog := alertIn(t, alerts.RuleWatchdog, rule.OfDashboard, "", alerts.PhaseFiring, dedup.Warning, time.Hour)
	calm := alertIn(t, "auto_ack", rule.OfPipeline, "points", alerts.PhaseNormal, dedup.Normal, time.Hour)
	s.tower.show(rate, latency, node, dead, stuck, blind, dog, calm)
	s.tower.view.Silences = []alerts.Silence{
		{ID: "s1", Matchers: []alerts.Matcher{{Name: "broker", Op: alerts.MatchEqual, Value: "main"}, {Name: "rule", Op: alerts.MatchRegexp, Value: "node_.*"}}, Author: "ann", Reason: "the node is replaced",
			Starts: now.Add(-time.Hour), Ends: now.Add(10 * time.Minute)},
		{ID: "s2", Matchers: []alerts.Matcher{{Name: "pipeline", Op: alerts.MatchEqual, Value: "points"}}, Author: "bob", Reason: "the season ends", Starts: now.Add(time.Hour), Ends: now.Add(2 * time.Hour)},
	}
	edge := func(kind alerts.EdgeKind, from, to dedup.Tier, ago time.Duration) alerts.Transition {
		j := rate.Last
		j.At = now.Add(-ago)
		return alerts.Transition{Edge: alerts.Edge{Kind: kind, From: from, To: to, At: j.At}, Judgement: j, Cause: rate.Cause}
	}
	s.tower.edges = []alerts.Transition{edge(alerts.EdgeEscalated, dedup.Severe, dedup.Emergency, 10*time.Minute), edge(alerts.EdgeFired, dedup.Normal, dedup.Severe, 14*time.Minute)}
	s.tower.channels = []alert.ChannelState{
		{Name: "night", Kind: "webhook", LastSuccess: now.Add(-time.Minute)},
		{Name: "refusing", Kind: "slack", Waiting: 3, Oldest: now.Add(-time.Hour), LastSuccess: now.Add(-2 * time.Hour), LastErrorAt: now.Add(-time.Minute), LastError: "403 Forbidden; look at its token"},
		{Name: "new", Kind: "email"},
		{Name: "pair", Kind: "alertmanager", LastSuccess: now.Add(-time.Minute), Faults: []alert.ChannelFault{{Receiver: "am-2:9093", Since: now.Add(-time.Hour), Text: "pair: <refuses> connections"}}},
	}
	return s
}
