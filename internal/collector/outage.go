package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/sample"
)

// outageLeast is how long a source must have been down for its recovery to be a time of its own: what went round or
// stood still meanwhile is the outage's doing, and says nothing of the markers.
const outageLeast = 30 * time.Second

// An outage is one time for which a source could not be read.
type outage struct {
	source string
	from   time.Time
	until  time.Time // zero while it lasts
}

// lasted is how long it lasted, until now if it still does.
func (o outage) lasted(now time.Time) time.Duration {
	if o.until.IsZero() {
		return now.Sub(o.from)
	}
	return o.until.Sub(o.from)
}

// words say that it goes on.
func (o outage) words() string {
	return fmt.Sprintf("%s cannot be read since %s", name(o.source), o.from.UTC().Format("15:04:05 MST"))
}

// An outageLog keeps of a source the outage that goes on and the last one of outageLeast or longer. It belongs to the
// round.
type outageLog struct {
	open outage
	last outage
}

// turn notes that the source went down or came back at a time.
func (l *outageLog) turn(source string, ok bool, at time.Time) {
	if !ok {
		l.open = outage{source: source, from: at}
		return
	}
	if l.open.until = at; !l.open.from.IsZero() && l.open.lasted(at) >= outageLeast {
		l.last = l.open
	}
	l.open = outage{}
}

// noteOutage notes that a source turned. It returns how long the outage was that has ended, if one has.
func (c *Collector) noteOutage(source string, ok bool, at time.Time) time.Duration {
	l := c.outages[source]
	if l == nil {
		l = &outageLog{}
		c.outages[source] = l
	}
	var lasted time.Duration
	if ok && !l.open.from.IsZero() {
		lasted = l.open.lasted(at)
	}
	l.turn(source, ok, at)
	return lasted
}

// outagesOf are the outages of the broker and the store of a pipeline. What consumers report is no source of theirs.
func (c *Collector) outagesOf(p *pipeline) []*outageLog {
	logs := []*outageLog{c.outages[p.broker.samples.name]}
	if p.store != nil {
		logs = append(logs, c.outages[p.store.src.name])
	}
	kept := logs[:0]
	for _, l := range logs {
		if l != nil {
			kept = append(kept, l)
		}
	}
	return kept
}

// evidenceFrom is from when on readings of the broker tell of the pipeline itself: since the last outage of its broker or
// store. Counters are late by sample.CounterLag.
func (c *Collector) evidenceFrom(p *pipeline) time.Time {
	var from time.Time
	for _, l := range c.outagesOf(p) {
		if l.last.until.After(from) {
			from = l.last.until
		}
	}
	if from.IsZero() {
		return from
	}
	return from.Add(sample.CounterLag)
}

// storeOutage is the outage of the pipeline's store that goes on; nil when there is none.
func (c *Collector) storeOutage(p *pipeline) *outage {
	if p.store == nil {
		return nil
	}
	if l := c.outages[p.store.src.name]; l != nil && !l.open.from.IsZero() {
		return &l.open
	}
	return nil
}
