package notify_test

import (
	"net/http"
	"testing"
	"time"
)

// TestStatusesAreJudged walks the answers of everything that speaks HTTP.
func TestStatusesAreJudged(t *testing.T) {
	date := time.Now().Add(90 * time.Minute).UTC().Format(http.TimeFormat)
	tests := []struct {
		name      string
		answer    answer
		permanent bool
		from, to  time.Duration
	}{
		{"400", answer{status: 400}, true, 0, 0},
		{"401", answer{status: 401}, true, 0, 0},
		{"403", answer{status: 403}, true, 0, 0},
		{"404", answer{status: 404}, true, 0, 0},
		{"404 that asks to wait", answer{status: 404, retryAfter: "30"}, true, 0, 0},
		{"408", answer{status: 408}, false, 0, 0},
		{"410", answer{status: 410}, true, 0, 0},
		{"413", answer{status: 413}, true, 0, 0},
		{"429", answer{status: 429}, false, 0, 0},
		{"429 with seconds", answer{status: 429, retryAfter: "37"}, false, 37 * time.Second, 37 * time.Second},
		{"429 with a date", answer{status: 429, retryAfter: date}, false, 60 * time.Minute, 90 * time.Minute},
		{"429 with nonsense", answer{status: 429, retryAfter: "soon"}, false, 0, 0},
		{"429 with a number beyond all", answer{status: 429, retryAfter: "99999999999999"}, false, 24 * time.Hour, 24 * time.Hour},
		{"500", answer{status: 500}, false, 0, 0},
		{"502", answer{status: 502}, false, 0, 0},
		{"503 with seconds", answer{status: 503, retryAfter: "5"}, false, 5 * time.Second, 5 * time.Second},
		{"301", answer{status: 301, location: "http://elsewhere.example/"}, true, 0, 0},
		{"307 to itself", answer{status: 307, location: "/"}, true, 0, 0},
	}
	for _, r := range rigs() {
		if r.name == "email" {
			continue
		}
		for _, tt := range tests {
			t.Run(r.name+"/"+tt.name, func(t *testing.T) {
				server := startHTTP(t, func(http.ResponseWriter, *http.Request) answer { return tt.answer })
				d := deliveryError(t, r.towards(t, server.hostport).Send(t.Context(), firing()))
				if d.Permanent != tt.permanent || d.RetryAfter < tt.from || d.RetryAfter > tt.to {
					t.Errorf("permanent %t, after %s: %s", d.Permanent, d.RetryAfter, d.Public)
				}
				if got := len(server.inbox.all()); got != 1 {
					t.Errorf("%d requests", got)
				}
			})
		}
	}
}
