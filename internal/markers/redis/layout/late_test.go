package layout

import (
	"strconv"
	"testing"
	"time"
)

func TestGiftsThatHaveExpiredAreForgotten(t *testing.T) {
	g := newLateExpiries()
	lasting, past := time.Now().Add(time.Hour).UnixMilli(), time.Now().Add(-2*time.Hour).UnixMilli()
	for i := range 1500 {
		g.Note("lasting:"+strconv.Itoa(i), LateExpiry{Expires: lasting})
	}
	for i := range 100_000 {
		g.Note("past:"+strconv.Itoa(i), LateExpiry{Expires: past})
	}
	if n := len(g.all); n < 1500 || n > 4*1500 {
		t.Errorf("%d are remembered, of which 1,500 have not expired", n)
	}
	if _, ok := g.Find("lasting:7", lasting); !ok {
		t.Error("one that has not expired is forgotten")
	}
}
