package source

import (
	"testing"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestOnlyClassicQueuesAnswerAsOfTheRequest(t *testing.T) {
	ref := dedup.QueueRef{Vhost: "/", Name: "orders"}
	for kind, want := range map[string]int{"classic": 1, "quorum": 0} {
		var o Occupancy
		o.Follow("orders", []dedup.QueueRef{ref})
		o.sampleOut("orders", sample.OutSample{}, map[dedup.QueueRef]*dedup.Queue{ref: {QueueRef: ref, Type: kind}})
		if got := len(o.DrainOut("orders")); got != want {
			t.Errorf("%d samples of a %s queue, want %d", got, kind, want)
		}
	}
}
