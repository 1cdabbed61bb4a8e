package markers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// maxHolders bounds the sessions that LockWaits names.
const maxHolders = 20

// lockWaits is what a dialect reads; nil times are 0.
type lockWaits struct {
	waiters            int64
	longest            time.Duration
	longestTransaction time.Duration
	holders            []string
}

// lockWaits reads the lock waits on the table; nil when they cannot be seen, which is no error.
func (s *sqlStore) lockWaits(ctx context.Context) (*dedup.LockWaits, error) {
	s.mu.Lock()
	layout, hidden := s.layout, s.waitsHidden
	s.mu.Unlock()
	if layout == nil || hidden {
		return nil, nil
	}
	at := time.Now()
	w, err := s.dialect.waits(ctx, s.db, layout.table, layout.server)
	if errors.Is(err, errHidden) || s.dialect.refusal(err).answered() {
		// A statement that fails inside the server is no reason to call the store down.
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waitsHidden = errors.Is(err, errHidden); s.waitsHidden {
			s.log.Info("lock waits are not shown: the account may not see them", "grant", s.dialect.waitsGrant(layout.server.account))
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &dedup.LockWaits{At: at, Waiters: w.waiters, Longest: w.longest, LongestTransaction: w.longestTransaction, Holders: w.holders}, nil
}

// innodbNow is the present as InnoDB's own tables tell times: in the zone of the server's machine, whatever the session's.
const innodbNow = "CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')"

// waits needs PROCESS, and SELECT on performance_schema in MySQL 8. What InnoDB tells is renewed when nobody asked for 0.1 s. Transactions of other tables count only where they wait
// for, or hold up, a lock of this one; InnoDB does not say which tables an idle transaction has locked.
func (d mysqlDialect) waits(ctx context.Context, q querier, t *sqlTable, s sqlServer) (lockWaits, error) {
	// information_schema writes `schema`.`table`; performance_schema has a column for each.
	query := `SELECT w.trx_id, TIMESTAMPDIFF(SECOND, w.trx_wait_started, ` + innodbNow + `), TIMESTAMPDIFF(SECOND, b.trx_started, ` + innodbNow + `), COALESCE(p.USER, '?'), COALESCE(p.HOST, '?')
		FROM information_schema.INNODB_LOCK_WAITS lw
		JOIN information_schema.INNODB_LOCKS l ON l.lock_id = lw.requested_lock_id
		JOIN information_schema.INNODB_TRX w ON w.trx_id = lw.requesting_trx_id
		JOIN information_schema.INNODB_TRX b ON b.trx_id = lw.blocking_trx_id
		LEFT JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id
		WHERE l.lock_table = ?`
	args := []any{t.quoted(d)}
	if !s.mariadb {
		query = `SELECT w.trx_id, TIMESTAMPDIFF(SECOND, w.trx_wait_started, ` + innodbNow + `), TIMESTAMPDIFF(SECOND, b.trx_started, ` + innodbNow + `), COALESCE(p.USER, '?'), COALESCE(p.HOST, '?')
			FROM performance_schema.data_lock_waits lw
			JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = lw.REQUESTING_ENGINE_LOCK_ID AND l.ENGINE = lw.ENGINE
			JOIN information_schema.INNODB_TRX w ON w.trx_id = lw.REQUESTING_ENGINE_TRANSACTION_ID
			JOIN information_schema.INNODB_TRX b ON b.trx_id = lw.BLOCKING_ENGINE_TRANSACTION_ID
			LEFT JOIN information_schema.PROCESSLIST p ON p.ID = b.trx_mysql_thread_id
			WHERE l.OBJECT_SCHEMA = ? AND l.OBJECT_NAME = ?`
		args = []any{t.schema, t.name}
	}
	return gatherWaits(ctx, q, d, query, args)
}

// waits sees who waits and for whom without rights; how long needs pg_read_all_stats, without which times are NULL.
func (d postgresDialect) waits(ctx context.Context, q querier, t *sqlTable, _ sqlServer) (lockWaits, error) {
	query := `SELECT w.pid::text, EXTRACT(EPOCH FROM clock_timestamp() - w.state_change)::int8, EXTRACT(EPOCH FROM clock_timestamp() - b.xact_start)::int8,
			COALESCE(b.usename::text, '?'), COALESCE(b.client_addr::text, 'local')
		FROM pg_catalog.pg_stat_activity w CROSS JOIN LATERAL unnest(pg_catalog.pg_blocking_pids(w.pid)) blocker(pid)
		LEFT JOIN pg_catalog.pg_stat_activity b ON b.pid = blocker.pid
		WHERE w.wait_event_type = 'Lock' AND w.datname = current_database() AND w.pid <> pg_backend_pid()
		AND EXISTS (SELECT 1 FROM pg_catalog.pg_locks l WHERE l.pid = w.pid AND l.locktype IN ('relation', 'tuple') AND l.relation = $1::oid
			AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))`
	w, err := gatherWaits(ctx, q, d, query, []any{t.oid})
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
			AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))`, t.oid).Scan(&seen, &oldest, &shown)
	if err != nil {
		return w, err
	}
	if !shown {
		return w, errHidden
	}
	w.longestTransaction = max(w.longestTransaction, time.Duration(oldest.Int64)*time.Second)
	return w, nil
}

// gatherWaits reads rows of waiter, its wait and the blocker's age in seconds, and the blocker's user and host.
func gatherWaits(ctx context.Context, q querier, d dialect, query string, args []any) (lockWaits, error) {
	var w lockWaits
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		if d.refusal(err).denied {
			return w, errHidden
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
		w.longest = max(w.longest, time.Duration(waits.Int64)*time.Second)
		w.longestTransaction = max(w.longestTransaction, time.Duration(age.Int64)*time.Second)
		holder := fmt.Sprintf("%s from %s", user, host)
		if age.Valid {
			holder += fmt.Sprintf(", transaction open for %d s", age.Int64)
		}
		if !holding[holder] && len(w.holders) < maxHolders {
			holding[holder] = true
			w.holders = append(w.holders, holder)
		}
	}
	w.waiters = int64(len(waiting))
	return w, rows.Err()
}
