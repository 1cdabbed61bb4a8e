package jobs

import (
	"context"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

// What can have become of a message that a job moved.
const (
	BecameDone       = "done"
	BecameFailed     = "failed"
	BecameProcessing = "processing"
	BecameNone       = "none" // it has no marker
	BecameBack       = "back" // it is in the dead-letter queue again
	BecameUnknown    = "unknown"
)

// Fates returns the words for what can have become of a message that a job moved, in the order in which pages show them.
func Fates() []string {
	return []string{BecameDone, BecameBack, BecameFailed, BecameProcessing, BecameNone, BecameUnknown}
}

// Total counts the messages of every class of which one thing became, a word of Fates. Of no aftermath it is 0.
func (a *Aftermath) Total(became string) int64 {
	if a == nil {
		return 0
	}
	n := int64(0)
	for _, counts := range a.Results {
		n += int64(counts[became])
	}
	if became == BecameBack && a.Back != nil {
		n = max(n, *a.Back) // some may not be among those that are told of one by one
	}
	return n
}

// An outcomeFinder finds out what became of the messages of jobs: of the first ones before the rest follows, of all after the end. It is
// safe for concurrent use.
type outcomeFinder struct{ *tools }

// judgeLater finds out, some time after a job has ended, what became of its messages.
func (o *outcomeFinder) judgeLater(id string) {
	o.jobs.Background(func() {
		if err := o.judgeJob(o.life, id); err != nil && o.life.Err() == nil {
			o.deps.Log.Error("what became of the messages of a job could not be found out", "job", id, "err", err)
		}
	})
}

// discovered finds the line of a job that may have ended in an earlier run of the program: after a start it takes a few rounds until
// the dead-letter queues are known.
func (o *outcomeFinder) discovered(ctx context.Context, req move.Request) (deadletter.Queue, error) {
	const rounds = 60
	for i := 0; ; i++ {
		l, err := req.Source(o.queues)
		if err == nil || i == rounds {
			return l, err
		}
		if err := pause(ctx, firstRound); err != nil {
			return deadletter.Queue{}, err
		}
	}
}

// pause waits for a time, or until ctx ends, which is its error.
func pause(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// judgeJob waits until consumers have had their time, and keeps what became of the messages of a job.
func (o *outcomeFinder) judgeJob(ctx context.Context, id string) error {
	job, ok, err := o.deps.Journal.Job(ctx, id)
	if err != nil || !ok || job.Aftermath != nil || job.Moved == 0 || job.Plan.Request.Do != admin.Requeue || !job.State.Final() {
		return err
	}
	l, err := o.discovered(ctx, job.Plan.Request)
	if err != nil {
		return err
	}
	if err := pause(ctx, job.Ended.Add(l.Patience(o.deps.Watch)).Sub(o.deps.Now())); err != nil {
		return err
	}
	j := &liveJob{deps: o.deps, line: l, plan: job.Plan, job: job}
	after, became, arrived, err := o.aftermath(ctx, j)
	if err != nil {
		return err
	}
	job.Aftermath = after
	if arrived != nil {
		job.Arrived = arrived
	}
	writeCtx, cancel := admin.Writing(ctx)
	defer cancel()
	if err := o.deps.Journal.SaveAftermath(writeCtx, job, became); err != nil {
		return err
	}
	o.deps.Changed("job:" + id)
	return nil
}

// aftermath says what became of the messages that a job moved, in all and by the number of each.
func (o *outcomeFinder) aftermath(ctx context.Context, j *liveJob) (*Aftermath, map[int64]string, *int64, error) {
	items, err := o.movedItems(ctx, j.job.ID)
	if err != nil {
		return nil, nil, nil, err
	}
	markers, err := o.found(ctx, j.line, items)
	if err != nil {
		return nil, nil, nil, err
	}
	b := o.cameBack(ctx, j)
	after := &Aftermath{
		At: o.deps.Now(), Results: map[preflight.Class]map[string]int{}, BackBy: b.by, RateBefore: j.job.RateBefore, RateAfter: o.queues.RateNow(j.plan.Request.Pipeline),
	}
	if b.by == BackByLook {
		n := int64(b.n)
		after.Back = &n
	}
	each, again := map[int64]string{}, b.of(items)
	for i, it := range items {
		became := j.became(it, markers[it.ID])
		if again[i] {
			became = BecameBack
		}
		if became == "" {
			continue
		}
		each[it.Seq] = became
		after.Asked++
		if after.Results[it.Class] == nil {
			after.Results[it.Class] = map[string]int{}
		}
		after.Results[it.Class][became]++
	}
	return after, each, b.arrived, nil
}

// became says what became of a message by its marker; empty where it has no id to find one by.
func (j *liveJob) became(it JobItem, marker *dedup.Sighting) string {
	switch {
	case it.ID == "":
		return ""
	case !j.tells():
		return BecameUnknown
	case marker == nil:
		return BecameNone
	}
	return told(j.line, *marker)
}

// movedItems returns the moved messages of a job that are told of one by one.
func (o *outcomeFinder) movedItems(ctx context.Context, id string) ([]JobItem, error) {
	var moved []JobItem
	var after int64
	for {
		page, err := o.deps.Journal.JobItems(ctx, id, after, maxItemPage)
		if err != nil {
			return nil, err
		}
		for _, it := range page {
			if it.Outcome == "moved" {
				moved = append(moved, it)
			}
		}
		if len(page) < maxItemPage {
			return moved, nil
		}
		after = page[len(page)-1].Seq
	}
}
