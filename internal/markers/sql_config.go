package markers

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
)

// The values of SQL.Driver. MariaDB speaks the protocol of MySQL.
const (
	MySQL      = "mysql"
	PostgreSQL = "postgres"
)

// rowsMarkers is the value of Config.Rows that says that a row is a marker and nothing more.
const rowsMarkers = "markers"

// retakesNever is the value of Config.Retakes that says that consumers leave a row alone that they find.
const retakesNever = "never"

// mostRows is the most rows that one query of a walk may ask for.
const mostRows = 20_000

// SQL says how to reach a database.
type SQL struct {
	// Driver is mysql (MySQL and MariaDB) or postgres.
	Driver string `yaml:"driver"`
	// DSN is user:password@tcp(host:3306)/database for mysql, postgres://user:password@host:5432/database for postgres. Times
	// without a zone are read in the server's zone unless the DSN names one: time_zone='+08:00' (percent-encoded) for mysql,
	// timezone=Asia/Shanghai for postgres. That of the acting account counts for nothing.
	DSN secret.Secret `yaml:"dsn"`
}

// Columns names the columns of a marker. All but ID may be empty; no other column of the table is ever read for watching,
// save those of its primary key.
type Columns struct {
	// ID is the message id; several columns make one id, joined by a colon.
	ID          ColumnList `yaml:"id"`
	BusinessKey string     `yaml:"business_key"`
	// Status tells the state of a row; without it a row is done.
	Status  string `yaml:"status"`
	Created string `yaml:"created"`
	// Updated is when the status last changed.
	Updated  string `yaml:"updated"`
	Expires  string `yaml:"expires"`
	Owner    string `yaml:"owner"`
	Attempts string `yaml:"attempts"`
	// AutoIncrement is the column whose AUTO_INCREMENT or sequence value every insert takes, failed ones too; empty where there
	// is none, or where inserts are not to be counted by it.
	AutoIncrement string `yaml:"auto_increment"`
}

// ColumnList is one column, or several; YAML writes one without brackets.
type ColumnList []string

// UnmarshalYAML reads a name or a list of names.
func (l *ColumnList) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if err := unmarshal(&one); err == nil {
		*l = nil
		if one != "" {
			*l = ColumnList{one}
		}
		return nil
	}
	var several []string
	if err := unmarshal(&several); err != nil {
		return err
	}
	*l = several
	return nil
}

// named is a column with its field of the configuration.
type namedColumn struct{ field, name string }

// all returns the configured columns in a fixed order. AutoIncrement is not among them: markers do not need it.
func (c Columns) all() []namedColumn {
	var all []namedColumn
	for _, id := range c.ID {
		all = append(all, namedColumn{"id", id})
	}
	for _, n := range []namedColumn{{"business_key", c.BusinessKey}, {"status", c.Status}, {"created", c.Created},
		{"updated", c.Updated}, {"expires", c.Expires}, {"owner", c.Owner}, {"attempts", c.Attempts}} {
		if n.name != "" {
			all = append(all, n)
		}
	}
	return all
}

// machine says whether the rows are business rows with declared statuses.
func (c Config) machine() bool { return len(c.Terminal) > 0 || len(c.Transitions) > 0 }

// sqlStates returns the states by status; nil where every row is done.
func (c Config) sqlStates() map[string]dedup.State {
	if c.Columns.Status == "" {
		return nil
	}
	states := map[string]dedup.State{}
	for from, to := range c.Transitions {
		states[from] = dedup.Processing
		for _, status := range to {
			states[status] = dedup.Processing
		}
	}
	for _, status := range c.Terminal {
		states[status] = dedup.Done
	}
	for state, statuses := range c.States {
		for _, status := range statuses {
			states[status] = state
		}
	}
	return states
}

func (c Config) sqlScheme() dedup.Scheme {
	s := dedup.Scheme{
		Preset: c.Preset, Kind: c.Kind, Mark: c.Mark, OnInFlight: c.OnInFlight, OnFail: c.OnFail, OnFailed: c.onFailed(),
		Transactional: c.Transactional, Business: c.machine() || c.Preset == presetStateMachine,
		ProcessingTTL: c.TTL.Processing, DoneTTL: c.TTL.Done, StuckAfter: c.StuckAfter, GiveUp: c.Retry.GiveUp, InsertFirst: c.InsertFirst,
		AcksEach: c.Acks == acksEach, DatesClaim: c.Mark == "before" && c.Columns.Updated == "",
	}
	shown := map[dedup.State]bool{}
	for _, state := range c.sqlStates() {
		shown[state] = true
	}
	if c.Columns.Status == "" {
		shown[dedup.Done] = true
	}
	for _, state := range dedup.States() {
		if shown[state] {
			s.States = append(s.States, state)
		}
	}
	switch {
	case c.Columns.Status == "":
		s.Blind = "a row appears when its work is done: work that is under way, or was lost, leaves no row"
	case c.Transactional:
		s.Blind = "marker and work are written in one transaction: while it runs no one else sees the row, and when it fails the row is gone"
	}
	return s
}

var (
	identifierPattern = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_$-]*$`)
	longestIdentifier = 64
)

func (p *Problems) identifier(path, name string) {
	if !identifierPattern.MatchString(name) || len(name) > longestIdentifier {
		p.Add(path, "%q is not a name: letters, digits, _, $ and -, at most %d bytes, without quotes", name, longestIdentifier)
	}
}

// ValidateSQL returns every problem of the description of a table of markers, joined; each is a *FieldError.
func ValidateSQL(c Config) error {
	c = c.WithDefaults()
	var p Problems
	if p.Begin(c) {
		p.sqlTable(c)
		p.Unasked(c)
		if c.Events {
			p.Add("events", "are notifications of Redis, for kind %s: leave it out", RedisString)
		}
	}
	return errors.Join(p...)
}

func (p *Problems) sqlTable(c Config) {
	p.sql("sql", c.SQL)
	if !c.Act.SQL.DSN.IsZero() || c.Act.SQL.Driver != "" {
		act := c.Act.SQL
		if act.Driver == "" {
			act.Driver = c.SQL.Driver
		}
		p.sql("act.sql", act)
		if act.Driver != c.SQL.Driver {
			p.Add("act.sql.driver", "%q is not the driver of sql (%q): both accounts act on one table", act.Driver, c.SQL.Driver)
		}
	}
	if c.Rows != "" {
		p.OneOf("rows", c.Rows, rowsMarkers)
	}
	if c.Retakes != "" {
		p.OneOf("retakes", c.Retakes, retakesNever)
	}
	p.sqlDatabases(c)
	p.sqlNames(c)
	p.sqlStatuses(c)
	p.sqlRules(c)
	p.sqlInserts(c)
	p.sqlForeign(c)
}

func (p *Problems) sql(path string, s SQL) {
	p.OneOf(path+".driver", s.Driver, MySQL, PostgreSQL)
	form := "user:password@tcp(host:3306)/database"
	if s.Driver == PostgreSQL {
		form = "postgres://user:password@host:5432/database"
	}
	switch {
	case s.DSN.Err() != nil:
		p.Add(path+".dsn", "%v", s.DSN.Err())
	case s.DSN.IsZero():
		p.Add(path+".dsn", "is missing: write %s, {env: NAME} or {file: PATH}", form)
	case dialects[s.Driver] != nil:
		if _, err := dialects[s.Driver].parse(s.DSN.Reveal()); err != nil {
			p.Add(path+".dsn", "%v", err)
		}
	}
}

// sqlDatabases tells of accounts that would reach two tables: a marker that the watching one shows must be where the acting
// one looks for it. That the servers are the same is seen at each action.
func (p *Problems) sqlDatabases(c Config) {
	d := dialects[c.SQL.Driver]
	schema, _ := splitTable(c.Table)
	if d == nil || c.SQL.DSN.IsZero() || c.Act.SQL.DSN.IsZero() || c.SQL.Driver == MySQL && schema != "" {
		return
	}
	watching, err := d.parse(c.SQL.DSN.Reveal())
	acting, actErr := d.parse(c.Act.SQL.DSN.Reveal())
	if err != nil || actErr != nil || watching.database == acting.database {
		return
	}
	p.Add("act.sql.dsn", "names database %q and sql.dsn names %q: both accounts must reach one table", acting.database, watching.database)
}

func (p *Problems) sqlNames(c Config) {
	if c.Table == "" {
		p.Add("table", "is missing: write the table of the markers, such as message_dedup or shop.message_dedup")
	} else {
		schema, name := splitTable(c.Table)
		if schema != "" {
			p.identifier("table", schema)
		}
		p.identifier("table", name)
		p.needsDatabase(c, schema)
	}
	if len(c.Columns.ID) == 0 {
		p.Add("columns.id", "is missing: name the column of the message id")
	}
	owner := map[string]string{}
	for _, column := range c.Columns.all() {
		path := "columns." + column.field
		p.identifier(path, column.name)
		if other, taken := owner[column.name]; taken && !(column.field == "updated" || column.field == "business_key") {
			p.Add(path, "%q is also columns.%s", column.name, other)
		}
		owner[column.name] = column.field
	}
	if name := c.Columns.AutoIncrement; name != "" {
		p.identifier("columns.auto_increment", name)
	}
}

// needsDatabase tells of a MySQL DSN that leaves open which database the table is in.
func (p *Problems) needsDatabase(c Config, schema string) {
	if c.SQL.Driver != MySQL || schema != "" || c.SQL.DSN.IsZero() {
		return
	}
	if at, err := dialects[MySQL].parse(c.SQL.DSN.Reveal()); err == nil && at.database == "" {
		p.Add("table", "%q has no database and sql.dsn names none: write DATABASE.%s", c.Table, c.Table)
	}
}

func (p *Problems) sqlStatuses(c Config) {
	machine := c.machine() || c.Preset == presetStateMachine
	switch {
	case c.Columns.Status == "":
		if len(c.States) > 0 {
			p.Add("states", "are set without columns.status: name the column, or leave states out, so that every row is done")
		}
		if machine {
			p.Add("columns.status", "is missing: terminal and transitions are of statuses")
		}
		return
	case machine && len(c.States) > 0:
		p.Add("states", "are set beside terminal and transitions: write one or the other")
	case machine:
		p.machine(c)
	default:
		p.States(c)
	}
}

func (p *Problems) machine(c Config) {
	if len(c.Terminal) == 0 {
		p.Add("terminal", "is empty: list the statuses in which a row has arrived, such as [COMPLETED, CANCELLED]")
	}
	if len(c.Transitions) == 0 {
		p.Add("transitions", "is empty: name for each status those that may follow it, such as CREATED: [PAID, CANCELLED]")
	}
	reached := map[string]string{}
	for from, to := range c.Transitions {
		for _, status := range to {
			reached[status] = from
		}
	}
	for _, status := range c.Terminal {
		if len(c.Transitions[status]) > 0 {
			p.Add("terminal", "%q has transitions to %s: a terminal status leads nowhere", status, strings.Join(c.Transitions[status], ", "))
		}
	}
	for _, status := range sortedKeys(reached) {
		if len(c.Transitions[status]) == 0 && !slices.Contains(c.Terminal, status) {
			p.Add("transitions", "%q follows %q and leads nowhere: list it under terminal, or say what follows it", status, reached[status])
		}
	}
	p.Positive("stuck_after", c.StuckAfter)
}

func (p *Problems) sqlRules(c Config) {
	p.OneOf("mark", c.Mark, "before", "after")
	if c.Columns.Status != "" || c.OnInFlight != "" {
		p.OneOf("on_inflight", c.OnInFlight, "ack", "nack", inFlightWait)
	}
	p.OneOf("on_fail", c.OnFail, "delete", "keep", "ack")
	p.onFailed(c)
	p.acks(c)
	if c.TTL.Processing < 0 {
		p.Add("ttl.processing", "is %s: write a time, or 0 for rows that never expire", c.TTL.Processing)
	}
	if c.TTL.Done < 0 {
		p.Add("ttl.done", "is %s: write a time, or 0 for rows that are kept", c.TTL.Done)
	}
	if c.StuckAfter < 0 {
		p.Add("stuck_after", "is %s: write a time above zero, such as 15m", c.StuckAfter)
	}
	switch {
	case c.Retry.GiveUp < 0:
		p.Add("retry.give_up", "is %d: write the number of failures after which a message is given up, or 0 for never", c.Retry.GiveUp)
	case c.Retry.GiveUp > 0 && c.Columns.Attempts == "":
		p.Add("columns.attempts", "is missing: retry.give_up compares with it")
	}
	rows := c.Sweep.Count
	sweep := c.Sweep
	sweep.Count = min(max(rows, 10), 1000)
	p.Sweep(sweep)
	if rows < 10 || rows > mostRows {
		p.Add("sweep.count", "is %d: write 10 to %d, the most rows that one query asks for", rows, mostRows)
	}
}

// sqlForeign tells of settings of other kinds, which would be without effect here.
func (p *Problems) sqlForeign(c Config) {
	for _, f := range []struct {
		path string
		set  bool
	}{
		{"redis.url", !c.Redis.URL.IsZero()}, {"act.redis.url", !c.Act.Redis.URL.IsZero()}, {"match", c.Match != ""},
		{"exclude", len(c.Exclude) > 0}, {"id", c.ID != ""}, {"retry.match", c.Retry.Match != ""},
	} {
		if f.set {
			p.Add(f.path, "is for Redis: kind %s reads sql, table and columns", SQLTable)
		}
	}
}

// splitTable takes schema.table apart; the schema is empty when there is none.
func splitTable(name string) (schema, table string) {
	if schema, table, ok := strings.Cut(name, "."); ok {
		return schema, table
	}
	return "", name
}

// SQLPlace names server, database and table; empty for other kinds and where the DSN cannot be read.
func (c Config) SQLPlace() string {
	d := dialects[c.SQL.Driver]
	if c.Kind != SQLTable || d == nil || c.SQL.DSN.IsZero() {
		return ""
	}
	at, err := d.parse(c.SQL.DSN.Reveal())
	if err != nil {
		return ""
	}
	schema, table := splitTable(c.Table)
	database := at.database
	switch {
	case c.SQL.Driver == MySQL && schema != "":
		database, schema = schema, ""
	case c.SQL.Driver == PostgreSQL:
		schema = cmp.Or(schema, at.schema, "public")
	}
	return strings.ToLower(strings.Join([]string{c.SQL.Driver, at.addr, database, schema, table}, "/"))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
