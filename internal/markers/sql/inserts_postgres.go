package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// postgresSequence finds the sequence of a column: the one that its default takes values of, else that of its identity. Both are
// dependencies in the catalogue, also where another table owns the sequence.
const postgresSequence = `SELECT s.oid::text, n.nspname::text, s.relname::text, q.seqincrement, q.seqcache, has_sequence_privilege(s.oid, 'SELECT'),
	(SELECT count(*) FROM pg_catalog.pg_depend u WHERE u.classid = 'pg_catalog.pg_attrdef'::regclass AND u.refclassid = 'pg_catalog.pg_class'::regclass AND u.refobjid = s.oid)
	FROM pg_catalog.pg_attribute a
	CROSS JOIN LATERAL (SELECT COALESCE(
		(SELECT k.oid FROM pg_catalog.pg_attrdef f JOIN pg_catalog.pg_depend p ON p.classid = 'pg_catalog.pg_attrdef'::regclass AND p.objid = f.oid
			AND p.refclassid = 'pg_catalog.pg_class'::regclass JOIN pg_catalog.pg_class k ON k.oid = p.refobjid AND k.relkind = 'S'
			WHERE f.adrelid = a.attrelid AND f.adnum = a.attnum LIMIT 1),
		(SELECT k.oid FROM pg_catalog.pg_depend p JOIN pg_catalog.pg_class k ON k.oid = p.objid AND k.relkind = 'S'
			WHERE p.classid = 'pg_catalog.pg_class'::regclass AND p.refclassid = 'pg_catalog.pg_class'::regclass AND p.refobjid = a.attrelid
			AND p.refobjsubid = a.attnum AND p.deptype = 'i' LIMIT 1)) AS oid) found
	JOIN pg_catalog.pg_class s ON s.oid = found.oid JOIN pg_catalog.pg_namespace n ON n.oid = s.relnamespace
	JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.oid
	WHERE a.attrelid = $1::oid AND a.attname = $2::text`

// autoID reads the next id from the sequence itself: nextval is never taken back.
// https://www.postgresql.org/docs/current/functions-sequence.html
func (d postgresInserts) autoID(ctx context.Context, conn *sql.Conn, l *Layout, column dialect.Column) (autoID, error) {
	return d.sequence(ctx, conn, l, column)
}

// sequence is what there is to know of the sequence of a column.
func (d postgresInserts) sequence(ctx context.Context, q dialect.Querier, l *Layout, column dialect.Column) (autoID, error) {
	var oid, schema, name string
	var increment, cache, users int64
	var readable bool
	err := q.QueryRowContext(ctx, postgresSequence, l.Table.OID, column.Name).Scan(&oid, &schema, &name, &increment, &cache, &readable, &users)
	if errors.Is(err, sql.ErrNoRows) {
		return autoID{why: fmt.Sprintf("column %s takes its values from no sequence: whoever inserts gives the ids, and a failed insert burns none. "+
			"Name the right column as columns.auto_increment, or leave it empty", codec.Printable(column.Name))}, nil
	}
	if err != nil {
		return autoID{}, err
	}
	sequence := d.Quote(schema) + "." + d.Quote(name)
	id := autoID{identity: oid, why: insertRefusalOf(sequence, increment, cache, users),
		next: "(last_value + CASE WHEN is_called THEN 1 ELSE 0 END)::text, ''::text FROM " + sequence}
	if id.why == "" && !readable {
		id.grant = "GRANT SELECT ON SEQUENCE " + sequence + " TO " + d.Quote(l.Server.Account) + ";"
		id.why = "the account may not read the sequence: " + id.grant
	}
	return id, nil
}

func insertRefusalOf(sequence string, increment, cache, users int64) string {
	switch {
	case increment != 1:
		return "sequence " + sequence + " has INCREMENT " + strconv.FormatInt(increment, 10) + ": ids leave gaps by themselves. ALTER SEQUENCE … INCREMENT 1"
	case cache > 1:
		return "sequence " + sequence + " has CACHE " + strconv.FormatInt(cache, 10) + ": each session takes ids ahead of its need, and those that it does not use look like failed inserts. ALTER SEQUENCE … CACHE 1"
	case users > 1:
		return "sequence " + sequence + " gives the ids of several columns: those of others look like failed inserts"
	}
	return ""
}

func (postgresInserts) seconds(epoch string) string { return "(" + epoch + ")::float8" }

// digits: a timestamp has microseconds.
func (postgresInserts) digits() int { return 6 }
