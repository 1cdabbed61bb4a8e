package digest

import (
	"slices"
	"strings"
)

// asks takes a SELECT of the row of one id: no function, no other table, no other condition.
func (p *parser) asks() bool {
	for p.at < len(p.tokens) && !p.isNext("FROM") {
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
	if !p.isNext("WHERE") {
		p.take("AS")
		alias, ok := p.identifier()
		if !ok {
			return false
		}
		p.alias = cmpName(alias)
	}
	return p.take("WHERE") && p.byID() && p.tail()
}

// byID takes a condition that names each id column once, and nothing else but what is always true, as some libraries write: 1 = 1.
func (p *parser) byID() bool {
	left := slices.Clone(p.table.ID)
	return p.condition(&left) && len(left) == 0
}

func (p *parser) condition(left *[]string) bool {
	for {
		switch {
		case p.take("("):
			if !p.condition(left) || !p.take(")") {
				return false
			}
		case p.peek().kind == value && p.at < len(p.tokens):
			p.at++
			if !p.equals() {
				return false
			}
		case !p.idEquals(left):
			return false
		}
		if !p.take("AND") {
			return true
		}
	}
}

// idEquals takes the comparison of an id column that is left with a value.
func (p *parser) idEquals(left *[]string) bool {
	var parts []token
	for {
		t, ok := p.identifier()
		if !ok {
			return false
		}
		if parts = append(parts, t); !p.take(".") {
			break
		}
	}
	last := len(parts) - 1
	switch {
	case last > 2,
		last == 2 && !(p.named(parts[0], p.table.Schema, p.table.FoldsNames) && p.named(parts[1], p.table.Name, p.table.FoldsNames)),
		last == 1 && p.alias != cmpName(parts[0]) && !p.named(parts[0], p.table.Name, p.table.FoldsNames):
		return false
	}
	i := slices.IndexFunc(*left, func(c string) bool { return strings.EqualFold(c, cmpName(parts[last])) })
	if i < 0 || !p.equals() {
		return false
	}
	for p.take(":", ":") {
		if _, ok := p.identifier(); !ok {
			return false
		}
	}
	*left = slices.Delete(*left, i, i+1)
	return true
}

// equals takes an equals sign and a value.
func (p *parser) equals() bool {
	if !p.take("=") || p.peek().kind != value {
		return false
	}
	p.at++
	return true
}

// looks reports whether a SELECT of any shape, from a token on, names the table and compares each id column, or was cut before it may have.
func (p *parser) looks(begin int) bool {
	p.at = begin
	if !p.isNext("SELECT") && !p.isNext("WITH") {
		return false
	}
	is := func(t token, name string) bool {
		return t.kind != value && t.kind != sign && strings.EqualFold(cmpName(t), name)
	}
	if !slices.ContainsFunc(p.tokens, func(t token) bool { return is(t, p.table.Name) }) {
		return false
	}
	if p.tokens[len(p.tokens)-1].text == "..." { // beyond max_digest_length
		return true
	}
	return !slices.ContainsFunc(p.table.ID, func(column string) bool {
		for i, t := range p.tokens {
			if is(t, column) && (p.compares(i+1) || p.compares(i-1)) {
				return false
			}
		}
		return true
	})
}

// compares reports whether a token compares what is beside it with one value or a list, or may.
func (p *parser) compares(i int) bool {
	if i < 0 || i >= len(p.tokens) {
		return false
	}
	t := p.tokens[i]
	return t.kind == sign && t.text == "=" || t.kind == word && t.text == "IN"
}

// tail takes what may follow the condition.
func (p *parser) tail() bool {
	for p.take("LIMIT") || p.take("OFFSET") {
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
