package client

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers/pace"
)

func TestASlotIsThatOfTheSpecification(t *testing.T) {
	for key, want := range map[string]int{ // as CLUSTER KEYSLOT of Redis 7.0.15 answers
		"123456789": 12739, "foo": 12182, "": 0, "{user1000}.following": 3443, "{user1000}.followers": 3443, "foo{}{bar}": 8363, "foo{{bar}}zap": 4015,
		"foo{bar}{zap}": 5061, "bar": 5061, "{bar": 4015, "msg:\x00\xff": 13924,
	} {
		if got := Slot(key); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
}

// mapped lays out a cluster of the nodes A, B, C with a replica each, told as "A 0-100" and so on.
func mapped(ranges ...redis.ClusterSlot) *Map {
	return newMap(view{ranges: ranges, nodes: []string{"A a:1@2 myself,master - 0 0 0 connected [3-<-B]"}}, func(id, addr string) *Node { return &Node{ID: id, Server: &Server{Addr: addr}} })
}

func held(from, to int, ids ...string) redis.ClusterSlot {
	r := redis.ClusterSlot{Start: from, End: to}
	for _, id := range ids {
		r.Nodes = append(r.Nodes, redis.ClusterNode{ID: id, Addr: strings.ToLower(id) + ":1"})
	}
	return r
}

func TestWhatChangedInAClusterIsNamed(t *testing.T) {
	before := []redis.ClusterSlot{held(8000, 16383, "B", "b"), held(0, 7999, "A", "a")}
	for name, c := range map[string]struct {
		now  []redis.ClusterSlot
		is   error
		says string
	}{
		"nothing":                          {[]redis.ClusterSlot{held(0, 7999, "A", "a"), held(8000, 16383, "B", "b")}, nil, ""},
		"another replica":                  {[]redis.ClusterSlot{held(0, 7999, "A", "c"), held(8000, 16383, "B", "b")}, nil, ""},
		"some slots":                       {[]redis.ClusterSlot{held(0, 7899, "A", "a"), held(7900, 16383, "B", "b")}, pace.ErrMoved, "100 of the slots of node a:1 are now held by b:1"},
		"all slots of a node":              {[]redis.ClusterSlot{held(0, 16383, "B", "b")}, pace.ErrMoved, "8000 of the slots of node a:1"},
		"some slots to a new node":         {[]redis.ClusterSlot{held(0, 4999, "A", "a"), held(5000, 7999, "N"), held(8000, 16383, "B", "b")}, pace.ErrMoved, "3000 of the slots"},
		"slots that nobody holds any more": {[]redis.ClusterSlot{held(0, 7998, "A", "a"), held(8000, 16383, "B", "b")}, pace.ErrMoved, "1 of the slots of node a:1 are now held by nobody"},
		"a fail-over to a replica that came meanwhile": {[]redis.ClusterSlot{held(0, 7999, "A", "a"), held(8000, 16383, "n", "B")}, pace.ErrChanged, "n:1 took the place of b:1"},
		"a fail-over": {[]redis.ClusterSlot{held(0, 7999, "a", "A"), held(8000, 16383, "B", "b")}, pace.ErrChanged, "a:1 took the place of a:1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := mapped(slices.Clone(before)...).Change(mapped(c.now...))
			if !errors.Is(err, c.is) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v with %q", err, c.is, c.says)
			}
		})
	}
	// N is no primary now, as A is in all the others.
	of := slices.Clone(before)
	of[1] = held(0, 7999, "N", "n")
	if err := mapped(slices.Clone(of)...).Change(mapped(held(0, 16383, "B", "b", "N"))); !errors.Is(err, pace.ErrMoved) {
		t.Errorf("a primary that gave all its slots and is a replica now: %v", err)
	}
	if err := mapped(slices.Clone(of)...).Change(mapped(held(0, 16383, "B", "b"))); !errors.Is(err, pace.ErrChanged) {
		t.Errorf("a primary that is gone: %v", err)
	}
	if m := mapped(held(0, 9, "A")); m.Whole() == nil {
		t.Error("a cluster with slots that nobody holds is whole")
	} else if _, err := m.For("foo"); err == nil || !strings.Contains(err.Error(), "slot 12182") {
		t.Errorf("a key of such a slot: %v", err)
	}
	// Slots went to another node and came back, or a replica took over for a while.
	a, b := mapped(slices.Clone(before)...), mapped(slices.Clone(before)...)
	a.epoch, b.epoch = 7, 9
	if err := a.Change(b); !errors.Is(err, pace.ErrChanged) {
		t.Errorf("another epoch: %v", err)
	}
}

func TestNodesAndOpenSlotsAreRead(t *testing.T) {
	answer := "A a:1@2 myself,master - 0 0 7 connected 0-92 [93->-B] [77-<-C]\nB b:1@2,b.example master - 0 0 12 connected 94-200\n" +
		"C c:1@2 slave,fail B 0 0 3 connected\nD d:1@2 master - 0 0 0 connected\nE e:1@2 master,fail - 0 0 0 disconnected\n" +
		"F f:1@2 master,nofailover - 0 0 0 connected\nG :0@0 master,noaddr - 0 0 0 disconnected\n"
	if open := OpenSlots(answer); !slices.Equal(open, []OpenSlot{{93, "A", "B"}, {77, "C", "A"}}) {
		t.Errorf("%+v", open)
	}
	lines := strings.Split(answer, "\n")
	m := newMap(view{nodes: lines, epoch: newestEpoch(lines)}, func(id, addr string) *Node { return &Node{ID: id, Server: &Server{Addr: addr}} })
	if len(m.Idle) != 2 || m.Idle[0].ID != "D" || m.Idle[0].Addr != "d:1" || m.Idle[1].ID != "F" || m.epoch != 12 {
		t.Errorf("%+v, epoch %d", m.Idle, m.epoch)
	}
	for told, want := range map[string]string{":7000": "asked:7000", "?:7000": "asked:7000", "a:0": "a:7", "a:7000": "a:7000", "[::1]:7000": "[::1]:7000"} {
		if got := reachable(told, "asked:7"); got != want {
			t.Errorf("%q: %q, want %q", told, got, want)
		}
	}
}

func TestACursorStandsWhereItsServerCountsIt(t *testing.T) {
	for name, c := range map[string]struct {
		info   string
		bySlot bool
	}{
		"Redis 7.2":                         {"redis_version:7.2.9\nredis_mode:cluster\n", false},
		"Redis 7.4":                         {"redis_version:7.4.0\nredis_mode:cluster\n", true},
		"Redis 8":                           {"redis_version:8.0.2\nredis_mode:cluster\n", true},
		"Redis 8 that is no cluster":        {"redis_version:8.0.2\nredis_mode:standalone\n", false},
		"Valkey 7.2":                        {"redis_version:7.2.4\nvalkey_version:7.2.9\nserver_mode:cluster\n", false},
		"Valkey 8.0":                        {"redis_version:7.2.4\nvalkey_version:8.0.1\nserver_mode:cluster\n", true},
		"Valkey 10":                         {"redis_version:7.2.4\nvalkey_version:10.0.1\nserver_mode:cluster\n", true},
		"Dragonfly, with tables of its own": {"redis_version:7.4.0\ndragonfly_version:df-v1.30\nredis_mode:cluster\n", false},
	} {
		if got := ParseInfo(c.info).Order(); got.BySlot != c.bySlot {
			t.Errorf("%s: %+v", name, got)
		}
	}
	apart, one := Order{BySlot: true}, Order{}
	if slot, part := apart.Place(1<<14 | 5); slot != 5 || part != 1<<63 {
		t.Errorf("slot %d, part %x", slot, part)
	}
	for _, c := range []struct {
		order    Order
		low, top uint64
	}{{apart, 0, 1}, {apart, 1, 2}, {apart, 3<<14 | 1, 2}, {apart, 2<<14 | 1, 1<<14 | 1}, {one, 0, 1}, {one, 2, 1}, {one, 1, 3}} {
		if c.order.Compare(c.low, c.top) >= 0 || c.order.Compare(c.top, c.low) <= 0 || c.order.Compare(c.top, c.top) != 0 {
			t.Errorf("%+v: %x comes before %x", c.order, c.low, c.top)
		}
	}
}
