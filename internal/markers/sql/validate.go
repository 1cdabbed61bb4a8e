package sql

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// mostRows is the most rows that one query of a walk may ask for.
const mostRows = 20_000

var (
	identifierPattern = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_$-]*$`)
	longestIdentifier = 64
)

func identifierProblems(p *markers.Problems, path, name string) {
	if !identifierPattern.MatchString(name) || len(name) > longestIdentifier {
		p.Add(path, "%q is not a name: letters, digits, _, $ and -, at most %d bytes, without quotes", name, longestIdentifier)
	}
}

// Check notes every problem of the description of a table of markers.
func Check(p *markers.Problems, c markers.Config) {
	dialect.Validate(p, "sql", c.SQL)
	if !c.Act.SQL.DSN.IsZero() || c.Act.SQL.Driver != "" {
		act := c.Act.SQL
		if act.Driver == "" {
			act.Driver = c.SQL.Driver
		}
		dialect.Validate(p, "act.sql", act)
		if act.Driver != c.SQL.Driver {
			p.Add("act.sql.driver", "%q is not the driver of sql (%q): both accounts act on one table", act.Driver, c.SQL.Driver)
		}
	}
	if c.Rows != "" {
		p.OneOf("rows", c.Rows, markers.RowsMarkers)
	}
	if c.Retakes != "" {
		p.OneOf("retakes", c.Retakes, markers.RetakesNever)
	}
	databaseProblems(p, c)
	nameProblems(p, c)
	statusProblems(p, c)
	ruleProblems(p, c)
	insertProblems(p, c)
	foreignProblems(p, c)
	p.OnlyFor(markers.RedisString, "ask", c.Ask != "")
	if c.Events {
		p.Add("events", "are notifications of Redis, for kind %s: leave it out", markers.RedisString)
	}
}

// databaseProblems tells of accounts that would reach two tables: a marker that the watching one shows must be where the acting
// one looks for it. That the servers are the same is seen at each action.
func databaseProblems(p *markers.Problems, c markers.Config) {
	d := dialect.ByDriver[c.SQL.Driver]
	schema, _ := dialect.SplitTable(c.Table)
	if d == nil || c.SQL.DSN.IsZero() || c.Act.SQL.DSN.IsZero() || c.SQL.Driver == markers.MySQL && schema != "" {
		return
	}
	watching, err := d.Parse(c.SQL.DSN.Reveal())
	acting, actErr := d.Parse(c.Act.SQL.DSN.Reveal())
	if err != nil || actErr != nil || watching.Database == acting.Database {
		return
	}
	p.Add("act.sql.dsn", "names database %q and sql.dsn names %q: both accounts must reach one table", acting.Database, watching.Database)
}

func nameProblems(p *markers.Problems, c markers.Config) {
	if c.Table == "" {
		p.Add("table", "is missing: write the table of the markers, such as message_dedup or shop.message_dedup")
	} else {
		schema, name := dialect.SplitTable(c.Table)
		if schema != "" {
			identifierProblems(p, "table", schema)
		}
		identifierProblems(p, "table", name)
		needsDatabase(p, c, schema)
	}
	if len(c.Columns.ID) == 0 {
		p.Add("columns.id", "is missing: name the column of the message id")
	}
	owner := map[string]string{}
	for _, column := range c.Columns.All() {
		path := "columns." + column.Field
		identifierProblems(p, path, column.Name)
		if other, taken := owner[column.Name]; taken && !(column.Field == "updated" || column.Field == "business_key") {
			p.Add(path, "%q is also columns.%s", column.Name, other)
		}
		owner[column.Name] = column.Field
	}
	if name := c.Columns.AutoIncrement; name != "" {
		identifierProblems(p, "columns.auto_increment", name)
	}
}

// needsDatabase tells of a MySQL DSN that leaves open which database the table is in.
func needsDatabase(p *markers.Problems, c markers.Config, schema string) {
	if c.SQL.Driver != markers.MySQL || schema != "" || c.SQL.DSN.IsZero() {
		return
	}
	if at, err := dialect.ByDriver[markers.MySQL].Parse(c.SQL.DSN.Reveal()); err == nil && at.Database == "" {
		p.Add("table", "%q has no database and sql.dsn names none: write DATABASE.%s", c.Table, c.Table)
	}
}

func statusProblems(p *markers.Problems, c markers.Config) {
	machine := c.Machine() || c.Preset == markers.PresetStateMachine
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
		machineProblems(p, c)
	default:
		p.States(c)
	}
}

func machineProblems(p *markers.Problems, c markers.Config) {
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

func ruleProblems(p *markers.Problems, c markers.Config) {
	p.OneOf("mark", c.Mark, "before", "after")
	if c.Columns.Status != "" || c.OnInFlight != "" {
		p.OneOf("on_inflight", c.OnInFlight, "ack", "nack", markers.InFlightWait)
	}
	p.OneOf("on_fail", c.OnFail, "delete", "keep", "ack")
	p.OnFailed(c)
	p.Acks(c)
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

// foreignProblems tells of settings of other kinds, which would be without effect here.
func foreignProblems(p *markers.Problems, c markers.Config) {
	for _, f := range []struct {
		path string
		set  bool
	}{
		{"redis.url", !c.Redis.URL.IsZero()}, {"redis.sentinel", !c.Redis.Sentinel.IsZero()}, {"redis.cluster", len(c.Redis.Cluster) > 0}, {"act.redis.url", !c.Act.Redis.URL.IsZero()}, {"match", c.Match != ""},
		{"exclude", len(c.Exclude) > 0}, {"id", c.ID != ""}, {"retry.match", c.Retry.Match != ""}, {"unasked", c.Unasked},
	} {
		if f.set {
			p.Add(f.path, "is for Redis: kind %s reads sql, table and columns", markers.SQLTable)
		}
	}
}

// sqlPlaceOf names server, database and table; empty for other kinds and where the DSN cannot be read.
func Place(c markers.Config) string {
	d := dialect.ByDriver[c.SQL.Driver]
	if c.Kind != markers.SQLTable || d == nil || c.SQL.DSN.IsZero() {
		return ""
	}
	at, err := d.Parse(c.SQL.DSN.Reveal())
	if err != nil {
		return ""
	}
	schema, table := dialect.SplitTable(c.Table)
	database := at.Database
	switch {
	case c.SQL.Driver == markers.MySQL && schema != "":
		database, schema = schema, ""
	case c.SQL.Driver == markers.PostgreSQL:
		schema = cmp.Or(schema, at.Schema, "public")
	}
	return strings.ToLower(strings.Join([]string{c.SQL.Driver, at.Addr, database, schema, table}, "/"))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
