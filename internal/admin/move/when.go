package move

import (
	"math"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
)

const (
	// unlimited is about what one node confirms per second.
	unlimited = 5000
	// reviewing is how much later than a plan is made its job begins: somebody reads it and types a reason.
	reviewing = 30 * time.Second
	// drift is the part of the time until a message is consumed by which that may be off: a rate is an upper limit, a wait an estimate.
	drift = 0.1
)

// expected returns when a message is consumed if the plan is started now and so many go before it: at the rate of the plan, after the watch
// over the first messages, and behind what waits in the target.
func (pl *planning) expected(before int64) time.Time {
	p := &pl.plan
	each := time.Duration(min(float64(time.Second)/p.perSecond(), float64(24*time.Hour)))
	at := p.Made.Add(pl.line.Wait() + time.Duration(min(float64(before)*float64(each), math.MaxInt64/4)))
	if first := int64(p.Request.Canary); first > 0 && before >= first {
		at = at.Add(pl.line.Patience(pl.planner.deps.Watch))
	}
	return at
}

// foretell predicts a message anew for the time at which the plan sends it. What no
// consumer sees keeps the prediction of the look. What copies before it change is not in it: amongCopies.
func (pl *planning) foretell(l *deadletter.Letter, before int64) preflight.Prediction {
	switch {
	case pl.plan.Request.Do != admin.Requeue:
		return l.Prediction
	case l.Evidence == nil && l.Alone != nil:
		return *l.Alone
	case l.Evidence == nil:
		return l.Prediction
	}
	at := pl.expected(before)
	off := time.Duration(drift * float64(at.Sub(pl.plan.Made)))
	return l.Evidence.About(at, off, off+reviewing)
}

// perSecond is the rate at which messages are sent at most.
func (p Plan) perSecond() float64 {
	if rate := p.Rate(); rate > 0 {
		return rate
	}
	return unlimited
}
