package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// judgeFor is how long after its end it is found out what became of a job's messages, if the program was not there in time.
const judgeFor = time.Hour

// resumeEvery is how often jobs that could not go on are tried again.
const resumeEvery = 15 * time.Second

// Run goes on with the jobs that an earlier run of the program left under way, writes down what could not be written, and purges
// what is old, until ctx ends. A job that was paused stays so. Nothing goes on before a first round of observation has ended.
func (d *DeadLetters) Run(ctx context.Context) error {
	judged := false
	for {
		wait := tidyEvery
		switch err := d.tidy(ctx, &judged); {
		case errors.Is(err, errNotSeen):
			wait = firstRound
		case err != nil && ctx.Err() == nil:
			wait = resumeEvery
			d.deps.Log.Error("jobs could not be tidied; it is tried again", "in", wait, "err", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-d.untidy:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// firstRound is how often it is looked whether the first round has ended, and whether it shows the queues.
const firstRound = time.Second

// errNotSeen means that the queue of a job has not been observed since the program started.
var errNotSeen = errors.New("not observed yet")

// tidy also finds out, once, what became of the messages of jobs that ended while the program was not there.
func (d *DeadLetters) tidy(ctx context.Context, judged *bool) error {
	if d.deps.Snapshots.Snapshot() == nil {
		return errNotSeen
	}
	errs := []error{d.settleOwed(ctx), d.deps.Journal.PurgeMoves(ctx, d.deps.Now())}
	if !*judged {
		ids, err := d.deps.Journal.UnjudgedJobs(ctx, d.deps.Now().Add(-judgeFor))
		for _, id := range ids {
			d.judgeLater(id)
		}
		*judged = err == nil
		errs = append(errs, err)
	}
	ids, err := d.deps.Journal.UnfinishedJobs(ctx)
	errs = append(errs, err)
	unseen := false
	for _, id := range ids {
		err := d.resume(ctx, id)
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

// owe notes a job whose end is yet to be written.
func (d *DeadLetters) owe(j *liveJob) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owed[j.job.ID] = j
}

// settleOwed writes the ends that could not be written.
func (d *DeadLetters) settleOwed(ctx context.Context) error {
	d.mu.Lock()
	owed := make([]*liveJob, 0, len(d.owed))
	for _, j := range d.owed {
		owed = append(owed, j)
	}
	d.mu.Unlock()
	var errs []error
	for _, j := range owed {
		if err := j.save(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		d.mu.Lock()
		delete(d.owed, j.job.ID)
		d.mu.Unlock()
		if j.snapshot().State.Final() {
			d.judgeLater(j.job.ID)
		}
	}
	return errors.Join(errs...)
}

// known returns a job that this process knows better than the journal.
func (d *DeadLetters) known(id string) *liveJob {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j := d.live[id]; j != nil {
		return j
	}
	return d.owed[id]
}

// resume goes on with a job that is under way in the journal and not in this process.
func (d *DeadLetters) resume(ctx context.Context, id string) error {
	if d.known(id) != nil || d.deps.ReadOnly {
		return nil
	}
	job, ok, err := d.deps.Journal.Job(ctx, id)
	if err != nil || !ok || job.State == JobPaused || job.State.Final() {
		return err
	}
	if why := d.WhyNot(job.Plan.Request.Pipeline); why != "" {
		return d.abandon(ctx, job, why) // neither pipeline nor account comes back without another start
	}
	if d.pipelines[job.Plan.Request.Pipeline].Broker != job.Plan.Broker {
		return d.abandon(ctx, job, "its pipeline is of another broker now")
	}
	if _, err := d.moving(job.Plan.Request); err != nil {
		if d.gone(ctx, job.Plan) {
			return d.abandon(ctx, job, "its queue does not exist any more")
		}
		return fmt.Errorf("%w: %w", errNotSeen, err)
	}
	if job.Plan.strict() {
		return d.abandon(ctx, job, fmt.Sprintf("it may move %d messages at most, and how many it had moved at its last moment is not known. Look again and select again", job.Plan.Most))
	}
	e := jobEntry(Entry{Operation: job.ID, Who: job.By, Role: job.Plan.Needs.String(), Reason: job.Reason, Method: "restart"}, job.Plan)
	e.Detail = fmt.Sprintf("goes on after the program has ended; %s so far", job.words())
	if err := d.deps.Gate.intend(ctx, e); err != nil {
		return err
	}
	if err := d.goOn(ctx, job, restarted(job), job.Resumed+1); err != nil {
		d.deps.Gate.finish(ctx, e, "", err)
		if errors.Is(err, errMeanwhile) {
			return nil
		}
		return err
	}
	d.deps.Log.Warn("a job goes on that an earlier run of the program left", "job", id, "moved", job.Moved, "of", job.Limit)
	return nil
}

// gone reports whether the broker itself says that the queue of a plan does not exist.
func (d *DeadLetters) gone(ctx context.Context, p MovePlan) bool {
	_, err := line{broker: d.brokers[p.Broker]}.live(ctx, p.Source)
	return dedup.KindOf(err) == dedup.NotFound
}

// abandon ends a job that cannot go on.
func (d *DeadLetters) abandon(ctx context.Context, job Job, why string) error {
	job.State, job.Why, job.Ended = JobStopped, "it could not go on after the program had ended: "+why, d.deps.Now()
	ctx, cancel := writing(ctx)
	defer cancel()
	if err := d.deps.Journal.SaveJob(ctx, job, nil); err != nil {
		return err
	}
	e := jobEntry(Entry{Operation: job.ID, Who: job.By, Role: job.Plan.Needs.String(), Reason: job.Reason}, job.Plan)
	e.Detail = job.words() + "; stopped: " + job.Why
	d.deps.Gate.close(ctx, e, Failed)
	return nil
}
