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
type Jobs struct {
	read *sql.DB
	// write has one connection, so that writers queue here and not in SQLite.
	write *sql.DB
}

// Jobs returns the keeper of moves of dead letters.
func (db *DB) Jobs() *Jobs { return &Jobs{read: db.main, write: db.acts} }

// SaveMovePlan keeps a plan.
func (j *Jobs) SaveMovePlan(ctx context.Context, p move.Plan) error {
	body, err := encodeMovePlan(p)
	if err != nil {
		return fmt.Errorf("keep plan: %w", err)
	}
	if _, err := j.write.ExecContext(ctx, "INSERT INTO move_plans (id, made_at, body) VALUES (?, ?, ?)", p.ID, p.Made.UnixMilli(), body); err != nil {
		return fmt.Errorf("keep plan: %w", err)
	}
	return nil
}

// MovePlan returns a plan, the job that claimed it or "", and whether there is such a plan.
func (j *Jobs) MovePlan(ctx context.Context, id string) (move.Plan, string, bool, error) {
	var body string
	var job sql.NullString
	err := j.read.QueryRowContext(ctx, "SELECT body, job FROM move_plans WHERE id = ?", id).Scan(&body, &job)
	if errors.Is(err, sql.ErrNoRows) {
		return move.Plan{}, "", false, nil
	}
	if err != nil {
		return move.Plan{}, "", false, fmt.Errorf("read plan: %w", err)
	}
	p, err := decodeMovePlan(body)
	return p, job.String, err == nil, err
}

// BeginJob claims the plan and the queue and keeps the job, all or nothing. It returns the ID of the job that has the plan already,
// else that of this one. It fails with jobs.ErrQueueBusy or admin.ErrTokenUsed.
func (j *Jobs) BeginJob(ctx context.Context, job jobs.Job, token string) (string, error) {
	tx, err := j.write.BeginTx(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("begin job: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	if holder, err := jobHolder(ctx, tx, job, token); holder != "" || err != nil {
		return holder, err
	}
	if err := insertJob(ctx, tx, job, token); err != nil {
		return "", fmt.Errorf("begin job: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return "", fmt.Errorf("begin job: %w", err)
	}
	return job.ID, nil
}

// jobHolder returns the job that has the plan, or says what stands in the way.
func jobHolder(ctx context.Context, tx *sql.Tx, job jobs.Job, token string) (string, error) {
	var holder string
	err := tx.QueryRowContext(ctx, "SELECT id FROM jobs WHERE plan = ?", job.Plan.ID).Scan(&holder)
	if err == nil {
		return holder, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("begin job: %w", err)
	}
	p := job.Plan
	for _, check := range []struct {
		query string
		args  []any
		means error
	}{
		{"SELECT EXISTS (SELECT 1 FROM jobs WHERE token <> '' AND token = ? AND started_by = ?)", []any{token, job.By}, admin.ErrTokenUsed},
		{
			"SELECT EXISTS (SELECT 1 FROM jobs WHERE broker = ? AND vhost = ? AND source = ? AND ended_at IS NULL)",
			[]any{p.Broker, packString(p.Source.Vhost), packString(p.Source.Name)}, jobs.ErrQueueBusy,
		},
	} {
		var found bool
		if err := tx.QueryRowContext(ctx, check.query, check.args...).Scan(&found); err != nil {
			return "", fmt.Errorf("begin job: %w", err)
		}
		if found {
			return "", fmt.Errorf("begin job: %w", check.means)
		}
	}
	return "", nil
}

func insertJob(ctx context.Context, tx *sql.Tx, job jobs.Job, token string) error {
	body, err := encodeJob(job)
	if err != nil {
		return err
	}
	p := job.Plan
	_, err = tx.ExecContext(ctx, `
		INSERT INTO jobs (id, plan, started_by, reason, token, move, pipeline, broker, vhost, queue, source, state, started_at, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		job.ID, p.ID, job.By, job.Reason, token, string(p.Request.Do), p.Request.Pipeline, p.Broker, packString(p.Source.Vhost),
		packString(p.Request.Queue), packString(p.Source.Name), string(job.State), job.Started.UnixMilli(), body)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE move_plans SET job = ? WHERE id = ?", job.ID, p.ID)
	return err
}

// SaveJob keeps how far a job came, and its end when it has ended, with what became of messages since; both or neither.
func (j *Jobs) SaveJob(ctx context.Context, job jobs.Job, items []jobs.JobItem) error {
	return j.save(ctx, job, func(tx *sql.Tx) error { return insertItems(ctx, tx, job.ID, items) })
}

// SaveAftermath keeps a job that has ended with what became of its messages, by their numbers; both or neither.
func (j *Jobs) SaveAftermath(ctx context.Context, job jobs.Job, became map[int64]string) error {
	return j.save(ctx, job, func(tx *sql.Tx) error {
		update, err := tx.PrepareContext(ctx, "UPDATE job_items SET became = ? WHERE job = ? AND seq = ?")
		if err != nil {
			return err
		}
		defer func() { _ = update.Close() }()
		for seq, word := range became {
			if _, err := update.ExecContext(ctx, word, job.ID, seq); err != nil {
				return err
			}
		}
		return nil
	})
}

// save keeps a job together with its messages.
func (j *Jobs) save(ctx context.Context, job jobs.Job, messages func(*sql.Tx) error) error {
	body, err := encodeJob(job)
	if err != nil {
		return fmt.Errorf("keep job: %w", err)
	}
	tx, err := j.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("keep job: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	res, err := tx.ExecContext(ctx, "UPDATE jobs SET state = ?, ended_at = ?, judged = ?, body = ? WHERE id = ?",
		string(job.State), toMillis(job.Ended), job.Aftermath != nil, body, job.ID)
	if err != nil {
		return fmt.Errorf("keep job: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("keep job: %d rows: %w", n, errors.Join(err, errNoJob))
	}
	if err := messages(tx); err != nil {
		return fmt.Errorf("keep messages of a job: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("keep job: %w", err)
	}
	return nil
}

// errNoJob means that the journal does not know a job: it was begun anew.
var errNoJob = errors.New("the journal has no such job")

func insertItems(ctx context.Context, tx *sql.Tx, job string, items []jobs.JobItem) error {
	if len(items) == 0 {
		return nil
	}
	insert, err := tx.PrepareContext(ctx, `
		INSERT INTO job_items (job, seq, at, ref, message_id, target, class, outcome, text, death) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`)
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }()
	for _, it := range items {
		death, err := deathJSON(it.Death)
		if err != nil {
			return err
		}
		_, err = insert.ExecContext(ctx, job, it.Seq, it.At.UnixMilli(), it.Ref, []byte(it.ID), []byte(it.Target), string(it.Class), it.Outcome, []byte(it.Text), death)
		if err != nil {
			return err
		}
	}
	return nil
}

// Job returns a job with its plan, and whether there is one.
func (j *Jobs) Job(ctx context.Context, id string) (jobs.Job, bool, error) {
	var plan, body string
	err := j.read.QueryRowContext(ctx, "SELECT p.body, j.body FROM jobs j JOIN move_plans p ON p.id = j.plan WHERE j.id = ?", id).Scan(&plan, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return jobs.Job{}, false, nil
	}
	if err != nil {
		return jobs.Job{}, false, fmt.Errorf("read job: %w", err)
	}
	job, err := decodeJob(body)
	if err != nil {
		return jobs.Job{}, false, err
	}
	job.Plan, err = decodeMovePlan(plan)
	return job, err == nil, err
}

// JobAlone returns a job with the ID of its plan alone, and whether there is one. What it costs does not grow with the plan.
func (j *Jobs) JobAlone(ctx context.Context, id string) (jobs.Job, bool, error) {
	var plan, body string
	err := j.read.QueryRowContext(ctx, "SELECT plan, body FROM jobs WHERE id = ?", id).Scan(&plan, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return jobs.Job{}, false, nil
	}
	if err != nil {
		return jobs.Job{}, false, fmt.Errorf("read job: %w", err)
	}
	job, err := decodeJob(body)
	job.Plan.ID = plan
	return job, err == nil, err
}

// JobByToken returns the plan that this person started with the token, or "".
func (j *Jobs) JobByToken(ctx context.Context, by, token string) (string, error) {
	return j.one(ctx, "SELECT plan FROM jobs WHERE started_by = ? AND token = ? AND token <> ''", by, token)
}

// HolderOf returns the job that has not ended and moves messages of a queue, or "".
func (j *Jobs) HolderOf(ctx context.Context, broker string, queue dedup.QueueRef) (string, error) {
	return j.one(ctx, "SELECT id FROM jobs WHERE broker = ? AND vhost = ? AND source = ? AND ended_at IS NULL", broker, packString(queue.Vhost), packString(queue.Name))
}

func (j *Jobs) one(ctx context.Context, query string, args ...any) (string, error) {
	var text string
	err := j.read.QueryRowContext(ctx, query, args...).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read jobs: %w", err)
	}
	return text, nil
}

// UnfinishedJobs returns the jobs that have not ended, oldest first.
func (j *Jobs) UnfinishedJobs(ctx context.Context) ([]string, error) {
	return j.ids(ctx, "SELECT id FROM jobs WHERE ended_at IS NULL ORDER BY started_at")
}

// UnjudgedJobs returns the jobs that ended after a time and of whose messages it is not known what became, oldest first.
func (j *Jobs) UnjudgedJobs(ctx context.Context, after time.Time) ([]string, error) {
	return j.ids(ctx, "SELECT id FROM jobs WHERE ended_at > ? AND judged = 0 ORDER BY started_at", after.UnixMilli())
}

func (j *Jobs) ids(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := j.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read jobs: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
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
		if err := j.requeued(ctx, times, "?"+strings.Repeat(", ?", len(part)-1), args); err != nil {
			return nil, fmt.Errorf("count requeues of messages: %w", err)
		}
	}
	return times, nil
}

func (j *Jobs) requeued(ctx context.Context, times map[string]int, places string, args []any) error {
	rows, err := j.read.QueryContext(ctx, `
		SELECT i.message_id, COUNT(*) FROM job_items i JOIN jobs j ON j.id = i.job
		WHERE j.move = ? AND i.outcome = ? AND length(i.message_id) > 0 AND i.message_id IN (`+places+`) GROUP BY i.message_id`, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id []byte
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return err
		}
		times[string(id)] = n
	}
	return rows.Err()
}

func (j *Jobs) items(ctx context.Context, where string, args ...any) ([]jobs.JobItem, error) {
	rows, err := j.read.QueryContext(ctx, "SELECT job, seq, at, ref, message_id, target, class, outcome, text, death, became FROM job_items "+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read messages of jobs: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var items []jobs.JobItem
	for rows.Next() {
		var it jobs.JobItem
		var at int64
		var id, target, text []byte
		var death string
		if err := rows.Scan(&it.Job, &it.Seq, &at, &it.Ref, &id, &target, &it.Class, &it.Outcome, &text, &death, &it.Became); err != nil {
			return nil, fmt.Errorf("read messages of jobs: %w", err)
		}
		if it.Death, err = parseDeath(death); err != nil {
			return nil, fmt.Errorf("read messages of jobs: %w", err)
		}
		it.At, it.ID, it.Target, it.Text = time.UnixMilli(at).UTC(), string(id), string(target), string(text)
		items = append(items, it)
	}
	return items, rows.Err()
}

// PurgeMoves deletes plans and jobs too old to be asked for.
func (j *Jobs) PurgeMoves(ctx context.Context, now time.Time) error {
	for _, purge := range []struct {
		statement string
		before    time.Time
	}{
		{"DELETE FROM jobs WHERE ended_at IS NOT NULL AND started_at < ?", now.Add(-keepOperations)},
		{"DELETE FROM move_plans WHERE made_at < ? AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.plan = move_plans.id)", now.Add(-keepPlans)},
	} {
		if _, err := j.write.ExecContext(ctx, purge.statement, purge.before.UnixMilli()); err != nil {
			return fmt.Errorf("purge jobs: %w", err)
		}
	}
	return nil
}
