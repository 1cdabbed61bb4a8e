package amqp

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestABusyBrokerIsAskedLessAndLessOftenWhetherMessagesAreBack(t *testing.T) {
	for _, c := range []struct {
		name string
		back time.Duration
		most int           // how often it is asked
		late time.Duration // how long after it is noticed
	}{
		{"at once", 0, 1, 0},
		{"after what an idle broker takes", 20 * time.Millisecond, 6, 15 * time.Millisecond},
		{"after half a second", 500 * time.Millisecond, 14, lastAsk},
		{"not before nobody waits any more", returnWithin, 30, lastAsk},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, asked := time.Now(), 0
				askUntil(func() bool { asked++; return time.Since(begun) >= c.back })
				if late := time.Since(begun) - c.back; asked > c.most || late > c.late {
					t.Errorf("asked %d times, noticed %v late", asked, late)
				}
			})
		})
	}
}
