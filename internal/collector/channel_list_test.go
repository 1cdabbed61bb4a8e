package collector

import (
	"errors"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestChannelsAreListedWhereTheyAreFewAndSomethingHappened(t *testing.T) {
	const long = 30 * time.Second
	for name, tt := range map[string]struct {
		stirred, listed, next time.Time
		change                func(*dedup.BrokerSample)
		want                  bool
	}{
		"at first":                              {time.Time{}, time.Time{}, time.Time{}, nil, true},
		"nothing happened":                      {time.Time{}, morning.Add(-long), time.Time{}, nil, false},
		"nothing happened for long":             {time.Time{}, morning.Add(-sample.ListRefresh), time.Time{}, nil, true},
		"a channel was closed since":            {morning, morning.Add(-long), time.Time{}, nil, true},
		"what followed may not have shown":      {morning.Add(-long - sample.DepthLag), morning.Add(-long), time.Time{}, nil, true},
		"what followed has shown":               {morning.Add(-long - sample.DepthLag - time.Second), morning.Add(-long), time.Time{}, nil, false},
		"the last list was dear":                {morning, time.Time{}, morning.Add(time.Second), nil, false},
		"too many channels":                     {time.Time{}, time.Time{}, time.Time{}, func(s *dedup.BrokerSample) { s.ChannelsOpen = ptr(listedChannels + 1) }, false},
		"their number is not known":             {time.Time{}, time.Time{}, time.Time{}, func(s *dedup.BrokerSample) { s.ChannelsOpen = nil }, false},
		"the broker does not count closed ones": {time.Time{}, time.Time{}, time.Time{}, func(s *dedup.BrokerSample) { s.ChannelsClosed = nil }, false},
		"statistics are disabled":               {time.Time{}, time.Time{}, time.Time{}, func(s *dedup.BrokerSample) { s.Info.StatsDisabled = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := dedup.BrokerSample{ChannelsOpen: ptr(listedChannels), ChannelsClosed: ptr(0)}
			if tt.change != nil {
				tt.change(&s)
			}
			l := channelLister{stirred: tt.stirred, listed: tt.listed, next: tt.next}
			l.saw(&s, false)
			if got := l.due(morning); got != tt.want {
				t.Errorf("due: %v, want %v", got, tt.want)
			}
		})
	}
}

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
			if most := int(testInterval/listAgain) + 1; f.lists > most {
				t.Errorf("a broker that cannot be sampled was asked for lists %d times, want at most %d", f.lists, most)
			}
		})
	})
}

// TestListsWaitForTheRound, the oldest go where none comes.
func TestListsWaitForTheRound(t *testing.T) {
	var l channelLister
	for i := range listsKept + 3 {
		l.took(&dedup.ChannelList{At: morning.Add(time.Duration(i) * time.Second)}, morning, 0, 0)
	}
	if got := l.take(); len(got) != listsKept || !got[0].At.Equal(morning.Add(3*time.Second)) {
		t.Errorf("%d lists, the first of %s", len(got), got[0].At)
	}
	if got := l.take(); len(got) != 0 {
		t.Errorf("%d lists came twice", len(got))
	}
}

// TestAListWaitsForItsTurn: another reading of the broker is under way when it is due.
func TestAListWaitsForItsTurn(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.broker.set(func(f *fakeSource) { f.sample.ChannelsOpen = ptr(3) })
		pass(testInterval)
		w := b.brokers[0]
		w.gate <- struct{}{}
		w.lister.took(nil, time.Now().Add(-time.Hour), 0, 0)
		w.lister.saw(&dedup.BrokerSample{At: time.Now(), ChannelsOpen: ptr(3), ChannelsClosed: ptr(1)}, true)
		before := 0
		b.broker.set(func(f *fakeSource) { before = f.lists })
		done := make(chan error, 1)
		go func() { done <- w.readChannels(t.Context()) }()
		pass(100 * time.Millisecond)
		w.release()
		if err := <-done; err != nil {
			t.Errorf("it gave way: %v", err)
		}
		b.broker.set(func(f *fakeSource) {
			if f.lists <= before {
				t.Error("no list was read")
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
