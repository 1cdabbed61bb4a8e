package admin

// An Extent is how many messages a job is about.
type Extent struct {
	// Messages is how many it means to move.
	Messages int64
	// AtMost is true when there can be fewer: a filter also selects from what nobody has looked at.
	AtMost bool
	// Picked is true when they were selected one by one, and the others of the queue are only passed by.
	Picked bool
}

// ExtentOf returns how many messages a plan is about in a queue that holds so many.
func ExtentOf(p MovePlan, ready int64) Extent {
	switch {
	case p.Request.Whole:
		return Extent{Messages: ready}
	case len(p.Request.Refs) > 0:
		return Extent{Messages: int64(p.Going()), Picked: true}
	}
	unseen := max(0, ready-int64(p.Scanned))
	e := Extent{Messages: int64(p.Going()) + unseen, AtMost: unseen > 0}
	if p.Most > 0 {
		e.Messages = min(e.Messages, p.Most)
	}
	return e
}

// Going counts the selected messages that were looked at and are not left out.
func (p MovePlan) Going() int {
	n := 0
	for class, count := range p.Classes {
		if p.Choices[class] != LeaveOut {
			n += count
		}
	}
	return n
}

// Progress returns how far a job of this extent came that takes at most limit messages: of picked messages those that were tried,
// else those that were looked at, whatever became of them.
func (e Extent) Progress(limit int64, c Counts) (done, of int64) {
	if e.Picked {
		done = c.Taken() - c.Left
		return done, max(done, e.Messages)
	}
	done = c.Taken()
	return done, max(done, limit)
}

// Taken counts the messages that were looked at, whatever became of them.
func (c Counts) Taken() int64 {
	return c.Moved + c.Left + c.Bounced + c.Guarded + c.Returned + c.Rejected + c.Unknown
}
