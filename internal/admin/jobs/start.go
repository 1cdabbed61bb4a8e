package jobs

import (
	"context"
	"errors"
	"strings"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/operation"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// Moves carries plans out as jobs: it starts, pauses, resumes and cancels them, and says how they stand. It is safe for concurrent use; its
// errors are *dedup.Error.
type Moves struct {
	*tools
	planner *move.Planner
	// reviewed are the plans, as whoever carries one out reviews it.
	reviewed operation.Plans[move.Plan]
	plans    jobPlans
	runner   *jobRunner
}

// allow refuses and records whoever lacks the role.
func (m *Moves) allow(ctx context.Context, who admin.Caller, needs auth.Role, name, target string) error {
	return m.deps.Gate.Allow(ctx, who, admin.Action{Name: name, Target: admin.Printable(target, admin.MaxTarget), Needs: needs})
}

// StartJob begins to carry a plan out and returns the job at once; it goes on when the caller has gone. A plan that is being or
// was carried out returns the job that has it, and nothing is done twice. Who may carry it out is in move.Plan.Needs.
func (m *Moves) StartJob(ctx context.Context, who admin.Caller, req StartRequest) (string, error) {
	act := admin.Action{Name: "start_move", Target: admin.Printable(req.PlanID, admin.MaxTarget), Needs: auth.Operator}
	j, holder, err := m.prepare(ctx, who, req, &act)
	switch {
	case err != nil:
		return "", m.deps.Gate.Refuse(ctx, who, act, err)
	case holder != "":
		return holder, nil
	}
	return m.begin(ctx, j, req.Token)
}

// prepare checks who starts which plan, and returns its job, or the job that has the plan already. It completes the action.
func (m *Moves) prepare(ctx context.Context, who admin.Caller, req StartRequest, act *admin.Action) (j *liveJob, holder string, err error) {
	p, holder, err := m.reviewed.Review(ctx, who, req, act)
	if err != nil || holder != "" {
		return nil, holder, err
	}
	act.Name, act.Target, act.Needs = "start_"+string(p.Request.Do), deadletter.QueueTarget(p.Broker, p.Source)+"/plan/"+p.ID, p.Needs
	if err := admin.Lacks(who, p.Needs); err != nil {
		return nil, "", err
	}
	if j, err = m.mayStart(ctx, who, p, strings.TrimSpace(req.Confirm)); err != nil {
		return nil, "", err
	}
	j.who, j.job.By, j.job.Reason = who, who.Name, act.Reason
	return j, "", nil
}

// mayStart checks a plan right before it is carried out, against the broker as it is now.
func (m *Moves) mayStart(ctx context.Context, who admin.Caller, p move.Plan, confirm string) (*liveJob, error) {
	if err := m.reviewed.InForce(p, confirm); err != nil {
		return nil, err
	}
	l, err := p.Request.Source(m.queues)
	if err != nil {
		return nil, err
	}
	j := &liveJob{deps: m.deps, line: l, plan: p, moved: map[string]int{}}
	if p.IDChange != "" {
		edited, kept := m.edits.Take(p.ID)
		if !kept {
			return nil, editLost()
		}
		j.edited = &edited
	}
	q, err := m.queues.Source(ctx, l)
	if err != nil {
		return nil, err
	}
	if p.Selective && !dedup.Returning(l.Info, q).Harmless {
		return nil, admin.Conflict("Messages cannot be picked out of this queue any more: %s", dedup.Returning(l.Info, q).Why)
	}
	now, err := m.planner.AskAgain(who, p, *q.Ready, confirm)
	if err != nil {
		return nil, err
	}
	if err := move.Refusal(m.planner.LiveGuards(ctx, l, q, now)); err != nil {
		return nil, err
	}
	if why := now.Idle(); why != "" {
		return nil, admin.Conflict("%s. Look again and select others", why)
	}
	j.job = Job{Plan: p, State: JobRunning, Started: m.deps.Now(), Limit: *q.Ready, Extent: move.ExtentOf(p, *q.Ready), RateBefore: m.queues.RateNow(p.Request.Pipeline)}
	if p.Request.Canary > 0 {
		j.job.State = JobCanary
	}
	return j, nil
}

// begin audits the intent, claims plan and queue, and starts the job, also when the caller has gone.
func (m *Moves) begin(ctx context.Context, j *liveJob, token string) (string, error) {
	j.entry = jobEntry(admin.NewEntry(j.who, admin.Action{}), j.plan)
	j.entry.Reason = j.job.Reason
	j.job.ID = j.entry.Operation
	holder, err := m.jobs.Claim(ctx, m.deps.Gate, j.entry, j, func(ctx context.Context) (string, error) { return m.claim(ctx, j, token) })
	if err != nil || holder != j.job.ID {
		return holder, err
	}
	if j.edited != nil {
		m.edits.Hold(j.plan.ID, *j.edited)
	}
	go func() {
		defer m.jobs.Retire(j.job.ID)
		m.runner.carryOut(j)
	}()
	return j.job.ID, nil
}

// claim makes sure that the parking queue of a discard is there and safe, and claims plan and queue.
func (m *Moves) claim(ctx context.Context, j *liveJob, token string) (string, error) {
	if j.plan.Request.Do == admin.Discard {
		if err := j.line.DeclareParking(ctx); err != nil {
			return "", &dedup.Error{Kind: dedup.Conflict, Public: "Nothing was done. " + dedup.PublicText(err), Err: err}
		}
	}
	holder, err := m.deps.Journal.BeginJob(ctx, j.job, token)
	if errors.Is(err, ErrQueueBusy) {
		return "", &dedup.Error{Kind: dedup.Conflict, Public: "Nothing was done, because job " + m.queues.Holder(ctx, j.line) + " is moving messages of this queue", Err: err}
	}
	return holder, operation.NotBegun(err)
}

// jobEntry turns an entry into that of a job.
func jobEntry(e admin.Entry, p move.Plan) admin.Entry {
	e.Action, e.Target, e.Hash = admin.MoveAction(p.Request.Do), deadletter.QueueTarget(p.Broker, p.Source), move.HashOf(p)
	e.Detail = p.Summary() + ", plan " + p.ID
	return e
}

// editLost refuses to go on with a plan whose edit is not known any more: the message as it was is not what somebody meant to send.
func editLost() error {
	return admin.Conflict("The edited message is not kept any more: it is held in memory alone. Make the edit again")
}
