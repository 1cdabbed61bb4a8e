package records

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// startPatience bounds the reading at the start, which nobody waits for but the start.
const startPatience = 5 * time.Second

// Sources keeps how each source was, so that an outage goes on over a restart. Both methods honour ctx.
type Sources interface {
	// SourceRecords returns what was kept last; the zero value where nothing was.
	SourceRecords(ctx context.Context) (dedup.SourceRecords, error)
	// KeepSourceRecords replaces what was kept.
	KeepSourceRecords(ctx context.Context, r dedup.SourceRecords) error
}

// A Memory carries over a restart how each source was. It belongs to the round.
type Memory struct {
	keeper     Sources // nil where nothing outlives a restart
	beside     *sync.WaitGroup
	log        *slog.Logger
	background background[error]
	logged     bool
}

// NewMemory reads from a keeper at the start, and writes to it beside the rounds.
func NewMemory(keeper Sources, beside *sync.WaitGroup, log *slog.Logger) *Memory {
	return &Memory{keeper: keeper, beside: beside, log: log}
}

// An Earlier run is how sources were when it ended.
type Earlier struct {
	records map[string]dedup.SourceRecord
	// Gone is the time from its end until now.
	Gone dedup.Absence
}

// Of returns how a source was. One whose place changed, or that was not there, begins anew.
func (e Earlier) Of(name, place string) (dedup.SourceRecord, bool) {
	r, ok := e.records[name]
	return r, ok && r.Place == place
}

// Recall reads how sources were before the start; nothing where nobody knows.
func (m *Memory) Recall(ctx context.Context) Earlier {
	if m.keeper == nil {
		return Earlier{}
	}
	bound, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	kept, err := m.keeper.SourceRecords(bound)
	if err != nil {
		m.log.Warn("how sources were before the start cannot be read; an outage that goes on is counted from now", "err", err)
		return Earlier{}
	}
	now := time.Now()
	e := Earlier{records: make(map[string]dedup.SourceRecord, len(kept.Sources)), Gone: dedup.Absence{From: rebase(kept.Kept, kept.Kept, now), Until: now}}
	for _, r := range kept.Sources {
		e.records[r.Name] = rebased(r, kept.Kept, now)
	}
	return e
}

// Keep writes how the sources are, without waiting on a slow disk.
func (m *Memory) Keep(ctx context.Context, sources []dedup.SourceRecord, now time.Time) {
	if m.keeper == nil {
		return
	}
	all := dedup.SourceRecords{Kept: now.Round(0)}
	for _, r := range sources {
		all.Sources = append(all.Sources, walled(r, now))
	}
	m.background.next(ctx, m.beside, func(ctx context.Context) error { return m.keeper.KeepSourceRecords(ctx, all) }, func(err error) {
		if err != nil && !m.logged {
			m.log.Warn("how sources are cannot be kept; after a restart an outage would be counted from then", "err", err)
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
