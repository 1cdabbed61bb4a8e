package collector

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// SourceRecords keeps how each source was, so that an outage goes on over a restart. Both methods honour ctx.
type SourceRecords interface {
	// SourceRecords returns what was kept last; the zero value where nothing was.
	SourceRecords(ctx context.Context) (dedup.SourceRecords, error)
	// KeepSourceRecords replaces what was kept.
	KeepSourceRecords(ctx context.Context, r dedup.SourceRecords) error
}

// A memory carries over a restart how each source was. It belongs to the round.
type memory struct {
	keeper SourceRecords // nil where nothing outlives a restart
	aside  aside[error]
	logged bool
}

// recall lets the sources go on from what was kept before the start. A source whose place changed, or that was not there, begins anew.
func (m *memory) recall(ctx context.Context, sources []*source.Source, log *slog.Logger) {
	if m.keeper == nil {
		return
	}
	bound, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	kept, err := m.keeper.SourceRecords(bound)
	if err != nil {
		log.Warn("how sources were before the start cannot be read; an outage that goes on is counted from now", "err", err)
		return
	}
	records := make(map[string]dedup.SourceRecord, len(kept.Sources))
	now := time.Now()
	for _, r := range kept.Sources {
		records[r.Name] = rebased(r, kept.Kept, now)
	}
	gone := dedup.Absence{From: rebase(kept.Kept, kept.Kept, now), Until: now}
	for _, s := range sources {
		if r, ok := records[s.Name]; ok && r.Place == s.Place {
			s.Resume(r, gone)
		}
	}
}

// keep writes how the sources are, without waiting on a slow disk.
func (m *memory) keep(ctx context.Context, beside *sync.WaitGroup, sources []*source.Source, now time.Time, log *slog.Logger) {
	if m.keeper == nil {
		return
	}
	all := dedup.SourceRecords{Kept: now.Round(0)}
	for _, s := range sources {
		all.Sources = append(all.Sources, walled(s.Record(now), now))
	}
	m.aside.next(ctx, beside, func(ctx context.Context) error { return m.keeper.KeepSourceRecords(ctx, all) }, func(err error) {
		if err != nil && !m.logged {
			log.Warn("how sources are cannot be kept; after a restart an outage would be counted from then", "err", err)
		}
		m.logged = err != nil
	})
}

// rebase takes a time by the clock of another run into this one, where it holds against a clock that is set. While the clock is behind
// the one of before it stands still: what had lasted for a span then has lasted for that span now.
func rebase(t, kept, now time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	clock := now.Round(0)
	if kept.After(clock) {
		clock = kept
	}
	return now.Add(t.Sub(clock))
}

func rebased(r dedup.SourceRecord, kept, now time.Time) dedup.SourceRecord {
	for _, t := range []*time.Time{&r.LastSuccess, &r.Since, &r.Away.From, &r.Away.Until} {
		*t = rebase(*t, kept, now)
	}
	return r
}

// walled writes the times of a record by the clock of now, which may have been set since they were taken.
func walled(r dedup.SourceRecord, now time.Time) dedup.SourceRecord {
	for _, t := range []*time.Time{&r.LastSuccess, &r.Since, &r.Away.From, &r.Away.Until} {
		if !t.IsZero() {
			*t = now.Round(0).Add(t.Sub(now))
		}
	}
	return r
}
