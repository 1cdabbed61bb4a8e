package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	day          = 24 * time.Hour
	duplicateKey = 1062 // of MySQL
)

// statusRow are the statements of a scheme whose markers are rows with a status.
type statusRow struct {
	insert, look, update, remove string
	done                         string // the status of work that is done
}

// inboxRow is a row of the table inbox of MySQL; clash is what its insert does with a row that is there.
func inboxRow(clash string) statusRow {
	return statusRow{
		insert: "INSERT INTO inbox (message_id, status) VALUES (?, 0)" + clash, look: "SELECT status FROM inbox WHERE message_id = ?",
		update: "UPDATE inbox SET status = 1 WHERE message_id = ?", remove: "DELETE FROM inbox WHERE message_id = ?", done: "1",
	}
}

// eventRow is a row of a table of PostgreSQL.
func eventRow(table string) statusRow {
	return statusRow{
		insert: "INSERT INTO " + table + " (event_id, state) VALUES ($1, 'NEW') ON CONFLICT (event_id) DO NOTHING",
		look:   "SELECT state FROM " + table + " WHERE event_id = $1",
		update: "UPDATE " + table + " SET state = 'DONE' WHERE event_id = $1",
		remove: "DELETE FROM " + table + " WHERE event_id = $1", done: "DONE",
	}
}

// run inserts, works and updates; a failure deletes the row.
func (s statusRow) run(ctx context.Context, h *handling) (verdict, error) {
	result, err := h.db.ExecContext(ctx, s.insert, h.id)
	if clash := new(mysql.MySQLError); errors.As(err, &clash) && clash.Number == duplicateKey {
		v, _, err := s.found(ctx, h)
		return v, err
	}
	if err != nil {
		return storeTrouble, err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return storeTrouble, err
	}
	if n != 1 { // 0 by DO NOTHING, 2 by ON DUPLICATE KEY UPDATE
		v, _, err := s.found(ctx, h)
		return v, err
	}
	execute := func(statement string) func() error {
		return func() error {
			_, err := h.db.ExecContext(ctx, statement, h.id)
			return err
		}
	}
	return h.finish(marking{claim: time.Hour, done: day, mark: execute(s.update), remove: execute(s.remove)})
}

// lookFirst asks for the row before it inserts it.
func (s statusRow) lookFirst(ctx context.Context, h *handling) (verdict, error) {
	if v, ok, err := s.found(ctx, h); ok || err != nil {
		return v, err
	}
	return s.run(ctx, h)
}

// existsFirst asks whether there is a row, in a way that does not tell the server's statistics what it found, and inserts it after the work.
func existsFirst(table string) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		var there bool
		if err := h.db.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM "+table+" WHERE message_id = ?)", h.id).Scan(&there); err != nil {
			return storeTrouble, err
		}
		if there {
			return metDone, nil
		}
		return h.finish(marking{done: day, mark: func() error {
			_, err := h.db.ExecContext(ctx, "INSERT INTO "+table+" (message_id) VALUES (?)", h.id)
			return err
		}})
	}
}

// found asks what the row says; ok is false if there is none.
func (s statusRow) found(ctx context.Context, h *handling) (v verdict, ok bool, err error) {
	var status string
	switch err := h.db.QueryRowContext(ctx, s.look, h.id).Scan(&status); {
	case errors.Is(err, sql.ErrNoRows):
		return metFlight, false, nil
	case err != nil:
		return storeTrouble, false, err
	case status == s.done:
		return metDone, true, nil
	}
	return metFlight, true, nil
}

// oneTransaction: the insert of the marker and the work are one transaction.
func oneTransaction(insert, business string) scheme {
	return func(ctx context.Context, h *handling) (verdict, error) {
		tx, err := h.db.BeginTx(ctx, nil)
		if err != nil {
			return storeTrouble, err
		}
		defer func() { _ = tx.Rollback() }() // does nothing after a commit
		result, err := tx.ExecContext(ctx, insert, h.id)
		if err != nil {
			return storeTrouble, err
		}
		if n, err := result.RowsAffected(); err != nil {
			return storeTrouble, err
		} else if n == 0 {
			return metDone, nil
		}
		switch err := h.effect(); {
		case errors.Is(err, errDied):
			return diedInWork, nil
		case err != nil:
			return failedWork, nil
		}
		if _, err := tx.ExecContext(ctx, business, h.id); err != nil {
			return storeTrouble, err
		}
		if err := tx.Commit(); err != nil {
			return storeTrouble, err
		}
		h.marked(day)
		return worked, nil
	}
}
