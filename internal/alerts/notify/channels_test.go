package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
)

func hmac256(key, text string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(mac, text)
	return mac.Sum(nil)
}

func TestAWebhookIsSignedAndTellsARepeatByItsID(t *testing.T) {
	channel, inbox := httpRig("webhook").start(t, accepts)
	for _, n := range []alerts.Notification{firing(), firing()} {
		if err := channel.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	for _, got := range inbox.all() {
		h := got.header
		stamp := h.Get("X-Dedup-Timestamp")
		if want := "sha256=" + hex.EncodeToString(hmac256(secretCanary, stamp+"."+string(got.body))); h.Get("X-Dedup-Signature") != want {
			t.Errorf("signature %q, want %q", h.Get("X-Dedup-Signature"), want)
		}
		if seconds, err := strconv.ParseInt(stamp, 10, 64); err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Minute {
			t.Errorf("timestamp %q", stamp)
		}
		if h.Get("Idempotency-Key") != "n-firing" || h.Get("Authorization") != "Bearer "+tokenCanary || !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
			t.Errorf("headers %v", h)
		}
	}
}

func TestAWebhookWithoutSecretsSendsNoSignature(t *testing.T) {
	server := startHTTP(t, httpBehaviour(t, "webhook", accepts))
	c := httpConfig("webhook", server.hostport)
	c.Token, c.Secret = secret.Secret{}, secret.Secret{}
	if err := open(t, c).Send(t.Context(), firing()); err != nil {
		t.Fatal(err)
	}
	h := server.inbox.last(t).header
	if h.Get("Authorization")+h.Get("X-Dedup-Signature") != "" {
		t.Errorf("headers %v", h)
	}
}

func TestAWebhookTellsWhatAlertmanagerWould(t *testing.T) {
	channel, inbox := httpRig("webhook").start(t, accepts)
	if err := channel.Send(t.Context(), grouped()); err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(inbox.last(t).body, &top); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"version", "groupKey", "truncatedAlerts", "status", "receiver", "groupLabels", "commonLabels", "commonAnnotations", "externalURL", "alerts"} {
		if _, ok := top[key]; !ok {
			t.Errorf("no %s", key)
		}
		delete(top, key)
	}
	if len(top) > 0 {
		t.Errorf("keys that Alertmanager does not send: %v", top)
	}
}

func TestAWebhookKeepsTheFingerprintOfAnAlertForLife(t *testing.T) {
	channel, inbox := httpRig("webhook").start(t, accepts)
	seen := map[string]bool{}
	for _, n := range []alerts.Notification{firing(), escalated(), resolved()} {
		if err := channel.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		var m struct {
			Alerts []struct{ Fingerprint string }
		}
		if err := json.Unmarshal(inbox.last(t).body, &m); err != nil {
			t.Fatal(err)
		}
		seen[m.Alerts[0].Fingerprint] = true
	}
	if len(seen) != 1 || seen[""] {
		t.Errorf("fingerprints %v", seen)
	}
}

func TestATrustedAuthorityAndNoOtherIsBelieved(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // one handshake fails on purpose
	server.StartTLS()
	t.Cleanup(server.Close)
	c := httpConfig("slack", "x")
	c.URL = secret.New(server.URL)
	d := deliveryError(t, open(t, c).Send(t.Context(), firing()))
	if d.Permanent || !strings.Contains(d.Public, "set ca_file") {
		t.Errorf("permanent %t: %s", d.Permanent, d.Public)
	}
	c.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(c.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, c).Send(t.Context(), firing()); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheConfiguredProxyIsUsed(t *testing.T) {
	proxy := startHTTP(t, httpBehaviour(t, "slack", accepts))
	for _, name := range []string{"HTTP_PROXY", "http_proxy"} {
		t.Setenv(name, "http://"+proxy.hostport)
	}
	c := httpConfig("slack", "receiver.invalid") // a name that a proxy alone could resolve
	if err := open(t, c).Send(t.Context(), firing()); class(err) != "again" || len(proxy.inbox.all()) != 0 {
		t.Errorf("the proxy of the environment was used: %v", err)
	}
	c.Proxy = secret.New("http://user:" + canary + "@" + proxy.hostport)
	if err := open(t, c).Send(t.Context(), firing()); err != nil {
		t.Fatal(err)
	}
	if len(proxy.inbox.all()) != 1 {
		t.Error("the configured proxy was not used")
	}
}

func TestAShortSecretSilencesWhatOthersSay(t *testing.T) {
	server := startHTTP(t, func(_ http.ResponseWriter, r *http.Request) answer {
		return answer{status: 401, body: r.Header.Get("Authorization")}
	})
	c := httpConfig("webhook", server.hostport)
	c.Token = secret.New("q7")
	if d := deliveryError(t, open(t, c).Send(t.Context(), firing())); strings.Contains(d.Public, "q7") || strings.Contains(d.Public, "Bearer") {
		t.Errorf("%s", d.Public)
	}
}

func TestTheSubjectSaysTierSubjectValueLimitAndBasis(t *testing.T) {
	latency := duplicates("orders")
	latency.Title, latency.Unit, latency.Value, latency.Limit = "ack latency", dedup.Seconds, 0.612, 0.5
	count := duplicates("orders")
	count.Title, count.Unit, count.Value, count.Limit, count.N, count.Window = "stuck markers", dedup.Count, 1204, 10, 0, 0
	inflow := duplicates("orders")
	inflow.Title, inflow.Unit, inflow.Value, inflow.Limit, inflow.N, inflow.Window = "dead letters", dedup.PerHour, 12.5, 10, 0, time.Hour
	finding := duplicates("orders")
	finding.Title, finding.Unit = "consumers ack by themselves", ""
	own := duplicates("")
	own.Key.Kind, own.Title, own.Unit, own.Value, own.Limit, own.N, own.Window, own.Why = rule.OfDashboard, "disk nearly full", dedup.Bytes, 1536, 0, 0, 0, ""
	found := duplicates("loyalty")
	found.Title, found.Unit, found.Value, found.Limit, found.N, found.Window, found.Why = "findings", dedup.Count, 2, 0, 0, 0, "dead letters are dropped"
	for want, n := range map[string]alerts.Notification{
		"[SEVERE] orders: duplicate rate 4.62 % (limit 3.00 %), 500 of 10,824 in 15 m":                                    firing(),
		"[EMERGENCY] orders: duplicate rate 12.07 % (limit 10.00 %), 1,306 of 10,824 in 15 m, was severe":                 escalated(),
		"[WARNING] orders: duplicate rate 4.62 % (severe limit 3.00 %), 500 of 10,824 in 15 m":                            pending(),
		"[RESOLVED] orders: duplicate rate, was severe, fired for 42 m":                                                   resolved(),
		"[EMERGENCY] 3 alerts (2 firing, 1 resolved): duplicate rate of orders 12.07 %, of payments 2.31 %":               grouped(),
		"[RESOLVED] 2 alerts: duplicate rate of orders, of orders":                                                        edges("g", resolved().Alerts[0], resolved().Alerts[0]),
		"[SEVERE] 5 alerts: duplicate rate of a 4.62 %, ack latency of orders 612 ms, duplicate rate of b 4.62 %, 2 more": edges("h", duplicates("a"), latency, duplicates("b"), duplicates("c"), duplicates("d")),
		"[EMERGENCY] 34 alerts at once, the worst 10":                                                                     digest(),
		"[SEVERE] orders: duplicate rate flaps":                                                                           flapping(),
		"[TEST] anna asked for a test of the channel oncall":                                                              testMessage(),
		"[WATCHDOG] the dashboard evaluates its rules":                                                                    watchdog(),
		"[SEVERE] orders: ack latency 612 ms (limit 500 ms), n = 10,824 in 15 m":                                          edges("a", latency),
		"[SEVERE] orders: stuck markers 1,204 (limit 10)":                                                                 edges("b", count),
		"[SEVERE] orders: dead letters 12.50 per hour (limit 10 per hour), in 1 h":                                        edges("c", inflow),
		"[SEVERE] orders: consumers ack by themselves":                                                                    edges("d", finding),
		"[SEVERE] loyalty: findings: dead letters are dropped":                                                            edges("f", found),
		"[SEVERE] dashboard: disk nearly full 1.5 KiB":                                                                    edges("e", own),
		"0 alerts": edges("f"),
	} {
		channel, inbox := httpRig("slack").start(t, accepts)
		if err := channel.Send(context.Background(), n); err != nil {
			t.Fatal(err)
		}
		var m struct{ Text string }
		if err := json.Unmarshal(inbox.last(t).body, &m); err != nil {
			t.Fatal(err)
		}
		if m.Text != want {
			t.Errorf("got  %s\nwant %s", m.Text, want)
		}
	}
}
