package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAnOutageGoesOnOverRestartsAndEscalatesOnTime takes the broker away and kills the dashboard again and again meanwhile: the alert
// never says that it is over, and becomes severe as if the dashboard had run all the time.
func TestAnOutageGoesOnOverRestartsAndEscalatesOnTime(t *testing.T) {
	t.Parallel()
	const severe = 40 * time.Second
	s, err := openSite(t.Context(), t.TempDir(), 0, timing{enter: 4 * time.Second, leave: 4 * time.Second, severe: severe})
	must(t, err)
	t.Cleanup(func() { must(t, s.close(context.Background())) })
	w := watch{t, s}
	w.await("the broker, which answers", brokerUnreachable, "normal", "ok")

	stopped := time.Now()
	s.broker.Kill()
	w.await("the warning", brokerUnreachable, "warning", "ok")
	var restarted time.Time
	for time.Since(stopped) < severe*3/4 {
		s.dashboard.kill()
		restarted = time.Now()
		must(t, s.start(t.Context()))
		w.awaitOutage(3)
	}
	w.awaitSteady("severe")
	w.awaitTold(brokerUnreachable)

	a, err := s.dashboard.alert(t.Context(), brokerUnreachable)
	must(t, err)
	if len(a.Edges) != 2 || a.Edges[0].Kind != "escalated" || a.Edges[1].Kind != "fired" {
		t.Fatalf("its edges are %+v", a.Edges)
	}
	// Of an outage that was counted from the last restart it would have been told a whole limit after that.
	if at := a.Edges[0].At; at.After(restarted.Add(severe)) || at.Before(stopped.Add(severe-3*interval)) {
		t.Errorf("the broker went at %s, the dashboard was last started at %s, and it was severe at %s", stopped, restarted, at)
	}
	var list struct{ Alerts []alert }
	must(t, s.dashboard.ask(t.Context(), "/api/v1/alerts", &list))
	if len(list.Alerts) == 0 || list.Alerts[0].Key != brokerUnreachable {
		t.Errorf("the list does not begin with the broker: %+v", list.Alerts)
	}
	for _, o := range w.told() {
		if o.Key == brokerUnreachable && o.Edge != "fired" && o.Edge != "escalated" {
			t.Errorf("it was told of %v", o)
		}
	}
}

// awaitOutage waits until the dashboard has judged the broker so often since it was started, and looks at each time.
func (w watch) awaitOutage(n int) {
	w.t.Helper()
	w.awaitWhileFiring("evaluations of the outage", func(a alert) error {
		judged := slices.DeleteFunc(a.Evaluations, func(e evaluation) bool { return e.Value == nil })
		if len(judged) < n {
			return fmt.Errorf("%d evaluations: %s", len(judged), a.Why)
		}
		return nil
	})
}

// awaitSteady waits until the outage fires at a tier.
func (w watch) awaitSteady(tier string) {
	w.t.Helper()
	w.awaitWhileFiring(tier, func(a alert) error {
		if a.Tier != tier || a.Health != "ok" {
			return fmt.Errorf("tier %s, health %s: %s", a.Tier, a.Health, a.Why)
		}
		return nil
	})
}

// awaitWhileFiring waits for a condition of the broker's alert, which must fire all the time.
func (w watch) awaitWhileFiring(what string, condition func(alert) error) {
	w.t.Helper()
	must(w.t, w.site.dashboard.awaitAnswer(w.t.Context(), patience, what, func() error {
		a, err := w.site.dashboard.alert(w.t.Context(), brokerUnreachable)
		if err != nil {
			return err
		}
		if a.Phase != "firing" || strings.Contains(a.Why, "below the") {
			w.t.Errorf("it is %s: %s", a.Phase, a.Why)
		}
		return condition(a)
	}))
}
