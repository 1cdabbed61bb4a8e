package dialect

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

// MySQL is MySQL from 5.7 on, and MariaDB from 10.2 on.
type MySQL struct{}

// Name is how people call the server.
func (MySQL) Name() string { return "MySQL" }

// config reads a DSN. Its time_zone says in which zone times without a zone are read; the sessions themselves are in universal
// time, so that a TIMESTAMP is read and written as what it is, in the hour that a clock repeats too.
func (MySQL) config(dsn string) (c *mysql.Config, zone string, err error) {
	c, err = mysql.ParseDSN(dsn)
	if err != nil {
		return nil, "", errors.New("is not a MySQL DSN: write user:password@tcp(host:3306)/database?tls=true, with percent-encoded parameters")
	}
	// MySQL has no such limit for a single statement: without it a locked table looks like a busy server, whose query takes too long.
	params := map[string]string{"time_zone": MySQLUTC, "lock_wait_timeout": "1"}
	for name, value := range c.Params {
		// Names of settings have no case.
		if !strings.EqualFold(name, "time_zone") {
			params[name] = value
		} else if zone = strings.Trim(value, "'"); strings.EqualFold(zone, "default") {
			zone = ""
		} else if !ZonePattern.MatchString(zone) {
			return nil, "", errors.New("has a time_zone that is none: write time_zone=%27%2B08%3A00%27 or time_zone=%27Asia%2FShanghai%27")
		}
	}
	c.Params = params
	// Text comes as the server writes it: no conversion of times, and no prepared statements, whose values the client formats.
	c.ParseTime, c.InterpolateParams, c.MultiStatements = false, true, false
	c.ColumnsWithAlias, c.AllowAllFiles = false, false
	c.Timeout = cmp.Or(c.Timeout, pace.AnswerTimeout)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, pace.AnswerTimeout+QueryLimit)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, pace.AnswerTimeout)
	// Each failure reaches us as an error too, and is logged once, with its store.
	c.Logger = &mysql.NopLogger{}
	return c, zone, nil
}

// MySQLUTC is universal time; its name would need the server's time zone tables.
const MySQLUTC = "'+00:00'"

// Parse reads a DSN. Its error never holds the DSN.
func (d MySQL) Parse(dsn string) (Address, error) {
	c, zone, err := d.config(dsn)
	if err != nil {
		return Address{}, err
	}
	addr := strings.ToLower(c.Addr)
	if host, port, err := net.SplitHostPort(addr); err == nil && (host == "127.0.0.1" || host == "::1") {
		addr = net.JoinHostPort("localhost", port)
	}
	return Address{Addr: addr, User: c.User, Database: c.DBName, tls: c.TLSConfig != "" && c.TLSConfig != "false", Zone: zone}, nil
}

// Open returns a pool of at most conns connections that do not connect yet.
func (d MySQL) Open(dsn string, conns int) (*sql.DB, error) {
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

// Quote quotes an identifier.
func (MySQL) Quote(identifier string) string {
	return "`" + strings.ReplaceAll(identifier, "`", "``") + "`"
}

// Text is an expression for the exact text of a column's value.
func (d MySQL) Text(c Column) string {
	switch c.Kind {
	case BytesColumn:
		return "CONCAT('0x', HEX(" + d.Quote(c.Name) + "))"
	case BitColumn:
		return "CAST(" + d.Quote(c.Name) + " AS UNSIGNED)"
	}
	return d.Quote(c.Name)
}

// Epoch reads a DATETIME by its zone, which knows summer times. That ends in 2038 or 3001; beyond, and before 1970, the
// distance from now is near enough. A zero date is no time.
func (d MySQL) Epoch(c Column, zone string) string {
	q := d.Quote(c.Name)
	switch c.Kind {
	case ZonedTime:
		return "NULLIF(UNIX_TIMESTAMP(" + q + "), 0)"
	case LocalTime:
		return "CASE WHEN " + q + " > '1000-01-01' THEN COALESCE(NULLIF(UNIX_TIMESTAMP(CONVERT_TZ(" + q + ", '" + zone + "', " + MySQLUTC + ")), 0), " +
			"UNIX_TIMESTAMP() + TIMESTAMPDIFF(SECOND, " + InMySQLZone("UTC_TIMESTAMP()", zone) + ", " + q + ")) END"
	case NumberColumn:
		return q
	}
	return "NULL"
}

// InMySQLZone is an expression for a universal time as a date and time of a zone.
func InMySQLZone(utc, zone string) string {
	return "CONVERT_TZ(" + utc + ", " + MySQLUTC + ", '" + zone + "')"
}

// KnowsZone: names are known once the server's time zone tables are loaded; offsets and SYSTEM always are.
func (MySQL) KnowsZone(ctx context.Context, q Querier, zone string) (known bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT CONVERT_TZ('2000-01-01 00:00:00', ?, "+MySQLUTC+") IS NOT NULL", zone).Scan(&known)
	return known, err
}

// Param is the placeholder of argument n as a value of the column.
func (MySQL) Param(c Column, _ int) string {
	if c.Kind == BytesColumn {
		return "UNHEX(SUBSTR(?, 3))"
	}
	return "?"
}

// After spells the order of a key of several columns out: these servers do not find the place of a row comparison in an
// index.
func (d MySQL) After(key []Column, args []any) (string, []any) {
	var alternatives []string
	var all []any
	for i := range key {
		further := d.Quote(key[i].Name) + " > " + d.Param(key[i], 0)
		if i > 0 {
			further = Equals(d, key[:i], 0) + " AND " + further
		}
		all = append(all, args[:i+1]...)
		alternatives = append(alternatives, further)
	}
	if len(key) == 1 {
		return alternatives[0], all
	}
	first := d.Quote(key[0].Name) + " >= " + d.Param(key[0], 0)
	return first + " AND ((" + strings.Join(alternatives, ") OR (") + "))", append([]any{args[0]}, all...)
}

// Limited makes a SELECT end by itself after QueryLimit.
func (MySQL) Limited(query string, s Server) string {
	switch {
	case s.MariaDB && s.HasLimit:
		return fmt.Sprintf("SET STATEMENT max_statement_time=%g, lock_wait_timeout=1 FOR SELECT %s", QueryLimit.Seconds(), query)
	case s.MariaDB:
		return "SELECT " + query
	}
	return fmt.Sprintf("SELECT /*+ MAX_EXECUTION_TIME(%d) */ %s", QueryLimit.Milliseconds(), query)
}

// Guard sets the limits of a transaction that Limited cannot.
func (MySQL) Guard(context.Context, *sql.Tx, Server) error { return nil }

// FromTable is a table in a FROM clause that is to be read along its key.
func (d MySQL) FromTable(t *Table) string {
	return t.Quoted(d) + " FORCE INDEX (" + d.Quote(t.KeyIndex) + ")"
}

// Server asks who answers.
func (MySQL) Server(ctx context.Context, q Querier) (Server, error) {
	s := Server{At: time.Now()}
	var version, clock string
	err := q.QueryRowContext(ctx, "SELECT VERSION(), CURRENT_USER(), CONNECTION_ID(), UNIX_TIMESTAMP(NOW(6)), @@global.time_zone, @@read_only").
		Scan(&version, &s.Account, &s.Session, &clock, &s.Zone, &s.Replica)
	if err != nil {
		return s, err
	}
	s.answered = time.Now()
	s.At = s.At.Add(s.answered.Sub(s.At) / 2)
	s.Clock = EpochTime(clock, LocalTime)
	number, rest, _ := strings.Cut(version, "-")
	s.Version = "MySQL " + number
	if strings.Contains(strings.ToLower(rest), "mariadb") {
		s.MariaDB, s.Version = true, "MariaDB "+number
		one := 0
		// The limit is of 10.1; another server in the place of MariaDB may not know it.
		s.HasLimit = q.QueryRowContext(ctx, "SET STATEMENT max_statement_time=2, lock_wait_timeout=1 FOR SELECT 1").Scan(&one) == nil
	}
	unique := "@@server_uuid"
	if s.MariaDB {
		unique = "@@server_uid"
	}
	var id string
	// MariaDB has @@server_uid from 10.10 on; before, the host and the port tell servers apart.
	if err := q.QueryRowContext(ctx, "SELECT "+unique).Scan(&id); err != nil && !IsMySQL(err, ErUnknownVariable) {
		return s, err
	}
	var host, serverID, name string
	var seconds int64
	if err := q.QueryRowContext(ctx, "SELECT CONCAT(@@hostname, ':', @@port), @@server_id").Scan(&host, &serverID); err != nil {
		return s, err
	}
	s.Uptime.Asked = time.Now()
	if err := q.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&name, &seconds); err != nil {
		return s, err
	}
	s.Uptime.Lasted, s.Uptime.answered = time.Duration(seconds)*time.Second, time.Now()
	s.ID = strings.Join([]string{cmp.Or(id, host), serverID}, "/")
	return s, nil
}

// Describe reads the layout of a table from the catalogue.
func (d MySQL) Describe(ctx context.Context, q Querier, table string) (*Table, error) {
	schema, name := SplitTable(table)
	t := &Table{}
	var rows sql.NullInt64
	var engine sql.NullString
	err := q.QueryRowContext(ctx, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, ENGINE, COALESCE(CREATE_OPTIONS LIKE '%partitioned%', FALSE) FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`, schema, name).Scan(&t.Schema, &t.Name, &rows, &engine, &t.Partitioned)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoTable
	}
	if err != nil {
		return nil, err
	}
	t.Database, t.Identity, t.Engine = t.Schema, t.Name, engine.String
	if rows.Valid {
		t.Estimate = &rows.Int64
	}
	if err := d.describeColumns(ctx, q, t); err != nil {
		return nil, err
	}
	return t, d.describeIndexes(ctx, q, t)
}

func (d MySQL) describeColumns(ctx context.Context, q Querier, t *Table) error {
	rows, err := q.QueryContext(ctx, `SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), IS_NULLABLE = 'YES',
		COALESCE(COLLATION_NAME, ''), EXTRA FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`, t.Schema, t.Name)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c Column
		var typ, extra string
		if err := rows.Scan(&c.Name, &typ, &c.Type, &c.Length, &c.Nullable, &c.Collation, &extra); err != nil {
			return err
		}
		c.Kind = mysqlKind(strings.ToLower(typ))
		if c.Kind != TextColumn {
			c.Length = 0
		}
		t.Columns = append(t.Columns, c)
	}
	return rows.Err()
}

func mysqlKind(typ string) columnKind {
	switch typ {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set":
		return TextColumn
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "year":
		return NumberColumn
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return BytesColumn
	case "bit":
		return BitColumn
	case "timestamp":
		return ZonedTime
	case "datetime", "date":
		return LocalTime
	}
	return otherColumn
}

func (d MySQL) describeIndexes(ctx context.Context, q Querier, t *Table) error {
	rows, err := q.QueryContext(ctx, `SELECT INDEX_NAME, INDEX_NAME = 'PRIMARY', NON_UNIQUE = 0, COLUMN_NAME FROM information_schema.STATISTICS s
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_TYPE = 'BTREE' AND NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS p
			WHERE p.TABLE_SCHEMA = s.TABLE_SCHEMA AND p.TABLE_NAME = s.TABLE_NAME AND p.INDEX_NAME = s.INDEX_NAME
			AND (p.COLUMN_NAME IS NULL OR p.SUB_PART IS NOT NULL))
		ORDER BY INDEX_NAME, SEQ_IN_INDEX`, t.Schema, t.Name)
	if err != nil {
		return err
	}
	return t.addIndexes(rows)
}

// Grants are the statements that let the account read these columns.
func (d MySQL) Grants(_ context.Context, _ Querier, columns []string, t *Table, s Server) []string {
	return []string{"GRANT SELECT (" + quotedList(d, columns) + ") ON " + t.Quoted(d) + " TO " + MySQLAccount(s.Account) + ";"}
}

// WaitsGrant is the statement that lets the account see lock waits.
func (MySQL) WaitsGrant(account string) string {
	return "GRANT PROCESS ON *.* TO " + MySQLAccount(account) + ";"
}

// MySQLAccount quotes user@host as CURRENT_USER() gives it.
func MySQLAccount(account string) string {
	escape := strings.NewReplacer("'", "''", `\`, `\\`)
	at := strings.LastIndex(account, "@")
	if at < 0 {
		return "'" + escape.Replace(account) + "'"
	}
	return "'" + escape.Replace(account[:at]) + "'@'" + escape.Replace(account[at+1:]) + "'"
}

// Equal compares as comparable does.
func (d MySQL) Equal(c Column, a, b string) string {
	if !CollationPattern.MatchString(c.Collation) {
		return "FALSE"
	}
	charset, _, _ := strings.Cut(c.Collation, "_")
	value := func(text string) string {
		return fmt.Sprintf("CONVERT('%s' USING %s) COLLATE %s", text, charset, c.Collation)
	}
	return value(a) + " = " + value(b)
}

// InZone sets nothing: every session of ours is in universal time.
func (MySQL) InZone(string) string { return "" }

// OpenPatient returns a pool of one connection that is closed after use, for a query whose answer may take as long to begin.
func (d MySQL) OpenPatient(dsn string, wait time.Duration) (*sql.DB, error) {
	c, _, err := d.config(dsn)
	if err != nil {
		return nil, err
	}
	c.ReadTimeout = wait
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, errors.New("the MySQL DSN names settings that do not go together")
	}
	return single(sql.OpenDB(connector)), nil
}

// single keeps no connection beyond its use, so that what a session is told ends with it.
func single(db *sql.DB) *sql.DB {
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(-1)
	return db
}
