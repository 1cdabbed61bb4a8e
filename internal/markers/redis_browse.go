package markers

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
)

const (
	// mostBrowsed and longestBrowse bound one page.
	mostBrowsed   = 20_000
	longestBrowse = time.Second
	// mostPaged is the most markers of a page.
	mostPaged = 200
)

// Browse returns a page of markers in the order of SCAN. A value is read only where the expiry leaves the state open.
func (s *redisStore) Browse(ctx context.Context, q dedup.MarkerQuery) (dedup.MarkerPage, error) {
	if q.Limit < 1 || q.Limit > mostPaged {
		return dedup.MarkerPage{}, &dedup.Error{Kind: dedup.Invalid, Public: fmt.Sprintf("a page of %d markers was asked for; write 1 to %d", q.Limit, mostPaged)}
	}
	from, err := parseCursor(q.Cursor)
	if err != nil {
		return dedup.MarkerPage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	b := &browse{layout: s.layout, query: q, conn: s.rdb.Conn(), expiries: newExpiryBatch()}
	defer b.conn.Close()
	if err := b.run(ctx, from); err != nil {
		return dedup.MarkerPage{}, s.explain.explain(err)
	}
	return b.page, nil
}

// place is where a page ends: the cursor of a SCAN call and, where its answer held more than the page could, the last
// key that was shown. The keys of one answer are shown in the order of their hashes, so that a cursor stays short
// whatever the keys, and keys that come and go meanwhile do not move the others.
type place struct {
	cursor uint64
	after  uint64
}

func parseCursor(text string) (place, error) {
	var p place
	if text == "" {
		return p, nil
	}
	cursor, after, partial := strings.Cut(text, "-")
	var errs [2]error
	p.cursor, errs[0] = strconv.ParseUint(cursor, 10, 64)
	if partial {
		p.after, errs[1] = strconv.ParseUint(after, 16, 64)
	}
	if errs[0] != nil || errs[1] != nil || partial == (p.after == 0) || !partial && p.cursor == 0 {
		return p, &dedup.Error{Kind: dedup.Invalid, Public: "the cursor of this page is none of ours: begin at the first page"}
	}
	return p, nil
}

func (p place) String() string {
	if p.after == 0 {
		return strconv.FormatUint(p.cursor, 10)
	}
	return fmt.Sprintf("%d-%x", p.cursor, p.after)
}

type browse struct {
	layout   *layout
	query    dedup.MarkerQuery
	conn     *redis.Conn
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

func (b *browse) run(ctx context.Context, p place) error {
	b.page.At = time.Now()
	size, err := b.conn.DBSize(ctx).Result()
	if err != nil {
		return err
	}
	for {
		keys, next, err := b.conn.Scan(ctx, p.cursor, b.layout.scan, int64(b.layout.cfg.Sweep.Count)).Result()
		if err != nil {
			return err
		}
		b.page.Examined = min(size, b.page.Examined+int64(b.layout.cfg.Sweep.Count))
		full, err := b.fill(ctx, b.candidates(keys, p.after), p.cursor)
		if err != nil || full {
			return err
		}
		p = place{cursor: next}
		if next == 0 {
			return nil
		}
		if len(b.page.Markers) == b.query.Limit || b.page.Examined >= mostBrowsed || time.Since(b.page.At) >= longestBrowse {
			b.page.Next = p.String()
			return nil
		}
	}
}

// candidates returns the markers among the keys of one answer that the query may want, behind the one that was shown last.
func (b *browse) candidates(keys []string, after uint64) []candidate {
	var all []candidate
	for _, key := range keys {
		class, id := b.layout.known(key)
		if class != markerKey || !strings.Contains(id, b.query.Match) {
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
			return before(a.hash < b.hash)
		}
		return strings.Compare(a.key, b.key)
	})
	return slices.CompactFunc(all, func(a, b candidate) bool { return a.key == b.key })
}

// fill puts candidates onto the page and reports whether it filled up before their end.
func (b *browse) fill(ctx context.Context, all []candidate, cursor uint64) (bool, error) {
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
				b.page.Next = place{cursor, b.last}.String()
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
		case e.at == gone:
		case b.layout.tells(e.at, e.now):
			m := b.layout.marker(keys[i], decoded{state: b.layout.lifeTells}, e.at, e.now)
			found[i] = &m
		default:
			items, places = append(items, item{key: keys[i], id: few[i].id}), append(places, i)
		}
	}
	if len(items) == 0 {
		return found, nil
	}
	values, now, err := b.expiries.fetch(ctx, b.conn, items, b.layout.reads)
	if err != nil {
		return nil, err
	}
	for i, f := range values {
		if f.expiry != gone {
			m := b.layout.marker(items[i].key, b.layout.decode(f), f.expiry, now)
			found[places[i]] = &m
		}
	}
	return found, nil
}
