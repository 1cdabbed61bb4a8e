package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"dedup-dashboard/internal/config"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// held are the alerts that an Alertmanager holds: summary and description by name and subject.
func held(t *testing.T, manager *servers.Alertmanager) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, manager.URL()+"/api/v2/alerts", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var list []struct{ Labels, Annotations map[string]string }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, a := range list {
		all[strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["broker"]+a.Labels["store"])] = a.Annotations["summary"] + " " + a.Annotations["description"]
	}
	return all
}

// TestTheProgramHandsWhatFiresToAnAlertmanagerAndNamesTheMemberThatIsDown starts the program from a configuration file, with a cluster of
// which one member is down.
func TestTheProgramHandsWhatFiresToAnAlertmanagerAndNamesTheMemberThatIsDown(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	serverstest.Needed(t)
	manager, err := servers.StartAlertmanager(t.Context(), servers.AlertmanagerOptions{
		Dir: t.TempDir(), Config: "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := manager.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	const down = "127.0.0.1:1" // nobody gets this port
	app, log := startWith(t, fmt.Sprintf(`
alerts:
  rules:
    - {name: source_unreachable, limits: {warning: 4s, severe: 9s}}
    - {name: delivery_in_part, limits: {warning: 1s}}
  channels:
    - {name: pair, type: alertmanager, urls: [%q, "http://%s"]}
`, manager.URL(), down))
	want := []string{"delivery_in_part", "source_unreachable main", "source_unreachable orders"}
	var got map[string]string
	defer func() {
		if t.Failed() {
			t.Logf("it holds %v\n%s", got, log)
		}
	}()
	await(t, "alerts of both sources and the member", func() bool {
		got = held(t, manager)
		return !slices.ContainsFunc(want, func(name string) bool { return got[name] == "" })
	})
	if s := got["delivery_in_part"]; !strings.Contains(s, down) || !strings.Contains(s, "pair") {
		t.Errorf("the alert of the member that is down says %q", s)
	}
	if s := got["source_unreachable orders"]; !strings.HasPrefix(s, "[SEVERE]") && !strings.HasPrefix(s, "[WARNING]") {
		t.Errorf("the alert of the store says %q", s)
	}
	if err := app(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// startWith starts the program with sources that do not answer and a section more, and returns what stops it and what it logs.
func startWith(t *testing.T, section string) (stop func() error, log *output) {
	t.Helper()
	path := writeConfig(t, "127.0.0.1:0", filepath.Join(t.TempDir(), "data"))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, section...), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	log = &output{}
	app, err := New(t.Context(), cfg, newLog(log), log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error { return app.Run(ctx) })
	stop = func() error { cancel(); return g.Wait() }
	t.Cleanup(func() { _ = stop() }) // where the test did not
	return stop, log
}
