package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
)

const (
	// mapLife is how long a map is believed unasked. An older one harms nobody: a node that does not hold a key says so.
	mapLife = time.Second
	// forgotten is how long the connections to a node that left are kept.
	forgotten = time.Minute
)

// Servers are those that hold the keys of a store: one, or the primaries of a cluster.
type Servers struct {
	options redis.Options
	// seeds are addresses of a cluster; none for one server.
	seeds []string
	// learning is held by who asks the cluster.
	learning chan struct{}

	mu      sync.Mutex
	servers map[string]*Server
	named   map[string]time.Time // when a map last had the server
	known   *Map
	at      time.Time
}

// Open returns the servers of a store without connecting to them.
func Open(r markers.Redis, options *redis.Options) *Servers {
	s := &Servers{options: *options, seeds: r.Cluster, learning: make(chan struct{}, 1), servers: map[string]*Server{}, named: map[string]time.Time{}}
	if !s.Cluster() {
		s.known = &Map{Primaries: []*Node{{Server: s.server(options.Addr)}}}
	}
	return s
}

// Cluster reports whether the servers are the nodes of a cluster.
func (s *Servers) Cluster() bool { return len(s.seeds) > 0 }

// One returns the client of a store that has one server.
func (s *Servers) One() *redis.Client { return s.known.Primaries[0].Client }

// Close ends all connections.
func (s *Servers) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed []error
	for _, server := range s.servers {
		failed = append(failed, server.Close())
	}
	return errors.Join(failed...)
}

// server returns the server at an address. It needs the lock, once there are several.
func (s *Servers) server(addr string) *Server {
	if s.servers[addr] == nil {
		options := s.options
		options.Addr = addr
		s.servers[addr] = &Server{Addr: addr, Client: redis.NewClient(&options)}
	}
	return s.servers[addr]
}

// Map returns who holds which keys, as it was of late.
func (s *Servers) Map(ctx context.Context) (*Map, error) { return s.learn(ctx, mapLife) }

// Learn returns who holds which keys now.
func (s *Servers) Learn(ctx context.Context) (*Map, error) { return s.learn(ctx, 0) }

// Outdated lets the next Map ask: a node did not answer, or does not hold what it held.
func (s *Servers) Outdated() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = time.Time{}
}

// Missed notes an error of a node of a cluster, and names the node in it.
func (s *Servers) Missed(n *Node, err error) error {
	if err != nil {
		s.Outdated()
	}
	return n.At(err)
}

// recent returns the map if it is younger than life.
func (s *Servers) recent(life time.Duration) *Map {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Cluster() || s.known != nil && time.Since(s.at) < life {
		return s.known
	}
	return nil
}

func (s *Servers) learn(ctx context.Context, life time.Duration) (*Map, error) {
	if m := s.recent(life); m != nil {
		return m, nil
	}
	select {
	case s.learning <- struct{}{}:
		defer func() { <-s.learning }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if m := s.recent(life); m != nil { // somebody else asked meanwhile
		return m, nil
	}
	began := time.Now()
	newest, err := s.newest(ctx)
	if err != nil {
		return nil, err
	}
	return s.know(newest, began), nil
}

// A view is what one node knows of its cluster.
type view struct {
	addr   string
	ranges []redis.ClusterSlot
	nodes  []string // lines of CLUSTER NODES
	epoch  int64
	err    error
}

// newest asks every node that we know at once and believes the one with the newest configuration: one that was cut off knows an older.
func (s *Servers) newest(ctx context.Context) (view, error) {
	asking, cancel := context.WithTimeout(ctx, pace.AnswerTimeout/2)
	defer cancel()
	all := s.toAsk()
	views := make(chan view, len(all))
	for _, server := range all {
		go func() { views <- server.view(asking) }()
	}
	best := view{epoch: -1}
	var failed []error
	for range all {
		switch v := <-views; {
		case v.err != nil:
			failed = append(failed, &NodeError{v.addr, v.err})
		case v.epoch > best.epoch:
			if best.epoch < 0 {
				defer time.AfterFunc(sentinelGrace, cancel).Stop()
			}
			best = v
		}
	}
	if best.epoch < 0 {
		if err := ctx.Err(); err != nil {
			return best, err
		}
		return best, s.unknown(failed)
	}
	return best, nil
}

// toAsk returns the servers of the seeds, and those of the last map.
func (s *Servers) toAsk() []*Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	addresses := append([]string(nil), s.seeds...)
	if s.known != nil {
		for _, n := range append(append([]*Node(nil), s.known.Primaries...), s.known.Replicas...) {
			addresses = append(addresses, n.Addr)
		}
	}
	asked := map[string]bool{}
	var all []*Server
	for _, addr := range addresses {
		if !asked[addr] {
			all, asked[addr] = append(all, s.server(addr)), true
		}
	}
	return all
}

func (s *Server) view(ctx context.Context) view {
	pipe := s.Pipeline()
	ranges, nodes := pipe.ClusterSlots(ctx), pipe.ClusterNodes(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return view{addr: s.Addr, err: errors.Join(ranges.Err(), nodes.Err())}
	}
	lines := strings.Split(nodes.Val(), "\n")
	return view{s.Addr, ranges.Val(), lines, newestEpoch(lines), nil}
}

// unknown says why no node has told the slots.
func (s *Servers) unknown(failed []error) error {
	first := failed[0]
	for _, err := range failed {
		if errors.As(err, new(redis.Error)) { // an answer says more than none
			first = err
			break
		}
	}
	if errors.As(first, new(redis.Error)) {
		return first
	}
	return &dedup.Error{Kind: dedup.Unavailable, Err: errors.Join(failed...), Public: fmt.Sprintf(
		"none of the %d nodes of the Redis Cluster answers; %s. Check redis.cluster", len(failed), codec.Printable(first.Error()))}
}

// know makes a view the map, and forgets the servers that are in none for a while.
func (s *Servers) know(v view, at time.Time) *Map {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seed := range s.seeds {
		s.named[seed] = at
	}
	s.known = newMap(v, func(id, addr string) *Node {
		addr = reachable(addr, v.addr)
		s.named[addr] = at
		return &Node{ID: id, Server: s.server(addr)}
	})
	s.at = at
	for addr, server := range s.servers {
		if at.Sub(s.named[addr]) > forgotten {
			_ = server.Close()
			delete(s.servers, addr)
			delete(s.named, addr)
		}
	}
	return s.known
}
