package requeue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheWindowOpensByWhatMovesAndIsHalvedByWhatFails(t *testing.T) {
	h := newHand(4, 6)
	fill := func() int {
		n := 0
		for ; h.hasRoom(); n++ {
			h.take(uint64(len(h.held)+1), 1, time.Time{})
		}
		return n
	}
	if n := fill(); n != 4 {
		t.Fatalf("%d fit at first, want 4", n)
	}
	h.drop(1)
	h.drop(2)
	h.drop(3)
	if h.window != 6 {
		t.Errorf("the window is %d after 3 moved, want 6, its most", h.window)
	}
	h.fail(4)
	if h.window != 3 || h.motion != 0 {
		t.Errorf("the window is %d with %d in motion after one failed, want 3 and 0", h.window, h.motion)
	}
	if _, held := h.held[4]; len(h.held) != 1 || !held {
		t.Errorf("%v are in hand, want what failed", h.held)
	}
}

func TestBigMessagesFillTheHandBeforeTheWindow(t *testing.T) {
	h := newHand(256, 256)
	for tag := uint64(1); h.hasRoom(); tag++ {
		h.take(tag, 16<<20, time.Time{})
	}
	if h.motion != 4 {
		t.Errorf("%d messages of 16 MiB are in motion, want 4", h.motion)
	}
	h.keep(1)
	if !h.hasRoom() {
		t.Error("a message that is kept by the broker alone takes no memory of ours")
	}
}

func TestWhoWaitsForRoomIsWokenByItOrByTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHand(1, 1)
		h.take(1, 1, time.Now())
		time.AfterFunc(time.Second, func() { h.keep(1) })
		if err := h.reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.take(2, 1, time.Now())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.reach(ctx); err == nil {
			t.Error("there was room for a second message")
		}
		if oldest, ok := h.oldest(); !ok || time.Since(oldest) != 2*time.Second {
			t.Errorf("the oldest was taken %s ago", time.Since(oldest))
		}
	})
}

func TestAPacerCatchesUpButDoesNotBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(100)
		start := time.Now()
		for range 50 {
			if err := p.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 490*time.Millisecond {
			t.Errorf("50 turns took %s", took)
		}
		time.Sleep(time.Hour)
		start = time.Now()
		for range 50 {
			_ = p.wait(t.Context())
		}
		if took := time.Since(start); took < 390*time.Millisecond-time.Millisecond {
			t.Errorf("after a rest 50 turns took %s", took)
		}
	})
}

func TestAPacerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(1e-9)
		_ = p.wait(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.wait(ctx); err == nil {
			t.Error("it waited for its turn")
		}
	})
}
