package collector

import (
	"context"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// listedChannels is the number of open channels up to which they are listed: the broker gathers the statistics of each.
	listedChannels = 1000
	// listCost is the share of the time that listing channels may take: 5 %. A busy broker takes 0.2 s for a hundred channels, and
	// channels that open and close between two lists are not told apart.
	listCost = 20
	// listRefresh is how old a list may become while nothing happens: a window must begin before the list from which a channel
	// vanished.
	listRefresh = time.Minute
	// listRetry is how long a broker is left alone that did not list its channels.
	listRetry = 3 * time.Minute
)

// A channelLister decides when the channels are listed. It belongs to the sampling goroutine.
type channelLister struct {
	// stirred is when channels were last closed or consumers changed, listed when the last list was begun, next the earliest time
	// for another one.
	stirred, listed, next time.Time
}

// due reports whether a list is worth its cost: something happened that the last one may not show yet, or it is old.
func (l *channelLister) due(s *dedup.BrokerSample, now time.Time) bool {
	few := s.ChannelsOpen != nil && *s.ChannelsOpen <= listedChannels
	if !few || s.ChannelsClosed == nil || s.Info.StatsDisabled || now.Before(l.next) {
		return false
	}
	return !l.listed.After(l.stirred.Add(depthLag)) || now.Sub(l.listed) >= listRefresh
}

// listChannels lists the channels where it is worth it; nil where it is not, or where they cannot be listed: then all closed
// channels may have been of any pipeline. It must be called with the broker's gate held.
func (b *brokerWatch) listChannels(ctx context.Context, s *dedup.BrokerSample) *dedup.ChannelList {
	l, began := &b.lister, time.Now()
	if !l.due(s, began) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(b.timeout, 2*listSlowest))
	defer cancel()
	list, err := b.broker.Channels(ctx)
	took := time.Since(began)
	l.next = began.Add(took * listCost)
	if took > listSlowest { // what the broker gathers for long it answers at once from a cache, for five times as long
		l.next = began.Add(max(listRefresh, took*listCost))
		return nil
	}
	if err != nil || list.Channels == nil {
		l.next = began.Add(max(listRetry, took*listCost))
		b.log.Debug("channels of the broker could not be listed: all that are closed count for each pipeline", "broker", b.broker.Name(), "err", err)
		return nil
	}
	l.listed = began
	return &list
}
