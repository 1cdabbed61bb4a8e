package redis

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/known"
	"dedup-dashboard/internal/markers/redis/layout"
)

const (
	// maxPipeline bounds the commands sent at once: Redis serves other clients in between.
	maxPipeline = 250
	// maxDoubts bounds the markers that get a second look.
	maxDoubts = 1000
	// doubtFor is how long a marker without expiry waits for its second look: consumers of SETNX + EXPIRE schemes leave
	// it so for the time between the two commands.
	doubtFor = 20 * time.Millisecond
)

// item is a key whose value must be read.
type item struct {
	key   string
	id    string
	retry bool
}

// walk is one pass over a store, one server after the other. It can be resumed at its cursor after an interruption, as long as each server is the
// same process with the same role and was not emptied, and holds what it held. Work is taken off its lists only once it is counted.
type walk struct {
	layout *layout.Layout
	tally  *tally
	seen   *known.Recent
	// progressed, if set, is told of each step.
	progressed func(dedup.Progress)
	// limit ends the walk early once about so many keys were examined; zero walks to the end.
	limit int64
	// sampleSize is the number of marker keys to keep in sample.
	sampleSize int
	sample     []string
	touch      *touch

	servers *client.Servers
	// before is who held what when the walk began; nil before it did.
	before *client.Map
	moves  moves
	parts  []*part
	at     int
	*part  // the one that is walked over
}

// part is the walk over one server.
type part struct {
	node *client.Node
	pace *pace.Pace
	// conn scans and reads values; side reads expiries meanwhile.
	conn     *redis.Conn
	side     *redis.Conn
	info     client.Info
	offset   time.Duration // of its clock
	keys     int64
	slots    []int // that it held when the walk began
	cursor   uint64
	ended    bool
	pending  []string
	reads    []item
	doubts   []item
	expiries *expiryBatch
	probedAt time.Time
	worked   pace.Work
}

func newWalk(l *layout.Layout, servers *client.Servers) *walk {
	return &walk{layout: l, tally: newTally(l), seen: known.NewRecent(), touch: newTouch(l), servers: servers, part: &part{}}
}

func (w *walk) newPart(n *client.Node) *part {
	return &part{node: n, pace: pace.New(w.layout.Config.Sweep), expiries: newExpiryBatch(w.servers.Cluster())}
}

// run walks from where the walk stands to its end.
func (w *walk) run(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	for ; w.at < len(w.parts); w.at++ {
		w.part = w.parts[w.at]
		if err := w.over(ctx); err != nil {
			return w.servers.Missed(w.node, err)
		}
	}
	return w.end(ctx)
}

// over walks over one server. All of it goes over two connections whose server is identified, so that it cannot end up at another server halfway.
func (w *walk) over(ctx context.Context) error {
	w.conn, w.side = w.node.Conn(), w.node.Conn()
	defer w.conn.Close()
	defer w.side.Close()
	if err := w.enter(ctx); err != nil {
		return err
	}
	for !w.ended || len(w.pending) > 0 || len(w.reads) > 0 {
		if err := w.step(ctx); err != nil {
			return err
		}
		if err := w.rest(ctx); err != nil {
			return err
		}
	}
	if err := w.lookAgain(ctx); err != nil {
		return err
	}
	if err := w.sampled(ctx); err != nil {
		return err
	}
	return w.identify(ctx, w.conn)
}

// begin learns at the first start which servers there are, and that they are the same at each other. Of a cluster each is known before the
// first is walked over, so that what changes from then on shows at the end.
func (w *walk) begin(ctx context.Context) error {
	now, err := w.servers.Learn(ctx)
	if err != nil {
		return err
	}
	if w.before == nil {
		if err := now.Whole(); err != nil {
			return err
		}
		w.tally.pass.Started = time.Now()
		parts := make([]*part, len(now.Primaries))
		for i, n := range now.Primaries {
			parts[i] = w.newPart(n)
		}
		if err := w.chart(ctx, now, parts); err != nil {
			return err
		}
		w.before = now
	} else if err := w.unchanged(ctx); err != nil {
		return err
	}
	w.part = w.parts[min(w.at, len(w.parts)-1)]
	return nil
}

// step fetches values where a pipeline of them waits; else the expiries that wait and, at the same time, the next page.
func (w *walk) step(ctx context.Context) error {
	if len(w.reads) >= maxPipeline/2 || w.ended && len(w.pending) == 0 {
		n := min(len(w.reads), maxPipeline/2)
		err := w.read(ctx, w.reads[:n], w.mayDoubt)
		if err == nil {
			w.reads = append(w.reads[:0], w.reads[n:]...)
		}
		return err
	}
	// Others wait for the whole of a step: expiries come in portions of the size of a page.
	portion := min(maxPipeline, w.pace.Count)
	asked := min(len(w.pending), 2*portion)
	if asked < portion && !w.ended {
		asked = 0
	}
	scans := !w.ended && len(w.pending)-asked < portion
	started := time.Now()
	ahead := make(chan scanned, 1)
	cursor, count := w.cursor, w.pace.Count
	switch {
	case scans && asked > 0:
		// The two connections overlap what the server does with what we do.
		go func() { ahead <- w.scan(ctx, cursor, count) }()
	case scans:
		ahead <- w.scan(ctx, cursor, count)
	}
	if err := w.expire(ctx, asked); err != nil {
		if scans {
			<-ahead
		}
		return err
	}
	if !scans {
		w.pace.Spent(time.Since(started), 0, asked*10)
		return nil
	}
	page := <-ahead
	w.pace.Spent(time.Since(started), count, asked*10)
	return w.turn(page)
}

// scanned is a page of keys as the server gave it.
type scanned struct {
	keys   []string
	cursor uint64
	err    error
}

// scan asks for a page. It touches nothing of the walk, so that expire may run at the same time.
func (w *walk) scan(ctx context.Context, cursor uint64, count int) scanned {
	keys, next, err := w.conn.Scan(ctx, cursor, w.layout.Scan, int64(count)).Result()
	return scanned{keys, next, err}
}

// turn takes a page in.
func (w *walk) turn(page scanned) error {
	if page.err != nil {
		return page.err
	}
	w.pace.Bytes += w.take(page.keys)
	w.cursor = page.cursor
	w.ended = w.cursor == 0 || w.limit > 0 && w.part.examined() >= w.limit/int64(len(w.parts))
	return nil
}

// expire asks for the expiries of the first n pending markers. Those that can only be done are counted; the others wait
// for their value to be read.
func (w *walk) expire(ctx context.Context, n int) error {
	expiries, err := w.expiries.ask(ctx, w.side, w.pending[:n])
	if err != nil {
		return err
	}
	for i, e := range expiries {
		if e.at == layout.Gone {
			w.moves.left(w.pending[i])
			continue
		}
		if id := w.layout.IdOf(w.pending[i]); !w.tally.byLife(w.pending[i], id, e.at, e.now) {
			w.reads = append(w.reads, item{key: w.pending[i], id: id})
		} else {
			w.touch.offer(w.pending[i], e)
		}
	}
	w.pending = append(w.pending[:0], w.pending[n:]...)
	return nil
}

// take sorts the keys of a page by what they are, and returns their length in bytes.
func (w *walk) take(keys []string) int {
	size := 0
	for _, key := range keys {
		size += len(key)
		class, id := w.layout.Known(key)
		misfit := class == layout.Foreign && w.layout.Misfits(key)
		if class == layout.Foreign && !misfit || !w.first(key) {
			continue
		}
		if misfit {
			w.tally.misfit(key)
			continue
		}
		if class == layout.Marker && len(w.sample) < w.sampleSize {
			w.sample = append(w.sample, key)
		}
		if class == layout.Marker && w.layout.LongLived != "" {
			w.pending = append(w.pending, key)
			continue
		}
		// Where no life tells a state the expiry alone is of no use.
		w.reads = append(w.reads, item{key, id, class == layout.Retry})
	}
	return size
}

// coverage is the share of the server's table behind the cursor; where it has one for each slot, that of the slots that it holds.
func (p *part) coverage() float64 {
	if p.ended && p.cursor == 0 {
		return 1
	}
	order := p.info.Order()
	slot, place := order.Place(p.cursor)
	inside := float64(place) / math.Exp2(64)
	if !order.BySlot {
		return inside
	}
	passed, held := slices.BinarySearch(p.slots, slot)
	share := float64(passed)
	if held {
		share += inside
	}
	return share / float64(max(1, len(p.slots)))
}

func (p *part) examined() int64 { return int64(math.Round(p.coverage() * float64(p.keys))) }

// coverage is the share of all servers' keys behind the walk; a server without any counts as one.
func (w *walk) coverage() float64 {
	var done, all float64
	for _, p := range w.parts {
		weight := float64(max(1, p.keys))
		done, all = done+weight*p.coverage(), all+weight
	}
	return done / max(1, all)
}

func (w *walk) examined() int64 {
	var n int64
	for _, p := range w.parts {
		n += p.examined()
	}
	return n
}

// read fetches the beginning of each value and, in the same breath, its expiry, so that the two belong together.
func (w *walk) read(ctx context.Context, items []item, doubtful func(item, dedup.State, int64) bool) error {
	started, size := time.Now(), 0
	found, now, err := w.expiries.fetch(ctx, w.conn, items, w.layout.Form)
	if err != nil {
		return err
	}
	w.tally.at = started
	for i, f := range found {
		size += f.Size()
		if !w.layout.Form.TypeOnly || items[i].retry {
			w.tally.pass.ValuesRead++
		}
		d := w.layout.Decode(f)
		switch item := items[i]; {
		case f.Expiry == layout.Gone:
			w.moves.left(item.key)
		case doubtful(item, d.State, f.Expiry):
			w.doubts = append(w.doubts, item)
		case item.retry:
			w.tally.retry(item.key, item.id, f.Value, f.Expiry, now)
		case w.tally.byLife(item.key, item.id, f.Expiry, now):
			// It was completed between the reading of its value and that of its expiry.
		default:
			w.tally.byValue(item.key, item.id, d, f.Expiry, now)
		}
	}
	w.pace.Spent(time.Since(started), 0, size)
	return nil
}

// mayDoubt says whether a key without expiry may be a moment away from one.
func (w *walk) mayDoubt(i item, state dedup.State, expiry int64) bool {
	if expiry != layout.NoExpiry || len(w.doubts) >= maxDoubts {
		return false
	}
	return i.retry || w.layout.Permanent(state, expiry)
}

// lookAgain settles the doubts.
func (w *walk) lookAgain(ctx context.Context) error {
	if len(w.doubts) == 0 {
		return nil
	}
	if err := pace.Sleep(ctx, doubtFor); err != nil {
		return err
	}
	for len(w.doubts) > 0 {
		n := min(len(w.doubts), maxPipeline/2)
		if err := w.read(ctx, w.doubts[:n], func(item, dedup.State, int64) bool { return false }); err != nil {
			return err
		}
		w.doubts = append(w.doubts[:0], w.doubts[n:]...)
		if err := w.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// rest probes the store once a second, says where the walk stands, and pauses for what is owed.
func (w *walk) rest(ctx context.Context) error {
	if w.pace.Rules.Duty < 1 && time.Since(w.probedAt) >= pace.ProbeEvery {
		ping, err := w.ping(ctx)
		if err != nil {
			return err
		}
		w.pace.Probed(ping, w.node.Pings.Least())
		w.probedAt = time.Now()
		if err := w.identify(ctx, w.conn); err != nil {
			return err
		}
	}
	_, why := w.pace.Owed(time.Now())
	w.report(why)
	return w.pace.Rest(ctx)
}

func (w *walk) report(why string) {
	if w.progressed != nil {
		w.progressed(dedup.Progress{Started: w.tally.pass.Started, Coverage: w.coverage(), Examined: w.examined(), Waiting: why})
	}
}

// end makes the pass complete, unless the store changed under it.
func (w *walk) end(ctx context.Context) error {
	if err := w.unchanged(ctx); err != nil {
		return err
	}
	pass := &w.tally.pass
	pass.Touched = w.touch.result()
	pass.Ended = time.Now()
	pass.Examined = w.examined()
	w.tally.finish()
	w.report("")
	return nil
}
