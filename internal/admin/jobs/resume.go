package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin"
)

// judgeFor is how long after its end it is found out what became of a job's messages, if the program was not there in time.
const judgeFor = time.Hour

// purgeEvery is how often what is old is purged.
const purgeEvery = 10 * time.Minute

// resumeEvery is how often jobs that could not go on are tried again.
const resumeEvery = 15 * time.Second

// A jobRecovery goes on with the jobs that an earlier run of the program left, and writes down what could not be written.
type jobRecovery struct {
	*tools
	moves    *Moves
	outcomes *outcomeFinder
}

// Run goes on with the jobs that an earlier run of the program left under way, writes down what could not be written, and purges
// what is old, until ctx ends. A job that was paused stays so. Nothing goes on before a first round of observation has ended.
func (r *jobRecovery) Run(ctx context.Context) error {
	judged := false
	r.jobs.Tend(ctx, func(ctx context.Context) time.Duration {
		err := r.tidy(ctx, &judged)
		switch {
		case errors.Is(err, errNotSeen):
			return firstRound
		case err == nil || ctx.Err() != nil:
			return purgeEvery
		}
		r.deps.Log.Error("jobs could not be tidied; it is tried again", "in", resumeEvery, "err", err)
		return resumeEvery
	})
	return nil
}

// firstRound is how often it is looked whether the first round has ended, and whether it shows the queues.
const firstRound = time.Second

// errNotSeen means that the queue of a job has not been observed since the program started.
var errNotSeen = errors.New("not observed yet")

// tidy also finds out, once, what became of the messages of jobs that ended while the program was not there.
func (r *jobRecovery) tidy(ctx context.Context, judged *bool) error {
	if r.deps.Snapshots.Snapshot() == nil {
		return errNotSeen
	}
	errs := []error{r.settleOwed(ctx), r.deps.Journal.PurgeMoves(ctx, r.deps.Now())}
	if !*judged {
		ids, err := r.deps.Journal.UnjudgedJobs(ctx, r.deps.Now().Add(-judgeFor))
		for _, id := range ids {
			r.outcomes.judgeLater(id)
		}
		*judged = err == nil
		errs = append(errs, err)
	}
	ids, err := r.deps.Journal.UnfinishedJobs(ctx)
	errs = append(errs, err)
	unseen := false
	for _, id := range ids {
		err := r.resume(ctx, id)
		if errors.Is(err, errNotSeen) {
			unseen = true
		} else if err != nil {
			errs = append(errs, fmt.Errorf("go on with job %s: %w", id, err))
		}
	}
	if err := errors.Join(errs...); err != nil || !unseen {
		return err
	}
	return errNotSeen
}

// settleOwed writes the ends that could not be written.
func (r *jobRecovery) settleOwed(ctx context.Context) error {
	var errs []error
	for id, j := range r.jobs.Owing() {
		if err := j.save(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		r.jobs.Written(id)
		if j.snapshot().State.Final() {
			r.outcomes.judgeLater(id)
		}
	}
	return errors.Join(errs...)
}

// resume goes on with a job that is under way in the journal and not in this process.
func (r *jobRecovery) resume(ctx context.Context, id string) error {
	if r.jobs.Known(id) != nil || r.deps.ReadOnly {
		return nil
	}
	job, ok, err := r.deps.Journal.Job(ctx, id)
	if err != nil || !ok || job.State == JobPaused || job.State.Final() {
		return err
	}
	if why := r.queues.WhyNot(job.Plan.Request.Pipeline); why != "" {
		return r.abandon(ctx, job, why) // neither pipeline nor account comes back without another start
	}
	if r.queues.Pipelines[job.Plan.Request.Pipeline].Broker != job.Plan.Broker {
		return r.abandon(ctx, job, "its pipeline is of another broker now")
	}
	if _, err := job.Plan.Request.Source(r.queues); err != nil {
		if r.queues.Gone(ctx, job.Plan.Broker, job.Plan.Source) {
			return r.abandon(ctx, job, "its queue does not exist any more")
		}
		return fmt.Errorf("%w: %w", errNotSeen, err)
	}
	if job.Plan.Strict() {
		return r.abandon(ctx, job, fmt.Sprintf("it may move %d messages at most, and how many it had moved at its last moment is not known. Look again and select again", job.Plan.Most))
	}
	e := jobEntry(admin.Entry{Operation: job.ID, Who: job.By, Role: job.Plan.Needs.String(), Reason: job.Reason, Method: "restart"}, job.Plan)
	e.Detail = fmt.Sprintf("goes on after the program has ended; %s so far", job.words())
	if err := r.deps.Gate.Intend(ctx, e); err != nil {
		return err
	}
	if err := r.moves.goOn(ctx, job, restarted(job), job.Resumed+1); err != nil {
		r.deps.Gate.Finish(ctx, e, "", err)
		if errors.Is(err, errMeanwhile) {
			return nil
		}
		return err
	}
	r.deps.Log.Warn("a job goes on that an earlier run of the program left", "job", id, "moved", job.Moved, "of", job.Limit)
	return nil
}

// abandon ends a job that cannot go on.
func (r *jobRecovery) abandon(ctx context.Context, job Job, why string) error {
	job.State, job.Why, job.Ended = JobStopped, "it could not go on after the program had ended: "+why, r.deps.Now()
	ctx, cancel := admin.Writing(ctx)
	defer cancel()
	if err := r.deps.Journal.SaveJob(ctx, job, nil); err != nil {
		return err
	}
	e := jobEntry(admin.Entry{Operation: job.ID, Who: job.By, Role: job.Plan.Needs.String(), Reason: job.Reason}, job.Plan)
	e.Detail = job.words() + "; stopped: " + job.Why
	r.deps.Gate.Close(ctx, e, admin.Failed)
	return nil
}
