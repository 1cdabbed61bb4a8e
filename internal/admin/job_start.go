package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// StartJob begins to carry a plan out and returns the job at once; it goes on when the caller has gone. A plan that is being or
// was carried out returns the job that has it, and nothing is done twice. Who may carry it out is in MovePlan.Needs.
func (d *DeadLetters) StartJob(ctx context.Context, who Caller, req StartRequest) (string, error) {
	act := action{name: "start_move", target: printable(req.PlanID, maxTarget), needs: auth.Operator}
	j, holder, err := d.prepare(ctx, who, req, &act)
	switch {
	case err != nil:
		return "", d.deps.Gate.refuse(ctx, who, act, err)
	case holder != "":
		return holder, nil
	}
	return d.begin(ctx, j, req.Token)
}

// prepare checks who starts which plan, and returns its job, or the job that has the plan already. It completes the action.
func (d *DeadLetters) prepare(ctx context.Context, who Caller, req StartRequest, act *action) (j *liveJob, holder string, err error) {
	if err := lacks(who, act.needs); err != nil {
		return nil, "", err
	}
	if act.reason, err = checkReason(req.Reason); err != nil {
		return nil, "", err
	}
	if len(req.Token) > maxToken {
		return nil, "", invalid(fmt.Sprintf("An idempotency token has at most %d bytes", maxToken))
	}
	p, holder, ok, err := d.deps.Journal.MovePlan(ctx, req.PlanID)
	if err != nil {
		return nil, "", unkept("Nothing was done, because the plan cannot be read", err)
	}
	if err := d.checkToken(ctx, who, req); err != nil {
		return nil, "", err
	}
	switch {
	case holder != "":
		return nil, holder, nil
	case !ok:
		return nil, "", notFound("There is no such plan; make a new one")
	}
	act.name, act.target, act.needs = "start_"+string(p.Request.Do), queueTarget(p.Broker, p.Source)+"/plan/"+p.ID, p.Needs
	if err := lacks(who, p.Needs); err != nil {
		return nil, "", err
	}
	if j, err = d.mayStart(ctx, who, p, strings.TrimSpace(req.Confirm)); err != nil {
		return nil, "", err
	}
	j.who, j.job.By, j.job.Reason = who, who.Name, act.reason
	return j, "", nil
}

// checkToken refuses a token that has started another plan.
func (d *DeadLetters) checkToken(ctx context.Context, who Caller, req StartRequest) error {
	if req.Token == "" {
		return nil
	}
	plan, err := d.deps.Journal.JobByToken(ctx, who.Name, req.Token)
	switch {
	case err != nil:
		return unkept("Nothing was done, because the journal cannot be read", err)
	case plan != "" && plan != req.PlanID:
		return tokenUsed(nil)
	}
	return nil
}

// mayStart checks a plan right before it is carried out, against the broker as it is now.
func (d *DeadLetters) mayStart(ctx context.Context, who Caller, p MovePlan, confirm string) (*liveJob, error) {
	switch {
	case d.overdue(p):
		return nil, conflict("The plan is older than %s; make a new one", span(PlanLife))
	case p.Confirm != "" && confirm != p.Confirm:
		return nil, invalid("Type " + p.Confirm + " to confirm")
	}
	l, err := d.moving(p.Request)
	if err != nil {
		return nil, err
	}
	j := &liveJob{letters: d, line: l, plan: p, moved: map[string]int{}, done: make(chan struct{})}
	if p.IDChange != "" {
		edited, kept := d.edits.take(p.ID)
		if !kept {
			return nil, editLost()
		}
		j.edited = &edited
	}
	q, err := d.source(ctx, l)
	if err != nil {
		return nil, err
	}
	if p.Selective && !dedup.Returning(l.info, q).Harmless {
		return nil, conflict("Messages cannot be picked out of this queue any more: %s", dedup.Returning(l.info, q).Why)
	}
	now, err := d.askAgain(who, p, *q.Ready, confirm)
	if err != nil {
		return nil, err
	}
	if err := refusal(d.liveGuards(ctx, l, q, now)); err != nil {
		return nil, err
	}
	if why := now.Idle(); why != "" {
		return nil, conflict("%s. Look again and select others", why)
	}
	j.job = Job{Plan: p, State: JobRunning, Started: d.deps.Now(), Limit: *q.Ready, Extent: ExtentOf(p, *q.Ready), RateBefore: d.rateNow(p.Request.Pipeline)}
	if p.Request.Canary > 0 {
		j.job.State = JobCanary
	}
	return j, nil
}

// begin audits the intent, claims plan and queue, and starts the job, also when the caller has gone.
func (d *DeadLetters) begin(ctx context.Context, j *liveJob, token string) (string, error) {
	ctx, cancel := writing(ctx)
	defer cancel()
	j.entry = jobEntry(entryOf(j.who, action{}), j.plan)
	j.entry.Reason = j.job.Reason
	j.job.ID = j.entry.Operation
	if !d.enlist(j) {
		return "", stopping()
	}
	started := false
	defer func() {
		if !started {
			d.retire(j)
		}
	}()
	if err := d.deps.Gate.intend(ctx, j.entry); err != nil {
		return "", err
	}
	holder, err := d.claim(ctx, j, token)
	if err != nil {
		d.deps.Gate.finish(ctx, j.entry, "", err)
		return "", err
	}
	if holder != j.job.ID {
		d.deps.Gate.finish(ctx, j.entry, "", conflict("The plan is carried out by job %s", holder))
		return holder, nil
	}
	started = true
	if j.edited != nil {
		d.edits.hold(j.plan.ID, *j.edited)
	}
	go func() {
		defer d.retire(j)
		d.carryOut(j)
	}()
	return j.job.ID, nil
}

func stopping() error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: "Nothing was done, because the dashboard is stopping"}
}

// claim makes sure that the parking queue of a discard is there and safe, and claims plan and queue.
func (d *DeadLetters) claim(ctx context.Context, j *liveJob, token string) (string, error) {
	if j.plan.Request.Do == Discard {
		if err := j.line.declareParking(ctx); err != nil {
			return "", &dedup.Error{Kind: dedup.Conflict, Public: "Nothing was done. " + dedup.PublicText(err), Err: err}
		}
	}
	holder, err := d.deps.Journal.BeginJob(ctx, j.job, token)
	switch {
	case errors.Is(err, ErrTokenUsed):
		return "", tokenUsed(err)
	case errors.Is(err, ErrQueueBusy):
		return "", &dedup.Error{Kind: dedup.Conflict, Public: "Nothing was done, because job " + d.holder(ctx, j.line) + " is moving messages of this queue", Err: err}
	case err != nil:
		return "", unkept("Nothing was done, because the journal cannot be written", err)
	}
	return holder, nil
}

// jobEntry turns an entry into that of a job.
func jobEntry(e Entry, p MovePlan) Entry {
	e.Action, e.Target, e.Hash = MoveAction(p.Request.Do), queueTarget(p.Broker, p.Source), moveHash(p)
	e.Detail = p.summary() + ", plan " + p.ID
	return e
}

// holder returns the job that has a queue and has not ended; empty when none has, or the journal does not say.
func (d *DeadLetters) holder(ctx context.Context, l line) string {
	job, err := d.deps.Journal.HolderOf(ctx, l.pipeline.Broker, l.queue)
	if err != nil {
		d.deps.Log.Error("whether a job has a queue cannot be read", "queue", l.queue.Name, "err", err)
	}
	return job
}

// enlist makes a job live and reports whether it may run: not when DeadLetters is closed, when it runs already, or while its end is
// not written.
func (d *DeadLetters) enlist(j *liveJob) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.live[j.job.ID] != nil || d.owed[j.job.ID] != nil {
		return false
	}
	d.live[j.job.ID] = j
	d.running.Add(1)
	return true
}

// letGo makes a job live no more.
func (d *DeadLetters) letGo(j *liveJob) {
	d.mu.Lock()
	if d.live[j.job.ID] == j {
		delete(d.live, j.job.ID)
	}
	d.mu.Unlock()
	close(j.done)
	d.running.Done()
}

// retire lets a job go that was worked on, and has Run look for what is left to do.
func (d *DeadLetters) retire(j *liveJob) {
	d.letGo(j)
	select {
	case d.untidy <- struct{}{}:
	default: // Run is about to look anyway
	}
}

func (d *DeadLetters) liveJob(id string) *liveJob {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[id]
}
