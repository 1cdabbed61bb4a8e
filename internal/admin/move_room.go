package admin

import (
	"fmt"

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
func (p MovePlan) Fits() (n int64, known bool) {
	for _, g := range p.Guards {
		if g.Fits != nil && (!known || *g.Fits < n) {
			n, known = *g.Fits, true
		}
	}
	return n, known
}

// refusal is the error of guards that refuse a plan; nil where none does.
func refusal(guards []Guard) error {
	why := blocking(guards)
	if why == "" {
		return nil
	}
	err := &dedup.Error{Kind: dedup.Conflict, Public: "Nothing was done. " + why}
	if fits, known := (MovePlan{Guards: guards}).Fits(); known && fits > 0 {
		return &TooMany{Fits: fits, Err: err}
	}
	return err
}

// beyondOperator says how many messages an operator may requeue, where it is their number alone that needs an admin; else it returns
// the error that refused the plan.
func (pl *planning) beyondOperator(err error) error {
	limit := int64(pl.letters.deps.Config.OperatorLimit)
	fewer := *pl
	fewer.plan.Request.Most = limit
	if dedup.KindOf(err) != dedup.Forbidden || limit < 1 || pl.plan.Needs == auth.Operator || fewer.needs() != auth.Operator {
		return err
	}
	pl.plan.Most = 0
	why := "A whole queue without a bound needs an admin: it may be more by the time it is moved"
	if n := pl.plan.upTo(pl.plan.Ready); n > limit {
		why = fmt.Sprintf("%d messages are more than the %d that an operator may requeue at once", n, limit)
	}
	return &TooMany{Fits: limit, Err: &dedup.Error{Kind: dedup.Forbidden, Err: err, Public: fmt.Sprintf("%s. Take %d at most, or ask an admin", why, limit)}}
}

// roomless says that not all of some messages have room.
func roomless(n, room int64) string {
	if room == 0 {
		return fmt.Sprintf("%d do not fit: there is no room for any", n)
	}
	return fmt.Sprintf("%d do not fit: room for %d. Take %d at most", n, room, room)
}
