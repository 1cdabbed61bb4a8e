package dialect

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/text"
)

// QueryLimit is the longest that a query of ours may run in the server, by the server's own watch where it has one.
const QueryLimit = 2 * time.Second

// Address is where a DSN leads. It holds no secret.
type Address struct {
	Addr     string
	User     string
	Database string
	// Schema is the first of the search path that the DSN sets; empty for the server's.
	Schema string
	tls    bool
	// Zone is the time zone in which times without a zone are to be read; empty for that of the server.
	Zone string
}

// A dialect is what differs between MySQL, MariaDB and PostgreSQL. It has no state.
type Dialect interface {
	// Name is how people call the server: "PostgreSQL".
	Name() string
	// Parse reads a DSN. Its error never holds the DSN.
	Parse(dsn string) (Address, error)
	// Open returns a pool of at most conns connections that do not connect yet.
	Open(dsn string, conns int) (*sql.DB, error)
	Quote(identifier string) string
	// Text is an expression for the exact text of a column's value: a byte string is hexadecimal, a moment is in universal
	// time, and a time without a zone is as it stands. It is the same in every session.
	Text(c Column) string
	// Epoch is an expression for a time column as seconds since 1970, NULL where that has no meaning. Times without a zone
	// are of this one.
	Epoch(c Column, zone string) string
	// Param is the placeholder of argument n, counted from 1, as a value of column c that was read by text.
	Param(c Column, n int) string
	// After is a condition for the rows behind the primary key whose values are the arguments from n on. It appends what
	// it needs more than once.
	After(key []Column, args []any) (string, []any)
	// Limited makes a SELECT end by itself after QueryLimit.
	Limited(query string, s Server) string
	// Guard sets the limits of a transaction that limited cannot.
	Guard(ctx context.Context, tx *sql.Tx, s Server) error
	// FromTable is a table in a FROM clause that is to be read along its key.
	FromTable(t *Table) string
	// KnowsZone asks whether the server knows a time zone.
	KnowsZone(ctx context.Context, q Querier, zone string) (bool, error)
	// Server asks who answers.
	Server(ctx context.Context, q Querier) (Server, error)
	// Describe reads the layout of a table from the catalogue.
	Describe(ctx context.Context, q Querier, table string) (*Table, error)
	// Equal is a condition that is true when a column takes two texts without quotes for one. It names no table: one that is locked must
	// not hold up whoever asks.
	Equal(c Column, a, b string) string
	// Waits reads the lock waits on a table; ErrHidden when the account may not see them.
	Waits(ctx context.Context, q Querier, t *Table, s Server) (lockWaits, error)
	// Grants are the statements that let the account read these columns.
	Grants(ctx context.Context, q Querier, columns []string, t *Table, s Server) []string
	// WaitsGrant is the statement that lets the account see lock waits.
	WaitsGrant(account string) string
	// Refusal words an answer of the server, empty when err is none.
	Refusal(err error) Refusal
}

// ByDriver maps each value of SQL.Driver to its dialect.
var ByDriver = map[string]Dialect{markers.MySQL: MySQL{}, markers.PostgreSQL: PostgreSQL{}}

// ErrHidden says that the account may not see what was asked for.
var ErrHidden = errors.New("hidden from this account")

// Querier is a connection, a pool or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Server is who answered.
type Server struct {
	// Version is as in "MariaDB 10.11.19".
	Version string
	// MariaDB is true for MariaDB; hasLimit says that MariaDB knows SET STATEMENT max_statement_time.
	MariaDB  bool
	HasLimit bool
	Replica  bool
	// ID stays the same while the same data answer, over a restart too: a server's own id, and the timeline of its data.
	ID string
	// Started is when the process began, where the server says so; else uptime is for how long it has been running.
	Started time.Time
	Uptime  Uptime
	// Recovered changes where all processes but the first were started anew, as PostgreSQL does when one of them crashes: a sequence may then have
	// skipped ids. Empty where the server has no such thing.
	Recovered string
	Account   string
	// Session is the id of the session that asked.
	Session string
	// Zone is that of times without a zone: what the DSN sets, else the server's own.
	Zone string
	// Clock is the server's, read at about the moment at of ours, and before told, when we had its answer.
	Clock        time.Time
	At, answered time.Time
}

// ClockAt is the least that the server's clock showed at a time of ours: what it seems to be ahead of ours can be the way of its answer.
// So no row looks older than it is.
func (s Server) ClockAt(at time.Time) time.Time { return at.Add(s.Clock.Sub(s.answered)) }

// Role is as Redis names it.
func (s Server) Role() string {
	if s.Replica {
		return "replica"
	}
	return "primary"
}

// columnKind is how a column's values are written as text.
type columnKind uint8

const (
	TextColumn columnKind = iota
	NumberColumn
	// BytesColumn is written as hexadecimal: 0x… by MySQL, \x… by PostgreSQL.
	BytesColumn
	BitColumn
	// ZonedTime is a moment; LocalTime a date and time without a zone.
	ZonedTime
	LocalTime
	otherColumn
)

// Column is a column as the catalogue describes it.
type Column struct {
	Name string
	Kind columnKind
	// Type is the full type, as in character varying(64); cast the same without a length, where a cast needs it.
	Type string
	Cast string
	// Length is the most characters that it holds; 0 when there is no such limit.
	Length    int64
	Nullable  bool
	Collation string
	// collate is the collation as PostgreSQL writes it in an expression, quoted and with its schema.
	collate string
	// Ignores are differences between two texts that are equal all the same; known of id columns alone.
	Ignores []dedup.IDDifference
	// Alike bring letters that the server takes for others into one spelling; known of id columns alone.
	Alike []func(string) string
}

// Index is an index on whole columns of all rows.
type Index struct {
	name    string
	primary bool
	unique  bool
	Columns []string
}

// IsTime says whether the column can be read as a time. Whole numbers are taken as seconds, milliseconds or microseconds
// since 1970, by their size.
func (c Column) IsTime() bool {
	return c.Kind == ZonedTime || c.Kind == LocalTime || c.Kind == NumberColumn
}

// Beginning is the text of a column, cut off after n characters where it may be longer.
func Beginning(d Dialect, c Column, n int) string {
	if c.Kind == TextColumn && (c.Length == 0 || c.Length > int64(n)) {
		return "LEFT(" + d.Text(c) + ", " + strconv.Itoa(n) + ")"
	}
	return d.Text(c)
}

// EpochTime reads what dialect.epoch selected, zero when there is no time. Whole numbers of a number column may count
// seconds, milliseconds or microseconds; every moment from 1973 to 5138 is told apart by its size.
func EpochTime(epoch string, kind columnKind) time.Time {
	seconds, err := strconv.ParseFloat(epoch, 64)
	if err != nil || seconds != seconds || seconds > 3e17 || seconds < -3e11 {
		return time.Time{}
	}
	if kind == NumberColumn {
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
func rowValues(d Dialect, key []Column, from int) string {
	return "(" + text.Joined(key, ", ", func(c Column) string {
		from++
		return d.Param(c, from-1)
	}) + ")"
}

// Names lists quoted columns.
func Names(d Dialect, columns []Column) string {
	return text.Joined(columns, ", ", func(c Column) string { return d.Quote(c.Name) })
}

// Equals is the condition that columns have the values of as many arguments from one on.
func Equals(d Dialect, columns []Column, from int) string {
	return text.Joined(columns, " AND ", func(c Column) string {
		from++
		return d.Quote(c.Name) + " = " + d.Param(c, from-1)
	})
}

func quotedList(d Dialect, columns []string) string {
	return text.Joined(columns, ", ", d.Quote)
}
