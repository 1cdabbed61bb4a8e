package sample

import (
	"sort"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// ListLag is how old a list of channels can be when it is read: the management database collects each 5 s, and caches for
	// five times as long as it took to answer.
	ListLag = 2 * CounterLag
	// ListSlowest is the longest that a list may take to be believed; see ListLag.
	ListSlowest = time.Second
	// ListRefresh is how old a list may become while nothing happens: a window must begin before the list from which a channel
	// vanished.
	ListRefresh = time.Minute
	// listsApart is the most time between two lists that are compared: who consumed and closed in between is not known.
	listsApart = 2 * ListRefresh
	// settledConnection is how long a connection must have been in every list before its channels prove anything: whoever opens
	// one to consume from several queues does so at once, and shows as a consumer of all within CounterLag.
	settledConnection = 2 * CounterLag
	// forgottenConnection is how long a connection that is in no list is remembered, and manyConnections how many there may be.
	forgottenConnection = 10 * time.Minute
	manyConnections     = 10_000
)

// A ClosureBook tells which closed channels of a broker were not of a pipeline. The broker counts closed channels of everybody
// together; a channel that was listed and is not any more has been closed at least once in between, and one that consumed from
// other queues, on a connection that never consumed from the pipeline's, was another's. A name that is used again hides closures,
// and invents none.
type ClosureBook struct {
	pipelines []*OwnClosures
	last      *channelListing
	// connections are those of the newest list, and of others not long ago.
	connections map[string]*connectionNote
}

// A channelListing is a list of channels by name. Consuming are those with a consumer.
type channelListing struct {
	at        time.Time
	channels  map[string]dedup.Channel
	consuming map[string]bool
}

// A connectionNote is what a connection was seen to do: since when it is in every list, when it was listed last, and for which
// pipelines it ever consumed.
type connectionNote struct {
	since, last time.Time
	serves      map[*OwnClosures]bool
}

// OwnClosures bounds the closures of the channels of one pipeline. A nil one knows of no others.
type OwnClosures struct {
	vhost  string
	queues map[dedup.QueueRef]bool
	// blind is when a list last hid whose the pipeline's consumers are.
	blind time.Time
	// others are times within which channels of others were closed, oldest first.
	others []otherClosures
}

// otherClosures are closures of others' channels between two times: after - before, which count all since the start.
type otherClosures struct {
	from, to      time.Time
	before, after float64
}

// Follow adds a pipeline of the broker.
func (b *ClosureBook) Follow(vhost string, refs []dedup.QueueRef) *OwnClosures {
	own := &OwnClosures{vhost: vhost, queues: make(map[dedup.QueueRef]bool)}
	for _, ref := range refs {
		own.queues[ref] = true
	}
	b.pipelines = append(b.pipelines, own)
	return own
}

// Restart begins anew: the broker counts closed channels from the start, or the clock was set back. What connections did
// does not become untrue.
func (b *ClosureBook) Restart() {
	b.last = nil
	for _, own := range b.pipelines {
		own.others = nil
	}
	for _, note := range b.connections {
		note.since, note.last = time.Time{}, time.Time{}
	}
}

// Observe takes the next list. One that tells no consumers, or came too slowly, proves nothing; what was closed since the list
// before is then told by the next good one, if that comes soon.
func (b *ClosureBook) Observe(list *dedup.ChannelList) {
	if list.Channels == nil || list.Consumers == nil || list.Took > ListSlowest {
		return
	}
	if b.last != nil && !list.At.After(b.last.at) {
		b.Restart()
	}
	now := b.take(list)
	if b.last != nil && list.At.Sub(b.last.at) <= listsApart {
		b.compare(now, list.At.Add(list.Took))
	}
	b.last = now
	b.forget(list.At)
}

// take notes what a list says of its connections.
func (b *ClosureBook) take(list *dedup.ChannelList) *channelListing {
	now := &channelListing{at: list.At, channels: make(map[string]dedup.Channel, len(list.Channels)), consuming: make(map[string]bool)}
	for _, c := range list.Channels {
		now.channels[c.Name] = c
		b.note(c.Connection, list.At)
	}
	for _, c := range list.Consumers {
		now.consuming[c.Channel] = true
		nameless := c.Channel == "" || c.Connection == "" // rabbitmq-server issue 2684
		for _, own := range b.pipelines {
			switch {
			case !own.queues[c.Queue]:
			case nameless:
				own.blind = list.At
			default:
				b.note(c.Connection, list.At).serves[own] = true
			}
		}
	}
	return now
}

// note returns the note on a connection of a list. One that was not in the list before may be another by the same name.
func (b *ClosureBook) note(connection string, at time.Time) *connectionNote {
	if b.connections == nil {
		b.connections = make(map[string]*connectionNote)
	}
	note, known := b.connections[connection]
	if !known {
		note = &connectionNote{serves: make(map[*OwnClosures]bool)}
		b.connections[connection] = note
	}
	if !note.last.Equal(at) && (b.last == nil || !note.last.Equal(b.last.at)) {
		note.since = at
	}
	note.last = at
	return note
}

// compare counts the channels that were listed and are not any more, for each pipeline of which they provably were not. A node
// that does not answer in time is missing from the list with all its channels, and one that was restarted does not count those
// that went with it: the channels of a node none of whose channels is still there prove nothing.
func (b *ClosureBook) compare(now *channelListing, ended time.Time) {
	stayed := make(map[string]bool)
	var gone []dedup.Channel
	for name, c := range b.last.channels {
		if _, there := now.channels[name]; there {
			stayed[c.Node] = true
		} else {
			gone = append(gone, c)
		}
	}
	for _, own := range b.pipelines {
		n := 0
		for _, c := range gone {
			if stayed[c.Node] && b.another(own, c) {
				n++
			}
		}
		own.Add(b.last.at.Add(-ListLag), ended, n)
	}
}

// another reports whether a channel of the list before was not of a pipeline: it belonged to another virtual host; or it
// consumed, on a connection that had been listed for a while and never consumed from the pipeline's queues.
func (b *ClosureBook) another(own *OwnClosures, c dedup.Channel) bool {
	if c.Vhost != "" && c.Vhost != own.vhost {
		return true
	}
	note := b.connections[c.Connection]
	if c.Connection == "" || note == nil || note.serves[own] || !b.last.consuming[c.Name] {
		return false
	}
	since := note.since
	if own.blind.After(since) {
		since = own.blind
	}
	return b.last.at.Sub(since) >= settledConnection
}

func (b *ClosureBook) forget(now time.Time) {
	for name, note := range b.connections {
		if age := now.Sub(note.last); age > forgottenConnection || (age > 0 && len(b.connections) > manyConnections) {
			delete(b.connections, name)
		}
	}
}

// Add notes closures of others' channels, and now and then joins what is old: entries that are joined count only in a window
// that holds them all.
func (o *OwnClosures) Add(from, to time.Time, n int) {
	if n == 0 {
		return
	}
	var before float64
	if k := len(o.others); k > 0 {
		before = o.others[k-1].after
	}
	o.others = append(o.others, otherClosures{from: from, to: to, before: before, after: before + float64(n)})
	if len(o.others)%64 == 0 {
		o.join(to)
	}
}

func (o *OwnClosures) join(now time.Time) {
	kept := o.others[:0]
	for _, c := range o.others {
		age := now.Sub(c.to)
		if age > keptFor {
			continue
		}
		if k := len(kept); k > 0 && age > EachFor && c.to.Sub(kept[k-1].from) < OldStep {
			kept[k-1].to, kept[k-1].after = c.to, c.after
			continue
		}
		kept = append(kept, c)
	}
	o.others = kept
}

// Most bounds the channels of the pipeline that were closed between two readings of the broker, out of those of the whole
// broker; it is not known where the broker did not count them all. A count that was not there yet at the first one was born at 0
// since. Of others are only those that the second count surely shows
// and the first surely did not. Channels that take messages one by one are not listed as consumers: where there were such
// nothing is taken off.
func (o *OwnClosures) Most(first, later *Frame) (n float64, known bool) {
	if later.ClosuresBlind || first.ClosureGaps != later.ClosureGaps {
		return 0, false
	}
	all := later.Closures - first.Closures
	if o == nil || all == 0 || later.Gets != first.Gets {
		return all, true
	}
	i := sort.Search(len(o.others), func(i int) bool { return !o.others[i].from.Before(first.Ended) })
	counted := later.Began.Add(-CounterLag)
	j := sort.Search(len(o.others), func(j int) bool { return o.others[j].to.After(counted) })
	if i >= j {
		return all, true
	}
	others := o.others[j-1].after - o.others[i].before
	if others > all {
		return all, true // more than the broker counted: the lists are not to be believed
	}
	return all - others, true
}
