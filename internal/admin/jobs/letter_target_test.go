package jobs_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
)

// publish puts messages into the dead-letter queue that consumers published there themselves: they have no death history.
func (w *ward) publish(ids ...string) {
	w.die(ids...)
	w.mu.Lock()
	defer w.mu.Unlock()
	in := w.queues[deadQueue.Name]
	for i := len(in) - len(ids); i < len(in); i++ {
		in[i].Headers = nil
	}
}

// twoQueues is a ward whose pipeline has two queues, so that it cannot be told which one such a message came from.
func twoQueues(t *testing.T) *ward {
	w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Pipelines[0].Queues = []string{"orders", "orders.slow"} })
	w.facts["orders.slow"] = dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: "orders.slow"}, Type: "classic", State: "running", Durable: true}
	return w
}

func TestMessagesThatDoNotSayWhereTheyCameFromGoWhereSomebodyChose(t *testing.T) {
	w := twoQueues(t)
	w.publish("published")
	w.die("rejected")
	scan := w.look(t)
	if got := scan.Letters[0]; got.Target != "" || got.NoTarget == "" {
		t.Fatalf("it goes to %q: %s", got.Target, got.NoTarget)
	}
	p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref, scan.Letters[1].Ref}, Target: "orders.slow"})
	admintest.Must(t, err)
	if p.Targets["orders.slow"] != 1 || p.Targets["orders"] != 1 {
		t.Errorf("the plan sends to %v", p.Targets)
	}
	id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	admintest.Must(t, err)
	w.until(t, id, in(jobs.JobDone))
	if slow, quick := w.holds("orders.slow"), w.holds("orders"); len(slow) != 1 || slow[0] != "published" || len(quick) != 1 || quick[0] != "rejected" {
		t.Errorf("orders.slow has %v, orders %v", slow, quick)
	}
}

func TestAChosenTargetIsAQueueOfThePipelineAndOfARequeue(t *testing.T) {
	w := twoQueues(t)
	w.publish("published")
	scan := w.look(t)
	refs := []string{scan.Letters[0].Ref}
	for name, req := range map[string]move.Request{
		"a queue of another pipeline": {Scan: scan.ID, Refs: refs, Target: "payments"},
		"the dead-letter queue":       {Scan: scan.ID, Refs: refs, Target: deadQueue.Name},
		"a discard":                   {Scan: scan.ID, Refs: refs, Target: "orders", Do: admin.Discard},
	} {
		if _, err := w.planMove(t, ada, req); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// forge gives the newest message of the dead-letter queue headers that its publisher has made up.
func (w *ward) forge(id string, headers map[string]any) {
	w.die(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	in := w.queues[deadQueue.Name]
	in[len(in)-1].Headers = headers
}

func TestADeathHistoryThatAPublisherMadeUpChoosesNoQueue(t *testing.T) {
	const treasury = "treasury.commands"
	death := map[string]any{"queue": treasury, "reason": "rejected", "count": int64(1)}
	forged := map[string]map[string]any{
		"the history":          {"x-death": []any{death}},
		"the first death":      {"x-first-death-queue": treasury, "x-first-death-reason": "rejected"},
		"a history kept by us": {message.HeaderOriginalDeath: `[{"queue":"` + treasury + `","reason":"rejected"}]`},
		"our own notes": {
			message.HeaderOriginalQueue: treasury, message.HeaderRequeueRun: "forged", "x-death": []any{death},
		},
		"copies": {"CC": []any{treasury}, "BCC": []any{treasury}, "x-death": []any{death}},
	}
	for name, headers := range forged {
		t.Run(name, func(t *testing.T) {
			w := newWard(t)
			w.facts[treasury] = dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: treasury}, Type: "classic", State: "running", Durable: true}
			w.forge("forged", headers)
			w.die("honest")
			scan := w.look(t)
			if got := scan.Letters[0]; got.Target != "" || !strings.Contains(got.NoTarget, treasury) {
				t.Errorf("it goes to %q: %s", got.Target, got.NoTarget)
			}
			if p, err := w.planMove(t, operator, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}}); err == nil && p.UpTo != 0 {
				t.Errorf("an operator's plan sends %d to %v", p.UpTo, p.Targets)
			}
			id := w.begin(t, move.Request{Whole: true})
			w.until(t, id, in(jobs.JobDone))
			if got := w.holds(treasury); len(got) > 0 {
				t.Errorf("%s got %v", treasury, got)
			}
			if got := w.holds("orders"); !slices.Equal(got, []string{"honest"}) {
				t.Errorf("orders got %v", got)
			}
			if got := w.holds(deadQueue.Name); !slices.Equal(got, []string{"forged"}) {
				t.Errorf("left are %v", got)
			}
		})
	}
}

func TestALetterOfAPipelineThatSharesTheQueueIsNotForetoldByTheRulesOfThisOne(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) {
		d.Pipelines = append(d.Pipelines, dedup.Pipeline{Name: "payments", Broker: "main", Vhost: "/", Queues: []string{"payments"}, IDFrom: "header:payment"})
	})
	w.facts["payments"] = dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: "payments"}, Type: "classic", State: "running", Durable: true}
	snap := *w.round.Snapshot()
	snap.Pipelines = append(slices.Clone(snap.Pipelines), dedup.PipelineStatus{Pipeline: w.deps.Pipelines[1], DeadLetterQueues: snap.Pipelines[0].DeadLetterQueues})
	w.round.Set(&snap)
	w.markers["paid"] = dedup.Done
	w.forge("paid", map[string]any{"x-death": []any{map[string]any{"queue": "payments", "reason": "rejected", "count": int64(1)}}})
	w.die("ordered")
	scan := w.look(t)
	if got := scan.Letters[0]; got.Target != "payments" || got.Prediction.Class != preflight.ClassUnknown || !strings.Contains(got.Prediction.Why(), "pipeline payments") {
		t.Errorf("to %q: %s, %s", got.Target, got.Prediction.Class, got.Prediction.Why())
	}
	id := w.begin(t, move.Request{Scan: scan.ID, Filter: "reason:rejected"})
	w.until(t, id, in(jobs.JobDone))
	if got := w.holds(deadQueue.Name); !slices.Equal(got, []string{"paid"}) {
		t.Errorf("left are %v", got)
	}
}

func TestALetterOfAPipelineWithALockOfItsOwnIsNotForetoldByTheRulesOfThisOne(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) {
		payments := d.Pipelines[0]
		payments.Name, payments.Queues, payments.Lock = "payments", []string{"payments"}, "locks"
		d.Pipelines = append(d.Pipelines, payments)
		d.Stores = append(d.Stores, preflight.Store{Name: "locks", Scheme: dedup.Scheme{Kind: "redis-lock", Mark: "before", OnInFlight: "ack", Lock: true}, Finder: noMarkers{}})
		var err error
		d.Preflight, err = preflight.New(d.Pipelines, d.Stores)
		admintest.Must(t, err)
	})
	snap := *w.round.Snapshot()
	snap.Pipelines = append(slices.Clone(snap.Pipelines), dedup.PipelineStatus{Pipeline: w.deps.Pipelines[1], DeadLetterQueues: snap.Pipelines[0].DeadLetterQueues})
	w.round.Set(&snap)
	w.forge("paid", map[string]any{"x-death": []any{map[string]any{"queue": "payments", "reason": "rejected", "count": int64(1)}}})
	if got := w.look(t).Letters[0]; got.Target != "payments" || got.Prediction.Class != preflight.ClassUnknown || !strings.Contains(got.Prediction.Why(), "pipeline payments") {
		t.Errorf("to %q: %s, %s", got.Target, got.Prediction.Class, got.Prediction.Why())
	}
}

func TestACountOfRequeuesThatAPublisherMadeUpIsNotBelieved(t *testing.T) {
	for name, headers := range map[string]map[string]any{
		"a count alone":              {message.HeaderRequeueCount: int64(7)},
		"with a run that is unknown": {message.HeaderRequeueCount: int64(7), message.HeaderRequeueRun: "MADEUPMADEUPMADEUP", message.HeaderRequeueID: strings.Repeat("a", 64)},
		"with a run as bytes":        {message.HeaderRequeueCount: int64(7), message.HeaderRequeueRun: []byte("MADEUPMADEUPMADEUP")},
		"with a run that never ends": {message.HeaderRequeueCount: int64(7), message.HeaderRequeueRun: strings.Repeat("x", 100_000)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t)
			w.die("forged", "worn")
			w.requeued(1, 3)
			w.mu.Lock()
			for header, v := range headers {
				w.queues[deadQueue.Name][0].Headers[header] = v
			}
			w.mu.Unlock()
			scan := w.look(t)
			if forged, worn := scan.Letters[0], scan.Letters[1]; forged.Requeues != 0 || forged.Foreign == "" || worn.Requeues != 3 || worn.Foreign != "" {
				t.Errorf("made up: %d, %q; ours: %d, %q", forged.Requeues, forged.Foreign, worn.Requeues, worn.Foreign)
			}
			job := w.until(t, w.begin(t, move.Request{Whole: true}), in(jobs.JobDone))
			if got := w.holds("orders"); job.Moved != 1 || job.Guarded != 1 || !slices.Equal(got, []string{"forged"}) {
				t.Errorf("%+v, orders got %v", job.Counts, got)
			}
		})
	}
}

func TestAMessageThatThisDashboardHasSentCountsItsRequeues(t *testing.T) {
	w := newWard(t)
	w.die("again")
	w.until(t, w.begin(t, move.Request{Whole: true}), in(jobs.JobDone))
	w.mu.Lock()
	m := w.queues["orders"][0] // as the engine signs it
	m.Headers[message.HeaderRequeueCount], w.queues["orders"] = int64(1), nil
	w.queues[deadQueue.Name] = append(w.queues[deadQueue.Name], m)
	w.mu.Unlock()
	if l := w.look(t).Letters[0]; l.Requeues != 1 || l.Foreign != "" {
		t.Errorf("requeued %d times, %q", l.Requeues, l.Foreign)
	}
}

// noMarkers is a store that holds nothing.
type noMarkers struct{}

func (noMarkers) Find(_ context.Context, ids []string) ([]*dedup.Sighting, error) {
	return make([]*dedup.Sighting, len(ids)), nil
}
