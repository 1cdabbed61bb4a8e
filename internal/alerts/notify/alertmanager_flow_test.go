package notify_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/dispatch"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/series"
)

// An office is all of ours that lies between a figure and a channel: rules, dispatcher, journal and outbox.
type office struct {
	t       *testing.T
	dir     string
	channel notify.Channel

	mu      sync.Mutex
	waiting map[string]float64 // messages that wait, by pipeline
	stop    func()
}

// openOffice opens one that says again each 300 ms what stands, until the test ends.
func openOffice(t *testing.T, channel notify.Channel) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir(), channel: channel, waiting: map[string]float64{}}
	o.start()
	t.Cleanup(func() { o.stop() })
	return o
}

// set gives pipelines their messages that wait: 10 are a warning, 100 severe, 1,000 an emergency.
func (o *office) set(waiting map[string]float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.Copy(o.waiting, waiting)
}

// Snapshot has the pipelines.
func (o *office) Snapshot() *dedup.Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	snap := &dedup.Snapshot{Round: 1, At: now, Interval: time.Second}
	for _, name := range slices.Sorted(maps.Keys(o.waiting)) {
		snap.Pipelines = append(snap.Pipelines, dedup.PipelineStatus{
			Pipeline: dedup.Pipeline{Name: name, Broker: "main", Limits: dedup.DefaultLimits(), Labels: map[string]string{"cost-centre": "42"}},
			Gauges:   map[dedup.GaugeName]dedup.Figure{dedup.Ready: dedup.Exact(dedup.Measured, dedup.Count, o.waiting[name], now, "main")},
		})
	}
	return snap
}

// noHistory answers no queries: no rule here asks any.
type noHistory struct{}

// At implements the history of the engine.
func (noHistory) At(time.Time) series.Ask { return nil }

func (o *office) dispatch() dispatch.Config {
	c := dispatch.Default()
	c.Channels, c.Undigested, c.ExternalURL = []string{"handoff"}, []string{"handoff"}, "https://dash.example"
	c.Standing = map[string]dispatch.Standing{"handoff": {Every: 300 * time.Millisecond, Believed: 9 * time.Hour}}
	return c
}

// start opens the journal and goes on from it.
func (o *office) start() {
	o.t.Helper()
	ctx, cancel := context.WithCancel(o.t.Context())
	db, err := journal.Open(ctx, o.dir, slog.New(slog.DiscardHandler))
	o.must(err)
	records, cfg := db.Alerts(), o.dispatch()
	dispatcher := dispatch.New(cfg)
	box := outbox.New(outbox.Config{
		Store: records, Reader: records, Senders: map[string]outbox.Sender{"handoff": o.channel}, Log: slog.New(slog.DiscardHandler),
		Failed: func(n alerts.Notification, why string) { o.t.Errorf("given up: %s", why) },
	})
	o.must(box.Recover(ctx))
	told, err := records.SentLog(ctx)
	o.must(err)
	edges, err := records.EdgesSince(ctx, time.Now().Add(-cfg.Recalls()))
	o.must(err)
	dispatcher.Restore(told)
	dispatcher.Recall(edges)
	engine, err := alerts.NewEngine(alerts.EngineDeps{
		Rules: []rule.Rule{{Name: "backlog", Title: "backlog", Kind: rule.OfPipeline, Measure: "ready", Unit: dedup.Count,
			Limits: rule.Limits{Warning: rule.Limit(10), Severe: rule.Limit(100), Emergency: rule.Limit(1000)}}},
		Snapshots: o, History: noHistory{}, Journal: records, Planner: dispatcher, Due: box.Wake,
	})
	o.must(err)
	var working sync.WaitGroup
	working.Go(func() { box.Run(ctx) })
	working.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; {
			engine.Evaluate(ctx, time.Now())
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	o.stop = sync.OnceFunc(func() {
		cancel()
		working.Wait()
		o.must(db.Close())
	})
}

func (o *office) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// TestARealAlertmanagerFollowsAnAlertThroughItsLife is everything of ours at work on a real Alertmanager.
func TestARealAlertmanagerFollowsAnAlertThroughItsLife(t *testing.T) {
	t.Parallel()
	m := startManager(t, patient())
	o := openOffice(t, channelTo(t, m))
	var told []string
	step := func(waiting map[string]float64, holds, news string) {
		t.Helper()
		told = append(told, news)
		o.set(waiting)
		eventually(t, "what it holds", holds, m.keys)
		eventually(t, "what the receiver is told", strings.Join(told, "; "), func() string { return m.toldText("pager") })
	}
	step(map[string]float64{"orders": 50, "payments": 50}, "orders warning, payments warning", "orders warning, payments warning")
	step(map[string]float64{"orders": 500}, "orders severe, payments warning", "(orders warning), orders severe")
	for _, a := range m.told("pager")[1].Alerts {
		if a.Labels["pipeline"] == "orders" && !strings.HasPrefix(a.Annotations["summary"], "[SEVERE] orders: backlog") {
			t.Errorf("of %s it is said: %s", a.Status, a.Annotations["summary"])
		}
	}

	m.Kill() // and it has forgotten everything
	o.must(m.Restart(t.Context()))
	eventually(t, "what it holds", "orders severe, payments warning", m.keys)
	o.stop()
	o.start()
	step(map[string]float64{"orders": 50}, "orders warning, payments warning", "(orders severe), orders warning")
	step(map[string]float64{"orders": 0, "emails": 20}, "emails warning, payments warning", "(orders warning), emails warning")
	step(map[string]float64{"emails": 0, "payments": 0}, "", "(emails warning), (payments warning)")
}
