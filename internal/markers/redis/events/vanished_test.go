package events

import (
	"fmt"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestMarkersAreLookedForOnAnotherServerAlone(t *testing.T) {
	began := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	written := func(n *newest, keys ...string) {
		for i, key := range keys {
			n.note(key, began.Add(time.Duration(i)*time.Second))
		}
	}
	answer := func(n *newest, gone ...string) {
		for _, key := range n.next() {
			there := true
			for _, g := range gone {
				there = there && g != key
			}
			n.answered(key, there)
		}
	}
	for name, c := range map[string]struct {
		do          func(n *newest)
		asked, gone int64
	}{
		"the same server":                {func(n *newest) { n.opened("a", began); answer(n, "x") }, 0, 0},
		"another one":                    {func(n *newest) { n.opened("b", began); answer(n, "x") }, 3, 1},
		"another one that has all":       {func(n *newest) { n.opened("b", began); answer(n) }, 3, 0},
		"a marker that ended before":     {func(n *newest) { n.drop("x"); n.opened("b", began); answer(n, "x") }, 2, 0},
		"markers that may have ended":    {func(n *newest) { n.forget(); n.opened("b", began); answer(n, "x", "y", "z") }, 0, 0},
		"after a gap on the same server": {func(n *newest) { n.opened("a", began); n.opened("b", began); answer(n, "x") }, 0, 0},
		"markers that end by themselves": {func(n *newest) { n.opened("b", began.Add(time.Hour)); answer(n, "x", "y", "z") }, 0, 0},
		"a session that ends unanswered": {func(n *newest) { n.opened("b", began); n.next(); n.opened("b", began); answer(n, "x") }, 3, 1},
		"an answer that comes twice":     {func(n *newest) { n.opened("b", began); answer(n, "x"); n.answered("x", false) }, 3, 1},
		"back to the first, with all": {func(n *newest) {
			n.opened("b", began)
			answer(n, "x")
			written(n, "w")
			n.opened("a", began)
			answer(n)
		}, 3, 1},
		"another one that has lost others": {func(n *newest) {
			n.opened("b", began)
			answer(n, "x")
			written(n, "w")
			n.opened("a", began)
			answer(n, "w")
		}, 1, 1},
	} {
		n := newNewest(time.Hour)
		n.opened("a", began)
		written(n, "x", "y", "z")
		c.do(n)
		if n.told.Asked != c.asked || n.told.Gone != c.gone {
			t.Errorf("%s: %+v, want %d of %d gone", name, n.told, c.gone, c.asked)
		}
	}
}

func TestTheNewestMarkersAreFew(t *testing.T) {
	n := newNewest(0)
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	for i := range 10 * mostNewest {
		n.note(fmt.Sprint("m-", i), at.Add(time.Duration(i)))
		n.note("again", at.Add(time.Duration(i)))
	}
	if len(n.at) > mostNewest || len(n.order) > 4*mostNewest || n.at["again"].IsZero() {
		t.Errorf("%d markers in %d places; the one that was written again is kept: %t", len(n.at), len(n.order), !n.at["again"].IsZero())
	}
	if n.told != (dedup.Vanished{}) {
		t.Error(n.told)
	}
}
