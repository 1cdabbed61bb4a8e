package markers

import (
	"context"
	"database/sql"
	"time"
)

// actDialect is what differs between databases in changing rows.
type actDialect interface {
	dialect
	// inZone is the statement that sets the time zone of the transaction; empty where that is always universal time.
	inZone(zone string) string
	// prepare sets the limits of a transaction that acts, and its zone to that of s. It returns the transaction's id where
	// fate can be asked for it.
	prepare(ctx context.Context, tx *sql.Tx, s sqlServer) (string, error)
	// fate asks what became of a transaction.
	fate(ctx context.Context, q querier, id string) txFate
	// locking makes a SELECT lock its row without waiting for it.
	locking(s sqlServer) string
	// exact is an expression for a column's value as text that loses nothing, in a transaction in universal time.
	exact(c sqlColumn) string
	// value is the placeholder of argument n as a value of column c that was read by exact; the argument may be NULL.
	value(c sqlColumn, n int) string
	// same is the condition that the text of an expression is that of argument n to the last byte, or both are NULL.
	same(expression string, n int) string
	// fromNow is an expression for the moment ttl from now by the server's clock, in a zone where the column has none.
	fromNow(c sqlColumn, zone string, ttl time.Duration) string
	// lenient is the statement after which the server takes every value that a column may hold; empty for none.
	lenient() string
	// overriding stands before VALUES so that columns which the server numbers take our value.
	overriding() string
	// triggers names, for each of the statements DELETE, INSERT and UPDATE that has one, a trigger or rule of the table.
	triggers(ctx context.Context, q querier, t *sqlTable) (map[string]string, error)
	// writes is how many rows this session has written, by statement; nil where the catalogue shows every trigger to everybody.
	writes(ctx context.Context, q querier) (map[string]int64, error)
	// traits reads what the catalogue says about writing to a table.
	traits(ctx context.Context, q querier, t *sqlTable) (rowTraits, error)
	// holders is a query for session id, user, host and seconds of the transactions that hold the row.
	holders(r *rowAct) (string, []any)
	// actGrant is the statement that lets the acting account do its work.
	actGrant(a *sqlActor, r *rowAct) string
	// fault classes an error.
	fault(err error) rowFault
}

// actDialects maps each value of SQL.Driver to its dialect.
var actDialects = map[string]actDialect{MySQL: mysqlDialect{}, PostgreSQL: postgresDialect{}}

// txFate is what became of a transaction.
type txFate int

// The fates of a transaction.
const (
	fateUnknown txFate = iota
	fateCommitted
	fateAborted
	// fateOpen: the transaction has not ended yet.
	fateOpen
)
