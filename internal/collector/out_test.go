package collector

import (
	"testing"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestOnlyClassicQueuesAnswerAsOfTheRequest(t *testing.T) {
	ref := dedup.QueueRef{Vhost: "/", Name: "orders"}
	for kind, want := range map[string]int{"classic": 1, "quorum": 0} {
		o := occupancy{out: map[string][]sample.OutSample{}, watch: map[string][]dedup.QueueRef{"orders": {ref}}}
		o.sampleOut("orders", sample.OutSample{}, map[dedup.QueueRef]*dedup.Queue{ref: {QueueRef: ref, Type: kind}})
		if got := len(o.drainOut("orders")); got != want {
			t.Errorf("%d samples of a %s queue, want %d", got, kind, want)
		}
	}
}
