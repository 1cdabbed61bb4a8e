package shop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAReceiverShowsTheNewestNotificationsAndCountsAll(t *testing.T) {
	receiver := new(Receiver)
	post := func(body, id string) int {
		request := httptest.NewRequest(http.MethodPost, "/notifications", strings.NewReader(body))
		request.Header.Set("Idempotency-Key", id)
		answer := httptest.NewRecorder()
		receiver.ServeHTTP(answer, request)
		return answer.Code
	}
	for i := range notificationsKept + 3 {
		if code := post(fmt.Sprintf(`{"version": "4", "number": %d}`, i), fmt.Sprint("id-", i)); code != http.StatusOK {
			t.Fatalf("notification %d: status %d", i, code)
		}
	}
	for _, bad := range []string{"", "no JSON", `"` + strings.Repeat("x", notificationBytes) + `"`} {
		if code := post(bad, ""); code != http.StatusBadRequest {
			t.Errorf("%.10q is answered with status %d", bad, code)
		}
	}
	answer := httptest.NewRecorder()
	receiver.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/notifications", nil))
	var shown struct {
		Taken         int
		Notifications []Notification
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.Taken != notificationsKept+3 || len(shown.Notifications) != notificationsKept {
		t.Fatalf("shows %d notifications of %d", len(shown.Notifications), shown.Taken)
	}
	if first := shown.Notifications[0]; first.ID != "id-3" || first.At.IsZero() || !strings.Contains(string(first.Message), `"number": 3`) {
		t.Errorf("the oldest that is shown is %+v", first)
	}
}

func TestTheDuplicatesOfAPipelineAreTurnedWhileItRuns(t *testing.T) {
	config := DefaultConfig()
	orders, _ := config.Pipeline("orders")
	orders.Resend = 0
	source := newProducer(config, *orders, nil, "", nil)
	turn := duplicates(&Shop{sources: map[string]*producer{"orders": source}})
	resent := func() int {
		n, source := 0, source
		source.number, source.due = 0, nil
		for source.number < 2000 {
			source.next = source.began // due at once
			if which, ok := source.await(t.Context()); !ok || which.copy > 0 {
				t.Fatalf("copy %d of %q came, want a new message", which.copy, which.id)
			}
			n, source.due = n+len(source.due), nil
		}
		return n
	}
	if n := resent(); n != 0 {
		t.Errorf("%d of 2000 messages are sent twice before the knob is turned", n)
	}
	for _, tt := range []struct {
		query string
		code  int
	}{
		{"pipeline=orders&share=2", http.StatusBadRequest},
		{"pipeline=orders", http.StatusBadRequest},
		{"pipeline=nobody&share=0.1", http.StatusBadRequest},
		{"pipeline=orders&share=0.1", http.StatusOK},
	} {
		answer := httptest.NewRecorder()
		turn(answer, httptest.NewRequest(http.MethodPost, "/duplicates?"+tt.query, nil))
		if answer.Code != tt.code {
			t.Errorf("%s: status %d: %s", tt.query, answer.Code, answer.Body)
		}
	}
	if n := resent(); n < 150 || n > 250 {
		t.Errorf("%d of 2000 messages are sent twice, want a tenth", n)
	}
}
