package sql

import (
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// Identity says which table was read, and in which zone its times without a zone were read. It is Sighting.Server of a
// row: an action compares it with what its own account reaches, so that no row of another table is taken for the one
// that was seen, and none that is somewhere else for gone.
type Identity struct {
	// server is Server.id, database and table are those of Table.
	server, database, table string
	// Zone is Server.zone.
	Zone string
}

// Identity says which table the layout is of.
func (l *Layout) Identity() Identity { return IdentityOf(l.Server, l.Table) }

// IdentityOf says which table of which server it is.
func IdentityOf(s dialect.Server, t *dialect.Table) Identity {
	return Identity{server: s.ID, database: t.Database, table: t.Identity, Zone: s.Zone}
}

// Text writes the identity as a JSON array of strings.
func (i Identity) Text() string { return encodeKey([]string{i.server, i.database, i.table, i.Zone}) }

// ReadIdentity reads what text wrote.
func ReadIdentity(text string) (Identity, bool) {
	parts, err := DecodeKey(text, 4)
	if err != nil || !dialect.ZonePattern.MatchString(parts[3]) {
		return Identity{}, false
	}
	return Identity{server: parts[0], database: parts[1], table: parts[2], Zone: parts[3]}, true
}

// Elsewhere says why the account that acts does not reach the table that was read; empty if it does.
func (i Identity) Elsewhere(acting Identity) string {
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
