package jobs

import (
	"fmt"
	"testing"

	"dedup-dashboard/internal/admin/requeue"
)

func TestAJobRemembersNoMessageThatItIsDoneWith(t *testing.T) {
	for refs, want := range map[int]int{0: 0, 3: 3} {
		j := &liveJob{moved: map[string]int{}}
		for i := range refs {
			j.plan.Request.Refs = append(j.plan.Request.Refs, fmt.Sprint("ref", i))
		}
		d := &decider{job: j, out: map[string]int{}, facts: map[string]fact{}, idle: make(chan struct{}, 1)}
		for i := range 100 {
			ref := fmt.Sprint("ref", i)
			if refs > 0 && i >= refs {
				break
			}
			d.out[ref]++
			d.sending++
			if i == 0 {
				d.out[ref]++
				d.sending++
				d.leave(&requeue.Decision{}, ref, "its marker was not cleared")
			}
			s := requeue.Settled{Ref: ref, Outcome: requeue.Moved, Decision: requeue.Decision{Target: "orders"}}
			f := d.settled(s)
			j.count(s, f)
		}
		if len(d.out) != 0 || d.sending != 0 || len(d.facts) != 0 || len(j.moved) != want {
			t.Errorf("%d selected: %d out, %d sending, %d facts, %d moved are kept", refs, len(d.out), d.sending, len(d.facts), len(j.moved))
		}
	}
}
