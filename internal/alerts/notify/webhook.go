package notify

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// The headers of a webhook. The signature is sha256= and the HMAC-SHA256 in hex, with the configured secret as key, of the timestamp in
// seconds, a full stop and the body. The id is the same when a notification is delivered again.
const (
	headerID        = "Idempotency-Key"
	headerTimestamp = "X-Dedup-Timestamp"
	headerSignature = "X-Dedup-Signature"
)

type webhook struct {
	*poster
	config Config
}

func checkWebhook(c Config, p *problems) {
	checkURL(p, "url", c.URL, "https://hooks.example.org/dedup")
}

func openWebhook(c Config) (Channel, error) {
	to, err := openPoster(c)
	return &webhook{to, c}, err
}

// Send posts the notification as Alertmanager posts to a webhook; every answer with 2xx takes it.
func (w *webhook) Send(ctx context.Context, n alerts.Notification) error {
	body, err := json.Marshal(newMessage(n, w.config.Name))
	if err != nil {
		return w.permanent("the message cannot be written")
	}
	header := jsonHeader()
	header.Set(headerID, clean(n.ID, maxName))
	if !w.config.Token.IsZero() {
		header.Set("Authorization", "Bearer "+w.config.Token.Reveal())
	}
	if !w.config.Secret.IsZero() {
		at := strconv.FormatInt(time.Now().Unix(), 10)
		header.Set(headerTimestamp, at)
		header.Set(headerSignature, "sha256="+hex.EncodeToString(signature(w.config.Secret.Reveal(), at+"."+string(body))))
	}
	_, err = w.post(ctx, header, body)
	return err
}

// signature is the HMAC-SHA256 of a text.
func signature(key, text string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// A message is the body that Alertmanager posts to webhooks, version 4, from its documentation of <webhook_config>.
type message struct {
	Version           string            `json:"version"`
	GroupKey          string            `json:"groupKey"`
	TruncatedAlerts   int               `json:"truncatedAlerts"`
	Status            string            `json:"status"`
	Receiver          string            `json:"receiver"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	Alerts            []messageAlert    `json:"alerts"`
}

type messageAlert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
	// Fingerprint is the same for all of the life of an alert, whatever its tier.
	Fingerprint string `json:"fingerprint"`
}

func newMessage(n alerts.Notification, receiver string) message {
	m := message{
		Version: "4", GroupKey: clean(n.Group, maxText), TruncatedAlerts: n.LeftOut, Status: "resolved", Receiver: clean(receiver, maxName),
		GroupLabels: labelSet(n.GroupLabels), ExternalURL: safeLink(n.ExternalURL), Alerts: []messageAlert{},
	}
	for i := range n.Alerts {
		m.Alerts = append(m.Alerts, newMessageAlert(&n.Alerts[i], n))
	}
	if len(m.Alerts) == 0 {
		m.Alerts = append(m.Alerts, standIn(n))
	}
	var labels, annotations []map[string]string
	for _, a := range m.Alerts {
		if a.Status == "firing" {
			m.Status = a.Status
		}
		labels, annotations = append(labels, a.Labels), append(annotations, a.Annotations)
	}
	m.CommonLabels, m.CommonAnnotations = common(labels), common(annotations)
	return m
}

func newMessageAlert(a *alerts.NotifiedAlert, n alerts.Notification) messageAlert {
	tier := a.Tier
	if !a.Firing {
		tier = worstOf(a)
	}
	out := messageAlert{
		Status: "firing", Labels: alertLabels(a, tier), Annotations: annotations(a, n), StartsAt: a.StartsAt.UTC(),
		GeneratorURL: safeLink(a.Link), Fingerprint: fingerprint(a.Key),
	}
	if !a.Firing {
		out.Status, out.EndsAt = "resolved", cmp.Or(a.EndsAt, n.At).UTC()
	}
	return out
}

// standIn is the alert of a notification that has none, so that a receiver that goes through the alerts has something to tell.
func standIn(n alerts.Notification) messageAlert {
	name := cmp.Or(map[alerts.NotificationKind]string{
		alerts.NotifyTest: "test_notification", alerts.NotifyReminder: "silence_expires", alerts.NotifyWatchdog: "watchdog",
	}[n.Kind], "notification")
	w := describe(n, cut{})
	labels := labelSet(n.GroupLabels) // which tell two reminders apart
	labels["alertname"], labels["severity"], labels["kind"] = name, dedup.Warning.String(), string(rule.OfDashboard)
	words := map[string]string{"summary": w.subject}
	if _, rest := lines(n.Text); rest != "" {
		words["description"] = rest
	}
	return messageAlert{
		Status:      "firing",
		Labels:      labels,
		Annotations: words, StartsAt: n.At.UTC(), GeneratorURL: safeLink(n.ExternalURL),
		Fingerprint: fingerprint(rule.Key{Rule: name, Kind: rule.OfDashboard}),
	}
}
