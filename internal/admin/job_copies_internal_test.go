package admin

import (
	"testing"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// copyDecider decides for a job that sends one message of each id alone.
func copyDecider(t *testing.T) *decider {
	t.Helper()
	store := &PreflightStore{Name: "shop", Scheme: dedup.Scheme{Kind: "redis"}}
	j := &liveJob{moved: map[string]int{}, line: line{store: store}, plan: MovePlan{Request: MoveRequest{Do: Requeue, Whole: true}, Choices: chosen(nil, true)}}
	d, err := (&jobRunner{deps: &DeadLettersDeps{}}).newDecider(j, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// send decides on a message as Decide does once its marker is known, and reports whether it is sent.
func (d *decider) send(ref, id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := &Letter{DeadLetter: dedup.DeadLetter{Ref: ref}, ID: id, Target: "orders", Prediction: because(ClassRuns, "it has no marker")}
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
	old := MovePlan{Choices: map[Class]Choice{ClassSwallowed: ClearFirst}, Classes: Tally{ClassPerhapsSwallowed: 3}}
	if !old.does(ClassPerhapsSwallowed) {
		t.Error("two messages with one id would be sent")
	}
	old.Choices[ClassSwallowed] = LeaveOut
	if old.does(ClassPerhapsSwallowed) || old.Going() != 0 {
		t.Errorf("%d are going of those that are left out", old.Going())
	}
}
