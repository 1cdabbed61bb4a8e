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
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
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

// A posted alert is one as Alertmanager reads it.
type posted struct {
	StartsAt, EndsAt time.Time
	Labels           map[string]string
	Annotations      map[string]string
	GeneratorURL     string
}

func postedTo(t *testing.T, in *inbox) []posted {
	t.Helper()
	var list []posted
	if err := json.Unmarshal(in.last(t).body, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAlertmanagerIsToldUntilWhenAnAlertFires(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	for _, tt := range []struct {
		n     alerts.Notification
		after time.Duration
	}{{firing(), 9 * time.Hour}, {watchdog(), 5 * time.Minute}, {testMessage(), 5 * time.Minute}} {
		if err := channel.Send(t.Context(), tt.n); err != nil {
			t.Fatal(err)
		}
		list := postedTo(t, inbox)
		if len(list) != 1 || !list[0].EndsAt.Equal(tt.n.At.Add(tt.after)) {
			t.Errorf("%s: %+v", tt.n.ID, list)
		}
	}
	if got := inbox.last(t).uri; !strings.HasSuffix(got, "/api/v2/alerts") {
		t.Errorf("posted to %s", got)
	}
}

func TestAlertmanagerIsToldTheEndOfTheTierThatAnAlertLeft(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	if err := channel.Send(t.Context(), escalated()); err != nil {
		t.Fatal(err)
	}
	list := postedTo(t, inbox)
	if len(list) != 2 || list[0].Labels["severity"] != "emergency" || list[1].Labels["severity"] != "severe" || !list[1].EndsAt.Equal(escalated().At.Add(-30*time.Second)) {
		t.Fatalf("%+v", list)
	}
	if err := channel.Send(t.Context(), resolved()); err != nil {
		t.Fatal(err)
	}
	if list = postedTo(t, inbox); len(list) != 1 || list[0].Labels["severity"] != "severe" || !list[0].EndsAt.Equal(at("18:42:00")) {
		t.Errorf("%+v", list)
	}
}

func TestAlertmanagerIsToldAgainWhatStandsWithoutThatItsEndMoves(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	fires, over := duplicates("orders"), resolved().Alerts[0]
	fires.Edge, fires.Was, over.Edge, over.Was = "", fires.Tier, "", dedup.Warning
	n := edges("n-standing", fires, over)
	n.Kind, n.At = alerts.NotifyStanding, at("18:50:00")
	if err := channel.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	list := postedTo(t, inbox)
	if len(list) != 2 || list[0].Labels["severity"] != "severe" || !list[0].EndsAt.Equal(n.At.Add(9*time.Hour)) {
		t.Fatalf("%+v", list)
	}
	if list[1].Labels["severity"] != "warning" || !list[1].EndsAt.Equal(at("18:42:00")) {
		t.Errorf("%+v", list[1])
	}
}

func TestAMemberIsToldOfAnEndUntilItHasTakenItAndAWhileLonger(t *testing.T) {
	var gone atomic.Bool
	there := startHTTP(t, httpBehaviour(t, "alertmanager", accepts))
	away := startHTTP(t, func(http.ResponseWriter, *http.Request) answer {
		return answer{status: map[bool]int{true: 503, false: 200}[gone.Load()]}
	})
	c := httpConfig("alertmanager", there.hostport)
	c.URLs = append(c.URLs, httpConfig("alertmanager", away.hostport).URLs...)
	channel := open(t, c)
	for i, step := range []struct {
		gone        bool
		ended       time.Duration // so long ago
		there, away int           // how many alerts each is posted
	}{
		{true, 20 * time.Minute, 2, 2},
		{true, 20 * time.Minute, 1, 2},
		{false, 20 * time.Minute, 1, 2},
		{false, 20 * time.Minute, 1, 1},
		{false, 10 * time.Minute, 2, 2}, // its clock may be behind
	} {
		gone.Store(step.gone)
		n := today(standing(duplicates("payments")))
		n.Alerts = append(n.Alerts, endedAgo(step.ended))
		news := today(edges("n-news", duplicates("news"))) // which says nothing of what ended
		send(t, channel, news)
		send(t, channel, n)
		if got := []int{len(postedTo(t, there.inbox)), len(postedTo(t, away.inbox))}; got[0] != step.there || got[1] != step.away {
			t.Errorf("step %d: they were posted %v, want %d and %d", i, got, step.there, step.away)
		}
	}
}

func TestAlertmanagerIsNotToldThatWhatGotWorseIsResolved(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	left := endedAgo(time.Minute)
	left.GoesOn, left.Was = dedup.Emergency, dedup.Severe
	send(t, channel, today(standing(left)))
	one := postedTo(t, inbox)[0]
	if one.Annotations["summary"] != "[EMERGENCY] orders: duplicate rate, was severe" || one.Annotations["tier"] != "emergency, was severe" ||
		one.Labels["severity"] != "severe" || one.EndsAt.After(time.Now()) {
		t.Errorf("%+v", one)
	}
}

func TestAlertmanagerIsToldWhatAMessageOfFlappingSaysOfTheState(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	changed, over, never := flapping(), flapping(), flapping()
	changed.Alerts[0].Was = dedup.Warning
	over.Alerts[0].Firing, over.Alerts[0].Tier, over.Alerts[0].Was = false, dedup.Normal, dedup.Warning
	never.Alerts[0].Firing, never.Alerts[0].Tier, never.Alerts[0].Was = false, dedup.Normal, dedup.Normal
	for _, tt := range []struct {
		name string
		n    alerts.Notification
		ends map[string]bool // by severity, whether it is over
	}{
		{"the tier that was told ends when another one fires", changed, map[string]bool{"severe": false, "warning": true}},
		{"what is over ends", over, map[string]bool{"warning": true}},
	} {
		if err := channel.Send(t.Context(), tt.n); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, one := range postedTo(t, inbox) {
			got[one.Labels["severity"]] = one.EndsAt.Before(tt.n.At)
		}
		if !maps.Equal(got, tt.ends) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.ends)
		}
	}
	if err := channel.Send(t.Context(), never); err != nil || len(postedTo(t, inbox)) != 0 {
		t.Errorf("it was told of what it never had: %v", err)
	}
}

func TestAlertmanagerTellsTwoRemindersApart(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	n := reminder()
	n.GroupLabels = map[string]string{"silence": "s-1", "severity": "mine"}
	if err := channel.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if one := postedTo(t, inbox)[0]; one.Labels["silence"] != "s-1" || one.Labels["severity"] != "warning" || !one.EndsAt.Equal(n.At.Add(5*time.Minute)) {
		t.Errorf("%+v", one)
	}
}

func TestOnlyAlertmanagerGroupsByItselfAndMustHearOfEverythingAgainEachFewMinutes(t *testing.T) {
	for _, kind := range notify.Types() {
		c := notify.Config{Type: kind}
		if handsOff := kind == "alertmanager"; notify.GroupsItself(kind) != handsOff || (c.Standing().Every > 0) != handsOff {
			t.Errorf("%s: groups itself %t, repeat %s", kind, notify.GroupsItself(kind), c.Standing().Every)
		}
	}
	if got := (notify.Config{Type: "alertmanager", EndsAfter: 8 * time.Hour}).Standing(); got.Every < time.Minute || got.Every > 5*time.Minute || got.Believed != 8*time.Hour {
		t.Errorf("told again every %s, and it believes for %s", got.Every, got.Believed)
	}
}

func TestAlertmanagerNeverGetsAnEndBeforeTheBeginning(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	n := resolved()
	n.Alerts[0].EndsAt = n.Alerts[0].StartsAt.Add(-time.Hour)
	if err := channel.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if one := postedTo(t, inbox)[0]; one.EndsAt.Before(one.StartsAt) {
		t.Errorf("%+v", one)
	}
}

func TestAlertmanagerLabelsAreValidNames(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	n := firing()
	n.Alerts[0].Labels = map[string]string{"cost-centre": "1", "cost_centre": "2", "__name__": "x", "9lives": "y", "": "z", "ä b": "w", "empty": "", "severity": "mine", "alertname": "mine"}
	if err := channel.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	labels := postedTo(t, inbox)[0].Labels
	for name, want := range map[string]string{"cost_centre": "1", "name__": "x", "label_9lives": "y", "severity": "severe", "alertname": "duplicate_rate"} {
		if labels[name] != want {
			t.Errorf("%s is %q, want %q", name, labels[name], want)
		}
	}
	if _, ok := labels["empty"]; ok {
		t.Error("an empty label")
	}
}

func TestOneAlertmanagerThatTakesTheAlertsIsEnough(t *testing.T) {
	dead, alive := startHTTP(t, func(http.ResponseWriter, *http.Request) answer { return answer{status: 500} }), startHTTP(t, httpBehaviour(t, "alertmanager", accepts))
	c := httpConfig("alertmanager", dead.hostport)
	c.URLs = append(c.URLs, secret.New("http://"+alive.hostport))
	if err := open(t, c).Send(t.Context(), firing()); err != nil {
		t.Error(err)
	}
	if len(dead.inbox.all()) != 1 || len(alive.inbox.all()) != 1 {
		t.Error("not every member was told")
	}
}

func TestWhenEveryAlertmanagerFailsTheErrorIsForGoodOnlyIfAllAre(t *testing.T) {
	status := func(code int, after string) httpServer {
		return startHTTP(t, func(http.ResponseWriter, *http.Request) answer { return answer{status: code, retryAfter: after} })
	}
	for _, tt := range []struct {
		name      string
		members   []httpServer
		permanent bool
		after     time.Duration
	}{
		{"both refuse for good", []httpServer{status(400, ""), status(401, "")}, true, 0},
		{"one may take it later", []httpServer{status(400, ""), status(503, "9")}, false, 9 * time.Second},
		{"the shorter wait counts", []httpServer{status(503, "30"), status(503, "9"), status(400, "1")}, false, 9 * time.Second},
	} {
		c := httpConfig("alertmanager", tt.members[0].hostport)
		for _, m := range tt.members[1:] {
			c.URLs = append(c.URLs, secret.New("http://"+m.hostport))
		}
		d := deliveryError(t, open(t, c).Send(t.Context(), firing()))
		if d.Permanent != tt.permanent || d.RetryAfter != tt.after {
			t.Errorf("%s: permanent %t, after %s: %s", tt.name, d.Permanent, d.RetryAfter, d.Public)
		}
		for _, m := range tt.members {
			if !strings.Contains(d.Public, m.hostport) {
				t.Errorf("%s: %s is not in %s", tt.name, m.hostport, d.Public)
			}
		}
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
	own.Key.Kind, own.Title, own.Unit, own.Value, own.Limit, own.N, own.Window, own.Why = alerts.OfDashboard, "disk nearly full", dedup.Bytes, 1536, 0, 0, 0, ""
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
