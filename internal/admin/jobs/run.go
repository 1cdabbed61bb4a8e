package jobs

import (
	"context"
	"errors"
	"fmt"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// refKey is the key of the references in the plan: a plan of an older version has plain ones, and its job goes on with those.
func (j *liveJob) refKey() message.RefKey {
	if !j.plan.KeyedRefs {
		return nil
	}
	return j.deps.RefKey
}

// A jobRunner carries jobs out until they end, are paused or the program stops. It is safe for concurrent use.
type jobRunner struct {
	*tools
	outcomes *outcomeFinder
}

// carryOut works on a job until it ends, is paused or the program stops, and then keeps and audits how it stands.
func (r *jobRunner) carryOut(j *liveJob) {
	end := r.work(j)
	if end.state == "" && j.plan.Strict() {
		end = ending{JobPaused, "the program was stopped; a job with the limit of an operator does not go on by itself"}
	}
	switch {
	case end.state == "":
		j.mu.Lock()
		j.job.Rested = true
		j.mu.Unlock()
		if err := j.save(context.Background()); err != nil {
			r.deps.Log.Error("the progress of a job could not be kept; it goes on with what is in the queue", "job", j.job.ID, "err", err)
		}
		return
	case end.state == JobPaused:
		if err := j.become(context.Background(), JobPaused, end.why); err != nil {
			r.jobs.Owe(j.job.ID, j)
			r.deps.Log.Error("a job that is paused could not be kept so", "job", j.job.ID, "err", err)
		}
		if j.rest() {
			return
		}
		end = ending{JobCancelled, ""}
	}
	r.finish(j, end)
}

// work runs the phases of a job.
func (r *jobRunner) work(j *liveJob) ending {
	ctx, cancel := context.WithCancel(r.life)
	defer cancel()
	j.mu.Lock()
	j.stop = cancel
	if j.wish != goOn {
		cancel()
	}
	first := j.plan.Request.Canary > 0 && j.job.Canary == nil
	j.mu.Unlock()
	if first {
		if end, over := r.first(ctx, j); over {
			return end
		}
	}
	return r.rest(ctx, j)
}

// first sends the first messages and watches them. It is over when the rest must not follow now.
func (r *jobRunner) first(ctx context.Context, j *liveJob) (ending, bool) {
	n := int64(j.plan.Request.Canary)
	if most := j.plan.Most; most > 0 {
		n = min(n, most)
	}
	if sent := j.snapshot().Moved; sent < n {
		if err := j.become(ctx, JobCanary, ""); err != nil {
			return ending{JobStopped, admin.JournalFailed}, true
		}
		result, err := r.segment(ctx, j, n-sent)
		if end, over := r.firstEnded(j, result, err); over {
			return end, true
		}
	}
	if j.snapshot().Moved == 0 {
		return ending{}, false // nothing to watch: the rest says why
	}
	patience := r.queues.Fresh(j.line).Patience(r.deps.Watch)
	j.mu.Lock()
	j.job.WatchedUntil = r.deps.Now().Add(patience)
	j.mu.Unlock()
	if err := j.become(ctx, JobWatching, ""); err != nil {
		return ending{JobStopped, admin.JournalFailed}, true
	}
	verdict, ok := r.outcomes.watch(ctx, j, patience)
	if !ok {
		return j.interrupted(), true
	}
	j.mu.Lock()
	j.job.Canary = &verdict
	j.mu.Unlock()
	switch {
	case verdict.Good:
		return ending{}, false
	case verdict.Failed > 0 || verdict.Back > 0 && verdict.BackBy != backByDepth:
		return ending{JobStopped, "the first messages did not go well: " + verdict.Text}, true
	}
	return ending{JobPaused, "it cannot be told whether the first messages went well: " + verdict.Text}, true
}

// firstEnded says whether the run of the first messages ended otherwise than by having sent them.
func (r *jobRunner) firstEnded(j *liveJob, result requeue.Result, err error) (ending, bool) {
	switch {
	case errors.Is(err, errEnough), result.Stop == requeue.StopLimit, result.Stop == requeue.StopEmpty, result.Stop == requeue.StopBounced:
		return ending{}, false
	}
	end := r.endingOf(j, result, err)
	return end, true
}

// rest moves what is left.
func (r *jobRunner) rest(ctx context.Context, j *liveJob) ending {
	for {
		if err := j.become(ctx, JobRunning, ""); err != nil {
			return ending{JobStopped, admin.JournalFailed}
		}
		if j.spent() {
			return ending{JobDone, j.mostMoved()}
		}
		if j.left() == 0 {
			return j.exhausted()
		}
		before := j.snapshot().Moved
		result, err := r.segment(ctx, j, 0)
		// What was held for too long is back in the queue: another pass takes it again, as long as there is progress.
		if result.Stop == requeue.StopAge && j.snapshot().Moved > before && ctx.Err() == nil {
			continue
		}
		return r.endingOf(j, result, err)
	}
}

// segment runs the engine once. With first above 0 it sends that many messages at most.
func (r *jobRunner) segment(ctx context.Context, j *liveJob, first int64) (requeue.Result, error) {
	p := j.plan
	limit, most := j.left(), first
	if p.Most > 0 {
		if left := p.Most - j.snapshot().Moved; most == 0 || left < most { // left is above 0: spent ends the job before
			most = left
		}
	}
	if len(p.Request.Refs) > 0 { // all that the look has seen are between the first and the last of them, whatever was counted as ready
		limit = max(limit, int64(p.Scanned)-j.snapshot().Moved)
	}
	single := p.Selective
	if most > 0 && !single { // what is taken cannot be left
		limit = min(limit, most)
	}
	decider, err := r.newDecider(j, most)
	if err != nil {
		return requeue.Result{}, err
	}
	j.mu.Lock()
	j.base = Counts{Moved: j.job.Moved}
	doubtful := j.doubtful
	j.doubtful = nil
	state := j.job.State
	j.mu.Unlock()
	cfg := requeue.Config{
		Run: j.job.ID, Queue: j.source(), Limit: limit, Rate: p.Rate(), Single: single, MaxRequeues: deadletter.GuardedAt,
		RefKey: j.refKey(), Doubtful: doubtful, Waiting: func(why string) { j.waiting(state, why) },
		Reconnected: decider.reconnected,
	}
	if p.Request.Do != admin.Requeue {
		cfg.Uncounted, cfg.MaxRequeues = true, -1
	}
	if err := spare(ctx, j.line, &cfg); dedup.KindOf(err) == dedup.Conflict { // the queue was read, and says no
		return requeue.Result{Stop: requeue.StopConnection, Text: dedup.PublicText(err)}, nil
	} else if err != nil {
		return requeue.Result{Stop: requeue.StopConnection, Text: "the queue cannot be read before messages are taken out of it"}, err
	}
	leave, err := r.queues.Turns.Enter(ctx, p.Broker, j.source())
	if err != nil {
		return requeue.Result{Stop: requeue.StopCancelled}, err
	}
	defer leave()
	result, err := r.deps.Run(ctx, j.line.Broker.Mover, cfg, decider, func(ctx context.Context, settled []requeue.Settled) error {
		return j.took(ctx, settled, decider.settled)
	})
	j.aside.Wait()
	j.line.Fragile.Note(j.line.Broker.Name, cfg, result)
	if result.Uncertain {
		j.forgetSent()
	}
	unfound, found, turned := decider.unfound(), decider.found(), decider.leftUnforeseen()
	j.mu.Lock()
	j.job.Resumed += result.Reconnects
	j.unfound, j.found, j.turned = unfound, j.base.Moved+found, turned
	j.mu.Unlock()
	if err == nil && decider.ended() {
		err = errEnough
	}
	return result, err
}

// unmeasuredWindow is the window of a run over messages of unknown size.
const unmeasuredWindow = 32

// spare bounds a run by what its queue, as it is now, does to messages that come back.
func spare(ctx context.Context, l deadletter.Queue, cfg *requeue.Config) error {
	q, err := l.Source(ctx)
	if err != nil {
		return err
	}
	risk, whole := dedup.Returning(l.Info, q), l.WholeRisk(q)
	switch {
	case cfg.Single && !risk.Harmless:
		return admin.Conflict("Messages cannot be picked out of this queue any more: %s", risk.Why)
	case q.Type == "quorum" && !whole.Harmless:
		return admin.Conflict("Nothing can be moved out of this queue: %s", whole.Why)
	}
	if limit, limited, _ := dedup.DeliveryLimit(l.Info, q); limited {
		cfg.DeliveryLimit = limit
	}
	if q.Bytes != nil && q.Messages != nil && *q.Messages > 0 {
		cfg.MeanBytes = *q.Bytes / *q.Messages
	} else {
		cfg.Window = unmeasuredWindow
	}
	if room := risk.Room; room != nil {
		cfg.MaxHeld = int(min(max(1, *room), deadletter.MaxScan))
	}
	return nil
}

// finish keeps and audits the end of a job. It has happened: what cannot be written is tried again by Run.
func (r *jobRunner) finish(j *liveJob, end ending) {
	r.scans.Outdate(j.plan.Source.Vhost, j.plan.Source.Name, j.plan.Request.Queue, j.plan.Parking)
	j.mu.Lock()
	j.job.State, j.job.Why, j.job.Ended, j.job.Rate = end.state, end.why, r.deps.Now(), 0
	j.mu.Unlock()
	r.edits.Drop(j.plan.ID)
	kept := j.save(context.Background())
	if kept != nil {
		r.jobs.Owe(j.job.ID, j)
		r.deps.Log.Error("the end of a job could not be kept; it is tried again", "job", j.job.ID, "err", kept)
	}
	e := j.entry
	e.Detail = j.snapshot().words()
	phase := admin.Succeeded
	switch {
	case end.state == JobStopped:
		phase, e.Detail = admin.Failed, e.Detail+"; stopped: "+end.why
	case end.state == JobCancelled:
		e.Detail += "; cancelled, the rest was not touched"
	case end.why != "":
		e.Detail += "; " + end.why
	}
	if j.snapshot().Resumed > 0 {
		e.Detail += fmt.Sprintf("; went on %d times after the connection or the program had ended", j.snapshot().Resumed)
	}
	ctx, cancel := admin.Writing(context.Background())
	defer cancel()
	r.deps.Gate.Close(ctx, e, phase)
	if kept == nil { // else it is judged once its end is written
		r.outcomes.judgeLater(j.job.ID)
	}
}
