package dialect

import (
	"testing"
	"time"
)

func TestTheClockOfAServerIsNeverTakenToBeAheadByTheWayOfItsAnswer(t *testing.T) {
	asked := time.Now()
	for name, way := range map[string]struct{ there, back time.Duration }{
		"a quick answer": {0, 0}, "a question that took its time": {3 * time.Second, 0}, "an answer that took its time": {0, 3 * time.Second},
	} {
		told := asked.Add(way.there + way.back)
		s := Server{Clock: asked.Add(way.there), At: asked.Add(told.Sub(asked) / 2), answered: told} // whose clock goes as ours
		if later := told.Add(time.Minute); s.ClockAt(later).After(later) {
			t.Errorf("%s: at %s its clock is taken to show %s", name, later, s.ClockAt(later))
		}
	}
}
