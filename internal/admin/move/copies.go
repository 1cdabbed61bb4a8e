package move

import (
	"context"
	"slices"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

// copyGuards warn of messages that go while a copy of them, a message with the same id, goes as well or has run: a marker that is
// cleared, or that ends, does not keep the work from being done twice.
func (pl *planning) copyGuards(ctx context.Context) []Guard {
	going := map[string][]*deadletter.Letter{}
	for i := range pl.selected {
		if l := &pl.selected[i]; l.ID != "" && pl.goes(l) {
			going[l.ID] = append(going[l.ID], l)
		}
	}
	if pl.plan.Request.Do != admin.Requeue || len(going) == 0 {
		return nil
	}
	var guards []Guard
	twins := 0
	ids := make([]string, 0, len(going))
	for id, letters := range going {
		ids = append(ids, id)
		if n := len(letters); n > 1 && slices.ContainsFunc(letters, func(l *deadletter.Letter) bool { return l.Prediction.Class != preflight.ClassSkipped }) {
			twins += n
		}
	}
	if twins > 0 {
		guards = append(guards, warn("%d of these messages share their id with another of them: the work of one may be done once for each copy of it. Leave out what is unknown, or select one of each alone", twins))
	}
	return append(append(guards, pl.sentBefore(ctx, ids, going)...), pl.doneSince(ctx, ids, going)...)
}

// goes reports whether a letter is sent by the plan.
func (pl *planning) goes(l *deadletter.Letter) bool {
	return pl.planned(l).Choice != preflight.LeaveOut
}

// sentBefore warns of messages of which jobs have sent more copies than the messages themselves were sent.
func (pl *planning) sentBefore(ctx context.Context, ids []string, going map[string][]*deadletter.Letter) []Guard {
	sent, err := pl.planner.deps.Journal.TimesRequeued(ctx, ids)
	if err != nil {
		pl.planner.deps.Log.Error("whether copies of messages were sent before cannot be read", "err", err)
		return []Guard{warn("Whether jobs have sent copies of these messages before cannot be read")}
	}
	n := 0
	for id, letters := range going {
		own := 0
		for _, l := range letters {
			own += l.Requeues
		}
		if sent[id] > own {
			n += len(letters)
		}
	}
	if n == 0 {
		return nil
	}
	return []Guard{warn("Jobs have already sent a copy, with the same id, of %d of these messages: where that has run, the work may be done a second time", n)}
}

// doneSince warns of messages whose marker says that their work was done since they were looked at.
func (pl *planning) doneSince(ctx context.Context, ids []string, going map[string][]*deadletter.Letter) []Guard {
	now, err := pl.planner.deps.Predictor.Find(ctx, pl.line, ids)
	if err != nil {
		return []Guard{warn("The markers cannot be looked up at this moment, and what is said below is as old as the look: %s", dedup.PublicText(err))}
	}
	n := 0
	for id, letters := range going {
		if m := now[id]; m != nil && pl.tellsDone(m) {
			for _, l := range letters {
				if l.Marker == nil || !pl.tellsDone(l.Marker) {
					n++
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []Guard{warn("The work of %d of these messages was done since the look, so that a copy of each has run; look again", n)}
}

// tellsDone reports whether a marker says that the work was done.
func (pl *planning) tellsDone(m *dedup.Sighting) bool {
	return m.State == dedup.Done || m.State == dedup.Present && pl.line.Store.Scheme.Mark == "after"
}
