package digest

import (
	"strings"
)

// A parser reads the tokens of one statement.
type parser struct {
	table  Table
	schema string
	tokens []token
	at     int
	// alias is the other name of the table.
	alias string
	// own is true where the row of an insert may get another id than one of the sequence.
	own bool
}

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{kind: sign}
}

// isNext reports whether the next token is this keyword or sign.
func (p *parser) isNext(text string) bool {
	t := p.peek()
	return (t.kind == word || t.kind == sign) && t.text == text && p.at < len(p.tokens)
}

func (p *parser) take(texts ...string) bool {
	before := p.at
	for _, text := range texts {
		if !p.isNext(text) {
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
		if p.isNext("(") {
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
		merged := t.NamesAlone && t.Twins // the server may count those of all schemas under the text of one
		return merged || p.named(parts[len(parts)-2], t.Schema, fold), !merged
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
	if !p.isNext("(") {
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

func cmpName(t token) string {
	if t.kind == word {
		return t.raw
	}
	return t.text
}

// list skips expressions without a subquery, up to what may follow them.
func (p *parser) list() bool {
	from := p.at
	for p.at < len(p.tokens) && !p.isNext("ON") && !p.isNext("RETURNING") && !p.isNext(";") && !p.isNext("FROM") {
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
