package sql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// layoutFor is how long readers trust the layout of the table.
const layoutFor = time.Minute

// A table is the table of a store: how to reach it, and how it looks.
type table struct {
	cfg     markers.Config
	dialect dialect.Dialect
	db      *sql.DB
	explain dialect.Explainer

	mu sync.Mutex
	// layout is the table as it last was described.
	layout   *Layout
	layoutAt time.Time
}

// server asks who answers, over a connection to it.
func (t *table) server(ctx context.Context, q dialect.Querier) (dialect.Server, error) {
	server, err := t.dialect.Server(ctx, q)
	server.Zone = cmp.Or(t.explain.At.Zone, server.Zone)
	if err == nil && !dialect.ZonePattern.MatchString(server.Zone) {
		err = t.badZone(server.Zone)
	}
	return server, err
}

func (t *table) badZone(zone string) error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("%s at %s does not know the time zone %s: load its time zone tables, or set an offset in sql.dsn, such as time_zone=%%27%%2B08%%3A00%%27",
		t.dialect.Name(), t.explain.At.Addr, codec.Printable(zone))}
}

// prepare asks who the server is and how the table looks.
func (t *table) prepare(ctx context.Context, q dialect.Querier) (*Layout, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	server, err := t.server(ctx, q)
	if err != nil {
		return nil, err
	}
	if known, err := t.dialect.KnowsZone(ctx, q, server.Zone); err != nil {
		return nil, err
	} else if !known {
		return nil, t.badZone(server.Zone)
	}
	described, err := t.dialect.Describe(ctx, q, t.cfg.Table)
	if errors.Is(err, dialect.ErrNoTable) {
		return nil, t.noTable()
	}
	if err != nil {
		return nil, err
	}
	layout, err := NewLayout(t.cfg, t.dialect, server, described)
	if err != nil {
		return nil, err
	}
	if err := layout.readIgnores(ctx, q); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.layout, t.layoutAt = layout, time.Now()
	return layout, nil
}

func (t *table) noTable() error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: fmt.Sprintf("%s at %s shows no table %s to this account: check table and the database in sql.dsn, or grant SELECT on it",
		t.dialect.Name(), t.explain.At.Addr, codec.Printable(t.cfg.Table)), Err: dialect.ErrNoTable}
}

// ready returns the layout of the table, read anew if it is old.
func (t *table) ready(ctx context.Context) (*Layout, error) {
	t.mu.Lock()
	layout, at := t.layout, t.layoutAt
	t.mu.Unlock()
	if layout != nil && time.Since(at) < layoutFor {
		return layout, nil
	}
	return t.prepare(ctx, t.db)
}

// known returns the layout of the table as it last was described; nil before that.
func (t *table) known() *Layout {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.layout
}
