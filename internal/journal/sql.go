package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A keeper reads the main file and writes to it.
type keeper struct {
	read *sql.DB
	// write has one connection, so that writers queue here and not in SQLite. What it has written is on disk.
	write *sql.DB
}

func (db *DB) keeper() keeper { return keeper{read: db.main, write: db.acts} }

// inOne runs statements in one transaction: all or nothing.
func (k keeper) inOne(ctx context.Context, what string, do func(tx *sql.Tx) error) error {
	if err := inTx(ctx, k.write, do); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func inTx(ctx context.Context, db *sql.DB, do func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// A handle is a database or a transaction.
type handle interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// A scanner is a row that is being read.
type scanner interface{ Scan(into ...any) error }

// each calls a function with every row that a query finds. Errors begin with what was to be read.
func each(ctx context.Context, from handle, what string, row func(scanner) error, query string, args ...any) error {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := row(rows); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// list returns what a query finds, in its order.
func list[T any](ctx context.Context, from handle, what string, read func(scanner) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := each(ctx, from, what, func(row scanner) error {
		one, err := read(row)
		all = append(all, one)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// one returns what the first row of a query holds, and whether there is one.
func one[T any](ctx context.Context, from handle, what string, read func(scanner) (T, error), query string, args ...any) (T, bool, error) {
	found, err := read(from.QueryRowContext(ctx, query, args...))
	if err == nil {
		return found, true, nil
	}
	var none T
	if errors.Is(err, sql.ErrNoRows) {
		return none, false, nil
	}
	return none, false, fmt.Errorf("%s: %w", what, err)
}

// only reads a row of one column.
func only[T any](row scanner) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// fromJSON reads a row of one column that holds JSON.
func fromJSON[T any](row scanner) (value T, err error) {
	err = row.Scan(decoded(&value, func(text string) (T, error) { return unmarshal[T]("record", text) }))
	return value, err
}

// asJSON is how something is kept that unmarshal reads.
func asJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// unmarshal reads back what was kept as JSON; an error says of what it was.
func unmarshal[T any](what, text string) (value T, err error) {
	if err = json.Unmarshal([]byte(text), &value); err != nil {
		var none T
		return none, fmt.Errorf("decode %s: %w", what, err)
	}
	return value, nil
}

// A step is a statement with its arguments.
type step struct {
	statement string
	args      []any
}

func do(statement string, args ...any) step { return step{statement, args} }

// run runs statements one after the other.
func run(ctx context.Context, in handle, steps ...step) error {
	for _, s := range steps {
		if _, err := in.ExecContext(ctx, s.statement, s.args...); err != nil {
			return err
		}
	}
	return nil
}

// exec runs statements like run. Errors begin with what was to be done.
func exec(ctx context.Context, in handle, what string, steps ...step) error {
	if err := run(ctx, in, steps...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// rowsChanged runs a statement and returns how many rows it has changed.
func rowsChanged(ctx context.Context, in handle, statement string, args ...any) (int64, error) {
	res, err := in.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// repeat prepares a statement that is run many times.
func repeat(ctx context.Context, tx *sql.Tx, statement string, all func(run func(args ...any) error) error) error {
	prepared, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return err
	}
	defer func() { _ = prepared.Close() }()
	return all(func(args ...any) error {
		_, err := prepared.ExecContext(ctx, args...)
		return err
	})
}

// A column is where a column is scanned into that is kept as a K and stands for something else; NULL is not valid.
type column[K any] func(kept sql.Null[K]) error

// Scan converts a value.
func (c column[K]) Scan(value any) error {
	var kept sql.Null[K]
	if err := kept.Scan(value); err != nil {
		return err
	}
	return c(kept)
}

// decoded is where a column of text is scanned into that has to be decoded.
func decoded[T any](into *T, decode func(text string) (T, error)) column[string] {
	return func(text sql.Null[string]) (err error) {
		*into, err = decode(text.V)
		return err
	}
}

func unpacked(text string) (string, error) { return unpackString(text), nil }

// millis is where a column of milliseconds is scanned into: a time in UTC, and the zero time for NULL.
func millis(into *time.Time) column[int64] {
	return func(at sql.Null[int64]) error {
		if *into = (time.Time{}); at.Valid {
			*into = time.UnixMilli(at.V).UTC()
		}
		return nil
	}
}

// toMillis is how a time is kept that millis reads.
func toMillis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}
