package act

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// prepare adds to the limits of watching what ends the transaction when we fall silent in the middle of it.
func (d postgreSQL) prepare(ctx context.Context, tx *sql.Tx, s dialect.Server) (string, error) {
	if err := d.Guard(ctx, tx, s); err != nil {
		return "", err
	}
	statement := fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d", 2*actLimit.Milliseconds())
	if _, err := tx.ExecContext(ctx, statement); err != nil {
		return "", err
	}
	var id string
	err := tx.QueryRowContext(ctx, "SELECT txid_current()::text").Scan(&id)
	return id, err
}

// fate asks for the commit status of a transaction: https://www.postgresql.org/docs/current/functions-info.html.
func (postgreSQL) fate(ctx context.Context, q dialect.Querier, id string) txFate {
	var status sql.NullString
	if id == "" || q.QueryRowContext(ctx, "SELECT txid_status($1::text::bigint)", id).Scan(&status) != nil {
		return fateUnknown
	}
	switch status.String {
	case "committed":
		return fateCommitted
	case "aborted":
		return fateAborted
	case "in progress":
		return fateOpen
	}
	return fateUnknown
}

func (postgreSQL) locking(dialect.Server) string { return " FOR UPDATE NOWAIT" }

func (d postgreSQL) exact(c dialect.Column) string { return d.Text(c) }

func (postgreSQL) value(c dialect.Column, n int) string {
	if c.Kind == dialect.ZonedTime {
		return "($" + strconv.Itoa(n) + "::text::timestamp AT TIME ZONE 'UTC')::" + c.Type
	}
	return "$" + strconv.Itoa(n) + "::text::" + c.Type
}

func (postgreSQL) same(expression string, n int) string {
	return expression + ` COLLATE "C" IS NOT DISTINCT FROM $` + strconv.Itoa(n) + "::text"
}

func (postgreSQL) fromNow(c dialect.Column, _ string, ttl time.Duration) string {
	return fmt.Sprintf("(clock_timestamp() + interval '%d microseconds')::%s", ttl.Microseconds(), c.Type)
}

func (postgreSQL) lenient() string { return "" }

func (postgreSQL) overriding() string { return "OVERRIDING SYSTEM VALUE " }

func (postgreSQL) writes(context.Context, dialect.Querier) (map[string]int64, error) { return nil, nil }

func (d postgreSQL) traits(ctx context.Context, q dialect.Querier, t *dialect.Table) (rowTraits, error) {
	traits := rowTraits{generated: map[string]bool{}, automatic: map[string]bool{}}
	var dependent sql.NullString
	var kind string
	err := q.QueryRowContext(ctx, `SELECT (SELECT relkind::text FROM pg_catalog.pg_class WHERE oid = $1::oid),
		(SELECT MIN(conrelid::regclass::text) FROM pg_catalog.pg_constraint WHERE confrelid = $1::oid AND contype = 'f' AND confdeltype IN ('c', 'n', 'd'))`,
		t.OID).Scan(&kind, &dependent)
	switch {
	case err != nil:
		return traits, err
	case kind != "r" && kind != "p":
		traits.obstacle = "it is no table but a view or a foreign table: a row cannot be compared and deleted safely"
	case dependent.Valid:
		traits.obstacle = "rows of table " + codec.Printable(dependent.String) + " would be deleted or changed along with it"
	}
	return traits, d.columnTraits(ctx, q, t, &traits)
}

// triggers finds the triggers and rules of the table, of its parts and of the tables that inherit from it, each with the
// statements that it is for: the bits of tgtype, and ev_type 2 to 4. Those of foreign keys are internal.
func (postgreSQL) triggers(ctx context.Context, q dialect.Querier, t *dialect.Table) (map[string]string, error) {
	rows, err := q.QueryContext(ctx, `WITH RECURSIVE parts(oid) AS (SELECT $1::oid UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN parts p ON i.inhparent = p.oid)
		SELECT 'trigger', tgname::text, tgtype & 8 <> 0, tgtype & 4 <> 0, tgtype & 16 <> 0
		FROM pg_catalog.pg_trigger WHERE tgrelid IN (SELECT oid FROM parts) AND NOT tgisinternal AND tgenabled IN ('O', 'A')
		UNION ALL SELECT 'rule', rulename::text, ev_type = '4', ev_type = '3', ev_type = '2'
		FROM pg_catalog.pg_rewrite WHERE ev_class IN (SELECT oid FROM parts) AND ev_type <> '1' AND ev_enabled IN ('O', 'A') ORDER BY 1 DESC, 2`, t.OID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var kind, name string
		var deletes, inserts, updates bool
		if err := rows.Scan(&kind, &name, &deletes, &inserts, &updates); err != nil {
			return nil, err
		}
		for statement, is := range map[string]bool{"DELETE": deletes, "INSERT": inserts, "UPDATE": updates} {
			if is {
				found[statement] = cmp.Or(found[statement], kind+" "+codec.Printable(name))
			}
		}
	}
	return found, rows.Err()
}

func (postgreSQL) columnTraits(ctx context.Context, q dialect.Querier, t *dialect.Table, traits *rowTraits) error {
	rows, err := q.QueryContext(ctx, `SELECT a.attname::text, COALESCE(to_jsonb(a)->>'attgenerated', '') <> '',
		a.attidentity <> '' OR COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') LIKE 'nextval(%',
		a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
		FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped`, t.OID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var generated, automatic, required bool
		if err := rows.Scan(&name, &generated, &automatic, &required); err != nil {
			return err
		}
		traits.generated[name], traits.automatic[name] = generated, automatic && !generated
		if required && !generated {
			traits.required = append(traits.required, name)
		}
	}
	return rows.Err()
}

// holders finds the transaction that marked the row as its own in xmax. The host shows only to those who may see it.
func (postgreSQL) holders(r *rowAct) (string, []any) {
	return `SELECT a.pid::text, a.usename::text, host(a.client_addr), EXTRACT(EPOCH FROM clock_timestamp() - a.xact_start)::float8
		FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'transactionid' AND l.granted AND l.mode = 'ExclusiveLock' AND a.pid <> pg_backend_pid()
		AND l.transactionid = (SELECT xmax FROM ` + r.table() + " WHERE " + r.where() + ") LIMIT 3", r.key
}

// actGrant includes an UPDATE of one column, without which PostgreSQL does not let the account lock a row.
func (d postgreSQL) actGrant(a *actor, r *rowAct) string {
	account, column := a.at.User, "COLUMN"
	if r != nil && r.layout != nil {
		account = r.layout.Server.Account
		if r.layout.Expires != nil {
			column = d.Quote(r.layout.Expires.Name)
		} else if len(r.layout.Key) > 0 {
			column = d.Quote(r.layout.Key[0].Name)
		}
	}
	return "GRANT SELECT, INSERT, DELETE, UPDATE (" + column + ") ON " + actTable(a, r) + " TO " + d.Quote(account)
}

func (d postgreSQL) fault(err error) rowFault {
	refusal := d.Refusal(err)
	switch refusal.Code {
	case "":
		return faultLost
	case "55P03", "40P01", "40001":
		return faultLocked
	case "23505":
		return faultTaken
	case "25006":
		return faultReadOnly
	case "28P01", "28000":
		return faultLogin
	case "25P03":
		return faultSlow
	}
	return faultOf(refusal)
}
