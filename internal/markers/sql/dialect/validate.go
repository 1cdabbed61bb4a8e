package dialect

import (
	"dedup-dashboard/internal/markers"
)

// Validate checks how a database is reached.
func Validate(p *markers.Problems, path string, s markers.SQL) {
	p.OneOf(path+".driver", s.Driver, markers.MySQL, markers.PostgreSQL)
	form := "user:password@tcp(host:3306)/database"
	if s.Driver == markers.PostgreSQL {
		form = "postgres://user:password@host:5432/database"
	}
	switch {
	case s.DSN.Err() != nil:
		p.Add(path+".dsn", "%v", s.DSN.Err())
	case s.DSN.IsZero():
		p.Add(path+".dsn", "is missing: write %s, {env: NAME} or {file: PATH}", form)
	case ByDriver[s.Driver] != nil:
		if _, err := ByDriver[s.Driver].Parse(s.DSN.Reveal()); err != nil {
			p.Add(path+".dsn", "%v", err)
		}
	}
}
