package redis

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

func TestANodeIsWalkedOverBeforeThoseThatItsKeysGoTo(t *testing.T) {
	node := func(id string) *client.Node { return &client.Node{ID: id, Server: &client.Server{Addr: id + ":1"}} }
	now := &client.Map{Primaries: []*client.Node{node("a"), node("b")}, Idle: []*client.Node{node("new")}}
	for name, c := range map[string]struct {
		open  []client.OpenSlot
		order string
		fails func(error) bool
	}{
		"nothing moves":            {nil, "a b", nil},
		"against the order":        {[]client.OpenSlot{{Slot: 1, From: "b", To: "a"}}, "b a", nil},
		"to a node without a slot": {[]client.OpenSlot{{Slot: 1, From: "a", To: "new"}, {Slot: 2, From: "b", To: "new"}}, "a b new", nil},
		"in a circle":              {[]client.OpenSlot{{Slot: 1, From: "a", To: "b"}, {Slot: 2, From: "b", To: "a"}}, "", func(err error) bool { return errors.Is(err, pace.ErrMoved) }},
		"to a node that has failed": {[]client.OpenSlot{{Slot: 17, From: "a", To: "failed"}}, "", func(err error) bool {
			return dedup.KindOf(err) == dedup.Unavailable && strings.Contains(err.Error(), "slot 17")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, _ := markers.Preset("redis-text-status")
			w := &walk{layout: &layout.Layout{Config: cfg.WithDefaults()}, servers: &client.Servers{}}
			for _, n := range now.Primaries {
				w.parts = append(w.parts, w.newPart(n))
			}
			err := w.follow(c.open, now)
			if c.fails != nil {
				if err == nil || !c.fails(err) {
					t.Errorf("%v", err)
				}
				return
			}
			var order []string
			for _, p := range w.parts {
				order = append(order, p.node.ID)
			}
			if err != nil || !slices.Equal(order, strings.Fields(c.order)) {
				t.Errorf("%q, %v", order, err)
			}
		})
	}
}
