package collector

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestASourceThatTurnsIsLoggedOnceWithItsReason(t *testing.T) {
	var out bytes.Buffer
	b := newBench(t, testInterval)
	b.log = slog.New(slog.NewTextHandler(&out, nil))
	src, now := b.brokers[0].samples, time.Now()
	turn := func(err error) string {
		out.Reset()
		for range 3 {
			src.finish(now, 0, err)
			b.noteTurns(now)
		}
		return out.String()
	}
	if got := turn(nil); got != "" {
		t.Errorf("a first success is logged: %s", got)
	}
	if got := turn(errors.New("connection refused")); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") ||
		!strings.Contains(got, `source="broker main"`) || !strings.Contains(got, `reason="connection refused"`) {
		t.Errorf("a lost source logs %q, want one WARN with the reason", got)
	}
	if got := turn(nil); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=INFO") || !strings.Contains(got, `source="broker main"`) {
		t.Errorf("a source that is back logs %q, want one INFO", got)
	}
}

func TestTheNameOfABrokerIsSaidOnce(t *testing.T) {
	b := newBench(t, testInterval)
	now := time.Now()
	b.brokers[0].samples.finish(now, 0, &dedup.Error{Kind: dedup.Unavailable, Public: "broker main: GET /api/overview: connection refused"})
	b.noteTurns(now)
	want := "broker main cannot be read: GET /api/overview: connection refused"
	if got := b.view(b.pipelines[0], now).brokerDown; got != want {
		t.Errorf("a figure says %q, want %q", got, want)
	}
	if e := b.brokers[0].events.events; len(e) != 1 || e[0].Text != want {
		t.Errorf("events %+v, want %q", e, want)
	}
}

func TestAHashThatNeverExistedIsNoted(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		health := func() dedup.SourceHealth {
			pass(2 * testInterval)
			for _, h := range b.Snapshot().Sources {
				if h.Name == "reported orders" {
					return h
				}
			}
			t.Fatal("there is no source of what orders reports")
			return dedup.SourceHealth{}
		}
		if h := health(); !h.OK || h.Note != "nothing reported yet" {
			t.Errorf("before anybody reported: %+v", h)
		}
		b.store.set(func(f *fakeSource) { f.reported.Present = true })
		if h := health(); !h.OK || h.Note != "" {
			t.Errorf("once it was reported: %+v", h)
		}
		b.store.set(func(f *fakeSource) { f.reported.Present = false })
		if h := health(); !h.OK || h.Note != "" {
			t.Errorf("after the hash was deleted: %+v", h)
		}
	})
}
