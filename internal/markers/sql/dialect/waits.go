package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// maxHolders bounds the sessions that LockWaits names.
const maxHolders = 20

// lockWaits is what a dialect reads; nil times are 0.
type lockWaits struct {
	Waiters            int64
	Longest            time.Duration
	LongestTransaction time.Duration
	Holders            []string
}

// InnoDBNow is the present as InnoDB's own tables tell times: in the zone of the server's machine, whatever the session's.
const InnoDBNow = "CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')"

// Waits needs PROCESS, and SELECT on performance_schema in MySQL 8. What InnoDB tells is renewed when nobody asked for 0.1 s. Transactions of other tables count only where they wait
// for, or hold up, a lock of this one; InnoDB does not say which tables an idle transaction has locked.
func (d MySQL) Waits(ctx context.Context, q Querier, t *Table, s Server) (lockWaits, error) {
	// information_schema writes `schema`.`table`; performance_schema has a column for each.
	query := `SELECT w.trx_id, TIMESTAMPDIFF(SECOND, w.trx_wait_started, ` + InnoDBNow + `), TIMESTAMPDIFF(SECOND, b.trx_started, ` + InnoDBNow + `), COALESCE(p.USER, '?'), COALESCE(p.HOST, '?')
		FROM information_schema.INNODB_LOCK_WAITS lw
		JOIN information_schema.INNODB_LOCKS l ON l.lock_id = lw.requested_lock_id
		JOIN information_schema.INNODB_TRX w ON w.trx_id = lw.requesting_trx_id
		JOIN information_schema.INNODB_TRX b ON b.trx_id = lw.blocking_trx_id
		LEFT JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id
		WHERE l.lock_table = ?`
	args := []any{t.Quoted(d)}
	if !s.MariaDB {
		query = `SELECT w.trx_id, TIMESTAMPDIFF(SECOND, w.trx_wait_started, ` + InnoDBNow + `), TIMESTAMPDIFF(SECOND, b.trx_started, ` + InnoDBNow + `), COALESCE(p.USER, '?'), COALESCE(p.HOST, '?')
			FROM performance_schema.data_lock_waits lw
			JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = lw.REQUESTING_ENGINE_LOCK_ID AND l.ENGINE = lw.ENGINE
			JOIN information_schema.INNODB_TRX w ON w.trx_id = lw.REQUESTING_ENGINE_TRANSACTION_ID
			JOIN information_schema.INNODB_TRX b ON b.trx_id = lw.BLOCKING_ENGINE_TRANSACTION_ID
			LEFT JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id
			WHERE l.OBJECT_SCHEMA = ? AND l.OBJECT_NAME = ?`
		args = []any{t.Schema, t.Name}
	}
	return gatherWaits(ctx, q, d, query, args)
}

// Waits sees who waits and for whom without rights; how long needs pg_read_all_stats, without which times are NULL.
func (d PostgreSQL) Waits(ctx context.Context, q Querier, t *Table, _ Server) (lockWaits, error) {
	query := `SELECT w.pid::text, EXTRACT(EPOCH FROM clock_timestamp() - w.state_change)::int8, EXTRACT(EPOCH FROM clock_timestamp() - b.xact_start)::int8,
			COALESCE(b.usename::text, '?'), COALESCE(b.client_addr::text, 'local')
		FROM pg_catalog.pg_stat_activity w CROSS JOIN LATERAL unnest(pg_catalog.pg_blocking_pids(w.pid)) blocker(pid)
		LEFT JOIN pg_catalog.pg_stat_activity b ON b.pid = blocker.pid
		WHERE w.wait_event_type = 'Lock' AND w.datname = current_database() AND w.pid <> pg_backend_pid()
		AND EXISTS (SELECT 1 FROM pg_catalog.pg_locks l WHERE l.pid = w.pid AND l.locktype IN ('relation', 'tuple') AND l.relation = $1::oid
			AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))`
	w, err := gatherWaits(ctx, q, d, query, []any{t.OID})
	if err != nil {
		return w, err
	}
	// Transactions that wrote to the table or locked rows of it hold more than a reader's lock on it.
	var seen int64
	var oldest sql.NullInt64
	var shown bool
	err = q.QueryRowContext(ctx, `SELECT count(*), max(EXTRACT(EPOCH FROM clock_timestamp() - a.xact_start))::int8, COALESCE(bool_and(a.xact_start IS NOT NULL), true)
		FROM pg_catalog.pg_stat_activity a WHERE a.pid <> pg_backend_pid() AND EXISTS (SELECT 1 FROM pg_catalog.pg_locks l
			WHERE l.pid = a.pid AND l.relation = $1::oid AND l.mode <> 'AccessShareLock'
			AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))`, t.OID).Scan(&seen, &oldest, &shown)
	if err != nil {
		return w, err
	}
	if !shown {
		return w, ErrHidden
	}
	w.LongestTransaction = max(w.LongestTransaction, time.Duration(oldest.Int64)*time.Second)
	return w, nil
}

// gatherWaits reads rows of waiter, its wait and the blocker's age in seconds, and the blocker's user and host.
func gatherWaits(ctx context.Context, q Querier, d Dialect, query string, args []any) (lockWaits, error) {
	var w lockWaits
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		if d.Refusal(err).Denied {
			return w, ErrHidden
		}
		return w, err
	}
	defer rows.Close()
	waiting, holding := map[string]bool{}, map[string]bool{}
	for rows.Next() {
		var waiter, user, host string
		var waits, age sql.NullInt64
		if err := rows.Scan(&waiter, &waits, &age, &user, &host); err != nil {
			return w, err
		}
		waiting[waiter] = true
		w.Longest = max(w.Longest, time.Duration(waits.Int64)*time.Second)
		w.LongestTransaction = max(w.LongestTransaction, time.Duration(age.Int64)*time.Second)
		holder := fmt.Sprintf("%s from %s", user, host)
		if age.Valid {
			holder += fmt.Sprintf(", transaction open for %d s", age.Int64)
		}
		if !holding[holder] && len(w.Holders) < maxHolders {
			holding[holder] = true
			w.Holders = append(w.Holders, holder)
		}
	}
	w.Waiters = int64(len(waiting))
	return w, rows.Err()
}
