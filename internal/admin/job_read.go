package admin

import (
	"context"
	"fmt"

	"dedup-dashboard/internal/auth"
)

const (
	maxJobs     = 200
	maxItemPage = 1000
	// maxItemsOf is how many entries the page of one message id shows.
	maxItemsOf = 200
)

// Job returns a job as it stands. Operators may.
func (d *DeadLetters) Job(ctx context.Context, who Caller, id string) (Job, error) {
	if err := d.allow(ctx, who, auth.Operator, "read_job", id); err != nil {
		return Job{}, err
	}
	return d.read(ctx, id)
}

// read returns a job: of one that this process carries out as it stands, else as the journal has it.
func (d *DeadLetters) read(ctx context.Context, id string) (Job, error) {
	known := d.known(id)
	job, ok, err := d.deps.Journal.Job(ctx, id)
	switch {
	case known != nil && known.snapshot().ID != "":
		return known.snapshot(), nil
	case err != nil:
		return Job{}, unkept("The job cannot be read", err)
	case !ok:
		return Job{}, notFound("There is no such job")
	case !job.State.Final() && job.State != JobPaused && d.known(id) == nil:
		job.Why = "the program was started again; the job goes on as soon as its queue has been seen"
	}
	return job, nil
}

// Jobs lists jobs, newest first. Operators may.
func (d *DeadLetters) Jobs(ctx context.Context, who Caller, limit int) ([]JobSummary, error) {
	if err := d.allow(ctx, who, auth.Operator, "read_jobs", ""); err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxJobs {
		return nil, invalid(fmt.Sprintf("A list has 1 to %d jobs", maxJobs))
	}
	list, err := d.deps.Journal.Jobs(ctx, limit)
	if err != nil {
		return nil, unkept("The jobs cannot be read", err)
	}
	for i := range list {
		if j := d.known(list[i].ID); j != nil {
			job := j.snapshot()
			list[i].State, list[i].Counts, list[i].Ended = job.State, job.Counts, job.Ended
		}
	}
	return list, nil
}

// JobItems returns what became of messages of a job with numbers above after, in order. Operators may.
func (d *DeadLetters) JobItems(ctx context.Context, who Caller, id string, after int64, limit int) ([]JobItem, error) {
	if err := d.allow(ctx, who, auth.Operator, "read_job", id); err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxItemPage || after < 0 {
		return nil, invalid(fmt.Sprintf("A page has 1 to %d messages", maxItemPage))
	}
	items, err := d.deps.Journal.JobItems(ctx, id, after, limit)
	if err != nil {
		return nil, unkept("The messages of the job cannot be read", err)
	}
	return items, nil
}

// ItemsOf returns what jobs did to messages with an id, newest first, each with its job. Operators may.
func (d *DeadLetters) ItemsOf(ctx context.Context, who Caller, id string) ([]JobItem, error) {
	if err := d.allow(ctx, who, auth.Operator, "look_up_jobs", ""); err != nil {
		return nil, err
	}
	if id == "" || len(id) > MaxTerm {
		return nil, invalid(fmt.Sprintf("A message id to look up has 1 to %d bytes", MaxTerm))
	}
	items, err := d.deps.Journal.ItemsOf(ctx, id, maxItemsOf)
	if err != nil {
		return nil, unkept("The jobs cannot be read", err)
	}
	return items, nil
}
