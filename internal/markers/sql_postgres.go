package markers

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

// postgresDialect is PostgreSQL from 10 on.
type postgresDialect struct{}

func (postgresDialect) name() string { return "PostgreSQL" }

func (postgresDialect) config(dsn string) (*pgx.ConnConfig, error) {
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

func (d postgresDialect) parse(dsn string) (sqlAddress, error) {
	c, err := d.config(dsn)
	if err != nil {
		return sqlAddress{}, err
	}
	host := strings.ToLower(c.Host)
	if host == "127.0.0.1" || host == "::1" {
		host = "localhost"
	}
	schema, _, _ := strings.Cut(c.RuntimeParams["search_path"], ",")
	return sqlAddress{addr: net.JoinHostPort(host, strconv.Itoa(int(c.Port))), user: c.User, database: cmp.Or(c.Database, c.User),
		schema: strings.Trim(strings.TrimSpace(schema), `"`), tls: c.TLSConfig != nil}, nil
}

func (d postgresDialect) open(dsn string, conns int) (*sql.DB, error) {
	c, err := d.config(dsn)
	if err != nil {
		return nil, err
	}
	return pool(stdlib.OpenDB(*c), conns), nil
}

func (postgresDialect) quote(identifier string) string { return pgx.Identifier{identifier}.Sanitize() }

func (d postgresDialect) text(c sqlColumn) string {
	if c.kind == zonedTime {
		return "(" + d.quote(c.name) + " AT TIME ZONE 'UTC')::text"
	}
	return d.quote(c.name) + "::text"
}

// epoch reads a timestamp without a zone in the zone of the session, which guard has set: AT TIME ZONE would take a name
// such as CET for an abbreviation, without summer time. Infinity is no time.
func (d postgresDialect) epoch(c sqlColumn, _ string) string {
	q := d.quote(c.name)
	switch c.kind {
	case zonedTime:
		return "CASE WHEN isfinite(" + q + ") THEN EXTRACT(EPOCH FROM " + q + ")::text END"
	case localTime:
		return "CASE WHEN isfinite(" + q + ") THEN EXTRACT(EPOCH FROM " + q + "::timestamptz)::text END"
	case numberColumn:
		return q + "::text"
	}
	return "NULL::text"
}

func (postgresDialect) param(c sqlColumn, n int) string {
	if c.kind == zonedTime {
		return "($" + strconv.Itoa(n) + "::timestamp AT TIME ZONE 'UTC')"
	}
	return "$" + strconv.Itoa(n) + "::" + c.cast
}

func (d postgresDialect) after(key []sqlColumn, args []any) (string, []any) {
	return "(" + names(d, key) + ") > " + rowValues(d, key, 1), args
}

func (postgresDialect) limited(query string, _ sqlServer) string { return "SELECT " + query }

// guard sets the limits for this transaction alone: what a session sets would outlive us behind a connection pooler. It
// sets all on which the text of a value depends, so that it is the same in every session.
func (d postgresDialect) guard(ctx context.Context, tx *sql.Tx, s sqlServer) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d; SET LOCAL lock_timeout = 1000; SET LOCAL datestyle = 'ISO'; SET LOCAL bytea_output = 'hex'; "+
		"SET LOCAL extra_float_digits = 3; SET LOCAL intervalstyle = 'postgres'; SET LOCAL standard_conforming_strings = on; %s", queryLimit.Milliseconds(), d.inZone(s.zone)))
	return err
}

// knowsZone: a session cannot be in a zone that the server does not know.
func (postgresDialect) knowsZone(context.Context, querier, string) (bool, error) { return true, nil }

func (d postgresDialect) source(t *sqlTable) string { return t.quoted(d) }

func (postgresDialect) server(ctx context.Context, q querier) (sqlServer, error) {
	s := sqlServer{at: time.Now()}
	var version, clock, started string
	err := q.QueryRowContext(ctx, `SELECT current_setting('server_version'), current_user::text, pg_backend_pid()::text, current_setting('TimeZone'), EXTRACT(EPOCH FROM clock_timestamp())::text,
		EXTRACT(EPOCH FROM pg_postmaster_start_time())::text, pg_is_in_recovery()`).Scan(&version, &s.account, &s.session, &s.zone, &clock, &started, &s.replica)
	if err != nil {
		return s, err
	}
	s.told = time.Now()
	s.at = s.at.Add(s.told.Sub(s.at) / 2)
	number, _, _ := strings.Cut(version, " ")
	s.version, s.clock, s.started = "PostgreSQL "+number, epochTime(clock, localTime), epochTime(started, localTime)
	var id, timeline string
	err = q.QueryRowContext(ctx, "SELECT (SELECT system_identifier FROM pg_control_system())::text, (SELECT timeline_id FROM pg_control_checkpoint())::text").Scan(&id, &timeline)
	if err != nil {
		// Some hosts hide these functions; then the address and the port tell servers apart.
		err = q.QueryRowContext(ctx, "SELECT COALESCE(host(inet_server_addr()), '') || ':' || current_setting('port'), pg_is_in_recovery()::text").Scan(&id, &timeline)
	}
	if err != nil {
		return s, err
	}
	s.id = id + "/" + timeline
	return s, nil
}

func (d postgresDialect) describe(ctx context.Context, q querier, table string) (*sqlTable, error) {
	schema, name := splitTable(table)
	t := &sqlTable{}
	var rows float64
	var kind string
	err := q.QueryRowContext(ctx, `SELECT c.oid::text, n.nspname::text, c.relname::text, c.reltuples::float8, c.relkind::text,
		(SELECT datname || '/' || oid::text FROM pg_catalog.pg_database WHERE datname = current_database()), n.nspname || '.' || c.relname || '/' || c.oid::text
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relname IN ($1::text, lower($1::text)) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
		AND ($2::text = '' AND pg_catalog.pg_table_is_visible(c.oid) OR n.nspname IN ($2::text, lower($2::text)) AND $2::text <> '')
		ORDER BY c.relname = $1::text DESC, n.nspname = $2::text DESC LIMIT 1`, name, schema).Scan(&t.oid, &t.schema, &t.name, &rows, &kind, &t.database, &t.identity)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoTable
	}
	if err != nil {
		return nil, err
	}
	// A table that was never analysed says -1, or 0 before PostgreSQL 14.
	if n := int64(rows); n > 0 {
		t.estimate = &n
	}
	if err := d.describeColumns(ctx, q, t); err != nil {
		return nil, err
	}
	return t, d.describeIndexes(ctx, q, t)
}

func (d postgresDialect) describeColumns(ctx context.Context, q querier, t *sqlTable) error {
	rows, err := q.QueryContext(ctx, `SELECT a.attname::text, COALESCE(b.typname, y.typname)::text, pg_catalog.format_type(a.atttypid, a.atttypmod),
		pg_catalog.format_type(a.atttypid, -1), a.atttypmod::int8,
		NOT a.attnotnull, COALESCE(co.collname::text, ''),
		COALESCE(quote_ident(cn.nspname) || '.' || quote_ident(co.collname), '')
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid LEFT JOIN pg_catalog.pg_type b ON b.oid = y.typbasetype
		LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = co.collnamespace
		WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, t.oid)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c sqlColumn
		var typ string
		var modifier int64
		if err := rows.Scan(&c.name, &typ, &c.typ, &c.cast, &modifier, &c.nullable, &c.collation, &c.collate); err != nil {
			return err
		}
		c.kind = postgresKind(typ)
		// The modifier of varchar(n) and char(n) is n + 4.
		if (typ == "varchar" || typ == "bpchar") && modifier > 4 {
			c.length = modifier - 4
		}
		t.columns = append(t.columns, c)
	}
	return rows.Err()
}

func postgresKind(typ string) columnKind {
	switch typ {
	case "text", "varchar", "bpchar", "citext", "name":
		return textColumn
	case "int2", "int4", "int8", "numeric", "float4", "float8":
		return numberColumn
	case "bytea":
		return bytesColumn
	case "timestamptz":
		return zonedTime
	case "timestamp", "date":
		return localTime
	}
	return otherColumn
}

func (d postgresDialect) describeIndexes(ctx context.Context, q querier, t *sqlTable) error {
	rows, err := q.QueryContext(ctx, `SELECT x.relname::text, i.indisprimary, i.indisunique, a.attname::text
		FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid JOIN pg_catalog.pg_am m ON m.oid = x.relam AND m.amname = 'btree'
		CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(number, position)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
		WHERE i.indrelid = $1::oid AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
		AND k.position <= COALESCE((to_jsonb(i)->>'indnkeyatts')::int, i.indnatts) ORDER BY x.relname, k.position`, t.oid)
	if err != nil {
		return err
	}
	return t.addIndexes(rows)
}

// grants leaves out the columns that are granted: without USAGE on the schema each of them seems to be denied.
func (d postgresDialect) grants(ctx context.Context, q querier, columns []string, l *sqlLayout) []string {
	var all []string
	var usage bool
	if q.QueryRowContext(ctx, "SELECT has_schema_privilege($1::text, 'USAGE')", l.table.schema).Scan(&usage) == nil && !usage {
		all = append(all, "GRANT USAGE ON SCHEMA "+d.quote(l.table.schema)+" TO "+d.quote(l.server.account)+";")
	}
	columns = slices.DeleteFunc(slices.Clone(columns), func(column string) bool {
		var granted bool
		return q.QueryRowContext(ctx, "SELECT has_column_privilege($1::oid, $2::text, 'SELECT')", l.table.oid, column).Scan(&granted) == nil && granted
	})
	if len(columns) == 0 && len(all) > 0 {
		return all
	}
	return append(all, "GRANT SELECT ("+quotedList(d, columns)+") ON "+l.table.quoted(d)+" TO "+d.quote(l.server.account)+";")
}

func (d postgresDialect) waitsGrant(account string) string {
	return "GRANT pg_read_all_stats TO " + d.quote(account) + ";"
}
