package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
)

// Jobs keeps plans of moves of dead letters, jobs, and what became of their messages. Its writes are on disk when they return. It
// is safe for concurrent use.
type Jobs struct{ keeper }

// Jobs returns the keeper of moves of dead letters.
func (db *DB) Jobs() *Jobs { return &Jobs{db.keeper()} }

// SaveMovePlan keeps a plan.
func (j *Jobs) SaveMovePlan(ctx context.Context, p move.Plan) error {
	body, err := encodeMovePlan(p)
	if err != nil {
		return fmt.Errorf("keep plan: %w", err)
	}
	return exec(ctx, j.write, "keep plan", do("INSERT INTO move_plans (id, made_at, body) VALUES (?, ?, ?)", p.ID, p.Made.UnixMilli(), body))
}

// MovePlan returns a plan, the job that claimed it or "", and whether there is such a plan.
func (j *Jobs) MovePlan(ctx context.Context, id string) (p move.Plan, job string, ok bool, err error) {
	p, ok, err = one(ctx, j.read, "read plan", func(row scanner) (p move.Plan, err error) {
		err = row.Scan(decoded(&p, decodeMovePlan), &job)
		return p, err
	}, "SELECT body, coalesce(job, '') FROM move_plans WHERE id = ?", id)
	return p, job, ok, err
}

// BeginJob claims the plan and the queue and keeps the job, all or nothing. It returns the ID of the job that has the plan already,
// else that of this one. It fails with jobs.ErrQueueBusy or admin.ErrTokenUsed.
func (j *Jobs) BeginJob(ctx context.Context, job jobs.Job, token string) (string, error) {
	p := job.Plan
	return j.begin(ctx, "begin job", planClaim{
		id: job.ID, plan: p.ID, by: job.By, token: token, table: "jobs",
		free: func(tx *sql.Tx) error {
			busy, _, err := one(ctx, tx, "look for a job of the queue", only[bool], "SELECT EXISTS (SELECT 1 FROM jobs WHERE broker = ? AND vhost = ? AND source = ? AND ended_at IS NULL)",
				p.Broker, packString(p.Source.Vhost), packString(p.Source.Name))
			if err == nil && busy {
				err = jobs.ErrQueueBusy
			}
			return err
		},
		keep: func(tx *sql.Tx) error { return insertJob(ctx, tx, job, token) },
	})
}

func insertJob(ctx context.Context, tx *sql.Tx, job jobs.Job, token string) error {
	body, err := encodeJob(job)
	if err != nil {
		return err
	}
	p := job.Plan
	return run(ctx, tx,
		do(`INSERT INTO jobs (id, plan, started_by, reason, token, move, pipeline, broker, vhost, queue, source, state, started_at, body)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			job.ID, p.ID, job.By, job.Reason, token, string(p.Request.Do), p.Request.Pipeline, p.Broker, packString(p.Source.Vhost),
			packString(p.Request.Queue), packString(p.Source.Name), string(job.State), job.Started.UnixMilli(), body),
		do("UPDATE move_plans SET job = ? WHERE id = ?", job.ID, p.ID))
}

// SaveJob keeps how far a job came, and its end when it has ended, with what became of messages since; both or neither.
func (j *Jobs) SaveJob(ctx context.Context, job jobs.Job, items []jobs.JobItem) error {
	return j.save(ctx, job, func(tx *sql.Tx) error { return insertItems(ctx, tx, job.ID, items) })
}

// SaveAftermath keeps a job that has ended with what became of its messages, by their numbers; both or neither.
func (j *Jobs) SaveAftermath(ctx context.Context, job jobs.Job, became map[int64]string) error {
	return j.save(ctx, job, func(tx *sql.Tx) error {
		return repeat(ctx, tx, "UPDATE job_items SET became = ? WHERE job = ? AND seq = ?", func(update func(...any) error) error {
			for seq, word := range became {
				if err := update(word, job.ID, seq); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// save keeps a job together with its messages.
func (j *Jobs) save(ctx context.Context, job jobs.Job, messages func(*sql.Tx) error) error {
	body, err := encodeJob(job)
	if err != nil {
		return fmt.Errorf("keep job: %w", err)
	}
	return j.inOne(ctx, "keep job", func(tx *sql.Tx) error {
		n, err := rowsChanged(ctx, tx, "UPDATE jobs SET state = ?, ended_at = ?, judged = ?, body = ? WHERE id = ?",
			string(job.State), toMillis(job.Ended), job.Aftermath != nil, body, job.ID)
		switch {
		case err != nil:
			return err
		case n != 1:
			return fmt.Errorf("%d rows: %w", n, errNoJob)
		}
		return messages(tx)
	})
}

// errNoJob means that the journal does not know a job: it was begun anew.
var errNoJob = errors.New("the journal has no such job")

func insertItems(ctx context.Context, tx *sql.Tx, job string, items []jobs.JobItem) error {
	if len(items) == 0 {
		return nil
	}
	return repeat(ctx, tx, `
		INSERT INTO job_items (job, seq, at, ref, message_id, target, class, outcome, text, death) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, func(insert func(...any) error) error {
		for _, it := range items {
			death, err := deathJSON(it.Death)
			if err == nil {
				err = insert(job, it.Seq, it.At.UnixMilli(), it.Ref, []byte(it.ID), []byte(it.Target), string(it.Class), it.Outcome, []byte(it.Text), death)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Job returns a job with its plan, and whether there is one.
func (j *Jobs) Job(ctx context.Context, id string) (jobs.Job, bool, error) {
	return one(ctx, j.read, "read job", func(row scanner) (job jobs.Job, err error) {
		var plan move.Plan
		err = row.Scan(decoded(&plan, decodeMovePlan), decoded(&job, decodeJob))
		job.Plan = plan
		return job, err
	}, "SELECT p.body, j.body FROM jobs j JOIN move_plans p ON p.id = j.plan WHERE j.id = ?", id)
}

// JobAlone returns a job with the ID of its plan alone, and whether there is one. What it costs does not grow with the plan.
func (j *Jobs) JobAlone(ctx context.Context, id string) (jobs.Job, bool, error) {
	return one(ctx, j.read, "read job", func(row scanner) (job jobs.Job, err error) {
		var plan string
		err = row.Scan(&plan, decoded(&job, decodeJob))
		job.Plan.ID = plan
		return job, err
	}, "SELECT plan, body FROM jobs WHERE id = ?", id)
}

// JobByToken returns the plan that this person started with the token, or "".
func (j *Jobs) JobByToken(ctx context.Context, by, token string) (string, error) {
	return j.planOfToken(ctx, "jobs", by, token)
}

// HolderOf returns the job that has not ended and moves messages of a queue, or "".
func (j *Jobs) HolderOf(ctx context.Context, broker string, queue dedup.QueueRef) (string, error) {
	id, _, err := one(ctx, j.read, "read jobs", only[string], "SELECT id FROM jobs WHERE broker = ? AND vhost = ? AND source = ? AND ended_at IS NULL",
		broker, packString(queue.Vhost), packString(queue.Name))
	return id, err
}

// UnfinishedJobs returns the jobs that have not ended, oldest first.
func (j *Jobs) UnfinishedJobs(ctx context.Context) ([]string, error) {
	return list(ctx, j.read, "read jobs", only[string], "SELECT id FROM jobs WHERE ended_at IS NULL ORDER BY started_at")
}

// UnjudgedJobs returns the jobs that ended after a time and of whose messages it is not known what became, oldest first.
func (j *Jobs) UnjudgedJobs(ctx context.Context, after time.Time) ([]string, error) {
	return list(ctx, j.read, "read jobs", only[string], "SELECT id FROM jobs WHERE ended_at > ? AND judged = 0 ORDER BY started_at", after.UnixMilli())
}

// JobItems returns what became of messages of a job with numbers above after, in order.
func (j *Jobs) JobItems(ctx context.Context, job string, after int64, limit int) ([]jobs.JobItem, error) {
	return j.items(ctx, "WHERE job = ? AND seq > ? ORDER BY seq LIMIT ?", job, after, limit)
}

// JobItemsThat returns likewise those of which one thing became.
func (j *Jobs) JobItemsThat(ctx context.Context, job, became string, after int64, limit int) ([]jobs.JobItem, error) {
	return j.items(ctx, "WHERE job = ? AND became = ? AND seq > ? ORDER BY seq LIMIT ?", job, became, after, limit)
}

// ItemsOf returns what jobs did to messages with an id, newest first.
func (j *Jobs) ItemsOf(ctx context.Context, id string, limit int) ([]jobs.JobItem, error) {
	return j.items(ctx, "WHERE message_id = ? AND length(message_id) > 0 ORDER BY at DESC, seq DESC LIMIT ?", []byte(id), limit)
}

// idsAtOnce is how many ids one query asks for.
const idsAtOnce = 500

// TimesRequeued returns how often jobs have requeued messages with these ids; an id of none is absent.
func (j *Jobs) TimesRequeued(ctx context.Context, ids []string) (map[string]int, error) {
	times := map[string]int{}
	for part := range slices.Chunk(ids, idsAtOnce) {
		args := make([]any, 0, len(part)+2)
		args = append(args, string(admin.Requeue), "moved")
		for _, id := range part {
			args = append(args, []byte(id))
		}
		err := each(ctx, j.read, "count requeues of messages", func(row scanner) error {
			var id string
			var n int
			err := row.Scan(&id, &n)
			times[id] = n
			return err
		}, `
			SELECT i.message_id, COUNT(*) FROM job_items i JOIN jobs j ON j.id = i.job
			WHERE j.move = ? AND i.outcome = ? AND length(i.message_id) > 0 AND i.message_id IN (?`+strings.Repeat(", ?", len(part)-1)+`) GROUP BY i.message_id`, args...)
		if err != nil {
			return nil, err
		}
	}
	return times, nil
}

func (j *Jobs) items(ctx context.Context, where string, args ...any) ([]jobs.JobItem, error) {
	return list(ctx, j.read, "read messages of jobs", func(row scanner) (it jobs.JobItem, err error) {
		err = row.Scan(&it.Job, &it.Seq, millis(&it.At), &it.Ref, &it.ID, &it.Target, &it.Class, &it.Outcome, &it.Text, decoded(&it.Death, parseDeath), &it.Became)
		return it, err
	}, "SELECT job, seq, at, ref, message_id, target, class, outcome, text, death, became FROM job_items "+where, args...)
}

// PurgeMoves deletes plans and jobs too old to be asked for.
func (j *Jobs) PurgeMoves(ctx context.Context, now time.Time) error {
	return exec(ctx, j.write, "purge jobs",
		do("DELETE FROM jobs WHERE ended_at IS NOT NULL AND started_at < ?", now.Add(-keepOperations).UnixMilli()),
		do("DELETE FROM move_plans WHERE made_at < ? AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.plan = move_plans.id)", now.Add(-keepPlans).UnixMilli()))
}
