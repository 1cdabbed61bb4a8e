package collector

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// Marks keeps what people and deployments say happened. MarksSince returns the newest that are not older than from, oldest
// first; it is quick and honours ctx.
type Marks interface {
	MarksSince(ctx context.Context, from time.Time, limit int) ([]dedup.Mark, error)
}

// marked are the marks of the last day, as of the newest reading.
type marked struct {
	keeper Marks
	aside  aside[marksRead]
	all    []dedup.Mark
	logged bool
}

// marksRead is what a reading of the marks gave.
type marksRead struct {
	all []dedup.Mark
	err error
}

// read takes the marks as they are kept now, without waiting on a slow disk. What cannot be read stays as it was.
func (m *marked) read(ctx context.Context, beside *sync.WaitGroup, now time.Time, log *slog.Logger) {
	if m.keeper == nil {
		return
	}
	m.aside.next(ctx, beside, func(ctx context.Context) marksRead {
		all, err := m.keeper.MarksSince(ctx, now.Add(-sample.LogAge), sample.LogKept)
		return marksRead{all, err}
	}, func(r marksRead) {
		if r.err != nil && !m.logged {
			log.Warn("marks cannot be read", "err", r.err)
		}
		m.logged = r.err != nil
		if r.err == nil {
			m.all = r.all
		}
	})
	if m.aside.stuck() {
		log.Error("marks are not read any more: the database on this machine does not answer")
	}
}

// of returns the marks of a pipeline as events.
func (m *marked) of(pipeline string) *sample.EventLog {
	var l sample.EventLog
	for _, mark := range m.all {
		if mark.Pipeline == "" || mark.Pipeline == pipeline {
			l.Events = append(l.Events, dedup.Event{At: mark.At, Kind: dedup.EventMark, Text: plain(mark.Text, 900) + ", marked by " + name(mark.By)})
		}
	}
	return &l
}
