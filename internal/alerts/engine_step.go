package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// judged is what the rules said at one time.
type judged struct {
	snapshot   *dedup.Snapshot
	subjects   rule.Subjects
	judgements []rule.Judgement
	// late says why nothing can be told of brokers, stores and pipelines now; empty when it can.
	late string
	// failed says why no rule of a kind could be evaluated.
	failed [2]error
	errs   []string
}

// judge asks all rules, and waits for none of them longer than its patience.
func (e *Engine) judge(ctx context.Context, at time.Time) judged {
	snap, err := e.snapshots.call(ctx, e.patience, func(context.Context) (*dedup.Snapshot, error) { return e.deps.Snapshots.Snapshot(), nil })
	if err == nil && snap != nil {
		e.snapshot = snap
	}
	round := judged{snapshot: e.snapshot, subjects: rule.SubjectsOf(e.snapshot), late: e.late(at)}
	if round.late != "" {
		round.errs = append(round.errs, round.late)
	}
	var said [2][]rule.Judgement
	var running sync.WaitGroup
	for i := range e.rules {
		running.Go(func() {
			said[i], round.failed[i] = e.rules[i].call(ctx, e.patience, func(ctx context.Context) ([]rule.Judgement, error) {
				return e.rules[i].judge(ctx, round.snapshot, at)
			})
		})
	}
	running.Wait()
	round.judgements = slices.Concat(said[:]...)
	for i, err := range round.failed {
		if err != nil && ctx.Err() == nil {
			e.log.Error("rules cannot be evaluated; what fires stays firing", "rules", e.rules[i].what, "err", err)
			round.errs = append(round.errs, e.rules[i].what+" cannot be evaluated: "+failure(err))
		}
	}
	return round
}

// failure is why an evaluation failed, in words that may be shown.
func failure(err error) string {
	if errors.Is(err, errUnderWay) {
		return errUnderWay.Error()
	}
	return publicError(err)
}

// late says why the snapshot tells nothing of now: the collector has not ended a round for three intervals.
func (e *Engine) late(at time.Time) string {
	switch s := e.snapshot; {
	case s == nil || s.Round == 0:
		if waited := at.Sub(e.started); waited > lateAfter*e.deps.Interval {
			return fmt.Sprintf("no round of the collector has ended since the start %s ago", rule.Seconds(waited))
		}
	default:
		return (&rule.Round{Now: at, Snapshot: s}).Stale()
	}
	return ""
}

// step leads every alert through one evaluation, and notes what the journal has to keep.
func (e *Engine) step(at time.Time, round judged) {
	of := make(map[rule.Key]*rule.Subject)
	for _, list := range round.subjects.ByKind {
		for i := range list {
			of[list[i].Key("")] = &list[i]
		}
	}
	seen := make(map[rule.Key]bool, len(round.judgements))
	for _, j := range round.judgements {
		s := of[rule.Key{Kind: j.Key.Kind, Subject: j.Key.Subject}]
		if s == nil || seen[j.Key] {
			continue
		}
		r, ok := e.book.Find(j.Key.Rule, j.Key.Kind, s.Labels)
		if !ok {
			continue
		}
		seen[j.Key] = true
		j.At, j.Labels = at, s.Labels
		if round.late != "" && s.Kind != rule.OfDashboard {
			j = j.Unjudged(rule.HealthError, round.late)
		}
		e.advance(j, r, round)
	}
	for _, en := range slices.Clone(e.order) {
		if !seen[en.Key] {
			e.unjudged(en, of[rule.Key{Kind: en.Key.Kind, Subject: en.Key.Subject}], at, round)
		}
	}
}

// advance leads one alert through one judgement.
func (e *Engine) advance(j rule.Judgement, r *rule.Rule, round judged) {
	en := e.alerts[j.Key]
	if en == nil {
		en = &entry{Alert: Alert{Key: j.Key}}
		e.add(en)
	}
	en.rule, en.Words = r, r.Words()
	before := en.State
	seen := r.Evaluation(j)
	seen.Interval = e.deps.Interval
	state, edge, changed := en.State.Next(seen, r.Timing)
	en.State, en.Last = state, j
	if j.Health == rule.HealthOK {
		en.LastOK = j
	}
	en.explain(j, round)
	if changed {
		e.unkept = append(e.unkept, Transition{Edge: edge, Judgement: j, Cause: en.Cause})
	}
	e.settle(en, before, j.At)
}

// settle brings what follows from the new state up to date, and notes whether the journal has to keep it. Of an alert that is normal
// it keeps when what it rests on was lost and came back, on which later edges depend, and no evaluation beside.
func (e *Engine) settle(en *entry, before State, at time.Time) {
	if en.State.Phase == PhaseNormal {
		en.Cause = ""
	}
	if en.Ack != nil && !en.Ack.Holds(en.State, at) {
		en.Ack = nil
		e.behind[en.Key] = true
	}
	if en.State.Phase != PhaseNormal || before.Phase != PhaseNormal {
		en.notable = true
		e.behind[en.Key] = true
	}
	if en.State.Health != before.Health || !en.State.Resumed.Equal(before.Resumed) {
		e.behind[en.Key] = true
	}
	en.Silences = e.silencesOf(&en.Alert, at)
	en.history = remember(en.history, &en.Alert)
}

// silencesOf returns the ids of the silences that cover an alert now. One that is normal is covered by none: there is nothing to tell.
func (e *Engine) silencesOf(a *Alert, at time.Time) []string {
	held := e.silences.now()
	if a.State.Phase == PhaseNormal || len(held) == 0 {
		return nil
	}
	var ids []string
	labels := SilenceLabels(a)
	for _, s := range held {
		if s.Active(at) && s.Covers(labels) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// unjudged leads an alert on that no rule said anything of: it stays as it is, unless nobody will ever judge it again.
func (e *Engine) unjudged(en *entry, s *rule.Subject, at time.Time, round judged) {
	if s == nil && !round.subjects.Known(en.Key.Kind) {
		if round.late != "" && en.rule != nil {
			e.advance(rule.Judgement{Key: en.Key, At: at, Labels: en.Last.Labels}.Unjudged(rule.HealthError, round.late), en.rule, round)
		}
		return // before the first round nobody can tell which subjects there are
	}
	if s == nil {
		e.retire(en, at, "the "+string(en.Key.Kind)+" left the configuration")
		return
	}
	r, ok := e.book.Find(en.Key.Rule, en.Key.Kind, s.Labels)
	if !ok {
		e.retire(en, at, "the rule left the configuration, was switched off, or does not cover it any more")
		return
	}
	err := round.failed[overSnapshot]
	if r.IsQuery() {
		err = round.failed[overHistory]
	}
	why := "the rule gave no judgement"
	if err != nil {
		why = failure(err)
	}
	e.advance(rule.Judgement{Key: en.Key, At: at, Labels: s.Labels, Unit: r.Unit}.Unjudged(rule.HealthError, why), r, round)
}

// retire resolves an alert that nobody will judge again, with a note, and forgets it.
func (e *Engine) retire(en *entry, at time.Time, why string) {
	if en.State.Fires() {
		j := en.Last
		j.At, j.Health, j.Enters, j.Holds, j.Evidence = at, rule.HealthOK, dedup.Normal, dedup.Normal, nil
		j.Why = "resolved: " + why
		e.unkept = append(e.unkept, Transition{
			Edge:      Edge{Kind: EdgeResolved, From: en.State.Tier, To: dedup.Normal, At: at},
			Judgement: j, Cause: en.Cause,
		})
		en.Last = j
	}
	if !calm(en.State) {
		en.State = State{Tier: dedup.Normal, Since: at, Seen: at, HealthSince: at}
		en.Cause, en.Ack, en.Silences = "", nil, nil
		e.behind[en.Key] = true
		return // it is forgotten once the journal has it
	}
	if !e.behind[en.Key] && en.Flapping.IsZero() { // the journal does not keep what is calm
		delete(e.alerts, en.Key)
		e.order = slices.DeleteFunc(e.order, func(o *entry) bool { return o == en })
	}
}
