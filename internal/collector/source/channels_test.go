package source

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

var morning = time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)

func count(n int64) *int64 { return &n }

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
		"too many channels":                     {time.Time{}, time.Time{}, time.Time{}, func(s *dedup.BrokerSample) { s.ChannelsOpen = count(listedChannels + 1) }, false},
		"their number is not known":             {time.Time{}, time.Time{}, time.Time{}, func(s *dedup.BrokerSample) { s.ChannelsOpen = nil }, false},
		"the broker does not count closed ones": {time.Time{}, time.Time{}, time.Time{}, func(s *dedup.BrokerSample) { s.ChannelsClosed = nil }, false},
		"statistics are disabled":               {time.Time{}, time.Time{}, time.Time{}, func(s *dedup.BrokerSample) { s.Info.StatsDisabled = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := dedup.BrokerSample{ChannelsOpen: count(listedChannels), ChannelsClosed: count(0)}
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

// A listed broker counts how often its channels are listed.
type listed struct {
	Broker
	lists int
}

func (l *listed) Name() string { return "main" }

func (l *listed) Channels(context.Context) (dedup.ChannelList, error) {
	l.lists++
	return dedup.ChannelList{At: time.Now(), Channels: []dedup.Channel{}}, nil
}

// TestAListWaitsForItsTurn: another reading of the broker is under way when it is due.
func TestAListWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker := &listed{}
		b := NewBrokerReader(broker, 15*time.Second, 10*time.Second, slog.New(slog.DiscardHandler), func() {})
		b.lister.saw(&dedup.BrokerSample{At: time.Now(), ChannelsOpen: count(3), ChannelsClosed: count(1)}, true)
		b.gate <- struct{}{}
		done := make(chan error, 1)
		go func() { done <- b.readChannels(t.Context()) }()
		wait(t, 100*time.Millisecond)
		if broker.lists != 0 {
			t.Error("a list was read beside another reading")
		}
		b.release()
		if err := <-done; err != nil {
			t.Errorf("it gave way: %v", err)
		}
		if broker.lists != 1 {
			t.Error("no list was read")
		}
	})
}
