package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestAnAlertIsToldOnceAndOutlivesTheDashboardAndTheStore fires on the duplicates of a real shop, kills the dashboard, and takes the store
// away: nothing is told twice, and what fires stays firing, marked, while nobody can tell whether it is over.
func TestAnAlertIsToldOnceAndOutlivesTheDashboardAndTheStore(t *testing.T) {
	t.Parallel()
	// A rate that cannot be read must not pass for a low one: the alert would end long before the store is back.
	s, err := openSite(t.Context(), t.TempDir(), 0.15, timing{enter: 4 * time.Second, leave: 4 * time.Second})
	must(t, err)
	t.Cleanup(func() { must(t, s.close(context.Background())) })
	w := watch{t, s}

	w.await("the emergency", duplicateRate, "emergency", "ok")
	w.awaitTold(duplicateRate)
	before := w.told()

	s.dashboard.kill()
	must(t, s.start(t.Context()))
	w.awaitEvaluations(3)
	w.await("the emergency after kill -9", duplicateRate, "emergency", "ok")
	if after := w.told(); !slices.Equal(after, before) {
		t.Errorf("before kill -9 it was told of %v, after the restart of %v", before, after)
	}

	must(t, s.store.Stop(t.Context()))
	w.await("the emergency, marked", duplicateRate, "emergency", "error")
	w.await("the store's alert", storeUnreachable, "severe", "ok")
	w.awaitTold(storeUnreachable)
	w.await("the emergency, still marked", duplicateRate, "emergency", "error")

	must(t, s.store.Restart(t.Context()))
	w.await("the end of the store's alert", storeUnreachable, "normal", "ok")
	w.await("the emergency, unmarked", duplicateRate, "emergency", "ok")
	w.awaitTold(storeUnreachable)

	if slices.ContainsFunc(w.told(), func(o occasion) bool {
		return o.Key == duplicateRate && (o.Edge == "resolved" || o.Edge == "deescalated")
	}) {
		t.Errorf("it was told that the duplicates are over: %v", w.told())
	}
	edges, err := s.dashboard.history(t.Context())
	must(t, err)
	if slices.ContainsFunc(edges, func(o occasion) bool { return o.Key == "source_unreachable/pipeline/"+pipeline }) {
		t.Errorf("one store was down, and what it holds was told of beside it: %v", edges)
	}
	if wrong := compare(edges, w.told()); len(wrong) > 0 {
		t.Errorf("not every edge was told once: %v\nedges %v\ntold %v", wrong, edges, w.told())
	}
}

// A watch waits for what the dashboard and the receiver say.
type watch struct {
	t    *testing.T
	site *site
}

// await waits until an alert fires at a tier, with a health.
func (w watch) await(what, key, tier, health string) {
	w.t.Helper()
	began := time.Now()
	must(w.t, w.site.dashboard.awaitAnswer(w.t.Context(), patience, what, func() error {
		a, err := w.site.dashboard.alert(w.t.Context(), key)
		if err == nil && (a.Tier != tier || a.Health != health) {
			err = fmt.Errorf("tier %s, health %s: %s", a.Tier, a.Health, a.Why)
		}
		return err
	}))
	w.t.Logf("%s: after %.1f s", what, time.Since(began).Seconds())
}

// awaitEvaluations waits until the dashboard has judged the duplicates so often since it was started.
func (w watch) awaitEvaluations(n int) {
	w.t.Helper()
	must(w.t, w.site.dashboard.awaitAnswer(w.t.Context(), patience, "evaluations", func() error {
		a, err := w.site.dashboard.alert(w.t.Context(), duplicateRate)
		if err == nil && len(a.Evaluations) < n {
			err = fmt.Errorf("%d evaluations", len(a.Evaluations))
		}
		return err
	}))
}

// awaitTold waits until the receiver was told of every edge of an alert.
func (w watch) awaitTold(key string) {
	w.t.Helper()
	must(w.t, w.site.dashboard.awaitAnswer(w.t.Context(), patience, "notifications of "+key, func() error {
		a, err := w.site.dashboard.alert(w.t.Context(), key)
		if err != nil {
			return err
		}
		told := slices.DeleteFunc(w.told(), func(o occasion) bool { return o.Key != key })
		if len(told) < len(a.Edges) {
			return fmt.Errorf("told of %d of %d edges", len(told), len(a.Edges))
		}
		return nil
	}))
}

func (w watch) told() []occasion {
	w.t.Helper()
	told, err := w.site.told()
	must(w.t, err)
	return told
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
