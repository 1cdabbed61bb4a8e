package sql

import (
	"slices"
	"strings"
)

// A Table is where markers are.
type Table struct {
	Server       Server
	Schema, Name string
	// ID are the columns with the id of the message.
	ID []string
	// FoldsNames is true where the server takes names of tables that differ in case for one.
	FoldsNames bool
	// Twins is true where other schemas of the database have a table of that name: a name without its schema may be theirs.
	Twins bool
}

// A Form is what a statement does with the table.
type Form uint8

// The forms.
const (
	// Foreign: it inserts nothing into the table, and does not ask it for one id.
	Foreign Form = iota
	// Insert inserts one row, and fails where its id is there. PostgreSQL does not count those that fail.
	Insert
	// InsertIgnore inserts one row, or none where its id is there.
	InsertIgnore
	// InsertSame inserts one row, or leaves the one that is there as it is. Whether MySQL counts that as a row depends on the connection.
	InsertSame
	// Ask reads the row of one id.
	Ask
	// Unclear: it may insert into the table, and how many rows it found there is not told.
	Unclear
)

// Classify says what a statement does with the table; rowsSent is true where the rows that it inserted are counted as rows sent. schema is
// that of the session, which MySQL keeps beside each digest. What is not plainly of another form is Unclear or Foreign.
func Classify(t Table, schema, text string) (form Form, rowsSent bool) {
	all, err := tokens(t.Server, text)
	if err != nil {
		if mentions(t, text) {
			return Unclear, false
		}
		return Foreign, false
	}
	p := parser{table: t, schema: schema, tokens: all}
	p.prepared()
	switch {
	case p.take("INSERT"):
		return p.insert()
	case p.take("SELECT") && p.asks():
		return Ask, false
	}
	p.at = 0
	if p.inserts() {
		return Unclear, false
	}
	return Foreign, false
}

// writers are the words of statements that may insert.
var writers = []string{"INSERT", "REPLACE", "MERGE", "COPY", "LOAD", "EXECUTE", "IMPORT"}

// mentions reports whether a text that cannot be read may insert into the table.
func mentions(t Table, text string) bool {
	text = upper(text)
	return strings.Contains(text, upper(t.Name)) && slices.ContainsFunc(writers, func(w string) bool { return strings.Contains(text, w) })
}

// A parser reads the tokens of one statement.
type parser struct {
	table  Table
	schema string
	tokens []token
	at     int
	// alias is the other name of the table.
	alias string
}

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{kind: sign}
}

// is reports whether the next token is this keyword or sign.
func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == word || t.kind == sign) && t.text == text && p.at < len(p.tokens)
}

func (p *parser) take(texts ...string) bool {
	before := p.at
	for _, text := range texts {
		if !p.is(text) {
			p.at = before
			return false
		}
		p.at++
	}
	return true
}

// end reports whether nothing follows but a semicolon.
func (p *parser) end() bool {
	p.take(";")
	return p.at == len(p.tokens)
}

// prepared skips what PostgreSQL's PREPARE writes before its statement, whose executions are counted under it.
func (p *parser) prepared() {
	if p.table.Server != Postgres || !p.take("PREPARE") {
		return
	}
	if _, ok := p.identifier(); ok {
		if p.is("(") {
			p.group()
		}
		if p.take("AS") {
			return
		}
	}
	p.at = 0
}

// identifier takes a name; keywords that are names are written as such by MySQL.
func (p *parser) identifier() (token, bool) {
	t := p.peek()
	if t.kind != name && t.kind != word || p.at >= len(p.tokens) {
		return token{}, false
	}
	p.at++
	return t, true
}

// named reports whether an identifier is this name. fold is true where it may differ in case.
func (p *parser) named(t token, want string, fold bool) bool {
	switch {
	case t.kind == name && (p.table.Server == Postgres || !fold):
		return t.text == want
	case t.kind == name:
		return strings.EqualFold(t.text, want)
	case p.table.Server == Postgres: // without quotes it is folded to small letters
		return strings.ToLower(t.text) == want
	}
	return t.text == upper(want)
}

// ours takes the name of a table; sure is false where it may be that of another one.
func (p *parser) ours() (ok, sure bool) {
	var parts []token
	for {
		t, taken := p.identifier()
		if !taken {
			return false, false
		}
		if parts = append(parts, t); !p.take(".") {
			break
		}
	}
	t := p.table
	fold := t.FoldsNames
	if len(parts) > 3 || !p.named(parts[len(parts)-1], t.Name, fold) {
		return false, false
	}
	switch {
	case len(parts) > 1:
		return p.named(parts[len(parts)-2], t.Schema, fold), true
	case t.Server == Postgres:
		return true, !t.Twins
	case fold:
		return strings.EqualFold(p.schema, t.Schema), true
	}
	return p.schema == t.Schema, true
}

// group skips parentheses with all that they hold.
func (p *parser) group() bool {
	if p.take(rowOfValues) {
		return true
	}
	if !p.is("(") {
		return false
	}
	depth := 0
	for ; p.at < len(p.tokens); p.at++ {
		switch t := p.tokens[p.at]; {
		case t.kind == sign && t.text == "(":
			depth++
		case t.kind == sign && t.text == ")":
			if depth--; depth == 0 {
				p.at++
				return true
			}
		case t.kind == word && t.text == "SELECT":
			return false
		}
	}
	return false
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
	if p.table.Server == Postgres && (p.take("AS") || p.peek().kind == name || p.peek().kind == word && !p.is("VALUES") && !p.is("OVERRIDING")) {
		if _, ok := p.identifier(); !ok {
			return false
		}
	}
	if p.is("(") && !p.group() {
		return false
	}
	switch {
	case p.take("SET"):
		return p.table.Server == MySQL && p.list()
	case p.take("OVERRIDING", "SYSTEM", "VALUE"), p.take("OVERRIDING", "USER", "VALUE"):
	}
	if !p.take("VALUES") && !p.take("VALUE") || !p.group() || p.is(",") || p.is(manyRows) {
		return false
	}
	if p.table.Server == MySQL && p.take("AS") {
		alias, ok := p.identifier()
		if !ok || p.is("(") {
			return false
		}
		p.alias = cmpName(alias)
	}
	return true
}

func cmpName(t token) string {
	if t.kind == word {
		return t.raw
	}
	return t.text
}

// list skips expressions without a subquery, up to what may follow them.
func (p *parser) list() bool {
	from := p.at
	for p.at < len(p.tokens) && !p.is("ON") && !p.is("RETURNING") && !p.is(";") && !p.is("FROM") {
		switch t := p.peek(); {
		case t.text == manyRows, t.kind == word && (t.text == "SELECT" || t.text == "INSERT"):
			return false
		case t.kind == sign && (t.text == "(" || t.text == rowOfValues):
			if !p.group() {
				return false
			}
		default:
			p.at++
		}
	}
	return p.at > from
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

// column takes a column, with or without its table.
func (p *parser) column() (string, bool) {
	t, ok := p.identifier()
	if ok && p.take(".") {
		if p.alias != "" && cmpName(t) == p.alias || !p.named(t, p.table.Name, p.table.FoldsNames) {
			return "", false
		}
		t, ok = p.identifier()
	}
	return strings.ToLower(cmpName(t)), ok
}

func (p *parser) same(column string) bool {
	id := slices.ContainsFunc(p.table.ID, func(c string) bool { return strings.EqualFold(c, column) })
	before := p.at
	if from, ok := p.column(); ok && from == column && !p.is("(") {
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
	case p.is("("):
		if !p.group() || p.is("WHERE") {
			return false
		}
	}
	return p.take("DO", "NOTHING")
}

// asks takes a SELECT of the row of one id: no function, no other table, no other condition.
func (p *parser) asks() bool {
	for p.at < len(p.tokens) && !p.is("FROM") {
		if t := p.peek(); t.kind == sign && t.text != "," && t.text != "." && t.text != "*" || t.kind == word && (t.text == "DISTINCT" || t.text == "SELECT") {
			return false
		}
		p.at++
	}
	if !p.take("FROM") {
		return false
	}
	if ours, sure := p.ours(); !ours || !sure {
		return false
	}
	if !p.is("WHERE") {
		p.take("AS")
		alias, ok := p.identifier()
		if !ok {
			return false
		}
		p.alias = cmpName(alias)
	}
	return p.take("WHERE") && p.byID() && p.tail()
}

// byID takes a condition that names each id column once, and nothing else.
func (p *parser) byID() bool {
	left := slices.Clone(p.table.ID)
	for len(left) > 0 {
		t, ok := p.identifier()
		if ok && p.take(".") {
			if p.alias != cmpName(t) && !p.named(t, p.table.Name, p.table.FoldsNames) {
				return false
			}
			t, ok = p.identifier()
		}
		i := slices.IndexFunc(left, func(c string) bool { return strings.EqualFold(c, cmpName(t)) })
		if !ok || i < 0 || !p.take("=") || p.peek().kind != value {
			return false
		}
		p.at++
		for p.take(":", ":") {
			if _, ok := p.identifier(); !ok {
				return false
			}
		}
		if left = slices.Delete(left, i, i+1); len(left) > 0 && !p.take("AND") {
			return false
		}
	}
	return true
}

// tail takes what may follow the condition.
func (p *parser) tail() bool {
	if p.take("LIMIT") {
		if p.peek().kind != value {
			return false
		}
		p.at++
	}
	for p.take("FOR") || p.take("LOCK") || p.take("IN") || p.take("SHARE") || p.take("MODE") || p.take("UPDATE") ||
		p.take("NO") || p.take("KEY") || p.take("NOWAIT") || p.take("SKIP") || p.take("LOCKED") {
	}
	return p.end()
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
