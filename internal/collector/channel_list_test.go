package collector

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestChannelsAreListedWhereTheyAreFewAndSomethingHappened(t *testing.T) {
	const long = 30 * time.Second
	for name, tt := range map[string]struct {
		lister channelLister
		change func(*dedup.BrokerSample)
		want   bool
	}{
		"at first":                              {channelLister{}, nil, true},
		"nothing happened":                      {channelLister{listed: dawn.Add(-long)}, nil, false},
		"nothing happened for long":             {channelLister{listed: dawn.Add(-listRefresh)}, nil, true},
		"a channel was closed since":            {channelLister{listed: dawn.Add(-long), stirred: dawn}, nil, true},
		"what followed may not have shown":      {channelLister{listed: dawn.Add(-long), stirred: dawn.Add(-long - depthLag)}, nil, true},
		"what followed has shown":               {channelLister{listed: dawn.Add(-long), stirred: dawn.Add(-long - depthLag - time.Second)}, nil, false},
		"the last list was dear":                {channelLister{stirred: dawn, next: dawn.Add(time.Second)}, nil, false},
		"too many channels":                     {channelLister{}, func(s *dedup.BrokerSample) { s.ChannelsOpen = ptr(listedChannels + 1) }, false},
		"their number is not known":             {channelLister{}, func(s *dedup.BrokerSample) { s.ChannelsOpen = nil }, false},
		"the broker does not count closed ones": {channelLister{}, func(s *dedup.BrokerSample) { s.ChannelsClosed = nil }, false},
		"statistics are disabled":               {channelLister{}, func(s *dedup.BrokerSample) { s.Info.StatsDisabled = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := dedup.BrokerSample{ChannelsOpen: ptr(listedChannels), ChannelsClosed: ptr(0)}
			if tt.change != nil {
				tt.change(&s)
			}
			if got := tt.lister.due(&s, dawn); got != tt.want {
				t.Errorf("due: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheCollectorListsChannelsBesideItsSamples(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		rows := func() []channelRow {
			return []channelRow{{ordersApp, "1", "orders"}, {mailApp, "1", "mail"}, {mailApp, "2", ""}}
		}
		b.broker.set(func(f *fakeSource) {
			f.sample.ChannelsOpen = ptr(3)
			f.channels = *channelList(0, rows()...)
		})
		pass(2 * time.Minute)
		b.broker.set(func(f *fakeSource) {
			if f.lists == 0 || f.lists > 8 {
				t.Errorf("listed %d times in two quiet minutes", f.lists)
			}
			f.sample.ChannelsClosed = ptr(1)
			f.channels = *channelList(0, rows()[0], rows()[2])
		})
		pass(time.Minute)
		frames := b.pipelines[0].frames.frames
		if n := len(b.brokers[0].owners.pipelines[0].others); n != 1 {
			t.Fatalf("%d disappearances are known, want 1", n)
		}
		first, last := &frames[0], &frames[len(frames)-1]
		for i := range frames {
			if frames[i].Began.Before(last.Began.Add(-150 * time.Second)) {
				first = &frames[i]
			}
		}
		if ours, known := b.pipelines[0].own.most(first, last); last.Closures-first.Closures != 1 || ours != 0 || !known {
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
