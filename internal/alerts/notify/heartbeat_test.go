package notify_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/secret"
)

func heartbeatConfig(hostport string) notify.HeartbeatConfig {
	return notify.HeartbeatConfig{URL: secret.New("http://" + hostport + "/ping/" + pathCanary)}
}

func openHeartbeat(t *testing.T, c notify.HeartbeatConfig) *notify.Heartbeat {
	t.Helper()
	h, err := notify.OpenHeartbeat(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAHeartbeatIsOnePostWithoutABody(t *testing.T) {
	server := startHTTP(t, func(_ http.ResponseWriter, r *http.Request) answer {
		if r.Method != http.MethodPost {
			t.Errorf("a %s", r.Method)
		}
		return answer{status: 200, body: "OK"}
	})
	if err := openHeartbeat(t, heartbeatConfig(server.hostport)).Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := server.inbox.all(); len(all) != 1 || len(all[0].body) > 0 || all[0].uri != "/ping/"+pathCanary {
		t.Errorf("%+v", all)
	}
}

func TestAHeartbeatThatIsNotTakenSaysWhyWithoutItsSecret(t *testing.T) {
	for how, permanent := range map[behaviour]bool{busy: false, forbids: true, breaksOff: false} {
		server := startHTTP(t, httpBehaviour(t, "webhook", how))
		err := openHeartbeat(t, heartbeatConfig(server.hostport)).Beat(t.Context())
		var d *alerts.DeliveryError
		if !errors.As(err, &d) || d.Permanent != permanent || !strings.HasPrefix(d.Public, "heartbeat: "+server.hostport) {
			t.Errorf("%s: %v", how, err)
		}
		wantNoSecret(t, string(how), fmt.Sprintf("%v %#v", err, err))
	}
}

func TestAHeartbeatFollowsNobodyAndReadsNoFlood(t *testing.T) {
	other := startHTTP(t, httpBehaviour(t, "webhook", accepts))
	server := startHTTP(t, func(http.ResponseWriter, *http.Request) answer {
		return answer{status: 307, location: "http://" + other.hostport + "/"}
	})
	if err := openHeartbeat(t, heartbeatConfig(server.hostport)).Beat(t.Context()); err == nil || len(other.inbox.all()) > 0 {
		t.Errorf("followed: %v", err)
	}
	endless := startHTTP(t, httpBehaviour(t, "webhook", floods))
	if err := openHeartbeat(t, heartbeatConfig(endless.hostport)).Beat(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAHeartbeatEndsWithItsContextAndWithItsTimeout(t *testing.T) {
	server := startHTTP(t, httpBehaviour(t, "webhook", hangs))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	slow := heartbeatConfig(server.hostport)
	slow.Timeout = 50 * time.Millisecond
	for _, err := range []error{
		openHeartbeat(t, heartbeatConfig(server.hostport)).Beat(ctx), openHeartbeat(t, slow).Beat(t.Context()),
	} {
		if err == nil || !strings.Contains(err.Error(), "did not answer in time") {
			t.Errorf("%v", err)
		}
	}
}

func TestEveryMistakeOfAHeartbeatIsToldWithItsKey(t *testing.T) {
	if c := (notify.HeartbeatConfig{}); c.Validate() != nil || c.On() {
		t.Errorf("none: on %t, %v", c.On(), c.Validate())
	}
	if c := heartbeatConfig("beats.example"); c.Validate() != nil || !c.On() {
		t.Errorf("one: on %t, %v", c.On(), c.Validate())
	}
	leak := secret.New("ftp://" + canary)
	for name, tt := range map[string]struct {
		config notify.HeartbeatConfig
		want   string
	}{
		"no address":                  {notify.HeartbeatConfig{Timeout: time.Second}, "url: is missing"},
		"an address of another kind":  {notify.HeartbeatConfig{URL: leak}, "url: must be http:// or https://"},
		"longer than between beats":   {notify.HeartbeatConfig{URL: secret.New("http://a/"), Timeout: time.Minute}, "timeout: must be between"},
		"a proxy of no known scheme":  {notify.HeartbeatConfig{URL: secret.New("http://a/"), Proxy: leak}, "proxy: must be http://"},
		"authorities that are absent": {notify.HeartbeatConfig{URL: secret.New("http://a/"), CAFile: "/nowhere/ca.pem"}, "ca_file: cannot be read"},
	} {
		err := tt.config.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := notify.OpenHeartbeat(tt.config); err == nil {
			t.Errorf("%s: it opens", name)
		}
	}
}
