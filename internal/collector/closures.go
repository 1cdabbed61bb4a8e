package collector

import (
	"sort"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// listLag is how old a list of channels can be when it is read: the management database collects each 5 s, and caches for
	// five times as long as it took to answer.
	listLag = 2 * counterLag
	// listSlowest is the longest that a list may take to be believed; see listLag.
	listSlowest = time.Second
	// settledConnection is how long a connection must have been listed before its channels prove anything: whoever opens one
	// to consume does so at once, and shows as a consumer within counterLag.
	settledConnection = 2 * counterLag
	// forgottenConnection is how long a connection without channels is remembered, and manyConnections how many there may be.
	forgottenConnection = 10 * time.Minute
	manyConnections     = 10_000
)

// A closureBook tells which closed channels of a broker were not of a pipeline. The broker counts closed channels of everybody
// together; a channel that was listed and is not any more has been closed at least once in between, and one of a connection
// that never consumed from the pipeline's queues was another's. A name that is used again hides closures, and invents none.
type closureBook struct {
	pipelines []*ownClosures
	last      *channelListing
	// connections are those of the listed channels, and of others not long ago.
	connections map[string]*connectionNote
}

// A channelListing is the newest list of channels by name.
type channelListing struct {
	at       time.Time
	channels map[string]listedChannel
	nodes    map[string]bool
}

// A listedChannel was listed by its name in every list since a time.
type listedChannel struct {
	dedup.Channel
	since     time.Time
	consuming bool
}

// A connectionNote is what a connection was seen to do: when it was listed first and last, and for which pipelines it consumed.
type connectionNote struct {
	first, last time.Time
	serves      map[*ownClosures]bool
}

// ownClosures bounds the closures of the channels of one pipeline. A nil one knows of no others.
type ownClosures struct {
	vhost  string
	queues map[dedup.QueueRef]bool
	// foreign are times within which channels of others were closed, oldest first.
	foreign []foreignClosures
}

// foreignClosures are closures of others' channels between two times: After - Before, which count all since the start.
type foreignClosures struct {
	From, To      time.Time
	Before, After float64
}

// follow adds a pipeline of the broker.
func (b *closureBook) follow(vhost string, refs []dedup.QueueRef) *ownClosures {
	own := &ownClosures{vhost: vhost, queues: make(map[dedup.QueueRef]bool)}
	for _, ref := range refs {
		own.queues[ref] = true
	}
	b.pipelines = append(b.pipelines, own)
	return own
}

// reset forgets everything: the broker counts closed channels anew.
func (b *closureBook) reset() {
	b.last, b.connections = nil, nil
	for _, own := range b.pipelines {
		own.foreign = nil
	}
}

// absorb takes the next list. One that does not tell every consumer's channel, or came too slowly, proves nothing; what was
// closed since the list before is then told by the next good one.
func (b *closureBook) absorb(list *dedup.ChannelList) {
	if list.Channels == nil || list.Consumers == nil || list.Took > listSlowest {
		return
	}
	if b.last != nil && !list.At.After(b.last.at) {
		b.reset() // the clock was set back
	}
	now := &channelListing{at: list.At, channels: make(map[string]listedChannel, len(list.Channels)), nodes: make(map[string]bool)}
	for _, c := range list.Channels {
		since := list.At
		if b.last != nil {
			if was, listed := b.last.channels[c.Name]; listed {
				since = was.since
			}
		}
		now.channels[c.Name] = listedChannel{Channel: c, since: since}
		now.nodes[c.Node] = true
		b.note(c.Connection, list.At)
	}
	for _, c := range list.Consumers {
		if c.Channel == "" || c.Connection == "" { // rabbitmq-server issue 2684
			return
		}
		note := b.note(c.Connection, list.At)
		for _, own := range b.pipelines {
			if own.queues[c.Queue] {
				note.serves[own] = true
			}
		}
		if channel, listed := now.channels[c.Channel]; listed {
			channel.consuming = true
			now.channels[c.Channel] = channel
		}
	}
	if b.last != nil {
		b.compare(now, list.At.Add(list.Took))
	}
	b.last = now
	b.forget(list.At)
}

func (b *closureBook) note(connection string, at time.Time) *connectionNote {
	if b.connections == nil {
		b.connections = make(map[string]*connectionNote)
	}
	note, known := b.connections[connection]
	if !known {
		note = &connectionNote{first: at, serves: make(map[*ownClosures]bool)}
		b.connections[connection] = note
	}
	note.last = at
	return note
}

// compare counts the channels that were listed and are not any more, for each pipeline of which they provably were not. A node that
// does not answer in time is missing from the list with all its channels: those of a node without any prove nothing.
func (b *closureBook) compare(now *channelListing, ended time.Time) {
	for _, own := range b.pipelines {
		n := 0
		for name, c := range b.last.channels {
			if _, there := now.channels[name]; !there && now.nodes[c.Node] && b.foreign(own, c) {
				n++
			}
		}
		own.add(b.last.at.Add(-listLag), ended, n)
	}
}

// foreign reports whether a channel of the last listing was not of a pipeline: it belonged to another virtual host, or to a
// connection that had been there for a while and did not consume from the pipeline's queues. The channel itself consumed from
// others, or was there for so long that it would have shown as a consumer.
func (b *closureBook) foreign(own *ownClosures, c listedChannel) bool {
	if c.Vhost != "" && c.Vhost != own.vhost {
		return true
	}
	note := b.connections[c.Connection]
	if c.Connection == "" || note == nil || note.serves[own] || b.last.at.Sub(note.first) < settledConnection {
		return false
	}
	return c.consuming || b.last.at.Sub(c.since) >= settledConnection
}

func (b *closureBook) forget(now time.Time) {
	for name, note := range b.connections {
		if age := now.Sub(note.last); age > forgottenConnection || (age > 0 && len(b.connections) > manyConnections) {
			delete(b.connections, name)
		}
	}
}

// add notes closures of others' channels, and thins out what is old as a tape does: two that are joined count only in a window
// that holds both.
func (o *ownClosures) add(from, to time.Time, n int) {
	if n == 0 {
		return
	}
	var before float64
	if k := len(o.foreign); k > 0 {
		before = o.foreign[k-1].After
	}
	o.foreign = append(o.foreign, foreignClosures{from, to, before, before + float64(n)})
	if len(o.foreign)%64 != 0 {
		return
	}
	kept := o.foreign[:0]
	for _, f := range o.foreign {
		age := to.Sub(f.To)
		if age > tapeTotal {
			continue
		}
		if k := len(kept); k > 0 && age > tapeFull && f.To.Sub(kept[k-1].From) < tapeStep {
			kept[k-1].To, kept[k-1].After = f.To, f.After
			continue
		}
		kept = append(kept, f)
	}
	o.foreign = kept
}

// between is the most channels of the pipeline that were closed between two readings of the broker, out of those of the whole
// broker. Of others are only those that the second count surely shows and the first surely did not. Channels that take
// messages one by one are not listed as consumers: where there were such nothing is taken off.
func (o *ownClosures) between(first, later *frame) float64 {
	total := later.Closures - first.Closures
	if o == nil || total == 0 || later.Gets != first.Gets {
		return total
	}
	i := sort.Search(len(o.foreign), func(i int) bool { return !o.foreign[i].From.Before(first.Ended) })
	counted := later.Began.Add(-counterLag)
	j := sort.Search(len(o.foreign), func(j int) bool { return o.foreign[j].To.After(counted) })
	if i >= j {
		return total
	}
	others := o.foreign[j-1].After - o.foreign[i].Before
	if others > total {
		return total // more than the broker counted: the lists are not to be believed
	}
	return total - others
}
