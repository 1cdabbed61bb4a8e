package markers

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"dedup-dashboard/internal/markers/pace"
)

// mysqlDialect is MySQL from 5.7 on, and MariaDB from 10.2 on.
type mysqlDialect struct{}

func (mysqlDialect) name() string { return "MySQL" }

// config reads a DSN. Its time_zone says in which zone times without a zone are read; the sessions themselves are in universal
// time, so that a TIMESTAMP is read and written as what it is, in the hour that a clock repeats too.
func (mysqlDialect) config(dsn string) (c *mysql.Config, zone string, err error) {
	c, err = mysql.ParseDSN(dsn)
	if err != nil {
		return nil, "", errors.New("is not a MySQL DSN: write user:password@tcp(host:3306)/database?tls=true, with percent-encoded parameters")
	}
	params := map[string]string{"time_zone": mysqlUTC}
	for name, value := range c.Params {
		// Names of settings have no case.
		if !strings.EqualFold(name, "time_zone") {
			params[name] = value
		} else if zone = strings.Trim(value, "'"); strings.EqualFold(zone, "default") {
			zone = ""
		} else if !zonePattern.MatchString(zone) {
			return nil, "", errors.New("has a time_zone that is none: write time_zone=%27%2B08%3A00%27 or time_zone=%27Asia%2FShanghai%27")
		}
	}
	c.Params = params
	// Text comes as the server writes it: no conversion of times, and no prepared statements, whose values the client formats.
	c.ParseTime, c.InterpolateParams, c.MultiStatements = false, true, false
	c.ColumnsWithAlias, c.AllowAllFiles = false, false
	c.Timeout = cmp.Or(c.Timeout, pace.AnswerTimeout)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, pace.AnswerTimeout+queryLimit)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, pace.AnswerTimeout)
	// Each failure reaches us as an error too, and is logged once, with its store.
	c.Logger = &mysql.NopLogger{}
	return c, zone, nil
}

// mysqlUTC is universal time; its name would need the server's time zone tables.
const mysqlUTC = "'+00:00'"

func (d mysqlDialect) parse(dsn string) (sqlAddress, error) {
	c, zone, err := d.config(dsn)
	if err != nil {
		return sqlAddress{}, err
	}
	addr := strings.ToLower(c.Addr)
	if host, port, err := net.SplitHostPort(addr); err == nil && (host == "127.0.0.1" || host == "::1") {
		addr = net.JoinHostPort("localhost", port)
	}
	return sqlAddress{addr: addr, user: c.User, database: c.DBName, tls: c.TLSConfig != "" && c.TLSConfig != "false", zone: zone}, nil
}

func (d mysqlDialect) open(dsn string, conns int) (*sql.DB, error) {
	c, _, err := d.config(dsn)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, errors.New("the MySQL DSN names settings that do not go together")
	}
	return pool(sql.OpenDB(connector), conns), nil
}

// pool bounds what we hold of a server's connections.
func pool(db *sql.DB, conns int) *sql.DB {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(2)
	db.SetConnMaxIdleTime(time.Minute)
	db.SetConnMaxLifetime(10 * time.Minute)
	return db
}

func (mysqlDialect) quote(identifier string) string {
	return "`" + strings.ReplaceAll(identifier, "`", "``") + "`"
}

func (d mysqlDialect) text(c sqlColumn) string {
	switch c.kind {
	case bytesColumn:
		return "CONCAT('0x', HEX(" + d.quote(c.name) + "))"
	case bitColumn:
		return "CAST(" + d.quote(c.name) + " AS UNSIGNED)"
	}
	return d.quote(c.name)
}

// epoch reads a DATETIME by its zone, which knows summer times. That ends in 2038 or 3001; beyond, and before 1970, the
// distance from now is near enough. A zero date is no time.
func (d mysqlDialect) epoch(c sqlColumn, zone string) string {
	q := d.quote(c.name)
	switch c.kind {
	case zonedTime:
		return "NULLIF(UNIX_TIMESTAMP(" + q + "), 0)"
	case localTime:
		return "CASE WHEN " + q + " > '1000-01-01' THEN COALESCE(NULLIF(UNIX_TIMESTAMP(CONVERT_TZ(" + q + ", '" + zone + "', " + mysqlUTC + ")), 0), " +
			"UNIX_TIMESTAMP() + TIMESTAMPDIFF(SECOND, " + inMySQLZone("UTC_TIMESTAMP()", zone) + ", " + q + ")) END"
	case numberColumn:
		return q
	}
	return "NULL"
}

// inMySQLZone is an expression for a universal time as a date and time of a zone.
func inMySQLZone(utc, zone string) string {
	return "CONVERT_TZ(" + utc + ", " + mysqlUTC + ", '" + zone + "')"
}

// knowsZone: names are known once the server's time zone tables are loaded; offsets and SYSTEM always are.
func (mysqlDialect) knowsZone(ctx context.Context, q querier, zone string) (known bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT CONVERT_TZ('2000-01-01 00:00:00', ?, "+mysqlUTC+") IS NOT NULL", zone).Scan(&known)
	return known, err
}

func (mysqlDialect) param(c sqlColumn, _ int) string {
	if c.kind == bytesColumn {
		return "UNHEX(SUBSTR(?, 3))"
	}
	return "?"
}

// after spells the order of a key of several columns out: these servers do not find the place of a row comparison in an
// index.
func (d mysqlDialect) after(key []sqlColumn, args []any) (string, []any) {
	var alternatives []string
	var all []any
	for i := range key {
		var parts []string
		for j := range i {
			parts = append(parts, d.quote(key[j].name)+" = "+d.param(key[j], 0))
			all = append(all, args[j])
		}
		parts = append(parts, d.quote(key[i].name)+" > "+d.param(key[i], 0))
		all = append(all, args[i])
		alternatives = append(alternatives, strings.Join(parts, " AND "))
	}
	if len(key) == 1 {
		return alternatives[0], all
	}
	first := d.quote(key[0].name) + " >= " + d.param(key[0], 0)
	return first + " AND ((" + strings.Join(alternatives, ") OR (") + "))", append([]any{args[0]}, all...)
}

func (mysqlDialect) limited(query string, s sqlServer) string {
	switch {
	case s.mariadb && s.hasLimit:
		return fmt.Sprintf("SET STATEMENT max_statement_time=%g, lock_wait_timeout=1 FOR SELECT %s", queryLimit.Seconds(), query)
	case s.mariadb:
		return "SELECT " + query
	}
	return fmt.Sprintf("SELECT /*+ MAX_EXECUTION_TIME(%d) */ %s", queryLimit.Milliseconds(), query)
}

func (mysqlDialect) guard(context.Context, *sql.Tx, sqlServer) error { return nil }

func (d mysqlDialect) source(t *sqlTable) string {
	return t.quoted(d) + " FORCE INDEX (" + d.quote(t.keyIndex) + ")"
}

func (mysqlDialect) server(ctx context.Context, q querier) (sqlServer, error) {
	s := sqlServer{at: time.Now()}
	var version, clock string
	err := q.QueryRowContext(ctx, "SELECT VERSION(), CURRENT_USER(), CONNECTION_ID(), UNIX_TIMESTAMP(NOW(6)), @@global.time_zone, @@read_only").
		Scan(&version, &s.account, &s.session, &clock, &s.zone, &s.replica)
	if err != nil {
		return s, err
	}
	s.told = time.Now()
	s.at = s.at.Add(s.told.Sub(s.at) / 2)
	s.clock = epochTime(clock, localTime)
	number, rest, _ := strings.Cut(version, "-")
	s.version = "MySQL " + number
	if strings.Contains(strings.ToLower(rest), "mariadb") {
		s.mariadb, s.version = true, "MariaDB "+number
		one := 0
		// The limit is of 10.1; another server in the place of MariaDB may not know it.
		s.hasLimit = q.QueryRowContext(ctx, "SET STATEMENT max_statement_time=2, lock_wait_timeout=1 FOR SELECT 1").Scan(&one) == nil
	}
	unique := "@@server_uuid"
	if s.mariadb {
		unique = "@@server_uid"
	}
	var id string
	// MariaDB has @@server_uid from 10.10 on; before, the host and the port tell servers apart.
	if err := q.QueryRowContext(ctx, "SELECT "+unique).Scan(&id); err != nil && !isMySQL(err, erUnknownVariable) {
		return s, err
	}
	var host, serverID, name string
	var seconds int64
	if err := q.QueryRowContext(ctx, "SELECT CONCAT(@@hostname, ':', @@port), @@server_id").Scan(&host, &serverID); err != nil {
		return s, err
	}
	s.uptime.asked = time.Now()
	if err := q.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&name, &seconds); err != nil {
		return s, err
	}
	s.uptime.lasted, s.uptime.told = time.Duration(seconds)*time.Second, time.Now()
	s.id = strings.Join([]string{cmp.Or(id, host), serverID}, "/")
	return s, nil
}

func (d mysqlDialect) describe(ctx context.Context, q querier, table string) (*sqlTable, error) {
	schema, name := splitTable(table)
	t := &sqlTable{}
	var rows sql.NullInt64
	var engine sql.NullString
	err := q.QueryRowContext(ctx, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, ENGINE, COALESCE(CREATE_OPTIONS LIKE '%partitioned%', FALSE) FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`, schema, name).Scan(&t.schema, &t.name, &rows, &engine, &t.partitioned)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoTable
	}
	if err != nil {
		return nil, err
	}
	t.database, t.identity, t.engine = t.schema, t.name, engine.String
	if rows.Valid {
		t.estimate = &rows.Int64
	}
	if err := d.describeColumns(ctx, q, t); err != nil {
		return nil, err
	}
	return t, d.describeIndexes(ctx, q, t)
}

func (d mysqlDialect) describeColumns(ctx context.Context, q querier, t *sqlTable) error {
	rows, err := q.QueryContext(ctx, `SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), IS_NULLABLE = 'YES',
		COALESCE(COLLATION_NAME, ''), EXTRA FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`, t.schema, t.name)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c sqlColumn
		var typ, extra string
		if err := rows.Scan(&c.name, &typ, &c.typ, &c.length, &c.nullable, &c.collation, &extra); err != nil {
			return err
		}
		c.kind = mysqlKind(strings.ToLower(typ))
		if c.kind != textColumn {
			c.length = 0
		}
		t.columns = append(t.columns, c)
	}
	return rows.Err()
}

func mysqlKind(typ string) columnKind {
	switch typ {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set":
		return textColumn
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "year":
		return numberColumn
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return bytesColumn
	case "bit":
		return bitColumn
	case "timestamp":
		return zonedTime
	case "datetime", "date":
		return localTime
	}
	return otherColumn
}

func (d mysqlDialect) describeIndexes(ctx context.Context, q querier, t *sqlTable) error {
	rows, err := q.QueryContext(ctx, `SELECT INDEX_NAME, INDEX_NAME = 'PRIMARY', NON_UNIQUE = 0, COLUMN_NAME FROM information_schema.STATISTICS s
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_TYPE = 'BTREE' AND NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS p
			WHERE p.TABLE_SCHEMA = s.TABLE_SCHEMA AND p.TABLE_NAME = s.TABLE_NAME AND p.INDEX_NAME = s.INDEX_NAME
			AND (p.COLUMN_NAME IS NULL OR p.SUB_PART IS NOT NULL))
		ORDER BY INDEX_NAME, SEQ_IN_INDEX`, t.schema, t.name)
	if err != nil {
		return err
	}
	return t.addIndexes(rows)
}

func (d mysqlDialect) grants(_ context.Context, _ querier, columns []string, l *sqlLayout) []string {
	return []string{"GRANT SELECT (" + quotedList(d, columns) + ") ON " + l.table.quoted(d) + " TO " + mysqlAccount(l.server.account) + ";"}
}

func (mysqlDialect) waitsGrant(account string) string {
	return "GRANT PROCESS ON *.* TO " + mysqlAccount(account) + ";"
}

// mysqlAccount quotes user@host as CURRENT_USER() gives it.
func mysqlAccount(account string) string {
	escape := strings.NewReplacer("'", "''", `\`, `\\`)
	at := strings.LastIndex(account, "@")
	if at < 0 {
		return "'" + escape.Replace(account) + "'"
	}
	return "'" + escape.Replace(account[:at]) + "'@'" + escape.Replace(account[at+1:]) + "'"
}
