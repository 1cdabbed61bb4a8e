package jobs_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/lab/admintest"
)

// planReads counts how often a plan is read from the journal.
type planReads struct {
	jobs.JobJournal
	n atomic.Int64
}

func (p *planReads) MovePlan(ctx context.Context, id string) (move.Plan, string, bool, error) {
	p.n.Add(1)
	return p.JobJournal.MovePlan(ctx, id)
}

func (p *planReads) Job(ctx context.Context, id string) (jobs.Job, bool, error) {
	p.n.Add(1)
	return p.JobJournal.Job(ctx, id)
}

// TestTheJobThatIsReadAgainHasItsPlan: a page of it loads itself again every few seconds.
func TestTheJobThatIsReadAgainHasItsPlan(t *testing.T) {
	reads := &planReads{}
	w := newWard(t, func(d *jobs.DeadLettersDeps) { reads.JobJournal, d.Journal = d.Journal, reads })
	w.die(numbered("read", 3)...)
	id := w.begin(t, move.Request{Whole: true})
	w.until(t, id, func(j jobs.Job) bool { return j.Aftermath != nil })
	admintest.Must(t, w.Close(context.Background()))
	w.deadLetters = newDeadLetters(w.deps)
	before := reads.n.Load()
	for range 20 {
		job, err := w.Job(t.Context(), operator, id)
		admintest.Must(t, err)
		if !job.Plan.Request.Whole || job.Plan.Source != deadQueue || job.Moved != 3 || job.Aftermath == nil {
			t.Fatalf("%+v", job)
		}
	}
	if n := reads.n.Load() - before; n != 1 {
		t.Errorf("the plan was read %d times", n)
	}
	if _, err := w.Job(t.Context(), operator, "odd"); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("an unknown job: %v", err)
	}
}

// BenchmarkReadingAJob: what the page of a job that has ended reads does not grow with the job.
func BenchmarkReadingAJob(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			log := slog.New(slog.NewTextHandler(io.Discard, nil))
			db, err := journal.Open(b.Context(), b.TempDir(), log)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = db.Close() })
			id := recordedJob(b, db, n)
			d := newDeadLetters(jobs.DeadLettersDeps{Gate: admin.NewGate(db.Audit(), db, log), Journal: db.Jobs(), Snapshots: &admintest.Round{}, Log: log})
			b.Cleanup(func() { _ = d.Close(context.Background()) })
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Job(b.Context(), operator, id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// recordedJob keeps a job that has moved so many messages, with all that is kept of one of that size.
func recordedJob(b *testing.B, db *journal.DB, n int) string {
	b.Helper()
	p := move.Plan{
		ID: "plan", Made: time.Now(), By: "ada", Broker: "main", Source: deadQueue, Ready: int64(n), Scanned: min(n, deadletter.MaxScan), Matching: min(n, deadletter.MaxScan),
		Request: move.Request{Do: admin.Requeue, Pipeline: "orders", Queue: deadQueue.Name, Scan: "scan"}, Classes: preflight.Tally{preflight.ClassRuns: min(n, deadletter.MaxScan)},
	}
	job := jobs.Job{ID: "job", By: "ada", Reason: why, State: jobs.JobRunning, Started: time.Now(), Limit: int64(n), Counts: jobs.Counts{Moved: int64(n)}}
	var items []jobs.JobItem
	for i := range min(n, deadletter.MaxScan) {
		ref := strings.Repeat("0", 54) + fmt.Sprintf("%010d", i)
		p.Request.Refs = append(p.Request.Refs, ref)
		if i < move.MaxPlanned {
			p.Letters = append(p.Letters, move.PlannedLetter{Ref: ref, ID: ref, Target: "orders", Prediction: preflight.Prediction{Class: preflight.ClassRuns, Reasons: []string{"it has no marker"}}})
		}
		items = append(items, jobs.JobItem{Seq: int64(i + 1), At: time.Now(), Ref: ref, ID: ref, Target: "orders", Class: preflight.ClassRuns, Outcome: "moved"})
	}
	job.Plan = p
	if err := db.Jobs().SaveMovePlan(b.Context(), p); err != nil {
		b.Fatal(err)
	}
	if _, err := db.Jobs().BeginJob(b.Context(), job, ""); err != nil {
		b.Fatal(err)
	}
	job.State, job.Ended = jobs.JobDone, time.Now()
	if err := db.Jobs().SaveJob(b.Context(), job, items); err != nil {
		b.Fatal(err)
	}
	return job.ID
}
