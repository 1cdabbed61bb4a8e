package source

import (
	"context"
	"math"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// LiveReader reads what the queues of one broker delivered and took back, as of the moment of the reading. It is called each second, and
// is an error where the broker does not count so. Queues that it does not know of yet are left out.
type LiveReader interface {
	// Watch says which queues are counted.
	Watch(queues ...dedup.QueueRef)
	Live(ctx context.Context) (dedup.LiveCounts, error)
}

// An Eventful store knows what its events came to at a moment of the last seconds; not ok until that is certain.
type Eventful interface {
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

// A LiveSource takes a broker's live counts together with what the stores of its pipelines came to at the same moment.
type LiveSource struct {
	Source *Source
	reader LiveReader
	// next is how long the broker asks to be left alone.
	next time.Duration
	// flows are fixed once it runs.
	flows []*Flow

	mu sync.Mutex
	// why says why the newest reading told of no queue although the broker answered, off that it counts nothing so.
	why string
	off bool
}

// A jointPair joins the counts of one pipeline's queues with those of its store.
type jointPair struct {
	store  Eventful
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

// NewLiveSource returns a source of the live counts of a broker whose other readings have an interval and a timeout.
func NewLiveSource(broker string, r LiveReader, interval, timeout time.Duration, turned func()) *LiveSource {
	w := &LiveSource{reader: r}
	w.Source = &Source{Name: "live counts " + broker, Kind: "live", Interval: liveInterval, Timeout: min(timeout, liveTimeout),
		Patience: StaleAfter * interval, Turned: turned, Place: PlaceOf(r), Read: w.read,
		Pace: func(time.Duration) time.Duration { return w.next }}
	return w
}

// Flow adds the queues of a pipeline, whose counts are joined with those of its store; nil where that tells of no events. giveUp says that
// messages which are given up count as settled. Like Watch it is called before anything is read.
func (w *LiveSource) Flow(refs []dedup.QueueRef, store Eventful, giveUp bool) *Flow {
	f := &Flow{refs: refs}
	if store != nil {
		f.joint = &jointPair{store: store, giveUp: giveUp}
	}
	w.flows = append(w.flows, f)
	return f
}

// Watch says to the broker which queues are counted, and reports whether there are any.
func (w *LiveSource) Watch() bool {
	var refs []dedup.QueueRef
	for _, f := range w.flows {
		refs = append(refs, f.refs...)
	}
	if len(w.flows) > 0 {
		w.reader.Watch(refs...)
	}
	return len(w.flows) > 0
}

func (w *LiveSource) read(ctx context.Context) error {
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

// Told says why the newest reading told of no queue although the broker answered, and that the broker does not count so.
func (w *LiveSource) Told() (why string, off bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why, w.off
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
		if !ok || c.Late || last.Late { // events of before it may count as of after it
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
		j.Again, j.Claims, j.Failed, j.Retried = float64(c.Again+c.Unclear), float64(c.Claims), float64(c.Failures), float64(c.Retried)
		if p.giveUp {
			j.Settled += float64(c.GaveUp)
			j.Failed -= float64(c.GaveUp)
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

// A Flow takes the live counts of one pipeline's queues, for the round and for joint, which is nil where the store tells of no events.
type Flow struct {
	refs  []dedup.QueueRef
	joint *jointPair

	mu    sync.Mutex
	fresh []sample.LiveReading
}

// take adds a reading, where the broker tells of all queues.
func (f *Flow) take(c *dedup.LiveCounts) {
	r, ok := sample.SumLive(c, f.refs)
	if !ok {
		return
	}
	if f.joint != nil {
		f.joint.take(r)
	}
	if math.IsInf(r.Acked.Unsure+r.Acked.Open+r.Delivered.Unsure+r.Delivered.Open+r.Redelivered, 1) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fresh = append(f.fresh, r)
}

// Drain returns the readings since it was called last.
func (f *Flow) Drain() []sample.LiveReading {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.fresh
	f.fresh = nil
	return out
}

// DrainJoints returns the readings that were joined since it was called last.
func (f *Flow) DrainJoints() []estimate.Joint {
	if f.joint == nil {
		return nil
	}
	return f.joint.drain()
}
