package jobs

import (
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

func TestWhatIsDecidedAgainIsCountedOnce(t *testing.T) {
	d := &decider{job: &liveJob{}, most: 2, out: map[string]int{}, facts: map[string]fact{}, idle: make(chan struct{}, 1)}
	letters := []dedup.DeadLetter{{Ref: "a"}, {Ref: "a"}, {Ref: "b"}}
	decisions := []requeue.Decision{{Target: "orders"}, {Target: "orders"}, {Why: "left out by choice"}}
	decide := func() {
		for i, l := range letters {
			d.note(deadletter.Letter{DeadLetter: l}, nil, false)
			if decisions[i].Target != "" {
				d.out[l.Ref]++
				d.sending++
			}
		}
	}
	decide()
	if !d.over() {
		t.Fatal("two of two are decided on, and it is not over")
	}
	d.Undecide(letters, decisions)
	if d.sending != 0 || len(d.out) != 0 || d.over() || len(d.facts) != 1 || d.facts["b"].copies != 1 {
		t.Errorf("%d are to be sent, %v, known of %v", d.sending, d.out, d.facts)
	}
	select {
	case <-d.idle:
	default:
		t.Error("nobody is told that nothing is under way")
	}
}
