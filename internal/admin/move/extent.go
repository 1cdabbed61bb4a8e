package move

import (
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
)

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
func ExtentOf(p Plan, ready int64) Extent {
	unseen := max(0, ready-int64(p.Scanned))
	e := Extent{Messages: int64(p.Going()) + unseen, AtMost: unseen > 0}
	switch {
	case p.Request.Whole:
		e = Extent{Messages: ready}
	case len(p.Request.Refs) > 0:
		e = Extent{Messages: int64(p.Going()), Picked: true}
	}
	if p.Most > 0 {
		e.Messages = min(e.Messages, p.Most)
	}
	return e
}

// Strict reports whether the most messages of a plan must not be passed by a single one: its count must be exact when the job goes on. Of a
// plan that needs an admin the bound was a wish, and what the last moment before a crash moved may come on top of it.
func (p Plan) Strict() bool { return p.Most > 0 && p.Needs == auth.Operator }

// Planned is how many messages the plan of a whole queue means to take.
func (p Plan) Planned() int64 { return p.AtMost(p.Ready) }

// AtMost returns n, or the most messages of the plan where it has such a bound and that is less.
func (p Plan) AtMost(n int64) int64 {
	if p.Most > 0 {
		return min(p.Most, n)
	}
	return n
}

// Going counts the selected messages that were looked at and are not left out.
func (p Plan) Going() int {
	n := 0
	for class, count := range p.Classes {
		if preflight.ClassChoice(p.Choices, class) != preflight.LeaveOut {
			n += count
		}
	}
	return n
}

// Idle says why a plan would move nothing; empty when it may move something.
func (p Plan) Idle() string {
	switch {
	case p.Ready == 0: // whatever a look has seen before
		return "Nothing would be moved: no message of the queue is ready"
	case p.Going() > 0, len(p.Request.Refs) == 0 && p.Ready > int64(p.Scanned):
		return ""
	case p.Nowhere == p.Matching:
		return "Nothing would be moved: of none of the selected messages is it known which queue to send it to"
	case p.Worn == p.Matching:
		return "Nothing would be moved: every message that was selected was requeued too often"
	case p.Nowhere+p.Worn == p.Matching:
		return "Nothing would be moved: every message that was selected has nowhere to go or was requeued too often"
	}
	return "Nothing would be moved: every message that was selected and can be sent is left out by choice"
}
