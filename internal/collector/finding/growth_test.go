package finding

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestGrowthReachesBackAnHour(t *testing.T) {
	var g Growth
	at := func(minutes int) *dedup.Pass {
		return &dedup.Pass{Ended: findingNow.Add(time.Duration(minutes) * time.Minute), Expired: int64(minutes)}
	}
	if _, ok := g.First(); ok {
		t.Error("there is a pass before the first one")
	}
	for m := range 200 {
		g.Take(at(m))
		g.Take(&dedup.Pass{Ended: at(m).Ended.Add(30 * time.Second), Expired: -1})
	}
	if first, _ := g.First(); first.Expired != 139 || len(g.notes) != 61 {
		t.Errorf("the oldest of %d notes is of minute %d, want 61 from minute 139 on", len(g.notes), first.Expired)
	}
	g.Take(at(3))
	if first, _ := g.First(); first.Expired != 3 || len(g.notes) != 1 {
		t.Errorf("after the clock was set back: %+v", g.notes)
	}
}
