package admin_test

import (
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
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
	w := newWard(t, func(d *admin.DeadLettersDeps) { d.Pipelines[0].Queues = []string{"orders", "orders.slow"} })
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
	p, err := w.planMove(t, ada, admin.MoveRequest{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref, scan.Letters[1].Ref}, Target: "orders.slow"})
	must(t, err)
	if p.Targets["orders.slow"] != 1 || p.Targets["orders"] != 1 {
		t.Errorf("the plan sends to %v", p.Targets)
	}
	id, err := w.StartJob(t.Context(), ada, admin.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	must(t, err)
	w.until(t, id, in(admin.JobDone))
	if slow, quick := w.holds("orders.slow"), w.holds("orders"); len(slow) != 1 || slow[0] != "published" || len(quick) != 1 || quick[0] != "rejected" {
		t.Errorf("orders.slow has %v, orders %v", slow, quick)
	}
}

func TestAChosenTargetIsAQueueOfThePipelineAndOfARequeue(t *testing.T) {
	w := twoQueues(t)
	w.publish("published")
	scan := w.look(t)
	refs := []string{scan.Letters[0].Ref}
	for name, req := range map[string]admin.MoveRequest{
		"a queue of another pipeline": {Scan: scan.ID, Refs: refs, Target: "payments"},
		"the dead-letter queue":       {Scan: scan.ID, Refs: refs, Target: deadQueue.Name},
		"a discard":                   {Scan: scan.ID, Refs: refs, Target: "orders", Do: admin.Discard},
	} {
		if _, err := w.planMove(t, ada, req); dedup.KindOf(err) != dedup.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
