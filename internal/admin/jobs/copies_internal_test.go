package jobs

import (
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// copyDecider decides for a job that sends one message of each id alone.
func copyDecider(t *testing.T) *decider {
	t.Helper()
	store := &preflight.Store{Name: "shop", Scheme: dedup.Scheme{Kind: "redis"}}
	j := &liveJob{moved: map[string]int{}, line: deadletter.Queue{Store: store}, plan: move.Plan{Request: move.Request{Do: admin.Requeue, Whole: true}, Choices: preflight.Chosen(nil, true)}}
	d, err := (&jobRunner{tools: &tools{deps: &DeadLettersDeps{}}}).newDecider(j, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// send decides on a message as Decide does once its marker is known, and reports whether it is sent.
func (d *decider) send(ref, id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := &deadletter.Letter{DeadLetter: dedup.DeadLetter{Ref: ref}, ID: id, Target: "orders", Prediction: preflight.Because(preflight.ClassRuns, "it has no marker")}
	d.foundSent(l)
	decision := d.one(l)
	d.note(*l, nil, false)
	return decision.Target != ""
}

func TestNoCopySlipsThroughBetweenTheEndOfAMessageAndItsReport(t *testing.T) {
	d := copyDecider(t)
	if !d.send("a", "X") || d.send("b", "X") {
		t.Fatal("of two messages with one id not the first alone is sent")
	}
	d.settled(requeue.Settled{Ref: "a", Decision: requeue.Decision{Target: "orders"}, Outcome: requeue.Moved}) // and the job has not counted it
	if d.send("c", "X") {
		t.Error("a copy was sent while a report was taken down")
	}
}

func TestACopyFollowsAMessageThatItsTargetDidNotTake(t *testing.T) {
	d := copyDecider(t)
	if !d.send("a", "X") {
		t.Fatal("the message is not sent")
	}
	d.settled(requeue.Settled{Ref: "a", Decision: requeue.Decision{Target: "orders"}, Outcome: requeue.Returned})
	if !d.send("b", "X") {
		t.Error("nothing was sent, and the copy is left")
	}
}

func TestAPlanFromBeforeDoesWithPerhapsSwallowedMessagesWhatItDoesWithSwallowedOnes(t *testing.T) {
	old := move.Plan{Choices: map[preflight.Class]preflight.Choice{preflight.ClassSwallowed: preflight.ClearFirst}, Classes: preflight.Tally{preflight.ClassPerhapsSwallowed: 3}}
	if !old.Does(preflight.ClassPerhapsSwallowed) {
		t.Error("two messages with one id would be sent")
	}
	old.Choices[preflight.ClassSwallowed] = preflight.LeaveOut
	if old.Does(preflight.ClassPerhapsSwallowed) || old.Going() != 0 {
		t.Errorf("%d are going of those that are left out", old.Going())
	}
}
