package source

import (
	"context"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	// listEach is the time between two lists while channels are closed: one that opens and closes between two is not told apart.
	listEach = 2 * time.Second
	// listsKept bounds the lists that wait for a round.
	listsKept = 16
	// listedChannels is the number of open channels up to which they are listed: the broker gathers the statistics of each.
	listedChannels = 1000
	// listCost is the share of the time that listing channels may take: 5 %. A busy broker takes 0.2 s for a hundred
	// channels.
	listCost = 20
	// listRetry is how long a broker is left alone that did not list its channels.
	listRetry = 3 * time.Minute
	// listAgain is how long after one that failed the next is tried: clients reconnect just when a broker does not answer.
	listAgain = 5 * time.Second
)

// A channelLister decides when the channels are listed, and keeps the lists until a round takes them.
type channelLister struct {
	mu sync.Mutex
	// listable: the newest sample says that there are few channels, and that closed ones are counted.
	listable bool
	// stirred is when channels were last closed or consumers changed, listed when the last list was begun, next the earliest time
	// for another one.
	stirred, listed, next time.Time
	lists                 []*dedup.ChannelList
}

// saw takes what a sample says of the channels; stirred that some were closed, or consumers changed.
func (l *channelLister) saw(s *dedup.BrokerSample, stirred bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listable = s.ChannelsOpen != nil && *s.ChannelsOpen <= listedChannels && s.ChannelsClosed != nil && !s.Info.StatsDisabled
	if stirred {
		l.stirred = s.At
	}
}

// lose notes that the broker cannot be sampled: it is not asked for a list meanwhile.
func (l *channelLister) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listable = false
}

// due reports whether a list is worth its cost: something happened that the last one may not show yet, or it is old.
func (l *channelLister) due(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.listable || now.Before(l.next) {
		return false
	}
	stale, shown := now.Sub(l.listed) >= sample.ListRefresh, l.listed.After(l.stirred.Add(sample.DepthLag))
	return stale || !shown
}

// took notes what came of a list: the broker is left alone for as long as its cost asks, and for longer where it failed.
func (l *channelLister) took(list *dedup.ChannelList, began time.Time, cost, least time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = began.Add(max(cost*listCost, least))
	if list == nil {
		return
	}
	l.listed = began
	if len(l.lists) == listsKept {
		l.lists = l.lists[1:] // what one does not tell the next one does
	}
	l.lists = append(l.lists, list)
}

// take returns the lists that came since it was called last, oldest first.
func (l *channelLister) take() []*dedup.ChannelList {
	l.mu.Lock()
	defer l.mu.Unlock()
	lists := l.lists
	l.lists = nil
	return lists
}

// readChannels lists the channels where it is worth it. Where they cannot be listed all closed channels may have been of any
// pipeline, and nothing else is amiss.
func (b *BrokerReader) readChannels(ctx context.Context) error {
	if !b.lister.due(time.Now()) {
		return nil
	}
	if err := b.acquire(ctx); err != nil {
		return err
	}
	defer b.release()
	began := time.Now()
	list, err := b.broker.Channels(ctx)
	took := time.Since(began)
	switch {
	case err != nil:
		b.log.Debug("channels of the broker could not be listed", "broker", b.broker.Name(), "err", err)
		b.lister.took(nil, began, took, listAgain)
	case list.Channels == nil:
		b.log.Debug("channels of the broker could not be listed: all that are closed count for each pipeline", "broker", b.broker.Name())
		b.lister.took(nil, began, took, listRetry)
	case took > sample.ListSlowest: // what the broker gathers for long it answers at once from a cache, for five times as long
		b.lister.took(nil, began, took, sample.ListRefresh)
	default:
		b.lister.took(&list, began, took, 0)
	}
	return nil
}
