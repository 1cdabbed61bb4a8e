package servers_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"dedup-dashboard/lab/servers"
)

// quietly is a configuration that tells nobody.
const quietly = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"

func TestAlertmanagerKeepsItsPortsAcrossARestartButNoAlertsAndLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx := t.Context()
	server, err := servers.StartAlertmanager(ctx, servers.AlertmanagerOptions{Dir: t.TempDir(), Config: quietly})
	must(t, err)
	t.Cleanup(server.Kill)
	body := `[{"labels": {"alertname": "one"}}]`
	if status, text := ask(t, http.MethodPost, server.URL()+"/api/v2/alerts", body); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	if _, text := ask(t, http.MethodGet, server.URL()+"/api/v2/alerts", ""); !strings.Contains(text, `"alertname":"one"`) {
		t.Errorf("it has %s", text)
	}

	before := server.URL()
	must(t, server.Restart(ctx))
	if _, text := ask(t, http.MethodGet, server.URL()+"/api/v2/alerts", ""); server.URL() != before || strings.TrimSpace(text) != "[]" {
		t.Errorf("after the restart at %s, before at %s: %s", server.URL(), before, text)
	}

	pid := server.PID()
	must(t, server.Stop(ctx))
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("the process %d is still there", pid)
	}
	if connection, err := net.Dial("tcp", hostOf(t, before)); err == nil {
		connection.Close()
		t.Errorf("%s still accepts connections", before)
	}
}

func TestAlertmanagersFindEachOther(t *testing.T) {
	defer goleak.VerifyNone(t)
	first, err := servers.StartAlertmanager(t.Context(), servers.AlertmanagerOptions{Dir: t.TempDir(), Config: quietly, Cluster: true})
	must(t, err)
	t.Cleanup(first.Kill)
	second, err := servers.StartAlertmanager(t.Context(), servers.AlertmanagerOptions{
		Dir: t.TempDir(), Config: quietly, Cluster: true, Peers: []string{first.ClusterAddr()}})
	must(t, err)
	t.Cleanup(second.Kill)
	for _, member := range []*servers.Alertmanager{first, second} {
		waitUntil(t, "each member knows both", func() bool {
			var is struct{ Cluster struct{ Peers []any } }
			_, text := ask(t, http.MethodGet, member.URL()+"/api/v2/status", "")
			return json.Unmarshal([]byte(text), &is) == nil && len(is.Cluster.Peers) == 2
		})
	}
	must(t, second.Stop(t.Context()))
	must(t, first.Stop(t.Context()))
}

func TestAnAlertmanagerThatCannotReadItsConfigurationSaysWhy(t *testing.T) {
	_, err := servers.StartAlertmanager(t.Context(), servers.AlertmanagerOptions{Dir: t.TempDir(), Config: "route: {receiver: nobody}"})
	if err == nil || !strings.Contains(err.Error(), "undefined receiver") {
		t.Errorf("error = %v, want one that shows the end of the log", err)
	}
}

// hostOf returns the host and port of an address.
func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	return u.Host
}

// ask makes one request on a connection of its own.
func ask(t *testing.T, method, address, body string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	must(t, err)
	request.Close = true
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(all)
}
