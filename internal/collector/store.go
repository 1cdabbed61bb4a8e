package collector

import (
	"context"
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/collector/window"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/text"
)

// passesKept is the number of earlier passes whose undated completions are remembered.
const passesKept = 512

// evictionStep is how exactly the time of an eviction is recalled from the history, evictionReach how far back.
const (
	evictionStep  = 5 * time.Minute
	evictionReach = 24 * time.Hour
)

// A storeWatch reads one store and remembers what its pipelines need between two readings.
type storeWatch struct {
	store Store
	src   *source.Source
	stats source.Reading[dedup.StoreStats]

	// The rest belongs to the round.
	observed uint64
	// told is what the store told over time.
	told window.Store
	// setsExpiry: a pass has seen processing markers that expire.
	setsExpiry bool
	// served is the health that last said who serves the store.
	served    dedup.StoreHealth
	evicted   sample.Counter
	evictions *counter.Tally
	// evictedAt is when any markers were last evicted.
	evictedAt time.Time
	// evictedMarkers are those that events told of by the last reading.
	evictedMarkers markersEvicted
	pipelines      []string
	// users are the pipelines that keep their markers here, queues those of theirs by broker.
	users  []*pipeline
	queues []storeQueues
	events event.Log
}

// markersEvicted are the evictions of markers that events told of in an epoch; told is false where they tell none. rose is true where evictions of any
// keys rose at that reading.
type markersEvicted struct {
	told  bool
	epoch int64
	n     int64
	rose  bool
}

func newStoreWatch(s Store, cfg Config, b *counter.Book, turned func()) *storeWatch {
	w := &storeWatch{store: s, evictions: b.Tally(series.StoreEvictedKeys, "store", s.Name())}
	w.src = &source.Source{Name: "store " + s.Name(), Kind: "store", Interval: cfg.Interval, Timeout: cfg.Timeout,
		Patience: source.StaleAfter * cfg.Interval, Turned: turned, Place: source.PlaceOf(s),
		Read: func(ctx context.Context) error {
			stats, err := s.Stats(ctx)
			if err == nil {
				w.stats.Set(stats)
			}
			return err
		}}
	if stirring, ok := s.(stirrer); ok {
		w.src.Stirred = stirring.Stirred()
	}
	return w
}

// use adds a pipeline that keeps its markers here, or its locks.
func (w *storeWatch) use(p *pipeline) {
	w.pipelines = append(w.pipelines, p.Name)
	w.users = append(w.users, p)
}

// A stirrer is a store that says when Stats holds what should be seen before the next reading in turn.
type stirrer interface {
	Stirred() <-chan struct{}
}

// observe takes new statistics, if there are any.
func (w *storeWatch) observe(now time.Time) {
	stats, count := w.stats.Get()
	if count == w.observed {
		return
	}
	w.observed = count
	if w.told.First.IsZero() {
		w.told.First = now
	}
	h := stats.Health
	at := h.At
	if at.IsZero() {
		at = now
	}
	if h.Restarted(w.served) {
		w.told.Disturbed, w.told.DisturbedWhy = at, "the store was restarted in the window and may have lost markers"
		w.evicted.Lose() // another server has evicted other keys
		w.events.Add(at, "store_restart", fmt.Sprintf("Store %s was restarted", text.Name(w.store.Name())))
	}
	if h.RunID != "" || len(h.Nodes) > 0 {
		w.served = h
	}
	rose := false
	if step := w.evicted.Observe(h.EvictedKeys); w.evicted.Known() {
		w.evictions.Take(step)
		if step.Delta > 0 {
			w.evictedAt, rose = at, true
			w.events.AddSpaced(at, "eviction", fmt.Sprintf("Store %s evicted %s", text.Name(w.store.Name()), text.Counted(step.Delta, "key")))
		}
	}
	if w.lostMarkers(rose, stats.Events) {
		w.told.Disturbed, w.told.DisturbedWhy = at, "the store evicted keys in the window"
	}
	w.notePass(stats.Pass, w.store.Scheme().DoneTTL)
	w.told.Inserts.Add(stats.Inserts)
	w.told.Statements.Add(stats.Statements)
	w.told.Events.Add(stats.Events)
}

// lostMarkers reports whether the store may have evicted markers, where evictions of any keys rose or not. Events tell whether it did, as long as they
// come; where they break off, what rose just before may have been markers.
func (w *storeWatch) lostMarkers(rose bool, e *dedup.StoreEvents) bool {
	was := w.evictedMarkers
	w.evictedMarkers = markersEvicted{}
	if e != nil && e.Listening && e.TellsEvicted {
		w.evictedMarkers = markersEvicted{true, e.Epoch, e.Evicted, rose}
	}
	is := w.evictedMarkers
	if !was.told || !is.told || is.epoch != was.epoch {
		return rose || was.rose
	}
	return is.n > was.n
}

// recallEvictions learns from the history when the store was last seen to evict keys, so that the finding of it outlives a
// restart. A time is known to evictionStep, of which the later end is taken; newest is that of the newest sample.
func (w *storeWatch) recallEvictions(lines []series.Line, now, newest time.Time) {
	var points []dedup.Point
	for _, l := range lines {
		if l.Labels["store"] == w.store.Name() {
			points = l.Points
		}
	}
	if now.Sub(newest) < evictionReach {
		points = append(points, dedup.Point{At: newest, Value: w.evictions.Total}) // it lies between two steps
	}
	if at := lastRise(points); at.After(w.evictedAt) {
		w.evictedAt = at
	}
}

// lastRise returns when a counter was last seen to be larger than before, zero when it never was. Gaps are no values.
func lastRise(points []dedup.Point) time.Time {
	var at time.Time
	before := math.NaN()
	for _, p := range points {
		if p.Value > before {
			at = p.At
		}
		if !math.IsNaN(p.Value) {
			before = p.Value
		}
	}
	return at
}

// notePass remembers a pass that ended since the reading before; doneLife is for how long done markers live, 0 for ever.
func (w *storeWatch) notePass(p *dedup.Pass, doneLife time.Duration) {
	if p == nil {
		return
	}
	if n := len(w.told.Earlier); n > 0 && !p.Ended.After(w.told.Earlier[n-1].Ended) {
		return
	}
	// A pass that sees few markers sees none that processes, so that once is enough.
	w.setsExpiry = w.setsExpiry || p.States[dedup.Processing]-givenFromHere(p) > p.NoExpiry[dedup.Processing]
	w.told.Growth.Take(p)
	if n := len(w.told.Earlier); n > 0 && w.told.Earlier[n-1].Deleted(p, doneLife) {
		w.told.Disturbed, w.told.DisturbedWhy = p.Ended, "done markers were deleted from the store in the window"
	}
	w.told.Earlier = append(w.told.Earlier, rate.NotePass(p))
	if len(w.told.Earlier) > passesKept {
		w.told.Earlier = w.told.Earlier[len(w.told.Earlier)-passesKept:]
	}
}

// givenFromHere counts the listed processing markers whose expiry is ours: it is no sign of what consumers do.
func givenFromHere(p *dedup.Pass) int64 {
	var n int64
	for i := range p.OldestProcessing {
		if !p.OldestProcessing[i].ExpirySet.IsZero() {
			n++
		}
	}
	return n
}

func (w *storeWatch) status(now time.Time) dedup.StoreStatus {
	stats, _ := w.stats.Get()
	return dedup.StoreStatus{Name: w.store.Name(), Scheme: w.store.Scheme(), Health: w.src.Status(now), Stats: stats,
		Events: event.Merge(&w.events), Pipelines: w.pipelines}
}

// keep adds what is kept of the store itself.
func (w *storeWatch) keep(into counter.Batch) {
	stats, _ := w.stats.Get()
	h, label := stats.Health, w.store.Name()
	into.Tallies(w.evictions)
	if h.Keys != nil {
		into.Add(series.StoreKeys, float64(*h.Keys), "store", label)
	}
	if h.MemoryUsed != nil {
		into.Add(series.StoreMemory, float64(*h.MemoryUsed), "store", label)
	}
	if h.LatencyP99 > 0 {
		into.Add(series.StoreLatency, h.LatencyP99.Seconds(), "store", label)
	}
	if p := stats.Pass; p != nil {
		into.Add(series.StorePassSeconds, p.Ended.Sub(p.Started).Seconds(), "store", label)
	}
}

// A reportWatch reads the counters that the consumers of one pipeline report.
type reportWatch struct {
	src      *source.Source
	readings source.Reading[dedup.Reported]
	observed uint64
}

func newReportWatch(r Reporter, pipeline string, cfg Config, turned func()) *reportWatch {
	w := &reportWatch{}
	reported := false // of the reading goroutine: the hash was there at least once
	w.src = &source.Source{Name: "reported " + pipeline, Kind: "reported", Interval: cfg.Interval, Timeout: cfg.Timeout,
		Patience: source.StaleAfter * cfg.Interval, Turned: turned, Place: source.PlaceOf(r),
		Read: func(ctx context.Context) error {
			got, err := r.Reported(ctx, pipeline)
			if err == nil {
				w.readings.Set(got)
				note := ""
				switch reported = reported || got.Present; {
				case got.Exports != nil:
					note = got.Exports.Why
				case !reported:
					note = "nothing reported yet"
				}
				w.src.Remark(note)
			}
			return err
		}}
	return w
}
