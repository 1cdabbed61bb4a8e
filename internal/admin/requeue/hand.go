package requeue

import (
	"context"
	"sync"
	"time"
)

// maxMotionBytes bounds the bodies of the messages in motion.
const maxMotionBytes = 64 << 20

// A hand is what a run holds of one source: the messages in motion, which are on their way to a target, and those that are kept until
// the connection ends. The broker gives all of them back if we vanish; so the messages in motion bound the copies that a crash can
// make, from taking to acking. An ack may be lost on its way too, but the broker reads acks before it hands out the next message, and the
// next message is taken only when an earlier one has left the motion.
//
// The window opens by one with each message that moves, and is halved by each that fails. It begins narrow, so that a target that takes
// nothing is found out by few messages, and after a lost connection at one, so that a message that ends every connection is found out.
type hand struct {
	mu          sync.Mutex
	held        map[uint64]grip
	fragile     map[uint64]struct{}
	motion      int
	motionBytes int
	window      int
	maxWindow   int
	room        chan struct{}
}

// A grip is one message in hand.
type grip struct {
	taken time.Time
	bytes int
}

func newHand(window, maxWindow int) *hand {
	return &hand{
		held:      map[uint64]grip{},
		fragile:   map[uint64]struct{}{},
		window:    min(window, maxWindow),
		maxWindow: maxWindow,
		room:      make(chan struct{}, 1),
	}
}

// reach waits until one more message may be taken. One goroutine calls it.
func (h *hand) reach(ctx context.Context) error {
	for {
		if h.hasRoom() {
			return ctx.Err()
		}
		select {
		case <-h.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (h *hand) hasRoom() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.motion < h.window && h.motionBytes < maxMotionBytes
}

// take puts a message in motion.
func (h *hand) take(tag uint64, bytes int, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[tag] = grip{taken: now, bytes: bytes}
	h.motion++
	h.motionBytes += bytes
}

// drop forgets a message that was acked.
func (h *hand) drop(tag uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaveMotion(h.held[tag])
	delete(h.held, tag)
	delete(h.fragile, tag)
	h.window = min(h.window+1, h.maxWindow)
}

// fail keeps a message that its target did not take.
func (h *hand) fail(tag uint64) {
	h.keep(tag)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.window = max(1, h.window/2)
}

// keep takes a message out of motion that stays in hand until the end.
func (h *hand) keep(tag uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaveMotion(h.held[tag])
}

func (h *hand) leaveMotion(g grip) {
	h.motion--
	h.motionBytes -= g.bytes
	select {
	case h.room <- struct{}{}:
	default:
	}
}

// oldest returns when the oldest message in hand was taken; false when the hand is empty.
func (h *hand) oldest() (taken time.Time, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.held {
		if !ok || g.taken.Before(taken) {
			taken, ok = g.taken, true
		}
	}
	return taken, ok
}

// alone waits until the message that was taken last is the only one in motion, and lets no other beside one from then on. Its queue
// would destroy that message if it came back a few more times; oneFragile says whether such a message is still in hand.
func (h *hand) alone(ctx context.Context, tag uint64) error {
	h.mu.Lock()
	h.window, h.maxWindow = 1, 1
	h.fragile[tag] = struct{}{}
	h.mu.Unlock()
	for h.moving() > 1 {
		select {
		case <-h.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (h *hand) moving() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.motion
}

// isFragile reports whether a message is one that was let go on alone.
func (h *hand) isFragile(tag uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, fragile := h.fragile[tag]
	return fragile
}

// oneFragile reports whether a message that was let go on alone has not moved.
func (h *hand) oneFragile() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.fragile) > 0
}
