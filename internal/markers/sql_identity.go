package markers

import (
	"regexp"

	"dedup-dashboard/internal/markers/codec"
)

// sqlIdentity says which table was read, and in which zone its times without a zone were read. It is Sighting.Server of a
// row: an action compares it with what its own account reaches, so that no row of another table is taken for the one
// that was seen, and none that is somewhere else for gone.
type sqlIdentity struct {
	// server is sqlServer.id, database and table are those of sqlTable.
	server, database, table string
	// zone is sqlServer.zone.
	zone string
}

func (l *sqlLayout) identity() sqlIdentity { return identityOf(l.server, l.table) }

func identityOf(s sqlServer, t *sqlTable) sqlIdentity {
	return sqlIdentity{server: s.id, database: t.database, table: t.identity, zone: s.zone}
}

// text writes the identity as a JSON array of strings.
func (i sqlIdentity) text() string { return encodeKey([]string{i.server, i.database, i.table, i.zone}) }

// readIdentity reads what text wrote.
func readIdentity(text string) (sqlIdentity, bool) {
	parts, err := decodeKey(text, 4)
	if err != nil || !zonePattern.MatchString(parts[3]) {
		return sqlIdentity{}, false
	}
	return sqlIdentity{server: parts[0], database: parts[1], table: parts[2], zone: parts[3]}, true
}

// elsewhere says why the account that acts does not reach the table that was read; empty if it does.
func (i sqlIdentity) elsewhere(acting sqlIdentity) string {
	switch {
	case i.server != acting.server:
		return "another server answers than the one that was read: point sql.dsn and act.sql.dsn at one server, and look at the marker again"
	case i.database != acting.database:
		return "act.sql.dsn leads to database " + codec.Printable(acting.database) + ", and the marker was read in " + codec.Printable(i.database)
	case i.table != acting.table:
		return "the acting account reaches table " + codec.Printable(acting.table) + ", and the marker was read in " + codec.Printable(i.table) +
			": look at the marker again, or write the schema in front of table"
	}
	return ""
}

// zonePattern is what a time zone may look like: a name, an offset, or a rule as POSIX writes it.
var zonePattern = regexp.MustCompile(`^[A-Za-z0-9_+:/<>,.-]{1,100}$`)
