package act

import (
	"context"
	"database/sql"
	"time"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// dialects is what differs between databases in changing rows.
type dialects interface {
	dialect.Dialect
	// InZone is the statement that sets the time zone of the transaction; empty where that is always universal time.
	InZone(zone string) string
	// prepare sets the limits of a transaction that acts, and its zone to that of s. It returns the transaction's id where
	// fate can be asked for it.
	prepare(ctx context.Context, tx *sql.Tx, s dialect.Server) (string, error)
	// fate asks what became of a transaction.
	fate(ctx context.Context, q dialect.Querier, id string) txFate
	// locking makes a SELECT lock its row without waiting for it.
	locking(s dialect.Server) string
	// exact is an expression for a column's value as text that loses nothing, in a transaction in universal time.
	exact(c dialect.Column) string
	// value is the placeholder of argument n as a value of column c that was read by exact; the argument may be NULL.
	value(c dialect.Column, n int) string
	// same is the condition that the text of an expression is that of argument n to the last byte, or both are NULL.
	same(expression string, n int) string
	// fromNow is an expression for the moment ttl from now by the server's clock, in a zone where the column has none.
	fromNow(c dialect.Column, zone string, ttl time.Duration) string
	// lenient is the statement after which the server takes every value that a column may hold; empty for none.
	lenient() string
	// overriding stands before VALUES so that columns which the server numbers take our value.
	overriding() string
	// triggers names, for each of the statements DELETE, INSERT and UPDATE that has one, a trigger or rule of the table.
	triggers(ctx context.Context, q dialect.Querier, t *dialect.Table) (map[string]string, error)
	// writes is how many rows this session has written, by statement; nil where the catalogue shows every trigger to everybody.
	writes(ctx context.Context, q dialect.Querier) (map[string]int64, error)
	// traits reads what the catalogue says about writing to a table.
	traits(ctx context.Context, q dialect.Querier, t *dialect.Table) (rowTraits, error)
	// holders is a query for session id, user, host and seconds of the transactions that hold the row.
	holders(r *rowAct) (string, []any)
	// actGrant is the statement that lets the acting account do its work.
	actGrant(a *actor, r *rowAct) string
	// fault classes an error.
	fault(err error) rowFault
}

// byDriver maps each value of SQL.Driver to its dialect.
var byDriver = map[string]dialects{markers.MySQL: mySQL{}, markers.PostgreSQL: postgreSQL{}}

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

// mySQL and postgreSQL are the dialects of acting.
type (
	mySQL      struct{ dialect.MySQL }
	postgreSQL struct{ dialect.PostgreSQL }
)
