package act

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// prepare limits every wait: for the row by the statement itself where the server knows how, for the table, and for us in
// the middle of the transaction. What it sets stays with the connection, which is used for nothing else.
func (d mySQL) prepare(ctx context.Context, tx *sql.Tx, s dialect.Server) (string, error) {
	limits := fmt.Sprintf("SET SESSION character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci, "+
		"innodb_lock_wait_timeout = 1, lock_wait_timeout = 2, wait_timeout = %d, sql_mode = DEFAULT", int(2*actLimit.Seconds()))
	switch {
	case s.MariaDB && s.HasLimit:
		limits += fmt.Sprintf(", max_statement_time = %g", dialect.QueryLimit.Seconds())
	case !s.MariaDB:
		limits += fmt.Sprintf(", max_execution_time = %d", dialect.QueryLimit.Milliseconds())
	}
	_, err := tx.ExecContext(ctx, limits+", time_zone = "+dialect.MySQLUTC)
	return "", err
}

func (mySQL) fate(context.Context, dialect.Querier, string) txFate { return fateUnknown }

// locking uses NOWAIT from MySQL 8.0 and MariaDB 10.3 on; older servers wait for innodb_lock_wait_timeout.
func (mySQL) locking(s dialect.Server) string {
	_, number, _ := strings.Cut(s.Version, " ")
	parts := strings.SplitN(number, ".", 3)
	major, _ := strconv.Atoi(parts[0])
	minor := 0
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	if s.MariaDB && (major > 10 || major == 10 && minor >= 3) || !s.MariaDB && major >= 8 {
		return " FOR UPDATE NOWAIT"
	}
	return " FOR UPDATE"
}

// exact widens a FLOAT, whose own text has six digits only.
func (d mySQL) exact(c dialect.Column) string {
	expression := d.Text(c)
	if strings.HasPrefix(c.Type, "float") {
		expression = d.Quote(c.Name) + " + 0e0"
	}
	return "CONVERT(" + expression + " USING utf8mb4)"
}

func (d mySQL) value(c dialect.Column, n int) string {
	if c.Kind == dialect.BitColumn {
		return "CAST(? AS UNSIGNED)"
	}
	return d.Param(c, n)
}

func (mySQL) same(expression string, _ int) string {
	return "CAST(CONVERT(" + expression + " USING utf8mb4) AS BINARY) <=> CAST(CONVERT(? USING utf8mb4) AS BINARY)"
}

func (mySQL) fromNow(c dialect.Column, zone string, ttl time.Duration) string {
	utc := fmt.Sprintf("DATE_ADD(UTC_TIMESTAMP(6), INTERVAL %d MICROSECOND)", ttl.Microseconds())
	if c.Kind == dialect.LocalTime {
		return dialect.InMySQLZone(utc, zone)
	}
	return utc
}

// lenient takes zero dates and zero numbers as they are. What the server would then cut short is found by reading again.
func (mySQL) lenient() string {
	return "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'"
}

func (mySQL) overriding() string { return "" }

func (d mySQL) traits(ctx context.Context, q dialect.Querier, t *dialect.Table) (rowTraits, error) {
	traits := rowTraits{generated: map[string]bool{}, refreshed: map[string]bool{}, hidden: map[string]bool{}, automatic: map[string]bool{}}
	if err := d.columnTraits(ctx, q, t, &traits); err != nil || traits.obstacle != "" {
		return traits, err
	}
	var err error
	traits.obstacle, err = d.obstacle(ctx, q, t)
	return traits, err
}

// triggers finds those that the account may see: it needs TRIGGER on the table.
func (mySQL) triggers(ctx context.Context, q dialect.Querier, t *dialect.Table) (map[string]string, error) {
	rows, err := q.QueryContext(ctx, `SELECT TRIGGER_NAME, EVENT_MANIPULATION FROM information_schema.TRIGGERS
		WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? ORDER BY TRIGGER_NAME`, t.Schema, t.Name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, statement string
		if err := rows.Scan(&name, &statement); err != nil {
			return nil, err
		}
		found[statement] = cmp.Or(found[statement], "trigger "+codec.Printable(name))
	}
	return found, rows.Err()
}

// writes reads what the session's handlers have counted; those of foreign keys are not among it.
func (mySQL) writes(ctx context.Context, q dialect.Querier) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	rows, err := q.QueryContext(ctx, "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_delete', 'Handler_write', 'Handler_update')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	statements := map[string]string{"Handler_delete": "DELETE", "Handler_write": "INSERT", "Handler_update": "UPDATE"}
	counts := map[string]int64{}
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return nil, err
		}
		counts[statements[name]] = n
	}
	return counts, rows.Err()
}

func (mySQL) columnTraits(ctx context.Context, q dialect.Querier, t *dialect.Table, traits *rowTraits) error {
	rows, err := q.QueryContext(ctx, `SELECT COLUMN_NAME, DATA_TYPE, COALESCE(GENERATION_EXPRESSION, '') <> '', LOWER(EXTRA),
		IS_NULLABLE = 'NO' AND COLUMN_DEFAULT IS NULL
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, t.Schema, t.Name)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, typ, extra string
		var generated, required bool
		if err := rows.Scan(&name, &typ, &generated, &extra, &required); err != nil {
			return err
		}
		traits.generated[name] = generated
		traits.refreshed[name] = strings.Contains(extra, "on update")
		traits.hidden[name] = strings.Contains(extra, "invisible")
		traits.automatic[name] = strings.Contains(extra, "auto_increment")
		if required && !generated && !traits.automatic[name] {
			traits.required = append(traits.required, name)
		}
		if isGeometry(typ) && !generated {
			traits.obstacle = "column " + codec.Printable(name) + " is of type " + typ + ", which could not be restored exactly"
		}
	}
	return rows.Err()
}

func isGeometry(typ string) bool {
	switch strings.ToLower(typ) {
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection":
		return true
	}
	return false
}

// obstacle looks for an engine without transactions, and for rows elsewhere that would be deleted along.
func (d mySQL) obstacle(ctx context.Context, q dialect.Querier, t *dialect.Table) (string, error) {
	var transactions, dependent sql.NullString
	err := q.QueryRowContext(ctx, `SELECT (SELECT TRANSACTIONS FROM information_schema.ENGINES WHERE ENGINE = ?),
		(SELECT MIN(TABLE_NAME) FROM information_schema.REFERENTIAL_CONSTRAINTS
			WHERE CONSTRAINT_SCHEMA = ? AND REFERENCED_TABLE_NAME = ? AND DELETE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT'))`,
		t.Engine, t.Schema, t.Name).Scan(&transactions, &dependent)
	switch {
	case err != nil:
		return "", err
	case transactions.String != "YES":
		return "tables of engine " + codec.Printable(t.Engine) + " have no transactions: a row cannot be compared and deleted safely", nil
	}
	if !dependent.Valid {
		dependent, err = d.dependent(ctx, q, t)
	}
	if err != nil || !dependent.Valid {
		return "", err
	}
	return "rows of table " + codec.Printable(dependent.String) + " would be deleted or changed along with it", nil
}

// dependent asks InnoDB itself for foreign keys that delete or empty other rows along: the bits 1 and 2 of TYPE. The other
// catalogue hides tables on which the account has no right, and it would have to open every table of other databases;
// this one needs PROCESS, and without it nothing is known.
func (d mySQL) dependent(ctx context.Context, q dialect.Querier, t *dialect.Table) (sql.NullString, error) {
	var found sql.NullString
	for _, view := range []string{"INNODB_SYS_FOREIGN", "INNODB_FOREIGN"} {
		err := q.QueryRowContext(ctx, "SELECT MIN(FOR_NAME) FROM information_schema."+view+" WHERE REF_NAME = CONCAT(?, '/', ?) AND TYPE & 3 <> 0",
			t.Schema, t.Name).Scan(&found)
		switch {
		case err == nil || d.Refusal(err).Denied:
			return found, nil
		case !dialect.IsMySQL(err, erUnknownTable):
			return found, err
		}
	}
	return found, nil
}

// holders lists the transactions that hold locks. Which rows they hold does not show while nobody waits.
func (mySQL) holders(*rowAct) (string, []any) {
	return `SELECT p.ID, p.USER, p.HOST, TIMESTAMPDIFF(SECOND, t.trx_started, ` + dialect.InnoDBNow + `) FROM information_schema.INNODB_TRX t
		JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
		WHERE p.ID <> CONNECTION_ID() AND t.trx_rows_locked + t.trx_rows_modified > 0 ORDER BY t.trx_started LIMIT 20`, nil
}

func (d mySQL) actGrant(a *actor, r *rowAct) string {
	table, account, updated := actTable(a, r), a.at.User, ""
	if r != nil && r.layout != nil {
		account = r.layout.Server.Account
		if expires := r.layout.Expires; expires != nil {
			columns := []dialect.Column{*expires}
			for _, c := range r.layout.Table.Columns {
				if r.traits.refreshed[c.Name] && c.Name != expires.Name {
					columns = append(columns, c)
				}
			}
			updated = ", UPDATE (" + dialect.Names(d, columns) + ")"
		}
	}
	return "GRANT SELECT, INSERT, DELETE" + updated + " ON " + table + " TO " + dialect.MySQLAccount(account)
}

// The error numbers that only acting meets.
const (
	erUnknownTable   = 1109
	erDuplicateEntry = "1062"
	erReadOnly       = "1290"
	erReadOnlyTx     = "1792"
	erReadOnlyMode   = "1836"
	erRoutineDenied  = "1370"
	erDeadlock       = "1213"
	erNoWait         = "3572"
)

func (d mySQL) fault(err error) rowFault {
	refusal := d.Refusal(err)
	switch refusal.Code {
	case "":
		return faultLost
	case strconv.Itoa(dialect.ErLockWaitTimeout), erNoWait, erDeadlock:
		return faultLocked
	case erDuplicateEntry:
		return faultTaken
	case erReadOnly, erReadOnlyTx, erReadOnlyMode:
		return faultReadOnly
	case erRoutineDenied:
		return faultDenied
	case strconv.Itoa(dialect.ErAccessDenied), strconv.Itoa(dialect.ErHostDenied):
		return faultLogin
	}
	return faultOf(refusal)
}

func faultOf(r dialect.Refusal) rowFault {
	switch {
	case r.Denied:
		return faultDenied
	case r.Passing:
		return faultBusy
	case r.Timeout:
		return faultSlow
	}
	return faultOther
}

// actTable is the quoted table, as it is known or as it is configured.
func actTable(a *actor, r *rowAct) string {
	if r != nil && r.layout != nil {
		return r.table()
	}
	schema, name := dialect.SplitTable(a.cfg.Table)
	if schema == "" {
		schema = a.at.Database
	}
	return a.d.Quote(schema) + "." + a.d.Quote(name)
}
