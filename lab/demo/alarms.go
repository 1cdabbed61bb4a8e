package demo

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/dispatch"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/series"
)

// Alarms judge the scenes as the dashboard judges what it reads, with a past of some days. Engine, dispatcher, outbox and journal are
// those of the dashboard; only the channels are made up.
type Alarms struct {
	Engine *alerts.Engine
	// Attention keeps what people say of the alerts.
	Attention *journal.Attention
	Journal   *journal.Alerts
	Outbox    *outbox.Outbox

	senders map[string]outbox.Sender
	scenes  *reel
	// mu lets one evaluation run at a time.
	mu sync.Mutex
}

// Snapshots publish a scene.
type Snapshots interface {
	Snapshot() *dedup.Snapshot
}

// NewAlarms returns alarms over the scenes that live shows.
func NewAlarms(kept *journal.Alerts, live Snapshots, changed func(topic string), log *slog.Logger) (*Alarms, error) {
	rules, err := rule.Resolve(rule.Defaults(), ownRules())
	if err != nil {
		return nil, fmt.Errorf("rules of the demo: %w", err)
	}
	a := &Alarms{Journal: kept, senders: senders(), scenes: &reel{live: live}}
	a.Outbox = outbox.New(outbox.Config{Store: kept, Reader: kept, Senders: a.senders, Log: slog.New(slog.DiscardHandler)})
	a.Engine, err = alerts.NewEngine(alerts.EngineDeps{
		Interval: interval, Rules: rules, Snapshots: a.scenes, History: noHistory{}, Journal: kept, Silences: kept, Planner: newDispatcher(),
		Log: log, Changed: changed, Due: func() { a.Outbox.Wake() },
	})
	if err != nil {
		return nil, err
	}
	a.Attention = kept.Attention(a.Engine, log)
	return a, nil
}

// ownRules make what lasts minutes elsewhere last: a demo is looked at for longer.
func ownRules() []rule.Rule {
	return []rule.Rule{
		{Name: "backlog", Match: map[string]string{"pipeline": "inventory"}, Limits: rule.Limits{Warning: rule.Limit(10_000)},
			Timing: rule.Timing{Warning: 12 * time.Hour}},
		{Name: "ack_latency", Match: map[string]string{"pipeline": "points"}, Timing: rule.Timing{KeepFiring: 12 * time.Hour}},
	}
}

func newDispatcher() *dispatch.Dispatcher {
	cfg := dispatch.Default()
	cfg.Channels = []string{"night-shift", "ops-chat", "post"}
	cfg.Routes = []dispatch.Route{{Channels: []string{"night-shift", "ops-chat"}}}
	return dispatch.New(cfg)
}

// Relive judges the last days of the mixed scene, and leaves somebody attending to a part of what it came to.
func (a *Alarms) Relive(ctx context.Context, now time.Time) error {
	for _, one := range silences(now) {
		if err := a.Journal.AddSilence(ctx, one); err != nil {
			return err
		}
	}
	for _, age := range Ages() {
		a.scenes.show(Past(now, age))
		a.Engine.Evaluate(ctx, now.Add(-age))
	}
	a.scenes.show(nil)
	a.Judge(ctx)
	key := rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: "payments"}
	return a.Engine.Acknowledge(ctx, key, "anna", "the card gateway sends twice, OPS-412", dedup.TierUnknown, now.Add(4*time.Hour))
}

func silences(now time.Time) []alerts.Silence {
	equal := func(name, value string) alerts.Matcher {
		return alerts.Matcher{Name: name, Op: alerts.MatchEqual, Value: value}
	}
	return []alerts.Silence{
		{ID: "warehouse", Matchers: []alerts.Matcher{equal("broker", "warehouse"), {Name: "rule", Op: alerts.MatchRegexp, Value: "node_.*|broker_.*"}}, Author: "ben",
			Reason: "node w2 gets a new disk, OPS-398", Created: now.Add(-time.Hour), Starts: now.Add(-time.Hour), Ends: now.Add(9 * time.Minute)},
		{ID: "season", Matchers: []alerts.Matcher{equal("team", "marketing"), {Name: "tier", Op: alerts.MatchNotEqual, Value: "emergency"}}, Author: "anna",
			Reason: "the autumn mailing goes out twice on purpose", Created: now.Add(-time.Hour), Starts: now.Add(5 * time.Hour), Ends: now.Add(29 * time.Hour)},
		{ID: "over", Matchers: []alerts.Matcher{equal("pipeline", "inventory"), equal("rule", "ack_latency")}, Author: "ben",
			Reason: "stocktaking: reservations are slow until noon", Created: now.Add(-26 * time.Hour), Starts: now.Add(-26 * time.Hour), Ends: now.Add(-22 * time.Hour), EndedBy: "anna"},
	}
}

// Judge evaluates the scene as it is now.
func (a *Alarms) Judge(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Engine.Evaluate(ctx, time.Now())
}

// Run judges and delivers until the context ends.
func (a *Alarms) Run(ctx context.Context) {
	delivering := make(chan struct{})
	go func() {
		defer close(delivering)
		a.Outbox.Run(ctx)
	}()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			a.Judge(ctx)
		}
	}
	<-delivering
}

// SendTest sends a message for trial to a channel.
func (a *Alarms) SendTest(ctx context.Context, channel, by string) error {
	to, ok := a.senders[channel]
	if !ok {
		return &dedup.Error{Kind: dedup.NotFound, Public: "There is no such channel"}
	}
	err := to.Send(ctx, alerts.Notification{ID: "test", Channel: channel, Kind: alerts.NotifyTest, At: time.Now(), Text: by + " asked for a test"})
	if err != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "The channel did not take it: " + err.Error(), Err: err}
	}
	return nil
}

// A sender takes every message, or refuses it for a reason.
type sender struct{ refuses error }

// Send implements alerts.Sender.
func (s sender) Send(context.Context, alerts.Notification) error { return s.refuses }

// senders are the channels: one that delivers, one that refuses, and one that nothing goes to.
func senders() map[string]outbox.Sender {
	return map[string]outbox.Sender{
		"night-shift": sender{}, "post": sender{},
		"ops-chat": sender{&alerts.DeliveryError{RetryAfter: time.Hour, Public: "Slack answered 403 (action_prohibited): an admin of the workspace has to allow this app to post."}},
	}
}

// A reel shows a scene of the past while there is one, and else the live one.
type reel struct {
	live Snapshots
	mu   sync.Mutex
	past *dedup.Snapshot
}

func (r *reel) show(past *dedup.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past = past
}

// Snapshot implements Snapshots.
func (r *reel) Snapshot() *dedup.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.past != nil {
		return r.past
	}
	return r.live.Snapshot()
}

// noHistory stands in for the history: no rule of the demo asks it.
type noHistory struct{}

// At has no values.
func (noHistory) At(time.Time) series.Ask {
	return func(context.Context, string) ([]series.Value, error) { return nil, nil }
}
