package collector

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/dedup"
)

func TestASourceThatTurnsIsLoggedOnceWithItsReason(t *testing.T) {
	var out bytes.Buffer
	b := newBench(t, testInterval)
	b.log = slog.New(slog.NewTextHandler(&out, nil))
	src, now := b.brokers[0].read.Samples, time.Now()
	turn := func(err error) string {
		out.Reset()
		for range 3 {
			src.Finish(now, 0, err)
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
	b.brokers[0].read.Samples.Finish(now, 0, &dedup.Error{Kind: dedup.Unavailable, Public: "broker main: GET /api/overview: connection refused"})
	b.noteTurns(now)
	want := "broker main cannot be read: GET /api/overview: connection refused"
	if got := b.maker().view(b.pipelines[0], now).brokerDown; got != want {
		t.Errorf("a figure says %q, want %q", got, want)
	}
	if e := event.Merge(&b.brokers[0].events); len(e) != 1 || e[0].Text != want {
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

func TestChannelClosuresAreToldAtOnceAndThenOnceInFiveMinutesInWordsThatStay(t *testing.T) {
	b := newBench(t, testInterval).brokers[0]
	start := time.Date(2026, 3, 4, 12, 1, 0, 0, time.UTC)
	closed := int64(0)
	read := func(after time.Duration, more int64) []dedup.Event {
		closed += more
		b.countClosures(&dedup.BrokerSample{At: start.Add(after), ChannelsClosed: ptr(closed)})
		return event.Merge(&b.events)
	}
	read(-time.Minute, 0)
	const first = "Broker main: 1 channel was closed"
	if e := read(0, 1); len(e) != 1 || e[0].Text != first || !e[0].At.Equal(start) || e[0].Kind != "channels_closed" {
		t.Fatalf("one closed channel: %+v", e)
	}
	read(time.Minute, 2)
	b.events.Add(start.Add(2*time.Minute), "alarm", "Broker main: disk alarm on n1")
	if e := read(4*time.Minute, 4); len(e) != 2 || e[0].Text != first {
		t.Fatalf("more within five minutes change what was told: %+v", e)
	}
	// They are told once the five minutes are over, although no channel was closed since.
	e := read(5*time.Minute, 0)
	if len(e) != 3 || e[2].Text != "Broker main: 6 more channels were closed from 12:01 to 12:05 UTC" || !e[2].At.Equal(start.Add(4*time.Minute)) {
		t.Fatalf("after five minutes: %+v", e)
	}
	if e := read(6*time.Minute, 1200); len(e) != 4 || e[3].Text != "Broker main: 1,200 channels were closed" || e[0].Text != first {
		t.Errorf("the next burst: %+v", e)
	}
	if e := read(12*time.Minute, 0); len(e) != 4 {
		t.Errorf("a burst with nothing to add was told again: %+v", e)
	}
}

// Links, prefetch and verdicts rest on the consumers of the topology, which is read each three minutes: a change must be
// seen at once, and by consumers that come and go all the time not be asked for without end.
func TestTheTopologyIsReadAgainWhenConsumersChange(t *testing.T) {
	for name, tt := range map[string]struct {
		change      func(s *dedup.BrokerSample)
		least, most int // readings within a minute
	}{
		"nothing changed":                 {func(*dedup.BrokerSample) {}, 0, 0},
		"one consumer more":               {func(s *dedup.BrokerSample) { s.Queues[0].Consumers = ptr(3) }, 1, 1},
		"256 consumers more":              {func(s *dedup.BrokerSample) { s.Queues[0].Consumers = ptr(2 + 256) }, 1, 1},
		"the count is not known":          {func(s *dedup.BrokerSample) { s.Queues[0].Consumers = nil }, 1, 1},
		"as many others, channels closed": {func(s *dedup.BrokerSample) { s.ChannelsClosed = ptr(2) }, 2, 2},
		"the broker counts anew":          {func(s *dedup.BrokerSample) { s.ChannelsClosed = ptr(-1) }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			during(t, func(t *testing.T, b *testBench) {
				pass(40 * time.Second)
				b.broker.set(func(f *fakeSource) {
					f.topologies = 0
					f.sample.Queues = slices.Clone(f.sample.Queues)
					tt.change(&f.sample)
				})
				pass(time.Minute)
				b.broker.set(func(f *fakeSource) {
					if f.topologies < tt.least || f.topologies > tt.most {
						t.Errorf("read %d times in the minute after, want %d to %d", f.topologies, tt.least, tt.most)
					}
				})
			})
		})
	}
}

func TestConsumersWithAChannelForEachMessageDoNotMakeTheTopologyDear(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		pass(40 * time.Second)
		b.broker.set(func(f *fakeSource) { f.topologies = 0 })
		for n := range 40 {
			b.broker.set(func(f *fakeSource) { f.sample.ChannelsClosed = ptr(int64(1000 * (n + 1))) })
			pass(testInterval)
		}
		b.broker.set(func(f *fakeSource) {
			if f.topologies < 10 || f.topologies > 20 {
				t.Errorf("read %d times in ten minutes, want once in two intervals at most", f.topologies)
			}
		})
	})
}
