package events

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers/redis/layout"
)

// ownMisses counts the questions of ours for markers that were not there: the server notifies of them as of those of consumers. It is a hook
// of the clients with which we read.
type ownMisses struct {
	layout *layout.Layout

	mu sync.Mutex
	// missed are those that were answered, unsure those answered so that it does not show, open the commands without an answer yet.
	missed, unsure, open int64
	// asked are those that were answered when the server was asked something: their notifications come before its answer.
	asked int64
}

// ask marks what was answered until now.
func (m *ownMisses) ask() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = m.missed
}

// bounds are the fewest and the most of our misses whose notifications came before the answer.
func (m *ownMisses) bounds() (least, most int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked, m.missed + m.unsure + m.open
}

func (m *ownMisses) begin(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open += int64(n)
}

// end counts what answers tell. An empty value may be one, or that of a key that is not there: its life, asked for with it, tells which.
func (m *ownMisses) end(commands []redis.Cmder) {
	var missed, unsure int64
	var empty []redis.Cmder
	for _, c := range commands {
		switch gone, perhaps := missOf(c); {
		case !gone && !perhaps || !m.ofMarker(c):
		case gone:
			missed++
		case c.Err() == nil:
			empty = append(empty, c)
		default:
			unsure++
		}
	}
	for _, c := range empty {
		switch there, told := lives(commands, keyOf(c)); {
		case !told:
			unsure++
		case !there:
			missed++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missed, m.unsure, m.open = m.missed+missed, m.unsure+unsure, m.open-int64(len(commands))
}

// lives reports whether a key was there when its life was asked for among other commands, if it was.
func lives(commands []redis.Cmder, key string) (there, told bool) {
	for _, c := range commands {
		if life, ok := c.(*redis.IntCmd); ok && c.Err() == nil && len(commands) > 1 && keyOf(c) == key {
			return life.Val() != missingKey, true
		}
	}
	return false, false
}

// missOf says whether the answer to a command shows that its key was not there, or may hide it.
func missOf(c redis.Cmder) (gone, perhaps bool) {
	err := c.Err()
	switch answered := err == nil || errors.Is(err, redis.Nil); c := c.(type) {
	case *redis.IntCmd:
		return answered && c.Val() == missingKey, !answered && isLost(err)
	case *redis.StringCmd:
		return errors.Is(err, redis.Nil), answered && c.Val() == "" || isLost(err)
	case *redis.StatusCmd:
		return answered && c.Val() == "none", isLost(err)
	case *redis.Cmd: // a question of a form
		return answered && c.Name() == "type" && c.Val() == "none", answered && c.Val() == "" || isLost(err)
	case *redis.MapStringStringCmd:
		return false, len(c.Val()) == 0
	}
	return false, false
}

// missingKey is what PTTL and PEXPIRETIME answer of a key that is not there.
const missingKey = int64(layout.Gone)

// isLost reports whether a command may have been carried out although its answer never came.
func isLost(err error) bool {
	var answer redis.Error
	return err != nil && !errors.Is(err, redis.Nil) && !errors.As(err, &answer)
}

func (m *ownMisses) ofMarker(c redis.Cmder) bool {
	class, _ := m.layout.Known(keyOf(c))
	return class == layout.Marker
}

// keyOf is the key that a command asks for; empty where it names none.
func keyOf(c redis.Cmder) string {
	if args := c.Args(); len(args) > 1 {
		switch key := args[1].(type) {
		case string:
			return key
		case *string:
			return *key
		}
	}
	return ""
}

// DialHook changes nothing.
func (m *ownMisses) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook counts the misses of one command.
func (m *ownMisses) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		m.begin(1)
		defer m.end([]redis.Cmder{c})
		return next(ctx, c)
	}
}

// ProcessPipelineHook counts those of many.
func (m *ownMisses) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		m.begin(len(all))
		defer m.end(all)
		return next(ctx, all)
	}
}

// keymiss is the event of a question for a key that is not there (Redis 6, class m).
const keymiss = "keymiss"

// reportsMisses reports whether a setting of notifications makes the server tell of them; A is without them.
func reportsMisses(flags string) bool {
	return strings.Contains(flags, "K") && strings.Contains(flags, "m")
}

// A missCount is what a book knows of misses: those that it was notified of, and our own on the connection of the notifications, with those
// that may have been.
type missCount struct{ all, own, perhapsOwn int64 }
