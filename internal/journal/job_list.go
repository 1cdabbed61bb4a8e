package journal

import (
	"context"

	"dedup-dashboard/internal/admin/jobs"
)

// Jobs returns summaries, newest first.
func (j *Jobs) Jobs(ctx context.Context, limit int) ([]jobs.JobSummary, error) {
	return j.summaries(ctx, "ORDER BY started_at DESC, rowid DESC LIMIT ?", limit)
}

// JobSummary returns a job as it stands in a list, and whether there is one. What it costs does not grow with the plan.
func (j *Jobs) JobSummary(ctx context.Context, id string) (jobs.JobSummary, bool, error) {
	list, err := j.summaries(ctx, "WHERE id = ?", id)
	if err != nil || len(list) == 0 {
		return jobs.JobSummary{}, false, err
	}
	return list[0], true, nil
}

func (j *Jobs) summaries(ctx context.Context, where string, args ...any) ([]jobs.JobSummary, error) {
	return list(ctx, j.read, "read jobs", func(row scanner) (s jobs.JobSummary, err error) {
		var job jobs.Job
		err = row.Scan(&s.Do, &s.Pipeline, decoded(&s.Queue, unpacked), decoded(&job, decodeJob))
		s.ID, s.By, s.Reason, s.State = job.ID, job.By, job.Reason, job.State
		s.Started, s.Ended, s.Limit, s.Extent, s.Counts, s.Aftermath, s.Arrived = job.Started, job.Ended, job.Limit, job.Extent, job.Counts, job.Aftermath, job.Arrived
		s.Resumed = job.Resumed
		return s, err
	}, "SELECT move, pipeline, queue, body FROM jobs "+where, args...)
}
