package jobs

import (
	"context"
	"fmt"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// clear clears the markers of some messages. A message whose marker was not cleared is left.
func (d *decider) clear(ctx context.Context, letters []deadletter.Letter, decisions []requeue.Decision, which []int) error {
	j := d.job
	groups := map[bool][]int{}
	for _, i := range which {
		marker := letters[i].Marker
		if marker == nil || marker.Key == "" {
			d.leave(&decisions[i], letters[i].Ref, "its marker is gone; look again")
			continue
		}
		if marker.Other != nil {
			d.leave(&decisions[i], letters[i].Ref, "its marker is that of another message, or may be: "+preflight.OtherWords(marker))
			continue
		}
		groups[d.exhausted(marker)] = append(groups[d.exhausted(marker)], i)
	}
	for alsoRetry, group := range groups {
		keys := make([]string, len(group))
		for n, i := range group {
			keys[n] = letters[i].Marker.Key
		}
		operation, outcomes, err := d.deps.Clear.ClearFor(ctx, j.who, admin.ClearForRequest{
			Store: j.line.Store.Name, Keys: keys, AlsoRetry: alsoRetry, Single: j.plan.ClearsDone,
			Reason: j.job.Reason,
		})
		if err != nil {
			return fmt.Errorf("clear markers: %w", err)
		}
		j.cleared(operation, outcomes)
		for _, i := range group {
			switch out := outcomes[letters[i].Marker.Key]; {
			case out.CounterLeft():
				d.leave(&decisions[i], letters[i].Ref, "its marker was cleared, "+out.Text+". A consumer would give the message up; clear the counter and look again")
			case alsoRetry && out.Result == dedup.Gone: // the counter went with it only if it was cleared
				d.leave(&decisions[i], letters[i].Ref, "its marker ended meanwhile, and its retry counter may be left: a consumer would give the message up by it. Look again")
			case out.Result != dedup.Cleared && out.Result != dedup.Gone:
				d.leave(&decisions[i], letters[i].Ref, "its marker was not cleared: "+admin.OutcomeText(out))
			}
		}
	}
	return nil
}

// leave takes a decision to send back.
func (d *decider) leave(decision *requeue.Decision, ref, why string) {
	*decision = requeue.Decision{Why: why}
	d.settledAs(d.facts[ref])
	d.back(ref)
}

// exhausted reports whether the retry counter has to go with a marker: the next failure, or delivery, would give the message up.
func (d *decider) exhausted(m *dedup.Sighting) bool {
	giveUp := d.job.line.Store.Scheme.GiveUp
	return giveUp > 0 && m.Retry != nil && !m.CounterAlone() && m.Attempts != nil && *m.Attempts >= int64(giveUp)-1
}

// cleared notes an operation that cleared markers for the job.
func (j *liveJob) cleared(operation string, outcomes map[string]dedup.Outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, out := range outcomes {
		if out.Result == dedup.Cleared {
			j.job.Cleared++
		}
	}
	if operation != "" && len(j.job.Clears) < maxClears {
		j.job.Clears = append(j.job.Clears, operation)
	}
}
