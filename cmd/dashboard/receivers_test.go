package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/secret"
)

// slowChannel takes no message before its context ends, and notes how long it was given.
type slowChannel struct {
	patience, given time.Duration
	gone            bool // whoever asked had gone when it was sent
}

func (s *slowChannel) Send(ctx context.Context, _ alerts.Notification) error {
	began := time.Now()
	s.gone = ctx.Err() != nil
	<-ctx.Done()
	s.given = time.Since(began)
	return &alerts.DeliveryError{Public: "the channel did not answer in time"}
}

func (s *slowChannel) Patience() time.Duration { return s.patience }

func TestATrialEndsBeforeTheWebServerGivesUpAndOutlastsWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowChannel{patience: 80 * time.Second}
		r := &receivers{all: []receiver{{"ding", "dingtalk", slow}}}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		err := r.SendTest(gone, "ding", "anna")
		if slow.gone || slow.given != 25*time.Second || !strings.Contains(dedup.PublicText(err), "did not answer in time") {
			t.Errorf("given %s, of somebody who has gone: %t, %v; want 25 s for all", slow.given, slow.gone, err)
		}
	})
}

func TestTestNotifyWaitsForAChannelAsLongAsItMayTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowChannel{patience: 125 * time.Second}
		var out output
		if (receiver{"ding", "dingtalk", slow}).try(t.Context(), "", &out) || slow.given != slow.patience {
			t.Errorf("given %s, want %s:\n%s", slow.given, slow.patience, out.String())
		}
	})
}

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
	r, err := openReceivers(config.Alerts{Heartbeat: notify.HeartbeatConfig{URL: secret.New(server.URL + "/hook")}, Channels: []notify.Config{
		{Name: "pager", Type: "webhook", URL: secret.New(server.URL + "/hook")}, {Name: "gone", Type: "webhook", URL: secret.New(server.URL + "/gone")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	db, err := journal.Open(t.Context(), t.TempDir(), newLog(new(output)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r.records = db.Alerts()
	r.outbox = outbox.New(outbox.Config{Store: db.Alerts(), Reader: db.Alerts(), Senders: r.senders(), Log: newLog(new(output))})
	if err := r.SendTest(t.Context(), "pager", "anna"); err != nil || !strings.Contains(body.String(), "anna sent this") {
		t.Fatalf("error %v, body %s", err, body.String())
	}
	if err := r.SendTest(t.Context(), "gone", "anna"); dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(dedup.PublicText(err), "404") {
		t.Errorf("error %v", err)
	}
	if err := r.SendTest(t.Context(), "nobody", "anna"); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("error %v", err)
	}
	if err := r.SendTest(t.Context(), "heartbeat", "anna"); err != nil {
		t.Errorf("the heartbeat is not tried: %v", err)
	}
	beaten := time.Now()
	r.pulse = func() alerts.Pulse { return alerts.Pulse{Beaten: beaten, Err: "not taken", ErrAt: beaten} }
	states, err := r.Channels(t.Context())
	if err != nil || len(states) != 3 || states[0].Name != "pager" || states[0].LastSuccess.IsZero() || !states[1].LastSuccess.IsZero() ||
		states[2].Name != "heartbeat" || states[2].LastSuccess != beaten || states[2].LastError != "not taken" || states[2].LastErrorAt.IsZero() {
		t.Errorf("%+v, %v", states, err)
	}
}

func TestRunbooksOfTheDocumentationAreToldAsLinksAndOthersAsTheyAre(t *testing.T) {
	link := runbookLinks("https://dash.example/x")
	for runbook, want := range map[string]string{
		"docs/alerts.md#backlog": "https://dash.example/x/docs/alerts#backlog", "https://wiki.example/shop": "https://wiki.example/shop", "": "",
	} {
		if got := link(runbook); got != want {
			t.Errorf("%q is told as %q, want %q", runbook, got, want)
		}
	}
}
