package queue

import (
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// An enteredCounter follows the messages that one source queue says it took in. It is held apart from the broker's other counters:
// where it begins anew nothing else is in doubt.
type enteredCounter struct {
	sample.Counter
	node string
}

// take takes what a list says of the queue, nil when it is not in it; complete lists hide none. The number is the queue's own, whoever
// answers: unlike other counters it must not be excused for being lower than before.
func (c *enteredCounter) take(q *dedup.Queue, complete bool) (sample.Step, bool) {
	if q == nil {
		if c.State == sample.Counting || !complete {
			return c.Lose(), false
		}
		return c.Observe(nil), false // it will be born at 0
	}
	moved := c.node != "" && q.Node != "" && q.Node != c.node
	if q.Node != "" {
		c.node = q.Node
	}
	dropped := moved && c.Lose().Dropped
	st := c.Observe(q.Entered)
	st.Dropped = st.Dropped || dropped
	return st, c.State == sample.Counting
}

// takeEntered takes what one source queue says of the messages that it took in itself, and notes in a frame whether it says so, and
// whether there was none.
func (c *Counts) takeEntered(f *sample.Frame, ref dedup.QueueRef, r Reading) {
	e := &c.raw[ref].entered
	st, told := e.take(r.Queues[ref], r.Complete)
	c.entered += float64(st.Delta)
	if st.Dropped {
		c.enteredGaps++
	}
	f.EnteredKnown = f.EnteredKnown && told
	f.Unentered = f.Unentered && e.Known() && e.Raw == 0
}
