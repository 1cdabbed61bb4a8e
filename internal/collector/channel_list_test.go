package collector

import (
	"errors"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestTheCollectorListsChannelsBesideItsSamples(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		rows := func() []listedChannel {
			return []listedChannel{{ordersSender, "1", "orders"}, {mailSender, "1", "mail"}, {mailSender, "2", ""}}
		}
		b.broker.set(func(f *fakeSource) {
			f.sample.ChannelsOpen = ptr(3)
			f.channels = *listOf(0, rows()...)
		})
		pass(2 * time.Minute)
		b.broker.set(func(f *fakeSource) {
			if f.lists == 0 || f.lists > 8 {
				t.Errorf("listed %d times in two quiet minutes", f.lists)
			}
			f.sample.ChannelsClosed = ptr(1)
			f.channels = *listOf(0, rows()[0], rows()[2])
		})
		pass(time.Minute)
		frames := b.pipelines[0].counted.Traffic.Frames
		first, last := &frames[0], &frames[len(frames)-1]
		for i := range frames {
			if frames[i].Began.Before(last.Began.Add(-150 * time.Second)) {
				first = &frames[i]
			}
		}
		if ours, known := b.pipelines[0].counted.Traffic.Own.Most(first, last); last.Closures-first.Closures != 1 || ours != 0 || !known {
			t.Errorf("%v closures, of which %v may be the pipeline's; want 1 and 0", last.Closures-first.Closures, ours)
		}
		b.broker.set(func(f *fakeSource) { f.channels.Channels = nil; f.lists = 0 })
		pass(2 * time.Minute)
		b.broker.set(func(f *fakeSource) {
			if f.lists > 1 {
				t.Errorf("a broker that lists no channels was asked %d times in two minutes", f.lists)
			}
		})
	})
}

// TestAListThatFailsIsTriedAgainSoon: clients reconnect just when a broker does not answer.
func TestAListThatFailsIsTriedAgainSoon(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.broker.set(func(f *fakeSource) { f.sample.ChannelsOpen, f.channelsErr = ptr(3), errors.New("connection refused") })
		pass(time.Minute)
		b.broker.set(func(f *fakeSource) {
			if f.lists < 60/8 {
				t.Errorf("tried %d times in a minute", f.lists)
			}
			f.err, f.lists = errors.New("connection refused"), 0
		})
		pass(time.Minute)
		b.broker.set(func(f *fakeSource) {
			if most := int(testInterval/(5*time.Second)) + 1; f.lists > most {
				t.Errorf("a broker that cannot be sampled was asked for lists %d times, want at most %d", f.lists, most)
			}
		})
	})
}

const (
	ordersSender = "10.0.0.1:4000 -> 10.0.0.9:5672"
	mailSender   = "10.0.0.2:4000 -> 10.0.0.9:5672"
)

// morning is the time that the others of these tests are counted from.
var morning = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// A listedChannel is a channel of a list and the queue that it consumes from; empty for none.
type listedChannel struct{ connection, number, queue string }

func listOf(at time.Duration, rows ...listedChannel) *dedup.ChannelList {
	l := &dedup.ChannelList{At: morning.Add(at), Took: 20 * time.Millisecond, Channels: []dedup.Channel{}, Consumers: []dedup.Consumer{}}
	for _, r := range rows {
		name := r.connection + " (" + r.number + ")"
		l.Channels = append(l.Channels, dedup.Channel{Name: name, Connection: r.connection, Vhost: "/", Node: "n1"})
		if r.queue != "" {
			l.Consumers = append(l.Consumers, dedup.Consumer{Queue: dedup.QueueRef{Vhost: "/", Name: r.queue}, Channel: name, Connection: r.connection})
		}
	}
	return l
}
