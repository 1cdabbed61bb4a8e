package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/secret"
)

func TestAChannelThatTookATrialIsNotCalledUnused(t *testing.T) {
	var body strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.Copy(&body, r.Body)
	}))
	defer server.Close()
	r, err := openReceivers([]notify.Config{
		{Name: "pager", Type: "webhook", URL: secret.New(server.URL + "/hook")}, {Name: "gone", Type: "webhook", URL: secret.New(server.URL + "/gone")},
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := journal.Open(t.Context(), t.TempDir(), newLog(new(output)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r.outbox = alerts.NewOutbox(alerts.OutboxConfig{Store: db.Alerts(), Reader: db.Alerts(), Senders: r.senders(), Log: newLog(new(output))})
	if err := r.SendTest(t.Context(), "pager", "anna"); err != nil || !strings.Contains(body.String(), "anna sent this") {
		t.Fatalf("error %v, body %s", err, body.String())
	}
	if err := r.SendTest(t.Context(), "gone", "anna"); dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(dedup.PublicText(err), "404") {
		t.Errorf("error %v", err)
	}
	if err := r.SendTest(t.Context(), "nobody", "anna"); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("error %v", err)
	}
	states, err := r.Channels(t.Context())
	if err != nil || len(states) != 2 || states[0].Name != "pager" || states[0].LastSuccess.IsZero() || !states[1].LastSuccess.IsZero() {
		t.Errorf("%+v, %v", states, err)
	}
}
