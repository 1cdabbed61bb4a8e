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

// resumeSoon is when jobs that could not go on are tried again at first, resumeEvery how often at last: right after a start they wait for
// nothing but the first round of observation.
const (
	resumeSoon  = time.Second
	resumeEvery = 15 * time.Second
)

// Run goes on with the jobs that an earlier run of the program left under way, writes down what could not be written, and purges
// what is old, until ctx ends. A job that was paused stays so.
func (d *DeadLetters) Run(ctx context.Context) error {
	if err := d.judgeUnjudged(ctx); err != nil {
		d.deps.Log.Error("jobs without a result cannot be read", "err", err)
	}
	retry := resumeSoon
	for {
		wait := tidyEvery
		if err := d.tidy(ctx); err == nil {
			retry = resumeSoon
		} else if ctx.Err() == nil {
			d.deps.Log.Error("jobs could not be tidied; it is tried again", "in", retry, "err", err)
			wait, retry = retry, min(2*retry, resumeEvery)
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

func (d *DeadLetters) judgeUnjudged(ctx context.Context) error {
	ids, err := d.deps.Journal.UnjudgedJobs(ctx, d.deps.Now().Add(-judgeFor))
	for _, id := range ids {
		d.judgeLater(id)
	}
	return err
}

func (d *DeadLetters) tidy(ctx context.Context) error {
	errs := []error{d.settleOwed(ctx)}
	ids, err := d.deps.Journal.UnfinishedJobs(ctx)
	errs = append(errs, err)
	for _, id := range ids {
		if err := d.resume(ctx, id); err != nil {
			errs = append(errs, fmt.Errorf("go on with job %s: %w", id, err))
		}
	}
	return errors.Join(append(errs, d.deps.Journal.PurgeMoves(ctx, d.deps.Now()))...)
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
	if _, err := d.moving(job.Plan.Request); err != nil {
		if d.gone(ctx, job.Plan) {
			return d.abandon(ctx, job, err)
		}
		return err
	}
	e := jobEntry(Entry{Operation: job.ID, Who: job.By, Role: job.Plan.Needs.String(), Reason: job.Reason, Method: "restart"}, job.Plan)
	e.Detail = fmt.Sprintf("goes on after the program has ended; %s so far", job.Counts.words())
	if err := d.deps.Gate.intend(ctx, e); err != nil {
		return err
	}
	job.Resumed++
	err = d.goOn(ctx, job, func(*liveJob) {})
	if err == nil {
		d.deps.Log.Warn("a job goes on that an earlier run of the program left", "job", id, "moved", job.Moved, "of", job.Limit)
	}
	return err
}

// gone reports whether what a plan needs is certain not to be there any more: it is not configured, or the broker itself says that the
// queue does not exist. That the queue was not discovered is no sign of it: before the first round has read the broker none is.
func (d *DeadLetters) gone(ctx context.Context, p MovePlan) bool {
	pipeline := d.pipelines[p.Request.Pipeline]
	if d.WhyNot(p.Request.Pipeline) != "" || pipeline.Broker != p.Broker {
		return true
	}
	_, err := line{broker: d.brokers[p.Broker]}.live(ctx, p.Source)
	return dedup.KindOf(err) == dedup.NotFound
}

// abandon ends a job that cannot go on.
func (d *DeadLetters) abandon(ctx context.Context, job Job, why error) error {
	job.State, job.Why, job.Ended = JobStopped, "it could not go on after the program had ended: "+dedup.PublicText(why), d.deps.Now()
	ctx, cancel := writing(ctx)
	defer cancel()
	if err := d.deps.Journal.SaveJob(ctx, job, nil); err != nil {
		return err
	}
	e := jobEntry(Entry{Operation: job.ID, Who: job.By, Role: job.Plan.Needs.String(), Reason: job.Reason}, job.Plan)
	e.Detail = job.Counts.words() + "; stopped: " + job.Why
	d.deps.Gate.close(ctx, e, Failed)
	return nil
}
