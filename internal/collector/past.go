package collector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/series"
)

// From longWindow on a window is computed from the history, which costs: so seldom that it takes at most one part in
// longWindowShare of the time, but at least every longWindowEvery.
const (
	longWindow      = time.Hour
	longWindowEvery = time.Minute
	longWindowShare = 200
)

// past is the collector's side of the history: what was stored last, and what the counters gained over each window.
type past struct {
	restored bool
	// resumed is when the history was joined, and gap the time before it for which nothing was stored.
	gapFrom, gapTo time.Time
	last, judged   batch
	lastAt         time.Time
	// failure says why this round's windows are unknown; empty when they are known.
	failure string
	logged  string
	windows map[time.Duration]windowGains
	recent  recall
}

// windowGains is what every counter gained over one window.
type windowGains struct {
	at    time.Time
	took  time.Duration
	gains map[string]sample.Increase
}

// fresh reports whether a long window need not be computed again yet.
func (g windowGains) fresh(now time.Time) bool {
	return !now.Before(g.at) && now.Sub(g.at) < min(longWindowEvery, longWindowShare*g.took)
}

// countedMetrics are the counters over which windows are computed.
func countedMetrics() []string {
	return []string{
		series.ReportedOutcomes, series.ReportedAckBucket, series.ReportedAckSum, series.ReportedWorkBucket, series.ReportedWorkSum,
		series.BrokerAcks, series.BrokerDeliveries, series.BrokerRedeliveries, series.BrokerAutoAcks, series.BrokerChannelsClosed,
		series.DeadLettersArrived, series.SharedArrived, series.BrokerDeadLettered, series.BrokerAckTimeouts, series.AckTimeouts, series.ConsumerRestarts,
	}
}

// append joins the history if that has not happened yet, and stores the samples of this round. Series that were stored
// in the round before and are not in this one end now.
func (p *past) append(ctx context.Context, c *Collector, now time.Time, b batch) {
	err := p.join(ctx, c, now)
	if err == nil {
		err = p.write(ctx, c, now, b)
	}
	p.failure = ""
	if err != nil {
		p.failure = historyWords(err)
	}
	if ctx.Err() != nil || p.failure == p.logged {
		return
	}
	if p.logged = p.failure; err != nil && !errors.Is(err, series.ErrStarting) {
		c.log.Warn("history cannot be written; figures over time are unknown until it can", "err", err)
	}
}

func historyWords(err error) string {
	if errors.Is(err, series.ErrStarting) {
		return "history is being opened"
	}
	return "history cannot be used: " + source.Words(err, 0)
}

// join makes the counters go on where the history stopped.
func (p *past) join(ctx context.Context, c *Collector, now time.Time) error {
	if p.restored {
		return nil
	}
	newest, err := c.book.restore(ctx, c.history)
	if err != nil {
		return err
	}
	p.restored, p.windows = true, make(map[time.Duration]windowGains)
	p.gapFrom, p.gapTo = newest, now
	c.recallEvictions(ctx, now, newest)
	lines, err := c.history.QueryRange(ctx, series.DuplicateRate, now.Add(-sparkPoints*sparkStep), now, sparkStep)
	if err != nil {
		c.log.Warn("sparklines start empty", "err", err)
		return nil
	}
	for _, l := range lines {
		for _, pl := range c.pipelines {
			if pl.Name == l.Labels["pipeline"] {
				pl.spark.restore(l.Points)
			}
		}
	}
	return nil
}

func (p *past) write(ctx context.Context, c *Collector, now time.Time, b batch) error {
	var errs []error
	before := p.lastAt
	if before.IsZero() || !before.Before(now) {
		before = now.Add(-c.cfg.Interval)
	}
	if born := c.book.births(); len(born) > 0 {
		if err := c.history.Append(ctx, before, born); err != nil {
			errs = append(errs, err)
		}
	}
	if ended := b.ended(p.last); len(ended) > 0 {
		if err := c.history.MarkStale(ctx, now, ended); err != nil {
			errs = append(errs, fmt.Errorf("end the series of a source: %w", err))
		}
	}
	if err := c.history.Append(ctx, now, b.list()); err != nil {
		errs = append(errs, err)
	} else {
		p.recent.record(before, now, c.book, b)
	}
	p.last, p.lastAt = b, now
	return errors.Join(errs...)
}

// appendJudged stores the figures of this round, which are known only after its windows are.
func (p *past) appendJudged(ctx context.Context, c *Collector, now time.Time, b batch) {
	if p.failure != "" {
		return
	}
	if ended := b.ended(p.judged); len(ended) > 0 {
		if err := c.history.MarkStale(ctx, now, ended); err != nil {
			c.log.Warn("series of unknown figures could not be ended", "err", err)
		}
	}
	if len(b) > 0 {
		if err := c.history.Append(ctx, now, b.list()); err != nil {
			c.log.Warn("figures could not be stored", "err", err)
		}
	}
	p.judged = b
}

// refresh computes what the counters gained: the short windows each round, from memory once it reaches back that far,
// the long ones from the history, as often as their cost allows.
func (p *past) refresh(ctx context.Context, c *Collector, now time.Time) {
	if p.failure != "" {
		return
	}
	for _, w := range c.cfg.Windows {
		if have, ok := p.windows[w]; ok && w >= longWindow && have.fresh(now) {
			continue
		}
		if p.recent.reaches(now, w) {
			p.windows[w] = windowGains{at: now, gains: p.recent.gains(now, w, c.book)}
			continue
		}
		began, gains := time.Now(), windowGains{at: now, gains: make(map[string]sample.Increase)}
		for _, metric := range countedMetrics() {
			changes, err := c.history.Changes(ctx, metric, now, w)
			if err != nil {
				p.failure = historyWords(err)
				return
			}
			for _, ch := range changes {
				gains.gains[seriesKey(metric, ch.Labels)] = sample.Increase{Delta: ch.Delta, Covered: p.covered(ch, w), At: ch.To, Known: true}
			}
		}
		gains.took = time.Since(began)
		p.windows[w] = gains
	}
}

// covered is the part of a window that a change has data for: without the time before its first sample and the time
// in which the dashboard was not running.
func (p *past) covered(ch series.Change, w time.Duration) time.Duration {
	covered := ch.To.Sub(ch.From)
	if !p.gapFrom.IsZero() && ch.From.Before(p.gapTo) && ch.To.After(p.gapFrom) {
		from, to := ch.From, p.gapTo
		if p.gapFrom.After(from) {
			from = p.gapFrom
		}
		covered -= to.Sub(from)
	}
	return clampDuration(covered, 0, w)
}

func clampDuration(d, low, high time.Duration) time.Duration { return min(max(d, low), high) }

// span is the part of a window that the history holds of any counter at all.
func (p *past) span(w time.Duration) time.Duration {
	var longest time.Duration
	for _, g := range p.windows[w].gains {
		longest = max(longest, min(g.Covered, w))
	}
	return longest
}

// gain returns what a tally gained over a window.
func (p *past) gain(w time.Duration, t *tally) sample.Increase { return p.windows[w].gains[t.key] }
