package window

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestAckedFailuresByTheCountersOfTheManagementAPI: without live counts. Of ten deliveries a second one fails and is rejected, and each second one of these is acked instead.
func TestAckedFailuresByTheCountersOfTheManagementAPI(t *testing.T) {
	watched := func(ackedShare float64) *Pipeline {
		p := &Pipeline{Store: &Store{}}
		p.Traffic.Own = (&sample.ClosureBook{}).Follow("/", nil)
		p.Traffic.Capacities.Add(roundAt(0), 2)
		for s := 0.0; s <= 1800; s += 5 {
			at := roundAt(s)
			p.Traffic.Frames.Add(sample.Frame{Began: at, Ended: at, DepthFrom: at, Whole: true, Deliveries: 10 * s, Acks: 9*s + ackedShare*s, Depth: 1, Unacked: 1})
			asked := int64(0)
			p.Store.Events.Add(&dedup.StoreEvents{At: at.Add(time.Second), Listening: true, Epoch: 1, Since: roundAt(0), Asked: &asked, Failures: int64(s), InFlight: 1})
		}
		return p
	}
	view := View{DeadKnown: true, Scheme: dedup.Scheme{Mark: "before", OnInFlight: "nack", OnFail: "delete"}}
	if (ackedFailures{watched(0), view}).proven() {
		t.Error("nothing is acked, and it is proven that something was")
	}
	p := watched(0.5)
	acked := ackedFailures{p, view}
	if !acked.proven() {
		t.Fatal("900 failures were acked, and nothing proves it")
	}
	from, to := roundAt(600), roundAt(1500)
	if got := acked.most(from, to); got != 0 {
		t.Errorf("%g of what is not said to be proven", got)
	}
	acked.view.failuresAcked = true
	if got := acked.most(from, to); got < 450 || got > 850 {
		t.Errorf("at most %g of 450", got)
	}
	acked.view.DeadKnown = false
	if got := acked.most(from, to); got < 900 || got > 910 {
		t.Errorf("at most %g where nobody knows what came back, of 900 failures", got)
	}
	for name, change := range map[string]func(p *Pipeline, v *View){
		"two pipelines have the store":     func(p *Pipeline, _ *View) { p.Partner = "other" },
		"deliveries with automatic acks":   func(p *Pipeline, _ *View) { p.Traffic.Frames[len(p.Traffic.Frames)-1].AutoAcks = 1 },
		"the counter tells what they were": func(p *Pipeline, v *View) { v.Scheme.GiveUp = 5; giveUpAll(p, 0.5) },
		"claims are kept":                  func(_ *Pipeline, v *View) { v.Scheme.OnFail = "keep" },
		"no events":                        func(p *Pipeline, _ *View) { p.Store.Events = sample.Events{} },
	} {
		p, v := watched(0.5), view
		change(p, &v)
		if (ackedFailures{p, v}).proven() {
			t.Errorf("proven although %s", name)
		}
	}
	p.Store.Events.Readings = p.Store.Events.Readings[200:]
	acked.view.DeadKnown = true
	if got := acked.most(from, to); got < 1e9 {
		t.Errorf("at most %g though events began in the window", got)
	}
}

func giveUpAll(p *Pipeline, share float64) {
	for i := range p.Store.Events.Readings {
		r := &p.Store.Events.Readings[i]
		r.GaveUp = share * r.Failures
	}
}
