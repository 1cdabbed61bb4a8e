package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

const (
	// mostBrowsed and longestBrowse bound one page.
	mostBrowsed   = 20_000
	longestBrowse = time.Second
	// mostPaged is the most markers of a page.
	mostPaged = 200
)

// Browse returns a page of markers in the order of SCAN. A value is read only where the expiry leaves the state open.
func (s *store) Browse(ctx context.Context, q dedup.MarkerQuery) (dedup.MarkerPage, error) {
	s.own.Add()
	if q.Limit < 1 || q.Limit > mostPaged {
		return dedup.MarkerPage{}, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("a page of %d markers was asked for; write 1 to %d", q.Limit, mostPaged)}
	}
	from, err := parseCursor(q.Cursor)
	if err != nil {
		return dedup.MarkerPage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	b := &browse{layout: s.layout, query: q, servers: s.servers}
	b.page.At = time.Now()
	if err := b.over(ctx, from); err != nil {
		return dedup.MarkerPage{}, s.explain.Explain(err)
	}
	return b.page, nil
}

// place is where a page ends: on a node, where there are several, at a cursor of SCAN or, where an answer held more than the page could, inside of the
// stretch from one cursor to the next. The markers of a stretch are shown in the order of their hashes, so that a place
// stays short whatever the keys. The whole stretch is asked for again to go on in it: keys that come and go meanwhile
// move how far an answer reaches, and no marker behind its end may be taken for one that was shown.
type place struct {
	// node is the beginning of the ID of a node.
	node   string
	cursor uint64
	// end is the cursor at the end of the stretch, after the hash of the last key of it that was shown; 0 for none.
	end   uint64
	after uint64
}

func parseCursor(text string) (place, error) {
	var p place
	if text == "" {
		return p, nil
	}
	rest := text
	if node, cursor, ok := strings.Cut(text, "."); ok {
		p.node, rest = node, cursor
	}
	parts := strings.Split(rest, "-")
	var errs [3]error
	p.cursor, errs[0] = strconv.ParseUint(parts[0], 10, 64)
	if len(parts) == 3 {
		p.end, errs[1] = strconv.ParseUint(parts[1], 10, 64)
		p.after, errs[2] = strconv.ParseUint(parts[2], 16, 64)
	}
	whole, inside := len(parts) == 1 && (p.cursor != 0 || p.node != ""), len(parts) == 3 && p.after != 0
	if errors.Join(errs[:]...) != nil || !whole && !inside {
		return p, errCursor()
	}
	return p, nil
}

func errCursor() error {
	return &dedup.Error{Kind: dedup.Invalid, Public: "the cursor of this page is none of ours: begin at the first page"}
}

func (p place) String() string {
	node := ""
	if p.node != "" {
		node = p.node + "."
	}
	if p.after == 0 {
		return node + strconv.FormatUint(p.cursor, 10)
	}
	return fmt.Sprintf("%s%d-%d-%x", node, p.cursor, p.end, p.after)
}

// nodeName is how a place names a node.
func nodeName(n *client.Node) string { return n.ID[:min(12, len(n.ID))] }

// reached reports whether a walk that stands at a cursor has the stretch behind it; 0 is the end.
func (p place) reached(cursor uint64, order client.Order) bool {
	return cursor == 0 || p.end != 0 && order.Compare(cursor, p.end) >= 0
}

type browse struct {
	layout   *layout.Layout
	query    dedup.MarkerQuery
	servers  *client.Servers
	conn     *redis.Conn
	order    client.Order
	expiries *expiryBatch
	page     dedup.MarkerPage
	// last is the hash of the last key on the page.
	last uint64
}

// candidate is a key that may go onto the page.
type candidate struct {
	key  string
	id   string
	hash uint64
}

// over goes over the nodes of a store from a place on, until the page is full.
func (b *browse) over(ctx context.Context, p place) error {
	m, err := b.servers.Map(ctx)
	if err != nil {
		return err
	}
	if err := m.Whole(); err != nil {
		return err
	}
	first := slices.IndexFunc(m.Primaries, func(n *client.Node) bool { return nodeName(n) == p.node || p == place{} })
	if first < 0 {
		return errCursor() // a node that was there left
	}
	for i, n := range m.Primaries[first:] {
		if i > 0 {
			p = place{}
		}
		p.node = nodeName(n)
		if i > 0 && (len(b.page.Markers) == b.query.Limit || b.spent()) {
			b.page.Next = p.String()
			return nil
		}
		if err := b.run(ctx, n, p); err != nil {
			return b.servers.Missed(n, err)
		}
		if b.page.Next != "" {
			return nil
		}
	}
	return nil
}

// run goes over one server.
func (b *browse) run(ctx context.Context, n *client.Node, p place) error {
	b.conn, b.expiries = n.Conn(), newExpiryBatch(b.servers.Cluster())
	defer b.conn.Close()
	pipe := b.conn.Pipeline()
	server, keys := pipe.Info(ctx, "server"), pipe.DBSize(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	b.order = client.ParseInfo(server.Val()).Order()
	size := keys.Val() + b.page.Examined // with what was examined elsewhere
	for {
		keys, next, err := b.stretch(ctx, p, size)
		if err != nil {
			return err
		}
		full, err := b.fill(ctx, b.candidates(keys, p.after), place{node: p.node, cursor: p.cursor, end: next})
		if err != nil || full {
			return err
		}
		p = place{node: p.node, cursor: next}
		if next == 0 {
			return nil
		}
		if len(b.page.Markers) == b.query.Limit || b.spent() {
			b.page.Next = p.String()
			return nil
		}
	}
}

func (b *browse) spent() bool {
	return b.page.Examined >= mostBrowsed || time.Since(b.page.At) >= longestBrowse
}

// stretch returns the keys of one answer, or of a stretch that a page has begun, and where the walk stands behind them.
func (b *browse) stretch(ctx context.Context, p place, size int64) ([]string, uint64, error) {
	var all []string
	for cursor := p.cursor; ; {
		keys, next, err := b.conn.Scan(ctx, cursor, b.layout.Scan, int64(b.layout.Config.Sweep.Count)).Result()
		if err != nil {
			return nil, 0, err
		}
		b.page.Examined = min(size, b.page.Examined+int64(b.layout.Config.Sweep.Count))
		all, cursor = append(all, keys...), next
		switch {
		case p.after == 0, next == 0 && p.end == 0:
			return all, next, nil
		case p.reached(next, b.order):
			// What lies behind the end is asked for again from there.
			return all, p.end, nil
		case b.spent():
			// The store grew more than a page may examine.
			return all, next, nil
		}
	}
}

// candidates returns the markers among the keys of one answer that the query may want, behind the one that was shown last.
func (b *browse) candidates(keys []string, after uint64) []candidate {
	var all []candidate
	for _, key := range keys {
		class, id := b.layout.Known(key)
		if class != layout.Marker || !strings.Contains(id, b.query.Match) {
			continue
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(key))
		if c := (candidate{key, id, max(1, h.Sum64())}); c.hash > after {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		return strings.Compare(a.key, b.key)
	})
	return slices.CompactFunc(all, func(a, b candidate) bool { return a.key == b.key })
}

// fill puts candidates onto the page and reports whether it filled up before their end.
func (b *browse) fill(ctx context.Context, all []candidate, p place) (bool, error) {
	for len(all) > 0 {
		n := min(len(all), mostAtOnce)
		found, err := b.read(ctx, all[:n])
		if err != nil {
			return false, err
		}
		for i, m := range found {
			if m == nil || b.query.State != "" && m.State != b.query.State {
				continue
			}
			if len(b.page.Markers) == b.query.Limit {
				p.after = b.last
				b.page.Next = p.String()
				return true, nil
			}
			b.page.Markers, b.last = append(b.page.Markers, *m), all[i].hash
		}
		all = all[n:]
	}
	return false, nil
}

// read returns the markers of a few candidates, nil for those that are gone.
func (b *browse) read(ctx context.Context, few []candidate) ([]*dedup.Marker, error) {
	found := make([]*dedup.Marker, len(few))
	keys := make([]string, len(few))
	for i, c := range few {
		keys[i] = c.key
	}
	expiries, err := b.expiries.ask(ctx, b.conn, keys)
	if err != nil {
		return nil, err
	}
	var items []item
	var places []int
	for i, e := range expiries {
		switch {
		case e.at == layout.Gone:
		case b.layout.IsLongLived(e.at, e.now):
			m := b.layout.Marker(keys[i], codec.Decoded{State: b.layout.LongLived}, e.at, e.now)
			found[i] = &m
		default:
			items, places = append(items, item{key: keys[i], id: few[i].id}), append(places, i)
		}
	}
	if len(items) == 0 {
		return found, nil
	}
	values, now, err := b.expiries.fetch(ctx, b.conn, items, b.layout.Form)
	if err != nil {
		return nil, err
	}
	for i, f := range values {
		if f.Expiry != layout.Gone {
			m := b.layout.Marker(items[i].key, b.layout.Decode(f), f.Expiry, now)
			found[places[i]] = &m
		}
	}
	return found, nil
}
