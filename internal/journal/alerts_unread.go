package journal

import (
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
)

// unread notes rows of alerts that cannot be read: another version of the dashboard may have written them. They are passed over, so that one
// of them keeps nobody from reading the others, and each is logged once.
type unread struct {
	log  *slog.Logger
	mu   sync.Mutex
	said map[string]bool
}

func newUnread(log *slog.Logger) *unread { return &unread{log: log, said: map[string]bool{}} }

// errOtherRow means that what a row holds is not what its key says.
var errOtherRow = errors.New("it holds something else than its key says")

// row decodes the body of a row into something that then names itself, and returns false when it is not what its key says.
func (u *unread) row(why, key, body string, into any, name func() string) bool {
	err := json.Unmarshal([]byte(body), into)
	if err == nil && name() != key {
		err = errOtherRow
	}
	if err != nil {
		u.note(why, key, err)
	}
	return err == nil
}

// note logs a row once: what it means that it is passed over, and its key.
func (u *unread) note(why, key string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if id := why + " " + key; !u.said[id] {
		u.said[id] = true
		u.log.Warn(why, "id", key, "err", err)
	}
}
