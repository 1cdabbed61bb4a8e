package collector

import "dedup-dashboard/internal/dedup"

// An enteredCounter follows the messages that one source queue says it took in. It is held apart from the broker's other counters:
// where it begins anew nothing else is in doubt.
type enteredCounter struct {
	counter
	node string
}

// take takes what a list says of the queue, nil when it is not in it; complete lists hide none. The number is the queue's own, whoever
// answers: unlike other counters it must not be excused for being lower than before.
func (c *enteredCounter) take(q *dedup.Queue, complete bool) (step, bool) {
	if q == nil {
		if c.state == counterCounting || !complete {
			return c.lose(), false
		}
		return c.observe(nil), false // it will be born at 0
	}
	moved := c.node != "" && q.Node != "" && q.Node != c.node
	if q.Node != "" {
		c.node = q.Node
	}
	dropped := moved && c.lose().Dropped
	st := c.observe(q.Entered)
	st.Dropped = st.Dropped || dropped
	return st, c.state == counterCounting
}

// takeEntered takes what one source queue says of the messages that it took in itself, and notes in a frame whether it says so, and
// whether there was none; q is nil when the broker does not list the queue.
func (p *pipeline) takeEntered(f *frame, ref dedup.QueueRef, q *dedup.Queue) {
	c := &p.queues[ref].entered
	st, told := c.take(q, p.broker.complete)
	p.entered += float64(st.Delta)
	if st.Dropped {
		p.enteredGaps++
	}
	f.EnteredKnown = f.EnteredKnown && told
	f.Unentered = f.Unentered && c.known() && c.raw == 0
}
