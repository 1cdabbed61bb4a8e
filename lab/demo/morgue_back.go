package demo

import (
	"context"
	"maps"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// JobItemsThat returns those behind a number of which one thing became.
func (m *Morgue) JobItemsThat(_ context.Context, who admin.Caller, id, became string, after int64, limit int) ([]jobs.JobItem, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, err := m.find(who, id)
	if err != nil {
		return nil, err
	}
	var some []jobs.JobItem
	for _, i := range j.items {
		if i.Became == became && i.Seq > after && len(some) < limit {
			some = append(some, i)
		}
	}
	return some, nil
}

// BackOf returns the messages of a job that the newest look has found in their queue again.
func (m *Morgue) BackOf(_ context.Context, who admin.Caller, id string) (scan string, refs []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, err := m.find(who, id)
	if err != nil {
		return "", nil, err
	}
	for _, kept := range m.scans {
		if kept.Queue != j.Plan.Source {
			continue
		}
		scan = kept.ID
		for _, l := range kept.Letters {
			if message.RequeueRun(l.Headers) == id {
				refs = append(refs, l.Ref)
			}
		}
	}
	if len(refs) == 0 {
		return "", nil, refuse(dedup.Conflict, "The newest look at the queue found no message of this job there")
	}
	return scan, refs, nil
}

// dieAgain puts the first messages of a job back into their queue, and says which; the caller holds mu.
func (m *Morgue) dieAgain(j *movingJob) map[string]bool {
	again := map[string]bool{}
	for _, l := range j.gone[:min(m.DeadAgain, len(j.gone))] {
		again[l.Ref] = true
		headers := maps.Clone(l.Headers)
		if headers == nil {
			headers = map[string]any{}
		}
		headers[message.HeaderRequeueRun], headers[message.HeaderRequeueID] = j.ID, l.Ref
		l.Headers = headers
		l.DeadLetter = dedup.NewDeadLetter(j.Plan.Source, l.Message)
		m.queues[j.Plan.Source.Name] = append(m.letters(j.Plan.Source.Name), l)
	}
	back := int64(len(again))
	j.Aftermath.Back, j.Aftermath.BackBy = &back, jobs.BackByLook
	return again
}
