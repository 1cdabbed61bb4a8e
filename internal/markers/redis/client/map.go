package client

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
)

// A Server is one server with its connections.
type Server struct {
	Addr string
	*redis.Client
	// Pings are the last round trips to it, CPU meters its processor.
	Pings pace.Latencies
	CPU   CpuMeter
}

// A Node is a server as a cluster knows it. One server that is no cluster has no ID.
type Node struct {
	ID string
	*Server
}

// A Map says which primary holds which keys.
type Map struct {
	// Primaries are in an order that does not change as long as they are the same; Replicas stand by. Idle are primaries without a slot.
	Primaries, Replicas, Idle []*Node
	// owners are the places of the primaries of all slots, -1 where there is none; nil where one server holds all keys.
	owners []int
	// epoch rises with each change of who holds what.
	epoch int64
	// followed are the IDs of the primaries of the replicas, by the IDs of these.
	followed map[string]string
}

// For returns the primary that holds a key.
func (m *Map) For(key string) (*Node, error) {
	if m.owners == nil {
		return m.Primaries[0], nil
	}
	slot := Slot(key)
	if owner := m.owners[slot]; owner >= 0 {
		return m.Primaries[owner], nil
	}
	return nil, &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("no node of the Redis Cluster holds slot %d: bring it back, or give its slots to another node", slot)}
}

// SlotsOf returns the slots of a primary in their order.
func (m *Map) SlotsOf(n *Node) []int {
	var held []int
	for slot, owner := range m.owners {
		if owner >= 0 && m.Primaries[owner] == n {
			held = append(held, slot)
		}
	}
	return held
}

// Whole returns an error if there are slots that nobody holds: what was in them cannot be read.
func (m *Map) Whole() error {
	n := 0
	for _, owner := range m.owners {
		if owner < 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("%d of the %d slots of the Redis Cluster are held by no node: bring it back, or give its slots to another node", n, slots)}
}

// Change returns nil where each slot is held by the node that held it before. Else it is an ErrMoved where slots went to another
// primary, which takes their keys along, and an ErrChanged where a replica took the place of its primary: writes may be lost with that.
func (before *Map) Change(now *Map) error {
	moved := map[[2]string]int{}
	for slot := range before.owners {
		from, to := before.owner(slot), now.owner(slot)
		switch {
		case from.ID == to.ID:
		case from.ID != "" && to.ID != "" && before.replaced(from, to, now):
			return fmt.Errorf("%w: node %s took the place of %s", pace.ErrChanged, to.Addr, from.Addr)
		default:
			moved[[2]string{from.Addr, to.Addr}]++
		}
	}
	if len(moved) == 0 && before.epoch != now.epoch {
		return fmt.Errorf("%w: the cluster changed its configuration, from epoch %d to %d", pace.ErrChanged, before.epoch, now.epoch)
	}
	for way, n := range moved {
		return fmt.Errorf("%w: %d of the slots of node %s are now held by %s", pace.ErrMoved, n, way[0], cmp.Or(way[1], "nobody"))
	}
	return nil
}

// replaced reports whether a node took the place of another. A primary that has given all its slots to others may be a replica now.
func (before *Map) replaced(from, to *Node, now *Map) bool {
	emptied := before.ByID(to.ID) != nil && now.followed[from.ID] != ""
	return before.followed[to.ID] == from.ID || now.ByID(from.ID) == nil && !emptied
}

// owner returns who holds a slot; a node without a name for nobody.
func (m *Map) owner(slot int) *Node {
	if owner := m.owners[slot]; owner >= 0 {
		return m.Primaries[owner]
	}
	return &Node{Server: &Server{}}
}

// add notes a range of slots with the nodes that hold it, the primary first.
func (m *Map) add(r redis.ClusterSlot, node func(id, addr string) *Node) {
	if len(r.Nodes) == 0 {
		return
	}
	primary := slices.IndexFunc(m.Primaries, func(n *Node) bool { return n.ID == r.Nodes[0].ID })
	if primary < 0 {
		primary = len(m.Primaries)
		m.Primaries = append(m.Primaries, node(r.Nodes[0].ID, r.Nodes[0].Addr))
		for _, replica := range r.Nodes[1:] {
			m.Replicas = append(m.Replicas, node(replica.ID, replica.Addr))
			m.followed[replica.ID] = r.Nodes[0].ID
		}
	}
	for slot := max(0, r.Start); slot <= min(r.End, slots-1); slot++ {
		m.owners[slot] = primary
	}
}

// newMap lays out what a node knows.
func newMap(v view, node func(id, addr string) *Node) *Map {
	m := &Map{epoch: v.epoch, owners: slices.Repeat([]int{-1}, slots), followed: map[string]string{}}
	id := func(r redis.ClusterSlot) string {
		if len(r.Nodes) == 0 {
			return ""
		}
		return r.Nodes[0].ID
	}
	slices.SortFunc(v.ranges, func(a, b redis.ClusterSlot) int { return cmp.Compare(id(a), id(b)) })
	for _, r := range v.ranges {
		m.add(r, node)
	}
	for _, line := range v.nodes {
		fields := strings.Fields(line)
		if len(fields) < 8 || !primary(fields[2]) || slices.ContainsFunc(fields[8:], func(f string) bool { return f[0] != '[' }) {
			continue
		}
		addr, _, _ := strings.Cut(fields[1], "@")
		m.Idle = append(m.Idle, node(fields[0], addr))
	}
	return m
}

// primary reads flags of CLUSTER NODES. One that has failed, or whose address nobody knows, is a master too.
func primary(flags string) bool {
	all := strings.Split(flags, ",")
	return slices.Contains(all, "master") && !slices.Contains(all, "fail") && !slices.Contains(all, "noaddr")
}

// ByID returns a primary, nil where there is none.
func (m *Map) ByID(id string) *Node {
	for _, n := range slices.Concat(m.Primaries, m.Idle) {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// AskedAt returns the node that an answer ASK names: the key may be there while its slot moves.
func (m *Map) AskedAt(from *Node, answer error) *Node {
	var said redis.Error
	if !errors.As(answer, &said) {
		return nil
	}
	fields := strings.Fields(said.Error())
	if len(fields) != 3 || fields[0] != "ASK" {
		return nil
	}
	addr := reachable(fields[2], from.Addr)
	for _, n := range slices.Concat(m.Primaries, m.Idle) {
		if n.Addr == addr {
			return n
		}
	}
	return nil
}

// An OpenSlot is one whose keys are being moved, one by one, from its holder to another node.
type OpenSlot struct {
	Slot     int
	From, To string // IDs
}

// OpenSlots reads the slots that are open at the node which gave an answer of CLUSTER NODES: [93->-ID] leaves it, [77-<-ID] comes to it.
func OpenSlots(answer string) []OpenSlot {
	var open []OpenSlot
	for line := range strings.Lines(answer) {
		fields := strings.Fields(line)
		if len(fields) < 8 || !strings.HasPrefix(fields[2], "myself") {
			continue
		}
		for _, f := range fields[8:] {
			text := strings.Trim(f, "[]")
			if number, id, ok := strings.Cut(text, "->-"); ok {
				slot, _ := strconv.Atoi(number)
				open = append(open, OpenSlot{slot, fields[0], id})
			} else if number, id, ok := strings.Cut(text, "-<-"); ok {
				slot, _ := strconv.Atoi(number)
				open = append(open, OpenSlot{slot, id, fields[0]})
			}
		}
	}
	return open
}

// newestEpoch returns the highest epoch of a configuration in an answer of CLUSTER NODES: it rises with each fail-over and each
// slot that moves, so that who knows a higher one knows more.
func newestEpoch(nodes []string) int64 {
	var newest int64
	for _, line := range nodes {
		if fields := strings.Fields(line); len(fields) > 6 {
			n, _ := strconv.ParseInt(fields[6], 10, 64)
			newest = max(newest, n)
		}
	}
	return newest
}

// reachable completes an address that a node told: of one that knows no address of its own it is that at which it was asked.
func reachable(told, asked string) string {
	host, port, err := net.SplitHostPort(told)
	askedHost, askedPort, err2 := net.SplitHostPort(asked)
	if err != nil || err2 != nil {
		return told
	}
	if host == "" || host == "?" {
		host = askedHost
	}
	if port == "0" {
		port = askedPort
	}
	return net.JoinHostPort(host, port)
}

// A NodeError is a failure of one node of a cluster.
type NodeError struct {
	Addr string
	Err  error
}

// Error names the node.
func (e *NodeError) Error() string { return e.Addr + ": " + e.Err.Error() }

// Unwrap returns the failure itself.
func (e *NodeError) Unwrap() error { return e.Err }

// At says which node of a cluster failed.
func (n *Node) At(err error) error {
	if err == nil || n.ID == "" || errors.As(err, new(*NodeError)) || errors.Is(err, pace.ErrChanged) || errors.Is(err, pace.ErrMoved) {
		return err
	}
	return &NodeError{n.Addr, err}
}

// Redirected reports whether an answer sends us to another node of the cluster, and nothing was done.
func Redirected(err error) bool { return IsAnswer(err, "MOVED ") || IsAnswer(err, "ASK ") }
