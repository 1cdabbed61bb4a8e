package live

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
)

const (
	// usually and seldom are how long to wait between readings.
	usually = time.Second
	seldom  = 5 * time.Second
	// slowest is the widest bracket of a reading that tells its moment well enough.
	slowest = 100 * time.Millisecond
	// patience is how many slow readings in a row, and leniency how many in time, change how often is read.
	patience = 3
	leniency = 12
	// manyRows is how many rows of one node are too many for every second.
	manyRows = 2000
	// timeout bounds each request including its body; maxBody bounds an answer, some 8 MB for 10,000 channels.
	timeout = 2 * time.Second
	maxBody = 32 << 20
)

// A Reader counts the queues of one broker. Its methods may be called at the same time; readings take turns.
type Reader struct {
	mu      sync.Mutex
	nodes   []*endpoint
	watched map[dedup.QueueRef]bool
	pace    pace
}

// NewReader returns a reader of the Prometheus endpoints of a broker, of which every node must be listed: each tells of its own channels
// alone. It connects to nothing. Without any endpoint it is nil.
func NewReader(config broker.Config) (*Reader, error) {
	client, roots, err := config.Prometheus()
	if err != nil || len(roots) == 0 {
		return nil, err
	}
	r := &Reader{pace: pace{interval: usually}}
	for _, root := range roots {
		r.nodes = append(r.nodes, &endpoint{http: client, root: root, timeout: timeout, limit: maxBody, node: newNode()})
	}
	return r, nil
}

// Watch sets the queues that are counted. One that is new is counted from the next reading on.
func (r *Reader) Watch(queues ...dedup.QueueRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	watched := make(map[dedup.QueueRef]bool, len(queues))
	for _, queue := range queues {
		watched[queue] = true
	}
	if maps.Equal(watched, r.watched) {
		return
	}
	r.watched = watched
	for _, e := range r.nodes {
		e.watch(watched)
	}
}

// Read reads all nodes at once. A node that does not answer makes a gap; an error is returned when none does, which joins an *Error of each.
func (r *Reader) Read(ctx context.Context) (Reading, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := make([]*Error, len(r.nodes))
	var reading sync.WaitGroup
	for i, e := range r.nodes {
		reading.Go(func() { errs[i] = e.read(ctx) })
	}
	reading.Wait()
	if err := ctx.Err(); err != nil {
		return Reading{}, err
	}
	r.noteTwins(errs)
	return r.merge(errs)
}

// errSameNode says that a node would count twice.
var errSameNode = errors.New("it leads to the same node as another address in prometheus_urls")

// noteTwins leaves out a node that answered at two addresses.
func (r *Reader) noteTwins(errs []*Error) {
	seen := make(map[string]bool)
	for i, e := range r.nodes {
		if e.twin = errs[i] == nil && e.node.name != "" && seen[e.node.name]; e.twin {
			errs[i] = explain(e.root.String(), e.timeout, errSameNode)
		}
		seen[e.node.name] = true
	}
}

// merge makes one reading of those of all nodes.
func (r *Reader) merge(errs []*Error) (Reading, error) {
	var result Reading
	var failed []error
	result.Source = OfQueues
	for i, e := range r.nodes {
		if errs[i] != nil {
			failed = append(failed, errs[i])
			result.note(errs[i], e.done)
			continue
		}
		result.widen(e)
	}
	if len(failed) == len(r.nodes) {
		return Reading{}, errors.Join(failed...)
	}
	result.queues = make(map[dedup.QueueRef]Count, len(r.watched))
	for queue := range r.watched {
		sum := Count{Quiet: result.Done}
		for _, e := range r.nodes {
			if count := e.node.total(e.node.queues[queue]); !e.twin {
				sum.add(&count)
			}
		}
		result.queues[queue] = sum
	}
	result.TooSlow = result.Done.Sub(result.Begun) > slowest
	result.Next = r.pace.after(result.TooSlow, slices.ContainsFunc(r.nodes, func(e *endpoint) bool { return e.node.answer.rows > manyRows }))
	return result, nil
}

// widen takes in a node that answered.
func (r *Reading) widen(e *endpoint) {
	if r.Begun.IsZero() || e.begun.Before(r.Begun) {
		r.Begun = e.begun
	}
	if e.done.After(r.Done) {
		r.Done = e.done
	}
	if e.node.since.After(r.Since) {
		r.Since = e.node.since
	}
	if e.node.family != queueRows {
		r.Source = OfChannels
	}
	r.Rows += e.node.answer.rows
	r.Unreadable += e.node.answer.unreadable
}

// note takes in a node that did not answer, and when it last did.
func (r *Reading) note(err *Error, last time.Time) {
	if r.Gap == nil {
		r.Gap = &Gap{Since: last}
	}
	if last.Before(r.Gap.Since) {
		r.Gap.Since = last
	}
	r.Gap.Nodes = append(r.Gap.Nodes, err)
}

// A pace says how often to read.
type pace struct {
	interval    time.Duration
	slow, quick int // in a row
}

// after returns how long to wait after a reading.
func (p *pace) after(slow, many bool) time.Duration {
	if slow {
		p.slow, p.quick = p.slow+1, 0
	} else {
		p.slow, p.quick = 0, p.quick+1
	}
	switch {
	case p.slow >= patience:
		p.interval = seldom
	case p.quick >= leniency:
		p.interval = usually
	}
	if many {
		return seldom
	}
	return p.interval
}
