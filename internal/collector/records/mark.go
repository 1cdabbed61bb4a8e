package records

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/collector/event"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// Marks keeps what people and deployments say happened. MarksSince returns the newest that are not older than from, oldest
// first; it is quick and honours ctx.
type Marks interface {
	MarksSince(ctx context.Context, from time.Time, limit int) ([]dedup.Mark, error)
}

// Marked are the marks of the last day, as of the newest reading. They belong to the round.
type Marked struct {
	keeper     Marks // nil where nobody can mark anything
	beside     *sync.WaitGroup
	log        *slog.Logger
	background background[marksRead]
	all        []dedup.Mark
	logged     bool
}

// NewMarked reads from a keeper, beside the rounds.
func NewMarked(keeper Marks, beside *sync.WaitGroup, log *slog.Logger) *Marked {
	return &Marked{keeper: keeper, beside: beside, log: log}
}

// marksRead is what a reading of the marks gave.
type marksRead struct {
	all []dedup.Mark
	err error
}

// Read takes the marks as they are kept now, without waiting on a slow disk. What cannot be read stays as it was.
func (m *Marked) Read(ctx context.Context, now time.Time) {
	if m.keeper == nil {
		return
	}
	m.background.next(ctx, m.beside, func(ctx context.Context) marksRead {
		all, err := m.keeper.MarksSince(ctx, now.Add(-event.Age), event.Kept)
		return marksRead{all, err}
	}, func(r marksRead) {
		if r.err != nil && !m.logged {
			m.log.Warn("marks cannot be read", "err", r.err)
		}
		m.logged = r.err != nil
		if r.err == nil {
			m.all = r.all
		}
	})
	if m.background.stuck() {
		m.log.Error("marks are not read any more: the database on this machine does not answer")
	}
}

// Of returns the marks of a pipeline as events.
func (m *Marked) Of(pipeline string) *event.Log {
	var events []dedup.Event
	for _, mark := range m.all {
		if mark.Pipeline == "" || mark.Pipeline == pipeline {
			events = append(events, dedup.Event{At: mark.At, Kind: dedup.EventMark, Text: text.Plain(mark.Text, 900) + ", marked by " + text.Name(mark.By)})
		}
	}
	return event.NewLog(events)
}
