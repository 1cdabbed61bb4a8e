package markers

import (
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
)

// The values of SQL.Driver. MariaDB speaks the protocol of MySQL.
const (
	MySQL      = "mysql"
	PostgreSQL = "postgres"
)

// RowsMarkers is the value of Config.Rows that says that a row is a marker and nothing more.
const RowsMarkers = "markers"

// RetakesNever is the value of Config.Retakes that says that consumers leave a row alone that they find.
const RetakesNever = "never"

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
type namedColumn struct{ Field, Name string }

// All returns the configured columns in a fixed order. AutoIncrement is not among them: markers do not need it.
func (c Columns) All() []namedColumn {
	var all []namedColumn
	for _, id := range c.ID {
		all = append(all, namedColumn{"id", id})
	}
	for _, n := range []namedColumn{{"business_key", c.BusinessKey}, {"status", c.Status}, {"created", c.Created},
		{"updated", c.Updated}, {"expires", c.Expires}, {"owner", c.Owner}, {"attempts", c.Attempts}} {
		if n.Name != "" {
			all = append(all, n)
		}
	}
	return all
}

// Machine says whether the rows are business rows with declared statuses.
func (c Config) Machine() bool { return len(c.Terminal) > 0 || len(c.Transitions) > 0 }

// StatesByStatus returns the states by status; nil where every row is done.
func (c Config) StatesByStatus() map[string]dedup.State {
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

// sayOfTable adds to a scheme what only a table can say.
func (c Config) sayOfTable(s *dedup.Scheme) {
	s.Transactional, s.Business = c.Transactional, c.Machine() || c.Preset == PresetStateMachine
	s.StuckAfter, s.InsertFirst, s.DatesClaim = c.StuckAfter, c.InsertFirst, c.Mark == "before" && c.Columns.Updated == ""
	shown := map[dedup.State]bool{}
	for _, state := range c.StatesByStatus() {
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
}
