package jobs

import (
	"fmt"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// remembering corrects the prediction of a message whose marker the plan has seen to say, or to leave open, that its work was done. That the marker
// is gone since does not make the work undone.
func (j *liveJob) remembering(p preflight.Prediction, ref string) preflight.Prediction {
	if p.Class != preflight.ClassRuns && p.Class != preflight.ClassLastAttempt {
		return p
	}
	foretold := j.plan.Foretold[ref]
	switch {
	case foretold == preflight.ClassSkipped, foretold == preflight.ClassMayRunTwice, foretold == preflight.ClassPerhapsSwallowed:
	case foretold == preflight.ClassBlocks && preflight.Shown(j.line.Store.SchemeOrZero(), dedup.Present):
	default:
		return p
	}
	return preflight.Because(preflight.ClassMayRunTwice, fmt.Sprintf("the plan saw a marker by which it is %s: it is gone, and the work may have been done", foretold.Words()))
}

// unforeseen reports whether a message may run twice by now although whoever reviewed the plan has seen another class of it, and did not
// ask for such messages: nobody has agreed to that.
func (d *decider) unforeseen(l *deadletter.Letter) bool {
	p := &d.job.plan
	if p.Request.Do != admin.Requeue || l.Prediction.Class != preflight.ClassMayRunTwice || p.Foretold == nil || p.Request.Choices[preflight.ClassMayRunTwice] == preflight.KeepAsIs {
		return false
	}
	foretold, noted := p.Foretold[l.Ref]
	switch {
	case !noted:
		return p.Ready <= int64(p.Scanned) // else it may be one that nobody has looked at
	case foretold == preflight.ClassUnknown:
		return preflight.ClassChoice(p.Choices, foretold) != preflight.KeepAsIs
	}
	return foretold != preflight.ClassMayRunTwice && preflight.ClassChoice(p.Choices, foretold) != preflight.ClearFirst
}

// leaveUnforeseen leaves such a message and counts it; the lock is held.
func (d *decider) leaveUnforeseen(l *deadletter.Letter) requeue.Decision {
	d.turned++
	return requeue.Decision{Why: "it may run twice by now, which the plan did not foretell: " + l.Prediction.Why() + "; look again and make a new plan"}
}

func (d *decider) leftUnforeseen() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.turned
}

// changed says how many messages were left because they may run twice by now; empty for none.
func (j *liveJob) changed() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.turned == 0 {
		return ""
	}
	return move.Counted(j.turned, "message was", "messages were") + " left: by now the work may be done twice, which the plan did not foretell. Look again and make a new plan"
}

// enough is the ending of a job that has sent as many messages as it may, or all that were selected and go.
func (j *liveJob) enough() ending {
	if j.spent() {
		return ending{JobDone, j.mostMoved()}
	}
	if why := j.changed(); why != "" {
		return ending{JobStopped, why}
	}
	return ending{JobDone, ""}
}
