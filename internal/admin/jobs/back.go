package jobs

import (
	"context"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// maxBackPeek is up to how many messages a dead-letter queue is looked at for those that came back.
const maxBackPeek = 500

// BackByLook says that what came back to a dead-letter queue was seen in it, message by message.
const BackByLook = "a look at the dead-letter queue"

// How else it was found out what came back.
const (
	backByDepth = "the depth of the dead-letter queue, which does not tell whose messages arrived"
	backUnseen  = "nothing: the dead-letter queue could not be read"
)

// A back is what came back to a dead-letter queue since a job began.
type back struct {
	n  int
	by string
	// found are the messages that came back, where it was looked at.
	found []found
	// arrived is how many messages came in; nil when not known.
	arrived *int64
}

// A found message is one of the job that is in its dead-letter queue again.
type found struct {
	// ref is its reference when it was first requeued, id its message id; each is empty where it tells none.
	ref string
	id  string
}

// of says which of the messages that a job has sent are back. Of several that cannot be told apart as many are as were found.
func (b back) of(sent []JobItem) []bool {
	refs, ids := map[string]int{}, map[string]int{}
	for _, it := range sent {
		refs[it.Ref] = 0
	}
	for _, f := range b.found {
		if _, ours := refs[f.ref]; ours {
			refs[f.ref]++
		} else if f.id != "" { // it was requeued before, or edited
			ids[f.id]++
		}
	}
	again := make([]bool, len(sent))
	claim := func(i int, of map[string]int, key string) {
		if !again[i] && of[key] > 0 {
			of[key]--
			again[i] = true
		}
	}
	for i, it := range sent {
		claim(i, refs, it.Ref)
	}
	for i, it := range sent {
		claim(i, ids, it.ID)
	}
	return again
}

// cameBack looks for messages of the job in its dead-letter queue: in the messages themselves where looking is harmless and they
// are few, else in its depth.
func (o *outcomeFinder) cameBack(ctx context.Context, j *liveJob) back {
	q, err := j.line.Live(ctx, j.source())
	if err != nil || q.Messages == nil {
		return back{by: backUnseen}
	}
	job := j.snapshot()
	b := back{by: backByDepth}
	arrived := max(0, *q.Messages-(job.Limit-job.Moved))
	b.arrived, b.n = &arrived, int(min(arrived, job.Moved))
	risk := dedup.Returning(j.line.Info, q)
	if !risk.Harmless || *q.Messages > maxBackPeek || risk.Room != nil && *risk.Room < *q.Messages+1 {
		return b
	}
	ctx, cancel := context.WithTimeout(ctx, deadletter.PeekTimeout)
	defer cancel()
	leave, err := o.queues.Turns.Enter(ctx, j.plan.Broker, j.source())
	if err != nil {
		o.deps.Log.Warn("what came back could not be looked at; the depth of the queue is used", "job", j.job.ID, "err", err)
		return b
	}
	defer leave()
	peek, err := j.line.Broker.Mover.Peek(ctx, j.source(), maxBackPeek, deadletter.MaxScanBytes)
	if err != nil || peek.Short != "" {
		o.deps.Log.Warn("what came back could not be looked at; the depth of the queue is used", "job", j.job.ID, "err", err)
		return b
	}
	b.n, b.by = 0, BackByLook
	arrived = max(0, int64(len(peek.Messages))-(job.Limit-job.Moved))
	for _, m := range peek.Messages {
		if deadletter.RanAs(m.Headers) == j.job.ID {
			id, _, _ := j.line.IDs.ID(m)
			b.n++
			b.found = append(b.found, found{ref: message.RequeueID(m.Headers), id: id})
		}
	}
	return b
}
