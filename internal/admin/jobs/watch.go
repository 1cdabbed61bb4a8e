package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

// watch waits until it can be told whether the first messages went well. It is false when it was told to stop. What goes wrong is
// told at once, what goes well after the whole time: a message may come back late.
func (o *outcomeFinder) watch(ctx context.Context, j *liveJob, patience time.Duration) (CanaryVerdict, bool) {
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(max(patience/30, 50*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return CanaryVerdict{}, false
		case <-end.C:
			return o.judgeFirst(ctx, j, o.cameBack(ctx, j)), true
		case <-tick.C:
		}
		if v := o.judgeFirst(ctx, j, back{by: backByDepth}); v.Failed > 0 {
			return o.judgeFirst(ctx, j, o.cameBack(ctx, j)), ctx.Err() == nil
		}
	}
}

// judgeFirst judges the first messages by their markers and by what came back.
func (o *outcomeFinder) judgeFirst(ctx context.Context, j *liveJob, b back) CanaryVerdict {
	sent := j.sentItems()
	job := j.snapshot()
	v := CanaryVerdict{Sent: int(job.Moved), At: o.deps.Now(), Back: b.n, BackBy: b.by}
	tells := j.tells()
	found, err := o.found(ctx, j.line, sent)
	again := b.of(sent)
	unplaced := b.n // of those that came back the ones that are not found among what was sent
	for i, it := range sent {
		marker := found[it.ID]
		switch {
		case again[i]: // whatever its marker says
			unplaced--
		case it.ID == "" || !tells || err != nil:
			v.Unknown++
		case j.skips(it):
			v.Skipped++
		case marker == nil, j.unchanged(it, *marker):
			v.None++
		default:
			v.count(told(j.line, *marker))
		}
	}
	if b.by == BackByLook {
		v.Unknown -= min(v.Unknown, unplaced)
	}
	j.mu.Lock()
	if b.arrived != nil {
		j.job.Arrived = b.arrived
	}
	j.mu.Unlock()
	v.Good, v.Text = v.verdict(err)
	return v
}

// count counts what the marker of one message tells.
func (v *CanaryVerdict) count(told string) {
	switch told {
	case BecameDone:
		v.Done++
	case BecameFailed:
		v.Failed++
	case BecameProcessing:
		v.Processing++
	default:
		v.Unknown++
	}
}

// verdict says whether the rest may follow, and why.
func (v CanaryVerdict) verdict(err error) (bool, string) {
	var said []string
	add := func(n int, text string) {
		if n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, text))
		}
	}
	if v.BackBy == BackByLook {
		add(v.Back, "came back to the dead-letter queue")
	}
	add(v.Done, "done")
	add(v.Failed, "failed")
	add(v.Processing, "not done: the marker says that the work is under way or stuck")
	add(v.None, "without a new marker: not consumed, or failed without a trace")
	add(v.Skipped, "whose work was done before, so that they tell nothing")
	if v.BackBy != BackByLook {
		add(v.Back, "messages came into the dead-letter queue meanwhile, whose is not known")
	}
	add(v.Unknown, "without a marker that tells")
	text := fmt.Sprintf("of %d: %s", v.Sent, strings.Join(said, ", "))
	switch {
	case err != nil:
		return false, text + "; the store did not answer: " + deadletter.ErrorText(err)
	case v.Failed > 0, v.Processing > 0, v.None > 0, v.Done+v.Unknown == 0:
		return false, text
	case v.Back > 0 && (v.Unknown > 0 || v.BackBy == BackByLook):
		return false, text
	case v.Unknown > 0 && v.BackBy == backUnseen:
		return false, text + "; and what came back could not be seen"
	}
	return true, text
}

// tells reports whether markers of the pipeline tell what became of a message.
func (j *liveJob) tells() bool {
	st := j.line.Store
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
	return it.Class == preflight.ClassSkipped && !cleared
}

// unchanged reports whether a marker that says how work has ended was there already when its message was sent. What an earlier run of
// the program has sent is told by the time of a failure alone, where the marker has one.
func (j *liveJob) unchanged(it JobItem, now dedup.Sighting) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	before, known := j.before[it.ID]
	switch state := stateOf(j.line, now); {
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
		time.Duration(max(a.ExpiresMillis-b.ExpiresMillis, b.ExpiresMillis-a.ExpiresMillis))*time.Millisecond <= admin.SameExpiry
}

// told says what a marker tells of the work of its message.
func told(l deadletter.Queue, s dedup.Sighting) string {
	if s.Other != nil {
		return BecameUnknown // it is the marker of another message, or may be
	}
	switch stateOf(l, s) {
	case dedup.Done:
		return BecameDone
	case dedup.Failed:
		return BecameFailed
	case dedup.Processing:
		return BecameProcessing
	}
	return BecameUnknown // one that is written before the work and has no state, or one that cannot be decoded
}

// stateOf returns the state of a marker: one without a state counts as done where the scheme writes it after the work.
func stateOf(l deadletter.Queue, s dedup.Sighting) dedup.State {
	if s.State == dedup.Present && l.Store.Scheme.Mark == "after" {
		return dedup.Done
	}
	return s.State
}

// found looks the markers of items up, by id; those without a marker are absent.
func (o *outcomeFinder) found(ctx context.Context, l deadletter.Queue, items []JobItem) (map[string]*dedup.Sighting, error) {
	var ids []string
	for _, it := range items {
		if it.ID != "" {
			ids = append(ids, it.ID)
		}
	}
	return o.predictor.Find(ctx, l, ids)
}
