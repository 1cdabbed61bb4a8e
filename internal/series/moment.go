package series

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Ask evaluates a PromQL expression at a time that was settled before, as Query does.
type Ask func(ctx context.Context, promql string) ([]Value, error)

// At returns what evaluates expressions at one time, for many of them and by several callers at once: a selector that stands in more
// than one, as in numerators and denominators over several windows, is read once. That is so for selectors of one value for each series;
// a range, as in increase(x[1h]), is read for each expression.
func (db *DB) At(at time.Time) Ask {
	m := &moment{db: db, at: at, began: db.writes.Load(), shelf: newShelf()}
	return m.ask
}

// A moment is one time, and what was read of it.
type moment struct {
	db    *DB
	at    time.Time
	began uint64 // what DB.writes was
	shelf *shelf
}

// ask shares what is read for as long as nothing is written. After that an expression could see of one selector what was there before a
// round, and of another one what was there after it: it is evaluated by itself, over one state of the TSDB.
func (m *moment) ask(ctx context.Context, promql string) ([]Value, error) {
	if m.still() {
		values, err := m.db.query(ctx, promql, m.at, func(t *tsdb.DB) storage.Queryable { return m.shelf.over(t, m.db.cfg.Lookback()) })
		if m.still() {
			return values, err
		}
	}
	return m.db.Query(ctx, promql, m.at)
}

// still reports whether nothing was written since the moment began, and nothing was being written then.
func (m *moment) still() bool { return m.began%2 == 0 && m.db.writes.Load() == m.began }
