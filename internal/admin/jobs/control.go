package jobs

import (
	"context"
	"errors"
	"fmt"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// PauseJob lets a job stop after what is in hand, so that it can go on. Operators may.
func (m *Moves) PauseJob(ctx context.Context, who admin.Caller, id string) error {
	return m.control(ctx, who, admin.ActPause, id, nil, func(_ context.Context, job Job) error {
		j := m.jobs.Live(id)
		switch {
		case j != nil && j.ask(pauseIt), job.State == JobPaused:
			return nil
		case j != nil && j.snapshot().State == JobPaused:
			return nil
		}
		return notYet(id)
	})
}

// CancelJob ends a job after what is in hand: every message is at its target or where it was. Operators may.
func (m *Moves) CancelJob(ctx context.Context, who admin.Caller, id string) error {
	return m.control(ctx, who, admin.ActCancel, id, nil, func(ctx context.Context, _ Job) error {
		if j := m.jobs.Live(id); j != nil && j.ask(cancelIt) {
			return nil
		}
		job, err := m.unworked(ctx, id)
		if err != nil {
			return err
		}
		j := m.shell(job)
		if err := m.take(ctx, j); err != nil {
			return err
		}
		defer m.jobs.Retire(id)
		m.runner.finish(j, ending{JobCancelled, ""})
		return nil
	})
}

// unworked returns a job that has not ended, once this process does no more for it.
func (m *Moves) unworked(ctx context.Context, id string) (Job, error) {
	if j := m.jobs.Live(id); j != nil && j.snapshot().State == JobPaused {
		if gone := m.jobs.Gone(id); gone != nil {
			select {
			case <-gone:
			case <-ctx.Done():
			}
		}
	}
	if m.jobs.Known(id) != nil {
		return Job{}, admin.Conflict("The job has not come to rest yet; try again in a moment")
	}
	job, err := m.read(ctx, id)
	if err == nil && job.State.Final() {
		err = admin.Conflict("The job has ended: %s", job.State)
	}
	return job, err
}

// ResumeJob lets a paused job go on. Who may start its plan may.
func (m *Moves) ResumeJob(ctx context.Context, who admin.Caller, id string) error {
	may := func(job Job) error {
		rest := job.Plan
		if err := admin.Lacks(who, rest.Needs); err != nil || rest.Most > 0 { // a bounded one goes on counting
			return err
		}
		rest.UpTo = min(rest.MostOf(job.Limit), job.Limit-job.Moved)
		return m.planner.MayMove(who, rest)
	}
	return m.control(ctx, who, admin.ActResume, id, may, func(ctx context.Context, _ Job) error {
		job, err := m.unworked(ctx, id)
		switch {
		case err != nil:
			return err
		case job.State != JobPaused:
			return notYet(id)
		}
		return m.goOn(ctx, job, who, job.Resumed)
	})
}

// control does something to a job that has not ended, through the gate. What may says, if anything, is asked of operators besides.
func (m *Moves) control(ctx context.Context, who admin.Caller, name, id string, may func(Job) error, do func(context.Context, Job) error) error {
	act := admin.Action{Name: name, Target: "job/" + admin.Printable(id, 64), Needs: auth.Operator}
	job, err := m.controlled(ctx, who, id, &act)
	if err == nil && may != nil {
		err = may(job)
	}
	if err != nil {
		return m.deps.Gate.Refuse(ctx, who, act, err)
	}
	act.Run = func(ctx context.Context) (string, error) {
		return fmt.Sprintf("after %s", job.words()), do(ctx, job)
	}
	return m.deps.Gate.Do(ctx, who, act)
}

// controlled returns a job that something may be done to by whoever has the role, and completes the action.
func (m *Moves) controlled(ctx context.Context, who admin.Caller, id string, act *admin.Action) (Job, error) {
	if err := admin.Lacks(who, act.Needs); err != nil {
		return Job{}, err
	}
	if m.deps.ReadOnly {
		return Job{}, admin.Forbidden("The dashboard is read-only (server.read_only)")
	}
	job, err := m.read(ctx, id)
	if err != nil {
		return Job{}, err
	}
	act.Target = deadletter.QueueTarget(job.Plan.Broker, job.Plan.Source) + "/" + act.Target // so that the audit of a queue has it
	if job.State.Final() {
		return job, admin.Conflict("The job has ended: %s", job.State)
	}
	return job, nil
}

func notYet(id string) error {
	return admin.Conflict("Job %s is not under way: the program was started again, and it goes on as soon as its queue has been seen; or cancel it", admin.Printable(id, 64))
}

// again makes a job live that this process is not carrying out, with what is known of it.
func (m *Moves) again(ctx context.Context, job Job) (*liveJob, error) {
	l, err := job.Plan.Request.Source(m.queues)
	if err != nil {
		return nil, err
	}
	j := m.shell(job)
	j.line = l
	if job.Plan.IDChange != "" {
		if edited, kept := m.edits.Take(job.Plan.ID); kept {
			j.edited = &edited
		}
	}
	sent, err := m.runner.outcomes.movedItems(ctx, job.ID)
	if err != nil {
		return nil, admin.JournalError("What the job has moved cannot be read", err)
	}
	j.recall(sent)
	return j, nil
}

// shell returns a job that this process is not carrying out, as far as the journal tells.
func (m *Moves) shell(job Job) *liveJob {
	return &liveJob{
		deps: m.deps, plan: job.Plan, job: job, moved: map[string]int{},
		who:   restarted(job),
		entry: jobEntry(admin.Entry{Operation: job.ID, Who: job.By, Role: job.Plan.Needs.String(), Reason: job.Reason}, job.Plan),
	}
}

// restarted is in whose name a job goes on that nobody lets go on.
func restarted(job Job) admin.Caller {
	return admin.Caller{Principal: auth.Principal{Name: job.By, Role: job.Plan.Needs, Method: "job"}}
}

// goOn lets a job go on from where it was, in the name of who, as often resumed as said.
func (m *Moves) goOn(ctx context.Context, job Job, who admin.Caller, resumed int) error {
	j, err := m.again(ctx, job)
	if err != nil {
		return err
	}
	j.who = who
	if err := m.take(ctx, j); err != nil {
		return err
	}
	j.mu.Lock()
	j.job.Resumed = resumed
	j.mu.Unlock()
	go func() {
		defer m.jobs.Retire(job.ID)
		if j.plan.IDChange != "" && j.edited == nil {
			m.runner.finish(j, ending{JobStopped, "the edited message was kept in memory alone, and the program was started again: make the edit again"})
			return
		}
		m.runner.carryOut(j)
	}()
	return nil
}

// errMeanwhile means that something else was done with a job since it was read.
var errMeanwhile = errors.New("the job has changed since it was read")

// take makes a job live that was read from the journal, unless something else was done with it since: it may have been cancelled, or have
// gone on, come to rest and retired. Once it is live nobody else changes it in the journal.
func (m *Moves) take(ctx context.Context, j *liveJob) error {
	read := j.snapshot()
	if !m.jobs.Enlist(read.ID, j) {
		return admin.Conflict("The job goes on already, or the dashboard is stopping")
	}
	now, ok, err := m.deps.Journal.Job(ctx, read.ID)
	switch {
	case err != nil:
		err = admin.JournalError("The job cannot be read", err)
	case !ok || now.State != read.State || now.Counts != read.Counts || now.Resumed != read.Resumed:
		err = &dedup.Error{Kind: dedup.Conflict, Public: "The job has changed meanwhile; look at it again", Err: errMeanwhile}
	default:
		return nil
	}
	defer m.jobs.LetGo(read.ID)
	if !j.rest() && !now.State.Final() { // somebody was told that it is cancelled
		m.runner.finish(j, ending{JobCancelled, ""})
	}
	return err
}
