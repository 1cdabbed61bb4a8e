package collector

import (
	"context"
	"math"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// LiveReader reads what the queues of one broker delivered and took back, as of the moment of the reading. It is called each second, and
// is an error where the broker does not count so. Queues that it does not know of yet are left out.
type LiveReader interface {
	// Watch says which queues are counted.
	Watch(queues ...dedup.QueueRef)
	Live(ctx context.Context) (dedup.LiveCounts, error)
}

// An eventful store knows what its events came to at a moment of the last seconds; not ok until that is certain.
type eventful interface {
	EventsAt(when time.Time) (dedup.EventCounts, bool)
}

const (
	// liveInterval is the time between two readings of live counts, liveTimeout the longest that one may take, jointPatience how long one waits for what the store came to then.
	liveInterval  = time.Second
	liveTimeout   = 2 * time.Second
	jointPatience = 10 * time.Second
	// calmBefore is how long the store must have seen nothing for a reading to be calm: acks follow their markers by less, mostly.
	calmBefore = 50 * time.Millisecond
)

// A liveWatch takes a broker's live counts together with what the stores of its pipelines came to at the same moment.
type liveWatch struct {
	reader LiveReader
	src    *source.Source
	// next is how long the broker asks to be left alone.
	next time.Duration
	// flows are fixed once made.
	flows []*flowPair

	mu sync.Mutex
	// why says why the newest reading told of no queue although the broker answered, off that it counts nothing so.
	why string
	off bool
}

// A jointPair joins the counts of one pipeline's queues with those of its store.
type jointPair struct {
	store  eventful
	giveUp bool

	mu sync.Mutex
	// pending are counts of the broker whose time the store is not certain of yet; fresh are joined, and not yet taken by the round.
	pending []sample.LiveReading
	fresh   []estimate.Joint
	// of is what the counts of the run are compared within, run counts how often that changed.
	of  jointRun
	run int
}

// A jointRun is within what counts are compared: what the broker and the store counted without a break. A delivery with an automatic ack
// ends it too, since the broker does not count those as acks.
type jointRun struct {
	since     time.Time
	automatic float64
	epoch     int64
}

func newLiveWatch(broker string, r LiveReader, cfg Config, turned func()) *liveWatch {
	w := &liveWatch{reader: r}
	w.src = &source.Source{Name: "live counts " + broker, Kind: "live", Interval: liveInterval, Timeout: min(cfg.Timeout, liveTimeout),
		Patience: source.StaleAfter * cfg.Interval, Turned: turned, Place: source.PlaceOf(r), Read: w.read,
		Pace: func(time.Duration) time.Duration { return w.next }}
	return w
}

func (w *liveWatch) read(ctx context.Context) error {
	counts, err := w.reader.Live(ctx)
	w.next = counts.Next
	w.mu.Lock()
	w.why, w.off = counts.Why, counts.Off
	w.mu.Unlock()
	for _, f := range w.flows {
		if err == nil {
			f.take(&counts)
		}
		if f.joint != nil {
			f.joint.join(time.Now())
		}
	}
	return err
}

// told says why the newest reading told of no queue, and what would help.
func (w *liveWatch) told() (why, better string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off {
		return w.why, rate.BetterLive
	}
	return w.why, rate.BetterReport
}

// take adds a reading of the pipeline's queues, where its acks have a bound.
func (p *jointPair) take(r sample.LiveReading) {
	if math.IsInf(r.Acked.Open+r.Acked.Unsure+r.Redelivered, 1) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, r)
}

// join completes the readings of which the store is certain. Those that it does not know in time are left out: counts go on.
func (p *jointPair) join(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pending) > 0 {
		next := p.pending[0]
		c, ok := p.store.EventsAt(next.At)
		last, certain := p.store.EventsAt(next.Ended)
		if ok = ok && certain; !ok && now.Sub(next.At) < jointPatience {
			return
		}
		p.pending = p.pending[1:]
		if !ok {
			continue
		}
		if run := (jointRun{next.Since, next.Automatic, c.Epoch}); run != p.of {
			p.of = run
			p.run++
		}
		before, known := p.store.EventsAt(next.Began.Add(-calmBefore))
		j := next.Joint()
		j.Calm = known && before == last
		j.Run, j.Settled = p.run, float64(c.Completions+c.Again)
		j.Again, j.Claims = float64(c.Again+c.Unclear), float64(c.Claims)
		if p.giveUp {
			j.Settled += float64(c.GaveUp)
		}
		p.fresh = append(p.fresh, j)
	}
}

// drain returns what was joined since the last time.
func (p *jointPair) drain() []estimate.Joint {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.fresh
	p.fresh = nil
	return out
}

// wireLive gives each pipeline whose store tells of its events the live counts of its broker.
func (c *Collector) wireLive(readers map[string]LiveReader) {
	for _, b := range c.brokers {
		reader := readers[b.read.Name()]
		if reader == nil {
			continue
		}
		w := newLiveWatch(b.read.Name(), reader, c.cfg, c.wakeUp)
		var watched []dedup.QueueRef
		for _, p := range c.pipelines {
			if p.broker != b || p.store == nil {
				continue
			}
			p.flow = &flowPair{refs: p.refs}
			w.flows, watched = append(w.flows, p.flow), append(watched, p.refs...)
			if store, ok := p.store.store.(eventful); ok {
				p.live, p.joint = w, &jointPair{store: store, giveUp: p.store.store.Scheme().GiveUp > 0}
				p.flow.joint, p.counted.Joined = p.joint, true
			}
		}
		if len(w.flows) > 0 {
			reader.Watch(watched...)
			c.lives = append(c.lives, w)
		}
	}
}
