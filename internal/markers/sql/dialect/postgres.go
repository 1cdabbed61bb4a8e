package dialect

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"dedup-dashboard/internal/markers/pace"
)

// PostgreSQL is PostgreSQL from 10 on.
type PostgreSQL struct{}

// Name is how people call the server.
func (PostgreSQL) Name() string { return "PostgreSQL" }

func (PostgreSQL) config(dsn string) (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("is not a PostgreSQL DSN: write postgres://user:password@host:5432/database?sslmode=require, " +
			"with special characters of the password percent-encoded")
	}
	// Text comes as the server writes it, and connection poolers that know no prepared statements are no obstacle.
	c.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, pace.AnswerTimeout)
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "dedup-dashboard"
	}
	return c, nil
}

// Parse reads a DSN. Its error never holds the DSN.
func (d PostgreSQL) Parse(dsn string) (Address, error) {
	c, err := d.config(dsn)
	if err != nil {
		return Address{}, err
	}
	host := strings.ToLower(c.Host)
	if host == "127.0.0.1" || host == "::1" {
		host = "localhost"
	}
	schema, _, _ := strings.Cut(c.RuntimeParams["search_path"], ",")
	return Address{Addr: net.JoinHostPort(host, strconv.Itoa(int(c.Port))), User: c.User, Database: cmp.Or(c.Database, c.User),
		Schema: strings.Trim(strings.TrimSpace(schema), `"`), tls: c.TLSConfig != nil}, nil
}

// Open returns a pool of at most conns connections that do not connect yet.
func (d PostgreSQL) Open(dsn string, conns int) (*sql.DB, error) {
	c, err := d.config(dsn)
	if err != nil {
		return nil, err
	}
	return pool(stdlib.OpenDB(*c), conns), nil
}

// Quote quotes an identifier.
func (PostgreSQL) Quote(identifier string) string { return pgx.Identifier{identifier}.Sanitize() }

// Text is an expression for the exact text of a column's value.
func (d PostgreSQL) Text(c Column) string {
	if c.Kind == ZonedTime {
		return "(" + d.Quote(c.Name) + " AT TIME ZONE 'UTC')::text"
	}
	return d.Quote(c.Name) + "::text"
}

// Epoch reads a timestamp without a zone in the zone of the session, which guard has set: AT TIME ZONE would take a name
// such as CET for an abbreviation, without summer time. Infinity is no time.
func (d PostgreSQL) Epoch(c Column, _ string) string {
	q := d.Quote(c.Name)
	switch c.Kind {
	case ZonedTime:
		return "CASE WHEN isfinite(" + q + ") THEN EXTRACT(EPOCH FROM " + q + ")::text END"
	case LocalTime:
		return "CASE WHEN isfinite(" + q + ") THEN EXTRACT(EPOCH FROM " + q + "::timestamptz)::text END"
	case NumberColumn:
		return q + "::text"
	}
	return "NULL::text"
}

// Param is the placeholder of argument n as a value of the column.
func (PostgreSQL) Param(c Column, n int) string {
	if c.Kind == ZonedTime {
		return "($" + strconv.Itoa(n) + "::timestamp AT TIME ZONE 'UTC')"
	}
	return "$" + strconv.Itoa(n) + "::" + c.Cast
}

// After is a condition for the rows behind a primary key.
func (d PostgreSQL) After(key []Column, args []any) (string, []any) {
	return "(" + Names(d, key) + ") > " + rowValues(d, key, 1), args
}

// Limited makes a SELECT end by itself after QueryLimit.
func (PostgreSQL) Limited(query string, _ Server) string { return "SELECT " + query }

// Guard sets the limits for this transaction alone: what a session sets would outlive us behind a connection pooler. It
// sets all on which the text of a value depends, so that it is the same in every session.
func (d PostgreSQL) Guard(ctx context.Context, tx *sql.Tx, s Server) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d; SET LOCAL lock_timeout = 1000; SET LOCAL datestyle = 'ISO'; SET LOCAL bytea_output = 'hex'; "+
		"SET LOCAL extra_float_digits = 3; SET LOCAL intervalstyle = 'postgres'; SET LOCAL standard_conforming_strings = on; %s", QueryLimit.Milliseconds(), d.InZone(s.Zone)))
	return err
}

// KnowsZone: a session cannot be in a zone that the server does not know.
func (PostgreSQL) KnowsZone(context.Context, Querier, string) (bool, error) { return true, nil }

// FromTable is a table in a FROM clause that is to be read along its key.
func (d PostgreSQL) FromTable(t *Table) string { return t.Quoted(d) }

// Server asks who answers.
func (PostgreSQL) Server(ctx context.Context, q Querier) (Server, error) {
	s := Server{At: time.Now()}
	var version, clock, started string
	err := q.QueryRowContext(ctx, `SELECT current_setting('server_version'), current_user::text, pg_backend_pid()::text, current_setting('TimeZone'), EXTRACT(EPOCH FROM clock_timestamp())::text,
		EXTRACT(EPOCH FROM pg_postmaster_start_time())::text, pg_is_in_recovery(), COALESCE((SELECT stats_reset::text FROM pg_stat_bgwriter), '')`).
		Scan(&version, &s.Account, &s.Session, &s.Zone, &clock, &started, &s.Replica, &s.Recovered)
	if err != nil {
		return s, err
	}
	s.answered = time.Now()
	s.At = s.At.Add(s.answered.Sub(s.At) / 2)
	number, _, _ := strings.Cut(version, " ")
	s.Version, s.Clock, s.Started = "PostgreSQL "+number, EpochTime(clock, LocalTime), EpochTime(started, LocalTime)
	var id, timeline string
	err = q.QueryRowContext(ctx, "SELECT (SELECT system_identifier FROM pg_control_system())::text, (SELECT timeline_id FROM pg_control_checkpoint())::text").Scan(&id, &timeline)
	if err != nil {
		// Some hosts hide these functions; then the address and the port tell servers apart.
		err = q.QueryRowContext(ctx, "SELECT COALESCE(host(inet_server_addr()), '') || ':' || current_setting('port'), pg_is_in_recovery()::text").Scan(&id, &timeline)
	}
	if err != nil {
		return s, err
	}
	s.ID = id + "/" + timeline
	return s, nil
}

// Describe reads the layout of a table from the catalogue.
func (d PostgreSQL) Describe(ctx context.Context, q Querier, table string) (*Table, error) {
	schema, name := SplitTable(table)
	t := &Table{}
	var rows float64
	var kind string
	err := q.QueryRowContext(ctx, `SELECT c.oid::text, n.nspname::text, c.relname::text, c.reltuples::float8, c.relkind::text,
		(SELECT datname || '/' || oid::text FROM pg_catalog.pg_database WHERE datname = current_database()), n.nspname || '.' || c.relname || '/' || c.oid::text
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relname IN ($1::text, lower($1::text)) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
		AND ($2::text = '' AND pg_catalog.pg_table_is_visible(c.oid) OR n.nspname IN ($2::text, lower($2::text)) AND $2::text <> '')
		ORDER BY c.relname = $1::text DESC, n.nspname = $2::text DESC LIMIT 1`, name, schema).Scan(&t.OID, &t.Schema, &t.Name, &rows, &kind, &t.Database, &t.Identity)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoTable
	}
	if err != nil {
		return nil, err
	}
	// A table that was never analysed says -1, or 0 before PostgreSQL 14.
	if n := int64(rows); n > 0 {
		t.Estimate = &n
	}
	if err := d.describeColumns(ctx, q, t); err != nil {
		return nil, err
	}
	return t, d.describeIndexes(ctx, q, t)
}

func (d PostgreSQL) describeColumns(ctx context.Context, q Querier, t *Table) error {
	rows, err := q.QueryContext(ctx, `SELECT a.attname::text, COALESCE(b.typname, y.typname)::text, pg_catalog.format_type(a.atttypid, a.atttypmod),
		pg_catalog.format_type(a.atttypid, -1), a.atttypmod::int8,
		NOT a.attnotnull, COALESCE(co.collname::text, ''),
		COALESCE(quote_ident(cn.nspname) || '.' || quote_ident(co.collname), '')
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid LEFT JOIN pg_catalog.pg_type b ON b.oid = y.typbasetype
		LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = co.collnamespace
		WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, t.OID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c Column
		var typ string
		var modifier int64
		if err := rows.Scan(&c.Name, &typ, &c.Type, &c.Cast, &modifier, &c.Nullable, &c.Collation, &c.collate); err != nil {
			return err
		}
		c.Kind = postgresKind(typ)
		// The modifier of varchar(n) and char(n) is n + 4.
		if (typ == "varchar" || typ == "bpchar") && modifier > 4 {
			c.Length = modifier - 4
		}
		t.Columns = append(t.Columns, c)
	}
	return rows.Err()
}

func postgresKind(typ string) columnKind {
	switch typ {
	case "text", "varchar", "bpchar", "citext", "name":
		return TextColumn
	case "int2", "int4", "int8", "numeric", "float4", "float8":
		return NumberColumn
	case "bytea":
		return BytesColumn
	case "timestamptz":
		return ZonedTime
	case "timestamp", "date":
		return LocalTime
	}
	return otherColumn
}

func (d PostgreSQL) describeIndexes(ctx context.Context, q Querier, t *Table) error {
	rows, err := q.QueryContext(ctx, `SELECT x.relname::text, i.indisprimary, i.indisunique, a.attname::text
		FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid JOIN pg_catalog.pg_am m ON m.oid = x.relam AND m.amname = 'btree'
		CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(number, position)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
		WHERE i.indrelid = $1::oid AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
		AND k.position <= COALESCE((to_jsonb(i)->>'indnkeyatts')::int, i.indnatts) ORDER BY x.relname, k.position`, t.OID)
	if err != nil {
		return err
	}
	return t.addIndexes(rows)
}

// Grants leaves out the columns that are granted: without USAGE on the schema each of them seems to be denied.
func (d PostgreSQL) Grants(ctx context.Context, q Querier, columns []string, t *Table, s Server) []string {
	var all []string
	var usage bool
	if q.QueryRowContext(ctx, "SELECT has_schema_privilege($1::text, 'USAGE')", t.Schema).Scan(&usage) == nil && !usage {
		all = append(all, "GRANT USAGE ON SCHEMA "+d.Quote(t.Schema)+" TO "+d.Quote(s.Account)+";")
	}
	columns = slices.DeleteFunc(slices.Clone(columns), func(column string) bool {
		var granted bool
		return q.QueryRowContext(ctx, "SELECT has_column_privilege($1::oid, $2::text, 'SELECT')", t.OID, column).Scan(&granted) == nil && granted
	})
	if len(columns) == 0 && len(all) > 0 {
		return all
	}
	return append(all, "GRANT SELECT ("+quotedList(d, columns)+") ON "+t.Quoted(d)+" TO "+d.Quote(s.Account)+";")
}

// WaitsGrant is the statement that lets the account see lock waits.
func (d PostgreSQL) WaitsGrant(account string) string {
	return "GRANT pg_read_all_stats TO " + d.Quote(account) + ";"
}

// Equal is a condition that is true when a column takes two texts for one.
func (PostgreSQL) Equal(c Column, a, b string) string {
	value := func(text string) string {
		if c.collate == "" {
			return "'" + text + "'::" + c.Cast
		}
		return "'" + text + "'::" + c.Cast + " COLLATE " + c.collate
	}
	return value(a) + " = " + value(b)
}

// InZone is the statement that sets the time zone of the transaction.
func (PostgreSQL) InZone(zone string) string {
	return "SET LOCAL TIME ZONE '" + strings.ReplaceAll(zone, "'", "''") + "'"
}

// OpenPatient returns a pool of one connection that is closed after use, for a query of any length.
func (d PostgreSQL) OpenPatient(dsn string, _ time.Duration) (*sql.DB, error) {
	c, err := d.config(dsn)
	if err != nil {
		return nil, err
	}
	return single(stdlib.OpenDB(*c)), nil
}
