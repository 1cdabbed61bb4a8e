package move

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// TestWhatMustBeTypedCanBeTyped: space around it is lost on its way, so that the name of a queue that begins or ends with it would never fit.
func TestWhatMustBeTypedCanBeTyped(t *testing.T) {
	for queue, want := range map[string]string{"orders.dlq": "orders.dlq", "the orders": "the orders", "orders.dlq ": "move", " orders.dlq": "move"} {
		p := Plan{Request: Request{Do: admin.Discard}, Source: dedup.QueueRef{Name: queue}}
		if typed := p.typed(); typed != want || strings.TrimSpace(typed) != typed {
			t.Errorf("%q is to be typed for the queue %q, want %q", typed, queue, want)
		}
	}
}
