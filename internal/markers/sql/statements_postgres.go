package sql

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
	"dedup-dashboard/internal/markers/sql/digest"
)

// statements are those of pg_stat_statements, which counts no statement that fails.
// https://www.postgresql.org/docs/current/pgstatstatements.html
func (d postgresStatements) statements(ctx context.Context, q dialect.Querier, l *Layout) (statementSource, error) {
	t := l.Table
	s := statementSource{place: t.Schema + "." + t.Name, table: digest.Table{Server: digest.Postgres, Schema: t.Schema, Name: t.Name, ID: l.idColumns()}}
	var schema, version sql.NullString
	var reads, hidden, late bool
	var twins string
	err := q.QueryRowContext(ctx, `SELECT (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'),
		(SELECT extversion FROM pg_extension WHERE extname = 'pg_stat_statements'), pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
		COALESCE((SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_class WHERE relkind IN ('r', 'p', 'v') AND relname = $1 AND oid <> $2::oid), ''),
		current_setting('server_version_num')::int >= 180000,
		COALESCE(current_setting('pg_stat_statements.track', true), '') <> 'all' AND EXISTS (SELECT FROM pg_proc WHERE prosrc ILIKE $3 ESCAPE '|'),
		EXISTS (SELECT FROM pg_constraint WHERE conrelid = $2::oid AND contype IN ('p', 'u') AND condeferrable)`, t.Name, t.OID, likeName(t.Name)).
		Scan(&schema, &version, &reads, &twins, &s.table.NamesAlone, &hidden, &late)
	switch {
	case err != nil:
		return s, err
	case !schema.Valid:
		s.why = "the database has no extension pg_stat_statements"
		s.better = "Load it with shared_preload_libraries = 'pg_stat_statements', restart, and run CREATE EXTENSION pg_stat_statements; (docs/stores.md)."
		return s, nil
	case !reads:
		s.why, s.better = "the account may not see the statements of others", d.statementGrants(l.Server.Account)
		return s, nil
	case !atLeastVersion(version.String, 1, 9):
		s.why, s.better = "pg_stat_statements is of version "+codec.Printable(version.String)+", which does not tell when it was reset", "ALTER EXTENSION pg_stat_statements UPDATE; PostgreSQL 14 or later has one that does."
		return s, nil
	}
	if s.table.Twins = twins != ""; s.table.Twins { // what was theirs or ours until now was told without them
		s.place += " beside " + twins
	}
	in, next := d.Quote(schema.String)+".", ""
	// Without insert_first an id may be of no delivery. What functions insert is not counted, and where a constraint is looked at when the transaction
	// ends, an insert that meets a row is.
	if column, why := l.autoColumn(); why == "" && l.cfg.InsertFirst && !hidden && !late {
		id, err := postgresInserts{}.sequence(ctx, q, l, column)
		if err != nil {
			return s, err
		}
		if id.why == "" {
			s.place, s.table.Auto, next = s.place+" "+id.identity, column.Name, id.next
		}
	}
	s.query = countedStatements(in, next, true, `query ILIKE $1 ESCAPE '|' LIMIT `+strconv.Itoa(mostStatements+1))
	s.counts = countedStatements(in, next, false, "key = ANY (string_to_array($1, ','))")
	s.args = []any{likeName(t.Name)}
	return s, nil
}

// countedStatements is the query of those that a condition picks, of what tells all of them from others, and of the next id where it is known how to
// ask for it. The server keeps texts in a file, which it reads as a whole for any of them.
func countedStatements(in, next string, texts bool, condition string) string {
	ids, before, after := "", "", ""
	if next != "" {
		// An insert that had its id before the first of these and has not ended since is under way while the sessions are looked at.
		ids = "SELECT '', '', '', '', given::bigint - 1, 0, 0, 0, '', 'ids' FROM (SELECT " + next + ") AS sequence (given, identity)"
		before = ids + ` UNION ALL
		SELECT '', '', '', '', COUNT(*), 0, 0, 0, '', 'underway' FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker' AND COALESCE(state, '') NOT LIKE 'idle%' UNION ALL `
		after = " UNION ALL " + ids
	}
	return `* FROM (WITH info AS (SELECT stats_reset::text AS reset FROM ` + in + `pg_stat_statements_info),
		all_of_them AS MATERIALIZED (SELECT concat_ws(' ', userid, queryid, toplevel) AS key, COALESCE(query, '') AS query, calls, rows
			FROM ` + in + `pg_stat_statements(` + strconv.FormatBool(texts) + `) WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()))
		` + before + `(SELECT key, '', '', query, calls, 0, rows, rows, reset, 'statement' FROM all_of_them, info WHERE ` + condition + `) UNION ALL
		SELECT '', '', '', '', (SELECT COUNT(*) FROM all_of_them), (SELECT COALESCE(bit_xor(hashtextextended(key, 0)), 0) FROM all_of_them),
			(SELECT dealloc FROM ` + in + `pg_stat_statements_info), 0, reset, 'known' FROM info` + after + `) AS counted`
}

func (d postgresStatements) statementGrants(account string) string { return d.WaitsGrant(account) }

// atLeastVersion compares the version of an extension, as 1.10.
func atLeastVersion(text string, major, minor int) bool {
	first, rest, _ := strings.Cut(text, ".")
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(rest)
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
