package shop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// notificationsKept is how many notifications a receiver remembers, notificationBytes how long one may be.
	notificationsKept = 500
	notificationBytes = 1 << 20
)

// A Notification is one message that the dashboard delivered.
type Notification struct {
	At time.Time `json:"at"`
	// ID is the header Idempotency-Key, which is the same when a notification is delivered again.
	ID string `json:"id"`
	// Message is the body as it came: the JSON of Alertmanager's webhook.
	Message json.RawMessage `json:"message"`
}

// A Receiver takes the notifications of a channel of type webhook, remembers the newest ones, and shows them. The zero value has none.
type Receiver struct {
	mu    sync.Mutex
	got   []Notification
	taken int
}

// Received returns the notifications that are remembered, in the order of their arrival.
func (r *Receiver) Received() []Notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Notification(nil), r.got...)
}

// ServeHTTP takes a notification, or shows what was taken.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch req.Method {
	case http.MethodGet:
		r.show(w)
	case http.MethodPost:
		r.take(w, req)
	default:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "notifications are taken by POST and shown by GET", http.StatusMethodNotAllowed)
	}
}

func (r *Receiver) take(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, notificationBytes))
	if err != nil || !json.Valid(body) {
		http.Error(w, fmt.Sprintf("want JSON of at most %d bytes", notificationBytes), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken++
	r.got = append(r.got, Notification{At: time.Now(), ID: req.Header.Get("Idempotency-Key"), Message: body})
	if over := len(r.got) - notificationsKept; over > 0 {
		r.got = append([]Notification(nil), r.got[over:]...)
	}
}

// show answers with what is remembered, and how many there were in all.
func (r *Receiver) show(w http.ResponseWriter) {
	r.mu.Lock()
	body := struct {
		Taken         int            `json:"taken"`
		Notifications []Notification `json:"notifications"`
	}{r.taken, append([]Notification{}, r.got...)}
	r.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	// A client that has gone away needs no answer.
	_ = encoder.Encode(body)
}
