package sql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// uncached has a session of MySQL 8 read the counter itself: its information_schema would tell one that is up to a day old.
const uncached = "SET SESSION information_schema_stats_expiry = 0"

// opening has MySQL 8 and 9 open the table before they read its counter: after a restart they would else tell the last id that was given for the next
// one, until somebody uses the table.
const opening = " AND NOT EXISTS (SELECT %s FROM %s WHERE FALSE)"

// autoID reads the next id from information_schema, which tells the counter in memory; of a table that no row was ever inserted into MySQL 9
// tells none.
// https://dev.mysql.com/doc/refman/8.0/en/innodb-auto-increment-handling.html
func (d mysqlInserts) autoID(ctx context.Context, conn *sql.Conn, l *Layout, column dialect.Column) (autoID, error) {
	a := autoID{identity: l.Table.Quoted(d),
		next: "COALESCE(AUTO_INCREMENT, 1), COALESCE(CREATE_TIME, '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
		args: []any{l.Table.Schema, l.Table.Name}}
	if !l.Server.MariaDB {
		a.next += fmt.Sprintf(opening, d.Quote(column.Name), l.Table.Quoted(d))
		switch _, err := conn.ExecContext(ctx, uncached); {
		case err == nil:
			a.before = uncached
		case !dialect.IsMySQL(err, dialect.ErUnknownVariable): // MySQL 5.7 has no such cache
			return a, err
		}
	}
	var automatic bool
	err := conn.QueryRowContext(ctx, "SELECT EXTRA LIKE '%auto_increment%' FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND COLUMN_NAME = ?",
		l.Table.Schema, l.Table.Name, column.Name).Scan(&automatic)
	if err != nil {
		return a, err
	}
	rows, err := conn.QueryContext(ctx, `SHOW GLOBAL VARIABLES WHERE Variable_name IN
		('auto_increment_increment', 'innodb_autoinc_lock_mode', 'wsrep_on', 'wsrep_provider', 'group_replication_single_primary_mode')`)
	if err != nil {
		return a, err
	}
	defer rows.Close()
	set := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return a, err
		}
		set[strings.ToLower(name)] = value
	}
	a.why = mysqlInsertRefusal(column.Name, automatic, l.Table.Engine, set)
	return a, rows.Err()
}

// mysqlInsertRefusal says why the ids of a table cannot be counted, from the server's settings.
func mysqlInsertRefusal(column string, automatic bool, engine string, set map[string]string) string {
	provider := set["wsrep_provider"]
	switch {
	case !automatic:
		return fmt.Sprintf("column %s is not AUTO_INCREMENT: whoever inserts gives the ids, and a failed insert burns none. Name the right column as columns.auto_increment, or leave it empty", codec.Printable(column))
	case engine != "" && !strings.EqualFold(engine, "InnoDB"):
		return fmt.Sprintf("the table's engine is %s: only in InnoDB a failed insert burns an id", codec.Printable(engine))
	case strings.EqualFold(set["wsrep_on"], "ON") && provider != "" && !strings.EqualFold(provider, "none"):
		return "the server is a node of a Galera cluster: each node gives ids of its own, so that gaps are no failed inserts"
	case strings.EqualFold(set["group_replication_single_primary_mode"], "OFF"):
		return "the server is of a replication group with several primaries: each gives ids of its own, so that gaps are no failed inserts"
	case set["auto_increment_increment"] != "1":
		return fmt.Sprintf("auto_increment_increment is %s: ids leave gaps by themselves. Set it to 1 where one server alone takes writes", codec.Printable(set["auto_increment_increment"]))
	case set["innodb_autoinc_lock_mode"] == "0":
		return "innodb_autoinc_lock_mode is 0: a failed insert gives its id back. Set it to 1 or 2 and restart the server"
	}
	return ""
}

func (mysqlInserts) seconds(epoch string) string { return "(" + epoch + ")" }

// digits: a DATETIME has whole seconds.
func (mysqlInserts) digits() int { return 0 }
