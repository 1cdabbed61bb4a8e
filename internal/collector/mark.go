package collector

import (
	"context"
	"log/slog"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Marks keeps what people and deployments say happened. MarksSince returns the newest that are not older than from, oldest
// first; it is quick and honours ctx.
type Marks interface {
	MarksSince(ctx context.Context, from time.Time, limit int) ([]dedup.Mark, error)
}

// marked are the marks of the last day, as of the round.
type marked struct {
	keeper Marks
	all    []dedup.Mark
	logged bool
}

// read takes the marks as they are kept now. What cannot be read stays as it was.
func (m *marked) read(ctx context.Context, now time.Time, log *slog.Logger) {
	if m.keeper == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, baselinePatience)
	defer cancel()
	all, err := m.keeper.MarksSince(ctx, now.Add(-eventsAge), eventsKept)
	if err != nil && !m.logged {
		log.Warn("marks cannot be read", "err", err)
	}
	m.logged = err != nil
	if err == nil {
		m.all = all
	}
}

// of returns the marks of a pipeline as events.
func (m *marked) of(pipeline string) *eventLog {
	var l eventLog
	for _, mark := range m.all {
		if mark.Pipeline == "" || mark.Pipeline == pipeline {
			l.events = append(l.events, dedup.Event{At: mark.At, Kind: dedup.EventMark, Text: plain(mark.Text, 900) + ", marked by " + name(mark.By)})
		}
	}
	return &l
}
