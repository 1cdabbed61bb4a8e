package notify_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// A manager is a real Alertmanager with receivers that take what it tells by webhook.
type manager struct {
	*servers.Alertmanager
	t     *testing.T
	inbox *inbox
}

// quick is a configuration that groups as docs/alerts.md says, in far less time. HOOKS stands for the address of the receivers.
const quick = `
route: {receiver: pager, group_by: [alertname, broker], group_wait: 50ms, group_interval: 100ms, repeat_interval: 1h}
receivers: [{name: pager, webhook_configs: [{url: "http://HOOKS/pager"}]}]
`

// startManager starts one by the text of its alertmanager.yml.
func startManager(t *testing.T, config string, options ...func(*servers.AlertmanagerOptions)) *manager {
	t.Helper()
	hooks := startHTTP(t, func(http.ResponseWriter, *http.Request) answer { return answer{status: 200} })
	return startManagerFor(t, hooks, config, options...)
}

func startManagerFor(t *testing.T, hooks httpServer, config string, options ...func(*servers.AlertmanagerOptions)) *manager {
	t.Helper()
	o := servers.AlertmanagerOptions{Dir: t.TempDir(), Config: strings.ReplaceAll(config, "HOOKS", hooks.hostport)}
	for _, change := range options {
		change(&o)
	}
	serverstest.Needed(t)
	server, err := servers.StartAlertmanager(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return &manager{Alertmanager: server, t: t, inbox: hooks.inbox}
}

// channelTo opens our channel to the members of a cluster.
func channelTo(t *testing.T, members ...*manager) notify.Channel {
	t.Helper()
	c := notify.Config{Name: "handoff", Type: "alertmanager"}
	for _, m := range members {
		c.URLs = append(c.URLs, secret.New(m.URL()))
	}
	return open(t, c)
}

// A held alert is one as GET /api/v2/alerts shows it.
type held struct {
	posted
	Fingerprint string
	Receivers   []struct{ Name string }
	Status      struct {
		State                   string
		SilencedBy, InhibitedBy []string
	}
}

// key writes down what it is about and its tier: orders severe.
func (h held) key() string { return h.Labels["pipeline"] + " " + h.Labels["severity"] }

// holds returns the alerts that it has and that are not resolved.
func (m *manager) holds() []held {
	m.t.Helper()
	var list []held
	m.ask(http.MethodGet, "/api/v2/alerts", nil, &list)
	return list
}

// keys writes down what holds returns, sorted.
func (m *manager) keys() string {
	m.t.Helper()
	var keys []string
	for _, h := range m.holds() {
		keys = append(keys, h.key())
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

// ask makes a request to its API, and reads the answer, which must be a good one, where there is somewhere to.
func (m *manager) ask(method, path string, body, to any) {
	m.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		m.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(m.t.Context(), method, m.URL()+path, bytes.NewReader(text))
	if err != nil {
		m.t.Fatal(err)
	}
	request.Close = true
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		m.t.Fatalf("%s %s: status %d, %v: %s", method, path, response.StatusCode, err, text)
	}
	if to != nil {
		if err := json.Unmarshal(text, to); err != nil {
			m.t.Fatal(err)
		}
	}
}

// A hook is what it posted to a receiver.
type hook struct {
	Status   string
	GroupKey string
	Alerts   []struct {
		posted
		Status string
	}
}

// text writes a message down, sorted: (payments warning), orders severe, where what is resolved is in brackets.
func (h hook) text() string {
	var parts []string
	for _, a := range h.Alerts {
		part := held{posted: a.posted}.key()
		if a.Status == "resolved" {
			part = "(" + part + ")"
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// told returns what a receiver was told, in the order of arrival.
func (m *manager) told(receiver string) []hook {
	m.t.Helper()
	var list []hook
	for _, d := range m.inbox.all() {
		if d.uri != "/"+receiver {
			continue
		}
		var h hook
		if err := json.Unmarshal(d.body, &h); err != nil {
			m.t.Fatal(err)
		}
		list = append(list, h)
	}
	return list
}

// toldText writes down what a receiver was told that it did not know, message by message.
func (m *manager) toldText(receiver string) string {
	m.t.Helper()
	known := map[string]string{}
	var messages []string
	for _, h := range m.told(receiver) {
		var news []string
		for _, a := range h.Alerts {
			part := held{posted: a.posted}.key()
			if known[part] == a.Status || known[part] == "" && a.Status == "resolved" {
				continue
			}
			if known[part] = a.Status; a.Status == "resolved" {
				part = "(" + part + ")"
			}
			news = append(news, part)
		}
		slices.Sort(news)
		if len(news) > 0 {
			messages = append(messages, strings.Join(news, ", "))
		}
	}
	return strings.Join(messages, "; ")
}

// eventually waits until a condition gives what is wanted.
func eventually(t *testing.T, what, want string, got func() string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(2 * time.Minute)
	for last := got(); last != want; last = got() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: still %q, want %q", what, last, want)
		}
	}
}

// send hands a notification over.
func send(t *testing.T, to notify.Channel, n alerts.Notification) {
	t.Helper()
	if err := to.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// today moves a notification of the examples to this moment.
func today(n alerts.Notification) alerts.Notification {
	shift := time.Now().UTC().Truncate(time.Millisecond).Sub(n.At)
	move := func(at *time.Time) {
		if !at.IsZero() {
			*at = at.Add(shift)
		}
	}
	move(&n.At)
	for i := range n.Alerts {
		a := &n.Alerts[i]
		for _, at := range []*time.Time{&a.Began, &a.StartsAt, &a.TierSince, &a.EndsAt} {
			move(at)
		}
	}
	return n
}
