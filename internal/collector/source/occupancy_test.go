package source

import (
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/dedup"
)

// TestOnlyClassicQueuesAnswerAsOfTheRequest: the others renew their depths each 5 s, and what is read of the same renewal again tells nothing new.
func TestOnlyClassicQueuesAnswerAsOfTheRequest(t *testing.T) {
	ref := dedup.QueueRef{Vhost: "/", Name: "orders"}
	for _, tt := range []struct {
		kind           string
		kept, measured int
	}{{"classic", 11, 11}, {"quorum", 0, 3}, {"stream", 0, 3}} {
		synctest.Test(t, func(t *testing.T) {
			var o Occupancy
			o.Follow("orders", []dedup.QueueRef{ref})
			for range 11 {
				o.observe(dedup.QueueTotals{At: time.Now(), Queues: []dedup.Queue{{QueueRef: ref, Type: tt.kind, Unacked: new(int64)}}}, 0)
				time.Sleep(time.Second)
			}
			if kept, held := len(o.DrainOut("orders")), o.Of("orders"); kept != tt.kept || held.Count != float64(tt.measured) {
				t.Errorf("%d samples of a %s queue kept and %v counted, want %d and %d", kept, tt.kind, held.Count, tt.kept, tt.measured)
			}
		})
	}
}
