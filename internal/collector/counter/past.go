package counter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/series"
)

// From longWindow on a window is computed from the history, which costs: so seldom that it takes at most one part in
// longWindowShare of the time, but at least every LongWindowEvery.
const (
	longWindow      = time.Hour
	LongWindowEvery = time.Minute
	longWindowShare = 200
)

// A Past is what a history holds of tallies: what was stored last, and what they gained over each window. It belongs to one goroutine.
type Past struct {
	book     *Book
	history  History
	log      *slog.Logger
	interval time.Duration
	spans    []time.Duration
	// Failure says why this round's windows are unknown; empty when they are known.
	Failure string

	joined   error
	restored bool
	// gapFrom to gapTo is the time before the history was joined for which nothing was stored.
	gapFrom, gapTo time.Time
	last, judged   Batch
	lastAt         time.Time
	logged         string
	windows        map[time.Duration]windowGains
	recent         recall
}

// NewPast returns the past of the tallies of a book, which are stored at an interval, over windows of these spans.
func NewPast(b *Book, h History, interval time.Duration, spans []time.Duration, log *slog.Logger) Past {
	return Past{book: b, history: h, interval: interval, spans: spans, log: log}
}

// windowGains is what every counter gained over one window.
type windowGains struct {
	at    time.Time
	took  time.Duration
	gains map[string]sample.Increase
}

// fresh reports whether a long window need not be computed again yet.
func (g windowGains) fresh(now time.Time) bool {
	return !now.Before(g.at) && now.Sub(g.at) < min(LongWindowEvery, longWindowShare*g.took)
}

// countedMetrics are the counters over which windows are computed.
func countedMetrics() []string {
	return []string{
		series.ReportedOutcomes, series.ReportedAckBucket, series.ReportedAckSum, series.ReportedWorkBucket, series.ReportedWorkSum,
		series.BrokerAcks, series.BrokerDeliveries, series.BrokerRedeliveries, series.BrokerAutoAcks, series.BrokerChannelsClosed,
		series.DeadLettersArrived, series.SharedArrived, series.BrokerDeadLettered, series.BrokerAckTimeouts, series.AckTimeouts, series.ConsumerRestarts,
	}
}

// Append stores the samples of this round. Series that were stored in the round before and are not in this one end now.
func (p *Past) Append(ctx context.Context, now time.Time, b Batch) {
	err := p.joined
	if err == nil {
		err = p.write(ctx, now, b)
	}
	p.Failure = ""
	if err != nil {
		p.Failure = historyWords(err)
	}
	if ctx.Err() != nil || p.Failure == p.logged {
		return
	}
	if p.logged = p.Failure; err != nil && !errors.Is(err, series.ErrStarting) {
		p.log.Warn("history cannot be written; figures over time are unknown until it can", "err", err)
	}
}

func historyWords(err error) string {
	if errors.Is(err, series.ErrStarting) {
		return "history is being opened"
	}
	return "history cannot be used: " + source.Words(err, 0)
}

// Join makes the tallies go on where the history stopped, unless they do so already or the history cannot be read yet. It reports
// whether they have begun to, and the time of the newest sample.
func (p *Past) Join(ctx context.Context, now time.Time) (newest time.Time, joined bool) {
	if p.restored {
		return newest, false
	}
	if newest, p.joined = p.book.restore(ctx, p.history); p.joined != nil {
		return newest, false
	}
	p.restored, p.windows = true, make(map[time.Duration]windowGains)
	p.gapFrom, p.gapTo = newest, now
	return newest, true
}

func (p *Past) write(ctx context.Context, now time.Time, b Batch) error {
	var errs []error
	before := p.lastAt
	if before.IsZero() || !before.Before(now) {
		before = now.Add(-p.interval)
	}
	if born := p.book.births(); len(born) > 0 {
		if err := p.history.Append(ctx, before, born); err != nil {
			errs = append(errs, err)
		}
	}
	if ended := b.ended(p.last); len(ended) > 0 {
		if err := p.history.MarkStale(ctx, now, ended); err != nil {
			errs = append(errs, fmt.Errorf("end the series of a source: %w", err))
		}
	}
	if err := p.history.Append(ctx, now, b.list()); err != nil {
		errs = append(errs, err)
	} else {
		p.recent.record(before, now, p.book, b)
	}
	p.last, p.lastAt = b, now
	return errors.Join(errs...)
}

// AppendJudged stores the figures of this round, which are known only after its windows are.
func (p *Past) AppendJudged(ctx context.Context, now time.Time, b Batch) {
	if p.Failure != "" {
		return
	}
	if ended := b.ended(p.judged); len(ended) > 0 {
		if err := p.history.MarkStale(ctx, now, ended); err != nil {
			p.log.Warn("series of unknown figures could not be ended", "err", err)
		}
	}
	if len(b) > 0 {
		if err := p.history.Append(ctx, now, b.list()); err != nil {
			p.log.Warn("figures could not be stored", "err", err)
		}
	}
	p.judged = b
}

// Refresh computes what the counters gained: the short windows each round, from memory once it reaches back that far,
// the long ones from the history, as often as their cost allows.
func (p *Past) Refresh(ctx context.Context, now time.Time) {
	if p.Failure != "" {
		return
	}
	for _, w := range p.spans {
		if have, ok := p.windows[w]; ok && w >= longWindow && have.fresh(now) {
			continue
		}
		if p.recent.reaches(now, w) {
			p.windows[w] = windowGains{at: now, gains: p.recent.gains(now, w, p.book)}
			continue
		}
		began, gains := time.Now(), windowGains{at: now, gains: make(map[string]sample.Increase)}
		for _, metric := range countedMetrics() {
			changes, err := p.history.Changes(ctx, metric, now, w)
			if err != nil {
				p.Failure = historyWords(err)
				return
			}
			for _, ch := range changes {
				gains.gains[Key(metric, ch.Labels)] = sample.Increase{Delta: ch.Delta, Covered: p.covered(ch), At: ch.To, Known: true}
			}
		}
		gains.took = time.Since(began)
		p.windows[w] = gains
	}
}

// covered is the part of a window that a change has data for: without the time before its first sample and the time
// in which the dashboard was not running.
func (p *Past) covered(ch series.Change) time.Duration {
	covered := ch.To.Sub(ch.From)
	if !p.gapFrom.IsZero() && ch.From.Before(p.gapTo) && ch.To.After(p.gapFrom) {
		from, to := ch.From, p.gapTo
		if p.gapFrom.After(from) {
			from = p.gapFrom
		}
		covered -= to.Sub(from)
	}
	return max(covered, 0)
}

// Span is the part of a window that the history holds of any counter at all.
func (p *Past) Span(w time.Duration) time.Duration {
	var longest time.Duration
	for _, g := range p.windows[w].gains {
		longest = max(longest, min(g.Covered, w))
	}
	return longest
}

// Gain returns what a tally gained over a window.
func (p *Past) Gain(w time.Duration, t *Tally) sample.Increase { return p.windows[w].gains[t.key] }
