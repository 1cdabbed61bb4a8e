package redis

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/layout"
)

// A store is walked in no order: what is listed of the messages that were given up must be the oldest all the same.
func TestTheListOfGivenUpMessagesHoldsTheOldest(t *testing.T) {
	cfg, _ := markers.Preset("redis-text-status")
	l, err := layout.New(cfg, layout.Text)
	if err != nil {
		t.Fatal(err)
	}
	const now, all, endless = int64(1_734_400_000_000), 3 * dedup.MaxListed, 3
	life := l.Config.Retry.TTL
	if life <= 0 {
		t.Fatal("the preset gives retry counters no life")
	}
	tally := newTally(l)
	tally.retry("retry:"+strings.Repeat("x", pace.MaxSampleKey+1), "long", "9", now+1, now)
	for _, i := range rand.Perm(all) {
		expiry := now + life.Milliseconds() - int64(i)*1000 // i seconds old
		if i < endless {
			expiry = layout.NoExpiry
		}
		id := strconv.Itoa(i)
		tally.retry("retry:"+id, id, "9", expiry, now)
	}
	tally.finish()
	list := tally.pass.GaveUpMarkers
	if len(list) != dedup.MaxListed || tally.pass.UndatedGaveUp != endless || tally.pass.GaveUp.Total() != all-endless+1 {
		t.Fatalf("%d are listed, %d dated, %d not", len(list), tally.pass.GaveUp.Total(), tally.pass.UndatedGaveUp)
	}
	for i, m := range list {
		if i < endless {
			if !m.Expires.IsZero() || !m.Since.IsZero() {
				t.Errorf("place %d: %+v, want a counter without expiry", i, m)
			}
			continue
		}
		age := all - 1 - (i - endless)
		if m.ID != strconv.Itoa(age) || m.Key != "retry:"+m.ID || !m.Since.Equal(time.UnixMilli(now).Add(-time.Duration(age)*time.Second)) || *m.Attempts != 9 {
			t.Fatalf("place %d: %s since %s, want the one of %d s ago", i, m.ID, m.Since, age)
		}
	}
}

func TestATallySortsLivesAndMeasuresIDs(t *testing.T) {
	cfg, _ := markers.Preset("redis-text-status")
	l, err := layout.New(cfg, layout.Text)
	if err != nil {
		t.Fatal(err)
	}
	const now = int64(1_734_400_000_000)
	tally := newTally(l)
	for i, left := range []time.Duration{time.Second, time.Minute, time.Minute + 1e6, 5 * time.Minute, time.Hour, 23 * time.Hour, 25 * time.Hour, 1000 * time.Hour} {
		tally.byValue("msg:x", strings.Repeat("支", i), codec.Decoded{State: dedup.Processing}, now+left.Milliseconds(), now)
	}
	tally.byValue("msg:x", "5d41402abc4b2a76b9719d911017c592", codec.Decoded{State: dedup.Done}, layout.NoExpiry, now)
	tally.byValue("msg:x", "5D41402ABC4B2A76B9719D911017C592", codec.Unknown("odd"), layout.NoExpiry, now)
	tally.byValue("msg:x", strings.Repeat("y", 5000), codec.Decoded{State: dedup.Done}, layout.Gone, now)
	tally.finish()
	p := tally.pass
	if want := []int64{2, 2, 1, 0, 1, 1, 0, 1}; !slices.Equal(p.Expiries, want) {
		t.Errorf("expiries %v, want %v", p.Expiries, want)
	}
	if p.HashIDs != 1 || p.LongestID != 32 || len(p.Permanent) != 1 || p.Permanent[0].State != dedup.Done || p.Matched != 10 {
		t.Errorf("%+v", p)
	}
	if empty := newTally(l); func() bool { empty.finish(); return empty.pass.Expiries != nil }() {
		t.Error("nothing expires, and there are classes all the same")
	}
}
