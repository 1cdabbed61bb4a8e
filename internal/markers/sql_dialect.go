package markers

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// queryLimit is the longest that a query of ours may run in the server, by the server's own watch where it has one.
const queryLimit = 2 * time.Second

// sqlAddress is where a DSN leads. It holds no secret.
type sqlAddress struct {
	addr     string
	user     string
	database string
	// schema is the first of the search path that the DSN sets; empty for the server's.
	schema string
	tls    bool
	// zone is the time zone in which times without a zone are to be read; empty for that of the server.
	zone string
}

// A dialect is what differs between MySQL, MariaDB and PostgreSQL. It has no state.
type dialect interface {
	// name is how people call the server: "PostgreSQL".
	name() string
	// parse reads a DSN. Its error never holds the DSN.
	parse(dsn string) (sqlAddress, error)
	// open returns a pool of at most conns connections that do not connect yet.
	open(dsn string, conns int) (*sql.DB, error)
	quote(identifier string) string
	// text is an expression for the exact text of a column's value: a byte string is hexadecimal, a moment is in universal
	// time, and a time without a zone is as it stands. It is the same in every session.
	text(c sqlColumn) string
	// epoch is an expression for a time column as seconds since 1970, NULL where that has no meaning. Times without a zone
	// are of this one.
	epoch(c sqlColumn, zone string) string
	// param is the placeholder of argument n, counted from 1, as a value of column c that was read by text.
	param(c sqlColumn, n int) string
	// after is a condition for the rows behind the primary key whose values are the arguments from n on. It appends what
	// it needs more than once.
	after(key []sqlColumn, args []any) (string, []any)
	// limited makes a SELECT end by itself after queryLimit.
	limited(query string, s sqlServer) string
	// guard sets the limits of a transaction that limited cannot.
	guard(ctx context.Context, tx *sql.Tx, s sqlServer) error
	// source is a table in a FROM clause that is to be read along its key.
	source(t *sqlTable) string
	// knowsZone asks whether the server knows a time zone.
	knowsZone(ctx context.Context, q querier, zone string) (bool, error)
	// server asks who answers.
	server(ctx context.Context, q querier) (sqlServer, error)
	// describe reads the layout of a table from the catalogue.
	describe(ctx context.Context, q querier, table string) (*sqlTable, error)
	// equal is a condition that is true when a column takes two texts without quotes for one. It names no table: one that is locked must
	// not hold up whoever asks.
	equal(c sqlColumn, a, b string) string
	// waits reads the lock waits on a table; errHidden when the account may not see them.
	waits(ctx context.Context, q querier, t *sqlTable, s sqlServer) (lockWaits, error)
	// grants are the statements that let the account read these columns.
	grants(ctx context.Context, q querier, columns []string, l *sqlLayout) []string
	// waitsGrant is the statement that lets the account see lock waits.
	waitsGrant(account string) string
	// refusal words an answer of the server, empty when err is none.
	refusal(err error) refusal
}

// dialects maps each value of SQL.Driver to its dialect.
var dialects = map[string]dialect{MySQL: mysqlDialect{}, PostgreSQL: postgresDialect{}}

// errHidden says that the account may not see what was asked for.
var errHidden = errors.New("hidden from this account")

// querier is a connection, a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// sqlServer is who answered.
type sqlServer struct {
	// version is as in "MariaDB 10.11.19".
	version string
	// mariadb is true for MariaDB; hasLimit says that MariaDB knows SET STATEMENT max_statement_time.
	mariadb  bool
	hasLimit bool
	replica  bool
	// id stays the same while the same data answer, over a restart too: a server's own id, and the timeline of its data.
	id string
	// started is when the process began, where the server says so; else uptime is for how long it has been running.
	started time.Time
	uptime  uptime
	account string
	// session is the id of the session that asked.
	session string
	// zone is that of times without a zone: what the DSN sets, else the server's own.
	zone string
	// clock is the server's, read at about the moment at of ours, and before told, when we had its answer.
	clock    time.Time
	at, told time.Time
}

// clockAt is the least that the server's clock showed at a time of ours: what it seems to be ahead of ours can be the way of its answer.
// So no row looks older than it is.
func (s sqlServer) clockAt(at time.Time) time.Time { return at.Add(s.clock.Sub(s.told)) }

// role is as Redis names it.
func (s sqlServer) role() string {
	if s.replica {
		return "replica"
	}
	return "primary"
}

// columnKind is how a column's values are written as text.
type columnKind uint8

const (
	textColumn columnKind = iota
	numberColumn
	// bytesColumn is written as hexadecimal: 0x… by MySQL, \x… by PostgreSQL.
	bytesColumn
	bitColumn
	// zonedTime is a moment; localTime a date and time without a zone.
	zonedTime
	localTime
	otherColumn
)

// sqlColumn is a column as the catalogue describes it.
type sqlColumn struct {
	name string
	kind columnKind
	// typ is the full type, as in character varying(64); cast the same without a length, where a cast needs it.
	typ  string
	cast string
	// length is the most characters that it holds; 0 when there is no such limit.
	length    int64
	nullable  bool
	collation string
	// collate is the collation as PostgreSQL writes it in an expression, quoted and with its schema.
	collate string
	// ignores are differences between two texts that are equal all the same; known of id columns alone.
	ignores []dedup.IDDifference
	// alike bring letters that the server takes for others into one spelling; known of id columns alone.
	alike []func(string) string
}

// sqlIndex is an index on whole columns of all rows.
type sqlIndex struct {
	name    string
	primary bool
	unique  bool
	columns []string
}

// isTime says whether the column can be read as a time. Whole numbers are taken as seconds, milliseconds or microseconds
// since 1970, by their size.
func (c sqlColumn) isTime() bool {
	return c.kind == zonedTime || c.kind == localTime || c.kind == numberColumn
}

// beginning is the text of a column, cut off after n characters where it may be longer.
func beginning(d dialect, c sqlColumn, n int) string {
	if c.kind == textColumn && (c.length == 0 || c.length > int64(n)) {
		return "LEFT(" + d.text(c) + ", " + strconv.Itoa(n) + ")"
	}
	return d.text(c)
}

// epochTime reads what dialect.epoch selected, zero when there is no time. Whole numbers of a number column may count
// seconds, milliseconds or microseconds; every moment from 1973 to 5138 is told apart by its size.
func epochTime(text string, kind columnKind) time.Time {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || seconds != seconds || seconds > 3e17 || seconds < -3e11 {
		return time.Time{}
	}
	if kind == numberColumn {
		switch {
		case seconds <= 0:
			return time.Time{}
		case seconds >= 1e14:
			seconds /= 1e6
		case seconds >= 1e11:
			seconds /= 1e3
		}
	}
	if seconds > 3e11 {
		return time.Time{}
	}
	whole := int64(seconds)
	micros := int64((seconds-float64(whole))*1e6 + 0.5)
	return time.Unix(whole, micros*1000).UTC()
}

// rowValues makes a parenthesised list of placeholders for the key.
func rowValues(d dialect, key []sqlColumn, from int) string {
	params := make([]string, len(key))
	for i, c := range key {
		params[i] = d.param(c, from+i)
	}
	return "(" + strings.Join(params, ", ") + ")"
}

// names lists quoted columns.
func names(d dialect, columns []sqlColumn) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = c.name
	}
	return quotedList(d, texts)
}

func quotedList(d dialect, columns []string) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = d.quote(c)
	}
	return strings.Join(quoted, ", ")
}
