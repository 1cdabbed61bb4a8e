package exports

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	// maxInstances is how many instances are followed; keptGone is for how long one that is gone is known again.
	maxInstances = 512
	keptGone     = time.Hour
	// goneAfter is the age, in times of what usually passes between two samples, at which an instance of a server is gone.
	goneAfter   = 3
	leastSilent = time.Minute
)

// A Reader reads what the consumers of one pipeline publish and adds up all of its instances. It is safe for concurrent use.
type Reader struct {
	name    string
	client  *http.Client
	program *program
	from    source
	// listed says that the endpoints of all instances are known, which are there each time; a server shows those of others too.
	listed bool

	mu        sync.Mutex
	instances map[string]*instance
	// retired is what instances that are forgotten had counted, unsure how much those that ended may have handled beyond what was read.
	retired *instance
	unsure  float64
	queues  []string
	series  int
	lastAt  time.Time
}

// A source is where readings come from.
type source interface {
	place() string
	// read returns what was shown since the last reading, in time order.
	read(ctx context.Context, since time.Time) ([]reading, error)
}

// Open returns the reader of one pipeline's consumers under a name. It does not connect.
func Open(name string, cfg Config) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	cfg = cfg.withDefaults()
	p, err := cfg.compile()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	client, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	r := &Reader{name: name, client: client, program: p, listed: cfg.QueryURL == "", instances: map[string]*instance{}, retired: newInstance()}
	r.retired.merged = true
	r.from = &endpoints{client: client, program: p, urls: cfg.URLs, dns: cfg.DNS, resolve: net.DefaultResolver, timeout: cfg.Timeout}
	if cfg.QueryURL != "" {
		if r.from, err = newServer(client, p, cfg); err != nil {
			return nil, fmt.Errorf("open %s: %w", name, err)
		}
	}
	return r, nil
}

// Name returns the name that it was opened with.
func (r *Reader) Name() string { return r.name }

// Place names what is read, without what may be a token in a query.
func (r *Reader) Place() string { return r.from.place() }

// Close ends idle connections.
func (r *Reader) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

// Reported reads every instance. Counts are those since this program first read; the pipeline's name is not needed.
func (r *Reader) Reported(ctx context.Context, _ string) (dedup.Reported, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Now()
	readings, err := r.from.read(ctx, r.lastAt)
	if err == nil {
		err = r.refuse(readings)
	}
	if err != nil {
		return dedup.Reported{At: at}, &dedup.Error{Kind: dedup.Unavailable, Public: "counters of the consumers at " + err.Error(), Err: err}
	}
	r.take(readings, at)
	r.lastAt = at
	return r.reported(at), nil
}

// refuse says why readings of endpoints cannot be counted. A server tells the instances apart itself.
func (r *Reader) refuse(readings []reading) error {
	if !r.listed {
		return nil
	}
	for i := range readings {
		if known := r.instances[readings[i].instance]; known != nil {
			if err := known.refuse(&readings[i], r.program.wanted()); err != nil {
				return &placeError{hostOf(readings[i].instance), err}
			}
		}
	}
	return nil
}

// wanted names what is read, for people.
func (p *program) wanted() string {
	if p.name != "" {
		return "of the recipe " + p.name
	}
	return p.metrics()[0]
}

func (r *Reader) take(readings []reading, now time.Time) {
	first := len(r.instances) == 0 && r.lastAt.IsZero()
	r.queues, r.series = nil, 0
	seen := map[string]bool{}
	for i := range readings {
		read := &readings[i]
		seen[read.instance] = true
		r.series = max(r.series, len(read.found))
		for _, q := range read.queues {
			if !slices.Contains(r.queues, q) && len(r.queues) < maxQueues {
				r.queues = append(r.queues, q)
			}
		}
		r.follow(read, first)
	}
	r.bury(now, seen)
}

// follow takes one reading. An instance that was not there before was born since, unless its process tells otherwise.
func (r *Reader) follow(read *reading, first bool) {
	known := r.instances[read.instance]
	if known == nil {
		if len(r.instances) >= maxInstances || len(read.found) == 0 && !r.listed {
			return
		}
		known = newInstance()
		r.instances[read.instance] = known
	}
	if known.readings > 0 && !read.at.After(known.at) {
		return
	}
	if known.gone {
		known.gone = false
		r.unsure -= known.risk
		known.risk = 0
	}
	before := time.UnixMilli(int64(read.start * 1e3)).Before(r.lastAt.Add(-clocksApart))
	born := !first && !(read.start > 0 && before)
	if known.readings == 0 && born && !r.listed && read.start == 0 {
		// A server shows an old process under a new name where its labels change, or it was not scraped for long: what a new one had counted
		// by then may have been counted before.
		whole := newInstance()
		whole.take(r.program, read, true)
		r.unsure += whole.deliveries(r.program)
		born = false
	}
	r.unsure += known.take(r.program, read, born)
}

// bury notes the instances that are not read any more, and forgets those that were not for long.
func (r *Reader) bury(now time.Time, seen map[string]bool) {
	for name, i := range r.instances {
		silent := now.Sub(i.at)
		if !i.gone && !seen[name] && (r.listed || silent > max(leastSilent, goneAfter*i.gap)) {
			i.gone, i.risk = true, i.atRisk()
			r.unsure += i.risk
		}
		if i.gone && silent > keptGone {
			i.retire(r.program, r.retired)
			delete(r.instances, name)
		}
	}
}

// reported is what all instances came to.
func (r *Reader) reported(at time.Time) dedup.Reported {
	if r.program.name == "" {
		return r.outcomes(at)
	}
	e := &dedup.Exports{Recipe: r.program.name, Framework: r.program.recipe.Framework, Unsure: max(0, r.unsure), Series: r.series, Queues: slices.Sorted(slices.Values(r.queues))}
	for _, i := range r.all() {
		handled, _ := i.value(r.program, fieldHandled)
		failed, _ := i.value(r.program, fieldFailed)
		duplicates, tells := i.value(r.program, fieldDuplicates)
		e.Handled, e.Failed, e.Duplicates = e.Handled+handled, e.Failed+failed, e.Duplicates+duplicates
		e.HasDuplicates = e.HasDuplicates || tells
		if i != r.retired && !i.gone && len(i.counted) > 0 {
			e.Instances++
			e.Marks = append(e.Marks, dedup.ExportMark{At: i.at, Weight: i.weight})
		}
	}
	e.Ack, e.Work = r.distribution(fieldAck), r.distribution(fieldWork)
	if e.Instances == 0 {
		e.Why = r.nothing()
	}
	return dedup.Reported{At: at, Outcomes: map[string]int64{}, Exports: e}
}

// nothing says why no series counts.
func (r *Reader) nothing() string {
	if len(r.queues) == 0 {
		return "no series of the recipe " + r.program.name + " is there"
	}
	names := text.Joined(slices.Sorted(slices.Values(r.queues)), ", ", shown)
	return fmt.Sprintf("no series of the recipe %s is of the pipeline's queues; those that are there name %s: give queues in the configuration", r.program.name, names)
}

func (r *Reader) all() []*instance {
	out := []*instance{r.retired}
	for _, i := range r.instances {
		out = append(out, i)
	}
	return out
}

func (r *Reader) spread(field string) (spread, bool) {
	var sum spread
	found := false
	for _, i := range r.all() {
		if s, ok := i.spread(r.program, field); ok {
			sum, found = sum.and(s), true
		}
	}
	return sum, found
}

func (r *Reader) distribution(field string) *dedup.Distribution {
	if s, ok := r.spread(field); ok {
		return s.distribution()
	}
	return nil
}

// outcomes gives what consumers count by docs/consumers.md the shape of the counters in Redis.
func (r *Reader) outcomes(at time.Time) dedup.Reported {
	out := dedup.Reported{At: at, Outcomes: map[string]int64{}}
	for _, outcome := range dedup.ReportedOutcomes() {
		sum, there := 0.0, false
		for _, i := range r.all() {
			value, ok := i.value(r.program, outcome)
			sum, there = sum+value, there || ok
		}
		if there {
			out.Outcomes[outcome] = int64(sum + 0.5)
			out.Present = true
		}
	}
	if s, ok := r.spread(fieldAck); ok {
		out.Ack = s.latency()
	}
	if s, ok := r.spread(fieldWork); ok {
		out.Work = s.latency()
	}
	return out
}
