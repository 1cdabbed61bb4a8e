package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// maxBackPeek is up to how many messages a dead-letter queue is looked at for those that came back.
const maxBackPeek = 500

// How it was found out what came back to the dead-letter queue.
const (
	backByLook  = "a look at the dead-letter queue"
	backByDepth = "the depth of the dead-letter queue, which does not tell whose messages arrived"
	backUnseen  = "nothing: the dead-letter queue could not be read"
)

// A back is what came back to a dead-letter queue since a job began.
type back struct {
	n  int
	by string
	// ids are the message ids of what came back, where it was looked at.
	ids map[string]int
	// arrived is how many messages came in; nil when not known.
	arrived *int64
}

// watch waits until it can be told whether the first messages went well. It is false when it was told to stop. What goes wrong is
// told at once, what goes well after the whole time: a message may come back late.
func (d *DeadLetters) watch(ctx context.Context, j *liveJob) (CanaryVerdict, bool) {
	patience := d.fresh(j.line).patience(d.deps.Watch)
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(max(patience/30, 50*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return CanaryVerdict{}, false
		case <-end.C:
			return d.judgeFirst(ctx, j, d.cameBack(ctx, j)), true
		case <-tick.C:
		}
		if v := d.judgeFirst(ctx, j, back{by: backByDepth}); v.Failed > 0 {
			return d.judgeFirst(ctx, j, d.cameBack(ctx, j)), ctx.Err() == nil
		}
	}
}

// judgeFirst judges the first messages by their markers and by what came back.
func (d *DeadLetters) judgeFirst(ctx context.Context, j *liveJob, b back) CanaryVerdict {
	sent := j.sentItems()
	job := j.snapshot()
	v := CanaryVerdict{Sent: int(job.Moved), At: d.deps.Now(), Back: b.n, BackBy: b.by}
	tells := j.tells()
	unknown := 0
	found, err := d.found(ctx, j.line, sent)
	for _, it := range sent {
		marker := found[it.ID]
		switch {
		case it.ID == "" || !tells || err != nil:
			unknown++
		case j.skips(it):
			v.Skipped++
		case marker == nil, j.unchanged(it, *marker):
			v.None++
		case j.line.stateOf(*marker) == dedup.Done:
			v.Done++
		case marker.State == dedup.Failed:
			v.Failed++
		default:
			v.Processing++
		}
	}
	j.mu.Lock()
	if b.arrived != nil {
		j.job.Arrived = b.arrived
	}
	j.mu.Unlock()
	v.Good, v.Text = v.verdict(unknown, err)
	return v
}

// verdict says whether the rest may follow, and why.
func (v CanaryVerdict) verdict(unknown int, err error) (bool, string) {
	var said []string
	add := func(n int, text string) {
		if n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, text))
		}
	}
	add(v.Done, "done")
	add(v.Failed, "failed")
	add(v.Processing, "not done: the marker says that the work is under way or stuck")
	add(v.None, "without a new marker: not consumed, or failed without a trace")
	add(v.Skipped, "whose work was done before, so that they tell nothing")
	if v.BackBy == backByLook {
		add(v.Back, "came back to the dead-letter queue")
	} else {
		add(v.Back, "messages came into the dead-letter queue meanwhile, whose is not known")
	}
	add(unknown, "without a marker that tells")
	text := fmt.Sprintf("of %d: %s", v.Sent, strings.Join(said, ", "))
	switch {
	case err != nil:
		return false, text + "; the store did not answer: " + words(err)
	case v.Failed > 0, v.Processing > 0, v.None > 0, v.Done+unknown == 0:
		return false, text
	case v.Back > 0 && (unknown > 0 || v.BackBy == backByLook):
		return false, text
	case unknown > 0 && v.BackBy == backUnseen:
		return false, text + "; and what came back could not be seen"
	}
	return true, text
}

// tells reports whether markers of the pipeline tell what became of a message.
func (j *liveJob) tells() bool {
	st := j.line.store
	return st != nil && st.Finder != nil && !st.Scheme.Lock && !st.Scheme.Business
}

// sentItems returns the moved messages that are told of one by one.
func (j *liveJob) sentItems() []JobItem {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]JobItem(nil), j.sent...)
}

// skips reports whether a message was sent with a marker of done work in its way, which stays as it is.
func (j *liveJob) skips(it JobItem) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	before, known := j.before[it.ID]
	cleared := known && before == nil || j.plan.ClearsDone
	return it.Class == ClassSkipped && !cleared
}

// unchanged reports whether a marker that says how work has ended was there already when its message was sent. What an earlier run of
// the program has sent is told by the time of a failure alone, where the marker has one.
func (j *liveJob) unchanged(it JobItem, now dedup.Sighting) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	before, known := j.before[it.ID]
	switch state := j.line.stateOf(now); {
	case state != dedup.Done && state != dedup.Failed:
		return false
	case !known:
		return state == dedup.Failed && !now.Since.IsZero() && now.Since.Before(it.At)
	}
	return before != nil && sameMarker(*before, now)
}

// sameMarker reports whether a marker was not written since it was seen, as far as it can be told.
func sameMarker(a, b dedup.Sighting) bool {
	attempts := func(s dedup.Sighting) int64 {
		if s.Attempts == nil {
			return -1
		}
		return *s.Attempts
	}
	return a.State == b.State && attempts(a) == attempts(b) && a.Since.Equal(b.Since) &&
		time.Duration(max(a.ExpiresMillis-b.ExpiresMillis, b.ExpiresMillis-a.ExpiresMillis))*time.Millisecond <= sameExpiry
}

// stateOf returns the state of a marker: one without a state counts as done where the scheme writes it after the work.
func (l line) stateOf(s dedup.Sighting) dedup.State {
	if s.State == dedup.Present && l.store.Scheme.Mark == "after" {
		return dedup.Done
	}
	return s.State
}

// found looks the markers of items up, by id; those without a marker are absent.
func (d *DeadLetters) found(ctx context.Context, l line, items []JobItem) (map[string]*dedup.Sighting, error) {
	var ids []string
	for _, it := range items {
		if it.ID != "" {
			ids = append(ids, it.ID)
		}
	}
	return d.find(ctx, l, ids)
}

// states returns the states of the markers of items by id; those without a marker are absent.
func (d *DeadLetters) states(ctx context.Context, l line, items []JobItem) (map[string]dedup.State, error) {
	found, err := d.found(ctx, l, items)
	if err != nil {
		return nil, err
	}
	states := map[string]dedup.State{}
	for id, s := range found {
		states[id] = l.stateOf(*s)
	}
	return states, nil
}

// cameBack looks for messages of the job in its dead-letter queue: in the messages themselves where looking is harmless and they
// are few, else in its depth.
func (d *DeadLetters) cameBack(ctx context.Context, j *liveJob) back {
	q, err := j.line.live(ctx, j.source())
	if err != nil || q.Messages == nil {
		return back{by: backUnseen}
	}
	job := j.snapshot()
	b := back{by: backByDepth}
	arrived := max(0, *q.Messages-(job.Limit-job.Moved))
	b.arrived, b.n = &arrived, int(min(arrived, job.Moved))
	risk := dedup.Returning(j.line.info, q)
	if !risk.Harmless || *q.Messages > maxBackPeek || risk.Room != nil && *risk.Room < *q.Messages+1 {
		return b
	}
	ctx, cancel := context.WithTimeout(ctx, peekTimeout)
	defer cancel()
	leave, err := d.queues.enter(ctx, j.plan.Broker, j.source())
	if err != nil {
		d.deps.Log.Warn("what came back could not be looked at; the depth of the queue is used", "job", j.job.ID, "err", err)
		return b
	}
	defer leave()
	peek, err := j.line.broker.Mover.Peek(ctx, j.source(), maxBackPeek, MaxScanBytes)
	if err != nil || peek.Short != "" {
		d.deps.Log.Warn("what came back could not be looked at; the depth of the queue is used", "job", j.job.ID, "err", err)
		return b
	}
	b.n, b.by, b.ids = 0, backByLook, map[string]int{}
	arrived = max(0, int64(len(peek.Messages))-(job.Limit-job.Moved))
	for _, m := range peek.Messages {
		if ranAs(m.Headers) == j.job.ID {
			b.n++
			if id, ok, _ := j.line.ids.ID(m); ok {
				b.ids[id]++
			}
		}
	}
	return b
}

// judgeLater finds out, some time after a job has ended, what became of its messages.
func (d *DeadLetters) judgeLater(id string) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.running.Add(1)
	d.mu.Unlock()
	go func() {
		defer d.running.Done()
		if err := d.judgeJob(d.life, id); err != nil && d.life.Err() == nil {
			d.deps.Log.Error("what became of the messages of a job could not be found out", "job", id, "err", err)
		}
	}()
}

// discovered finds the line of a job that may have ended in an earlier run of the program: after a start it takes a few rounds until
// the dead-letter queues are known.
func (d *DeadLetters) discovered(ctx context.Context, req MoveRequest) (line, error) {
	const rounds = 60
	for i := 0; ; i++ {
		l, err := d.moving(req)
		if err == nil || i == rounds {
			return l, err
		}
		wait := time.NewTimer(firstRound)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return line{}, ctx.Err()
		}
	}
}

// judgeJob waits until consumers have had their time, and keeps what became of the messages of a job.
func (d *DeadLetters) judgeJob(ctx context.Context, id string) error {
	job, ok, err := d.deps.Journal.Job(ctx, id)
	if err != nil || !ok || job.Aftermath != nil || job.Moved == 0 || job.Plan.Request.Do != Requeue || !job.State.Final() {
		return err
	}
	l, err := d.discovered(ctx, job.Plan.Request)
	if err != nil {
		return err
	}
	wait := time.NewTimer(max(0, job.Ended.Add(l.patience(d.deps.Watch)).Sub(d.deps.Now())))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	j := &liveJob{letters: d, line: l, plan: job.Plan, job: job}
	after, arrived, err := d.aftermath(ctx, j)
	if err != nil {
		return err
	}
	job.Aftermath = after
	if arrived != nil {
		job.Arrived = arrived
	}
	writeCtx, cancel := writing(ctx)
	defer cancel()
	if err := d.deps.Journal.SaveJob(writeCtx, job, nil); err != nil {
		return err
	}
	d.deps.Changed("job:" + id)
	return nil
}

// aftermath says what became of the messages that a job moved.
func (d *DeadLetters) aftermath(ctx context.Context, j *liveJob) (*Aftermath, *int64, error) {
	items, err := d.movedItems(ctx, j.job.ID)
	if err != nil {
		return nil, nil, err
	}
	states, err := d.states(ctx, j.line, items)
	if err != nil {
		return nil, nil, err
	}
	b := d.cameBack(ctx, j)
	after := &Aftermath{
		At: d.deps.Now(), Results: map[Class]map[string]int{}, RateBefore: j.job.RateBefore, RateAfter: d.rateNow(j.plan.Request.Pipeline),
	}
	for _, it := range items {
		if it.ID == "" {
			continue
		}
		after.Asked++
		result := "none"
		switch state, found := states[it.ID]; {
		case b.ids[it.ID] > 0:
			b.ids[it.ID]--
			result = "back"
		case !j.tells():
			result = "unknown"
		case found && state == dedup.Present, state == dedup.StateUnknown:
			result = "unknown"
		case found:
			result = string(state)
		}
		if after.Results[it.Class] == nil {
			after.Results[it.Class] = map[string]int{}
		}
		after.Results[it.Class][result]++
	}
	return after, b.arrived, nil
}

// movedItems returns the moved messages of a job that are told of one by one.
func (d *DeadLetters) movedItems(ctx context.Context, id string) ([]JobItem, error) {
	var moved []JobItem
	var after int64
	for {
		page, err := d.deps.Journal.JobItems(ctx, id, after, maxItemPage)
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
