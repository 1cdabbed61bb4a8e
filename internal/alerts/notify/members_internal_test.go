package notify

import (
	"net/http"
	"strings"
	"testing"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/secret"
)

// A tripwire panics on the way to one host, and takes everything for the others.
type tripwire struct{ host string }

func (w tripwire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == w.host {
		panic("nobody foresaw this")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

func TestAPanicOnTheWayToOneMemberIsAFailureOfThatMemberAlone(t *testing.T) {
	const bad = "bad.example:9093"
	for _, tt := range []struct {
		name, says string
		members    []string
	}{
		{"beside one that takes the alerts", "", []string{bad, "good.example:9093"}},
		{"alone", bad + " could not be told", []string{bad}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Config{Name: "am", Type: "alertmanager"}
			for _, m := range tt.members {
				c.URLs = append(c.URLs, secret.New("http://"+m))
			}
			channel, err := Open(c)
			if err != nil {
				t.Fatal(err)
			}
			channel.(*alertmanager).http.Transport = tripwire{bad}
			err = channel.Send(t.Context(), alerts.Notification{Kind: alerts.NotifyTest, Text: "a test"})
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%v", err)
			}
		})
	}
}
