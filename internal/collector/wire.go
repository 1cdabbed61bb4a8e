package collector

import (
	"fmt"
	"log/slog"
	"slices"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/effect"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// A wiring makes what reads the sources, and ties each pipeline to what it depends on.
type wiring struct {
	cfg  Config
	book *counter.Book
	log  *slog.Logger
	// turned asks for a round.
	turned func()

	brokers   []*brokerWatch
	stores    []*storeWatch
	effects   []*effect.Watch
	lives     []*source.LiveSource
	pipelines []*pipeline
	sources   []*source.Source
}

// wire wires everything. A name that leads nowhere is an error.
func (w *wiring) wire(deps Deps) error {
	for _, b := range deps.Brokers {
		watch := newBrokerWatch(source.NewBrokerReader(b, w.cfg.Interval, w.cfg.Timeout, w.log, w.turned), w.book)
		w.brokers = append(w.brokers, watch)
		w.sources = append(w.sources, watch.read.Samples, watch.read.Totals)
	}
	for _, s := range deps.Stores {
		watch := newStoreWatch(s, w.cfg, w.book, w.turned)
		w.stores = append(w.stores, watch)
		w.sources = append(w.sources, watch.src)
	}
	for _, cfg := range deps.Pipelines {
		p, err := w.pipeline(cfg)
		if err != nil {
			return fmt.Errorf("pipeline %s: %w", cfg.Name, err)
		}
		w.report(p, deps.Reporters)
		w.pipelines = append(w.pipelines, p)
	}
	if err := w.checkEffects(deps.Effects, deps.Records); err != nil {
		return err
	}
	for _, s := range w.stores {
		s.findQueues()
	}
	for _, p := range w.pipelines {
		w.pair(p)
	}
	for _, b := range w.brokers {
		if reader := deps.Live[b.read.Name()]; reader != nil {
			w.countLive(b, reader)
		}
	}
	return nil
}

// pipeline makes a pipeline, and ties it to its broker and its stores.
func (w *wiring) pipeline(cfg dedup.Pipeline) (*pipeline, error) {
	p := newPipeline(cfg, w.book)
	p.counted.Interval = w.cfg.Interval
	i := slices.IndexFunc(w.brokers, func(b *brokerWatch) bool { return b.read.Name() == cfg.Broker })
	if i < 0 {
		return nil, fmt.Errorf("there is no broker %q", cfg.Broker)
	}
	p.broker = w.brokers[i]
	p.counted.Traffic.Own = p.broker.owners.Follow(cfg.Vhost, p.refs)
	p.counted.Traffic.Loss = &p.broker.loss
	if cfg.Store != "" {
		if p.store = w.store(cfg.Store); p.store == nil {
			return nil, fmt.Errorf("there is no store %q", cfg.Store)
		}
		p.store.use(p)
		p.count(p.store)
	}
	if cfg.Lock != "" {
		lock := w.store(cfg.Lock)
		if lock == nil {
			return nil, fmt.Errorf("there is no store %q for its lock", cfg.Lock)
		}
		lock.use(p) // it has its evidence from the queues of the pipeline, whose figures are those of the markers
	}
	return p, nil
}

// store is the store of a name; nil where there is none.
func (w *wiring) store(name string) *storeWatch {
	i := slices.IndexFunc(w.stores, func(s *storeWatch) bool { return s.store.Name() == name })
	if i < 0 {
		return nil
	}
	return w.stores[i]
}

// report reads what the consumers of a pipeline report, where they do.
func (w *wiring) report(p *pipeline, reporters []Reporter) {
	for _, r := range reporters {
		if p.ReportedStore != "" && r.Name() == p.ReportedStore {
			p.report = newReportWatch(r, p.Name, w.cfg, w.turned)
			w.sources = append(w.sources, p.report.src)
			return
		}
	}
}

// checkEffects gives each pipeline its effect check.
func (w *wiring) checkEffects(checks []effect.Checker, records effect.Records) error {
	for _, check := range checks {
		i := slices.IndexFunc(w.pipelines, func(p *pipeline) bool { return p.Name == check.Pipeline() })
		if i < 0 {
			return fmt.Errorf("effect check: there is no pipeline %q", check.Pipeline())
		}
		watch := effect.NewWatch(check, records, w.log, w.turned)
		w.pipelines[i].effects, w.pipelines[i].counted.Doubled = watch, watch.Since
		w.effects = append(w.effects, watch)
	}
	return nil
}

// pair tells a pipeline of another one that shares its store, and its broker whose queues to sample each second.
func (w *wiring) pair(p *pipeline) {
	p.broker.read.Live.Follow(p.Name, p.refs)
	if p.store == nil {
		return
	}
	for _, other := range p.store.pipelines {
		if other != p.Name {
			p.counted.Partner = other
			break
		}
	}
	if m, ok := p.store.store.(source.Meter); ok && p.counted.Partner == "" {
		p.broker.read.Live.Meet(p.Name, m)
	}
}

// countLive gives each pipeline of a broker that has a store the live counts of the broker.
func (w *wiring) countLive(b *brokerWatch, reader source.LiveReader) {
	live := source.NewLiveSource(b.read.Name(), reader, w.cfg.Interval, w.cfg.Timeout, w.turned)
	for _, p := range w.pipelines {
		if p.broker != b || p.store == nil {
			continue
		}
		store, told := p.store.store.(source.Eventful)
		p.flow = live.Flow(p.refs, store, p.scheme().GiveUp > 0)
		if told {
			p.live, p.counted.Joined = live, true
		}
	}
	if live.Watch() {
		w.lives = append(w.lives, live)
	}
}
