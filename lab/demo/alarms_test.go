package demo

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
)

// shown shows the mixed scene.
type shown struct{}

func (shown) Snapshot() *dedup.Snapshot { return Scene("mixed", time.Now()) }

func relived(t *testing.T) *Alarms {
	t.Helper()
	db, err := journal.Open(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	a, err := NewAlarms(db.Alerts(), shown{}, func(string) {}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Relive(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheAlarmsOfTheDemo(t *testing.T) {
	a := relived(t)
	t.Run("there is an alert in every state", func(t *testing.T) { everyState(t, a.Engine.View()) })
	t.Run("edges go back for days", func(t *testing.T) { daysOfEdges(t, a) })
	t.Run("one channel refuses", func(t *testing.T) { oneRefuses(t, a) })
}

func everyState(t *testing.T, view *alerts.View) {
	for key, want := range map[string]func(*alerts.AlertView) bool{
		"duplicate_rate/pipeline/inventory": func(a *alerts.AlertView) bool {
			return a.State.Tier == dedup.Emergency && a.Cause != "" && len(a.History) == 20
		},
		"duplicate_rate/pipeline/payments": func(a *alerts.AlertView) bool { return a.State.Tier == dedup.Severe && a.Ack != nil },
		"duplicate_rate/pipeline/orders":   func(a *alerts.AlertView) bool { return a.State.Tier == dedup.Warning && !a.Attended() },
		"duplicate_rate/pipeline/mailings": func(a *alerts.AlertView) bool { return a.State.Tier == dedup.Severe && a.Stale() },
		"source_unreachable/store/sessions": func(a *alerts.AlertView) bool {
			return a.State.Tier == dedup.Severe && time.Since(a.State.FiredAt) < down
		},
		"node_down/broker/warehouse":     func(a *alerts.AlertView) bool { return len(a.Silences) == 1 },
		"ack_latency/pipeline/points":    func(a *alerts.AlertView) bool { return a.State.Phase == alerts.PhaseRecovering },
		"backlog/pipeline/inventory":     func(a *alerts.AlertView) bool { return a.Pending() == dedup.Warning },
		"store_eviction/pipeline/orders": func(a *alerts.AlertView) bool { return a.Last.Health == rule.HealthOK },
		"findings/pipeline/points":       func(a *alerts.AlertView) bool { return a.Last.Health == rule.HealthOK },
		"ack_latency/pipeline/orders": func(a *alerts.AlertView) bool {
			return a.State.Tier == dedup.Warning && a.Last.Enters < a.Last.Holds
		},
	} {
		k, _ := rule.ParseKey(key)
		if a, ok := view.Alert(k); !ok || !want(a) {
			t.Errorf("%s is not as the pages need it: %+v", key, a)
		}
	}
	if len(view.Errors) > 0 || view.Worst != dedup.Emergency {
		t.Errorf("the worst is %s, errors %v", view.Worst, view.Errors)
	}
}

func daysOfEdges(t *testing.T, a *Alarms) {
	edges, err := a.Journal.History(t.Context(), rule.Key{}, 100, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[alerts.EdgeKind]int{}
	for _, e := range edges {
		kinds[e.Kind]++
	}
	oldest := edges[len(edges)-1].At
	for _, kind := range []alerts.EdgeKind{alerts.EdgeFired, alerts.EdgeEscalated, alerts.EdgeResolved} {
		if kinds[kind] == 0 {
			t.Errorf("nothing %s since %s", kind, oldest)
		}
	}
	if time.Since(oldest) < 3*24*time.Hour {
		t.Errorf("the oldest edge is of %s", oldest)
	}
}

func oneRefuses(t *testing.T, a *Alarms) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		stats, err := a.Outbox.Stats(ctx)
		if err != nil {
			t.Fatalf("the channels did not come to what they are for: %v", err)
		}
		at := map[string]outbox.ChannelStats{}
		for _, s := range stats {
			at[s.Channel] = s
		}
		if at["night-shift"].Depth == 0 && !at["night-shift"].LastSuccess.IsZero() && at["ops-chat"].LastError != "" && at["post"] == (outbox.ChannelStats{Channel: "post"}) {
			return
		}
	}
}
