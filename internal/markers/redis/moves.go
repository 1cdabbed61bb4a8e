package redis

import (
	"context"
	"fmt"
	"slices"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
)

// mostMoving bounds the keys that are remembered of the slots whose keys are on the move.
const mostMoving = 200_000

// moves are the slots of a cluster whose keys move, one by one, while a walk is under way. A key can be met at both ends of its way; it is never
// missed, since the node that it leaves is walked over before that to which it comes.
type moves struct {
	open  []client.OpenSlot
	slots map[int]bool
	// keys are all that were counted of these slots: recent forgets keys that it saw long ago.
	keys map[string]bool
	full bool
}

// first reports whether the walk meets a key for the first time.
func (w *walk) first(key string) bool {
	m := &w.moves
	if len(m.slots) == 0 || !m.slots[client.Slot(key)] {
		return w.seen.Add(key)
	}
	if m.full = m.full || len(m.keys) >= mostMoving; m.full || m.keys[key] {
		return false
	}
	m.keys[key] = true
	return true
}

// left forgets a key that was gone when it was read: it may be met again where it came to.
func (m *moves) left(key string) { delete(m.keys, key) }

// chart learns of each node of a cluster who it is, and in which order to walk over them.
func (w *walk) chart(ctx context.Context, now *client.Map, parts []*part) error {
	w.parts = parts
	if !w.servers.Cluster() {
		return nil
	}
	open, err := openSlots(ctx, w.servers, now)
	if err != nil {
		return err
	}
	if err := w.follow(open, now); err != nil {
		return err
	}
	for _, w.part = range w.parts {
		w.slots = now.SlotsOf(w.node)
		if err := w.identify(ctx, w.node); err != nil {
			return w.servers.Missed(w.node, err)
		}
		if err := w.measure(ctx, w.node); err != nil {
			return w.servers.Missed(w.node, err)
		}
	}
	w.report("")
	return nil
}

// follow notes the slots whose keys are on the move, and puts the nodes in the order of these moves.
func (w *walk) follow(open []client.OpenSlot, now *client.Map) error {
	w.moves = moves{open: open, slots: map[int]bool{}, keys: map[string]bool{}}
	for _, o := range open {
		w.moves.slots[o.Slot] = true
		n := now.ByID(o.To)
		if n == nil {
			return &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf(
				"keys of slot %d of the Redis Cluster move to node %s, which has failed or is no primary: bring it back, or end the move", o.Slot, o.To)}
		}
		if !slices.ContainsFunc(w.parts, func(p *part) bool { return p.node.ID == o.To }) {
			w.parts = append(w.parts, w.newPart(n)) // its first slot
		}
	}
	var err error
	w.parts, err = inOrder(w.parts, open)
	return err
}

// inOrder puts each node in front of those that keys go to from it.
func inOrder(parts []*part, open []client.OpenSlot) ([]*part, error) {
	var ordered []*part
	for rest := parts; len(rest) > 0; {
		next := slices.IndexFunc(rest, func(p *part) bool {
			return !slices.ContainsFunc(open, func(o client.OpenSlot) bool {
				return o.To == p.node.ID && slices.ContainsFunc(rest, func(from *part) bool { return from.node.ID == o.From && from != p })
			})
		})
		if next < 0 {
			return nil, fmt.Errorf("%w: keys move between the nodes of the cluster in a circle", pace.ErrMoved)
		}
		ordered = append(ordered, rest[next])
		rest = slices.Delete(slices.Clone(rest), next, next+1)
	}
	return ordered, nil
}

// openSlots asks each primary for the slots whose keys leave it or come to it.
func openSlots(ctx context.Context, servers *client.Servers, m *client.Map) ([]client.OpenSlot, error) {
	var all []client.OpenSlot
	for _, n := range slices.Concat(m.Primaries, m.Idle) {
		answer, err := n.ClusterNodes(ctx).Result()
		if err != nil {
			return nil, servers.Missed(n, err)
		}
		for _, o := range client.OpenSlots(answer) {
			if !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// unchanged returns an error if not all is as it was when the walk began. One server was identified when it had been walked over.
func (w *walk) unchanged(ctx context.Context) error {
	if !w.servers.Cluster() {
		return nil
	}
	now, err := w.servers.Learn(ctx)
	if err != nil {
		return err
	}
	if err := w.before.Change(now); err != nil {
		return err
	}
	open, err := openSlots(ctx, w.servers, now)
	if err != nil {
		return err
	}
	same := len(open) == len(w.moves.open) && !slices.ContainsFunc(open, func(o client.OpenSlot) bool { return !slices.Contains(w.moves.open, o) })
	if !same || w.moves.full {
		return fmt.Errorf("%w: keys move from node to node of the cluster", pace.ErrMoved)
	}
	standing := w.part
	defer func() { w.part = standing }()
	for _, w.part = range w.parts {
		if err := w.identify(ctx, w.node); err != nil {
			return w.servers.Missed(w.node, err)
		}
	}
	return nil
}

// named says of which node something is told, where there are several.
func (w *walk) named(what string) string {
	if w.servers.Cluster() {
		return "node " + w.node.Addr + " of the cluster: " + what
	}
	return what
}

// served names the servers of a pass: the primaries, since one without a slot is no part of the store's health.
func (w *walk) served() dedup.StoreHealth {
	if !w.servers.Cluster() {
		return dedup.StoreHealth{RunID: w.info["run_id"]}
	}
	nodes := map[string]string{}
	for _, p := range w.parts {
		if slices.Contains(w.before.Primaries, p.node) {
			nodes[p.node.ID] = p.info["run_id"]
		}
	}
	return dedup.StoreHealth{Nodes: nodes}
}
