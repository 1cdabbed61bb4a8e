package effect

import (
	"cmp"
	"errors"
	"time"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// The values of an effect check that hold unless configured, and their bounds.
const (
	defaultEvery   = 15 * time.Minute
	defaultTimeout = 10 * time.Second
	defaultMaxRows = 1000
	mostEffectRows = 10_000
)

// Config describes a check for double effects of one pipeline: a query on business data that lists the keys whose
// work was done more than once.
type Config struct {
	// Pipeline is the name of the pipeline.
	Pipeline string `yaml:"-"`
	// Store names the SQL store whose connection is used; SQL is a connection of the check's own. One of them is set, and
	// Resolve has copied that of the store.
	Store string      `yaml:"store"`
	SQL   markers.SQL `yaml:"sql"`
	// Query is one SELECT. Its first column is the business key; a column named n, count, cnt, copies or times, else the last
	// one that holds whole numbers, is how often the work was done.
	Query string `yaml:"query"`
	// Every is the time between two runs, 15 m unless set; Timeout bounds one run, 10 s unless set.
	Every   time.Duration `yaml:"every"`
	Timeout time.Duration `yaml:"timeout"`
	// MaxRows is the most rows that are read, 1,000 unless set.
	MaxRows int `yaml:"max_rows"`
}

// WithDefaults fills what is not configured.
func (c Config) WithDefaults() Config {
	c.Every, c.Timeout, c.MaxRows = cmp.Or(c.Every, defaultEvery), cmp.Or(c.Timeout, defaultTimeout), cmp.Or(c.MaxRows, defaultMaxRows)
	return c
}

// Validate returns every problem of the check, joined; each is a *FieldError. The connection of a store must have been copied.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var p markers.Problems
	if c.SQL.Driver == "" && c.SQL.DSN.IsZero() && c.SQL.DSN.Err() == nil {
		p.Add("sql", "is missing: name a store that is a table, or write sql: {driver: mysql, dsn: …}, with an account that may only read")
	} else {
		dialect.Validate(&p, "sql", c.SQL)
	}
	if err := checkQuery(c.Query, c.SQL.Driver); err != nil {
		p.Add("query", "%v", err)
	}
	if c.Every < time.Minute || c.Every > 24*time.Hour {
		p.Add("every", "%s is outside 1m to 24h: a check may read a whole table", c.Every)
	}
	if c.Timeout < time.Second || c.Timeout > 5*time.Minute || c.Timeout >= c.Every {
		p.Add("timeout", "%s is outside 1s to 5m, or not below every", c.Timeout)
	}
	if c.MaxRows < 1 || c.MaxRows > mostEffectRows {
		p.Add("max_rows", "%d is outside 1 to %d", c.MaxRows, mostEffectRows)
	}
	return errors.Join(p...)
}
