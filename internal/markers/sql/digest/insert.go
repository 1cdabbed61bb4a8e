package digest

import (
	"slices"
	"strings"
)

// writers are the words of statements that may insert.
var writers = []string{"INSERT", "REPLACE", "MERGE", "COPY", "LOAD", "EXECUTE", "IMPORT"}

// mentions reports whether a text that cannot be read may insert into the table.
func mentions(t Table, text string) bool {
	text = upper(text)
	return strings.Contains(text, upper(t.Name)) && slices.ContainsFunc(writers, func(w string) bool { return strings.Contains(text, w) })
}

// insert takes an INSERT of one row.
func (p *parser) insert() (Form, bool) {
	if p.table.Server == MySQL && !p.take("LOW_PRIORITY") {
		p.take("HIGH_PRIORITY")
	}
	ignores := p.table.Server == MySQL && p.take("IGNORE")
	p.take("INTO")
	ours, sure := p.ours()
	switch {
	case !ours && p.inserts(): // PostgreSQL's WITH may write into others
		return Unclear, false
	case !ours:
		return Foreign, false
	case !sure:
		return Unclear, false
	}
	form := Insert
	if ignores {
		form = InsertIgnore
	}
	if !p.row() {
		return Unclear, false
	}
	switch {
	case p.take("ON", "DUPLICATE", "KEY", "UPDATE"):
		if ignores || p.table.Server != MySQL || !p.changesNothing() {
			return Unclear, false
		}
		form = InsertSame
	case p.take("ON", "CONFLICT"):
		if p.table.Server != Postgres || !p.doesNothing() {
			return Unclear, false
		}
		form = InsertIgnore
	}
	returns := p.take("RETURNING")
	if returns {
		p.list()
	}
	if !p.end() {
		return Unclear, false
	}
	return form, returns && p.table.Server == MySQL
}

// row takes the columns and the values of one row.
func (p *parser) row() bool {
	if p.table.Server == Postgres && (p.take("AS") || p.peek().kind == name || p.peek().kind == word && !p.isNext("VALUES") && !p.isNext("OVERRIDING")) {
		if _, ok := p.identifier(); !ok {
			return false
		}
	}
	columns := p.at
	if p.isNext("(") && !p.group() {
		return false
	}
	p.own = p.table.Auto != "" && (p.at == columns || p.names(p.tokens[columns:p.at], p.table.Auto))
	switch {
	case p.take("SET"):
		return p.table.Server == MySQL && p.list()
	case p.take("OVERRIDING", "SYSTEM", "VALUE"), p.take("OVERRIDING", "USER", "VALUE"):
	}
	if !p.take("VALUES") && !p.take("VALUE") || !p.group() || p.isNext(",") || p.isNext(manyRows) {
		return false
	}
	if p.table.Server == MySQL && p.take("AS") {
		alias, ok := p.identifier()
		if !ok || p.isNext("(") {
			return false
		}
		p.alias = cmpName(alias)
	}
	return true
}

// names reports whether a column is among these tokens.
func (p *parser) names(columns []token, column string) bool {
	return slices.ContainsFunc(columns, func(t token) bool {
		return (t.kind == name || t.kind == word) && strings.EqualFold(cmpName(t), column)
	})
}

// changesNothing takes assignments of columns to themselves, or of an id column to the id that is there already.
func (p *parser) changesNothing() bool {
	for {
		to, ok := p.column()
		if !ok || !p.take("=") || !p.same(to) {
			return false
		}
		if !p.take(",") {
			return true
		}
	}
}

func (p *parser) same(column string) bool {
	id := slices.ContainsFunc(p.table.ID, func(c string) bool { return strings.EqualFold(c, column) })
	before := p.at
	if from, ok := p.column(); ok && from == column && !p.isNext("(") {
		return true
	}
	p.at = before
	if id && p.take("VALUES", "(") {
		from, ok := p.column()
		return ok && from == column && p.take(")")
	}
	p.at = before
	if t, ok := p.identifier(); ok && id && p.alias != "" && cmpName(t) == p.alias && p.take(".") {
		from, ok := p.identifier()
		return ok && strings.EqualFold(cmpName(from), column)
	}
	p.at = before
	if t, ok := p.identifier(); ok && upper(t.text) == "LAST_INSERT_ID" && p.take("(") {
		from, ok := p.column()
		return ok && from == column && p.take(")")
	}
	return false
}

// doesNothing takes what follows ON CONFLICT up to DO NOTHING.
func (p *parser) doesNothing() bool {
	switch {
	case p.take("ON", "CONSTRAINT"):
		if _, ok := p.identifier(); !ok {
			return false
		}
	case p.isNext("("):
		if !p.group() || p.isNext("WHERE") {
			return false
		}
	}
	return p.take("DO", "NOTHING")
}

// inserts reports whether what is left of the statement may insert into the table, wherever both are named.
func (p *parser) inserts() bool {
	writes, named := false, false
	for _, t := range p.tokens[p.at:] {
		writes = writes || t.kind == word && slices.Contains(writers, t.text)
		named = named || (t.kind == name || t.kind == word) && strings.EqualFold(cmpName(t), p.table.Name)
	}
	return writes && named
}
