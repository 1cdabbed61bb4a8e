package move

import (
	"fmt"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// A TooMany refuses a move of more messages than may be moved. The same move of at most Fits of them is not refused for that.
type TooMany struct {
	Fits int64
	Err  error
}

// Error returns the text of Err.
func (e *TooMany) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *TooMany) Unwrap() error { return e.Err }

// Fits returns the most messages that nothing would speak against the number of, and whether something speaks against more.
func (p Plan) Fits() (n int64, known bool) {
	for _, g := range p.Guards {
		if g.Fits != nil && (!known || *g.Fits < n) {
			n, known = *g.Fits, true
		}
	}
	return n, known
}

// Refusal is the error of guards that refuse a plan; nil where none does.
func Refusal(guards []Guard) error {
	why := blocking(guards)
	if why == "" {
		return nil
	}
	err := admin.Conflict("Nothing was done. %s", why)
	if fits, known := (Plan{Guards: guards}).Fits(); known && fits > 0 {
		return &TooMany{Fits: fits, Err: err}
	}
	return err
}

// beyondOperator says how many messages an operator may requeue, where it is their number alone that needs an admin; else it returns
// the error that refused the plan.
func (pl *planning) beyondOperator(who admin.Caller, err error) error {
	limit := int64(pl.planner.deps.OperatorLimit)
	fewer := *pl
	fewer.plan.Request.Most = limit
	if dedup.KindOf(err) != dedup.Forbidden || limit < 1 || pl.plan.Needs == auth.Operator || fewer.needs(who) != auth.Operator {
		return err
	}
	pl.plan.Most = 0
	why := "A whole queue without a bound needs an admin: it may be more by the time it is moved"
	if n := pl.plan.MostOf(pl.plan.Ready); n > limit {
		why = fmt.Sprintf("%d messages are more than the %d that an operator may requeue at once", n, limit)
	}
	return &TooMany{Fits: limit, Err: &dedup.Error{Kind: dedup.Forbidden, Err: err, Public: fmt.Sprintf("%s. Take %d at most, or ask an admin", why, limit)}}
}

// AskAgain returns a plan as it stands for a queue that holds so many by now, and asks again what depends on that: the queue may have grown
// since the plan was made, by somebody with other rights.
func (m *Planner) AskAgain(who admin.Caller, p Plan, ready int64, confirm string) (Plan, error) {
	p.Ready, p.UpTo = ready, p.MostOf(ready)
	if err := m.MayMove(who, p); err != nil {
		return p, err
	}
	if needed := p.typed(); p.Confirm == "" && needed != "" && confirm != needed {
		return p, admin.Conflict("Nothing was done. The queue has grown: by now this may move %d messages, for which %s must be typed. Make the plan again", p.UpTo, needed)
	}
	return p, nil
}

// MayMove says whether somebody may let a plan move as many messages as it may move.
func (m *Planner) MayMove(who admin.Caller, p Plan) error {
	limit := int64(m.deps.OperatorLimit)
	if who.Can(auth.Admin) || p.UpTo <= limit {
		return nil
	}
	return admin.Forbidden(fmt.Sprintf("Nothing was done. By now this may move %d messages, more than the %d that an operator may requeue at once. "+
		"Make the plan again, of %d at most, or ask an admin", p.UpTo, limit, limit))
}

// roomless says that not all of some messages have room.
func roomless(n, room int64) string {
	if room == 0 {
		return fmt.Sprintf("%d do not fit: there is no room for any", n)
	}
	return fmt.Sprintf("%d do not fit: room for %d. Take %d at most", n, room, room)
}
